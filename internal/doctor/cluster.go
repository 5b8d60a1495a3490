package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func settings(b *book, f Facts) {
	for _, p := range f.Settings.Problems {
		b.say(Stop, "", "%s", p)
	}
	if len(f.Settings.Problems) > 0 {
		b.out[len(b.out)-1].Do = "karpenter install-values finds most values and says how to " +
			"find the rest"
	}
	b.well("%s: the controller would start with them", f.Settings.From)
}

// oldest is the first minor version of Kubernetes 1 whose API servers serve the chart's admission policies.
const oldest = 30

func cluster(b *book, f Facts) {
	c := f.Cluster
	if c.Unreached != "" {
		b.say(Unknown, "name it with --kubeconfig or --context, and look from where it can be "+
			"reached",
			"the API server cannot be asked: %s", c.Unreached)
		return
	}
	for _, h := range c.Hidden {
		b.say(Note, "look as somebody who may read it", "not looked at: %s", h)
	}
	if minor, ok := minorOf(c.Version); ok && minor < oldest {
		b.say(Stop, "upgrade the cluster, or set admissionPolicies.enabled=false and know what "+
			"docs/security.md says about it",
			"Kubernetes %s serves no ValidatingAdmissionPolicies, which the chart installs",
			c.Version)
	}
	for _, n := range c.Nodes {
		if n.Ours || n.Subscription == "" {
			continue
		}
		if !strings.EqualFold(n.Subscription, f.Settings.SubscriptionID) ||
			!strings.EqualFold(n.Group, f.Settings.NodeGroup) {
			b.say(Stop, "compare settings.azure.subscriptionID and nodeResourceGroup with "+
				"karpenter install-values, or choose the cluster's context",
				"node %s is a machine in subscription %s, group %s; the settings say %s, %s: "+
					"they are "+
					"for another cluster", n.Name, n.Subscription, n.Group,
				f.Settings.SubscriptionID,
				f.Settings.NodeGroup)
			break
		}
		if n.Region != "" && !strings.EqualFold(n.Region, f.Settings.Location) {
			b.say(Stop, "set settings.azure.location to "+n.Region,
				"node %s is in %s; the settings say %s", n.Name, n.Region, f.Settings.Location)
			break
		}
	}
	b.well("Kubernetes %s answers", c.Version)
}

func minorOf(version string) (int, bool) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 || parts[0] != "1" {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimRight(parts[1], "+"))
	return n, err == nil
}

const (
	// Azure refuses assertions that begin in its future; Entra allows some minutes.
	clockLimit = 5 * time.Minute
	// Dates come in whole seconds and answers take a while.
	clockNote = 5 * time.Second
)

// clocks compares the API server's clock with Azure's: machines' tokens end by the first, the controller's by both.
func clocks(b *book, f Facts) {
	type pair struct {
		name string
		off  time.Duration
	}
	var all []pair
	for _, c := range []struct {
		name string
		Clock
	}{{"the API server", f.Cluster.Clock}, {"Azure", f.Azure.Clock}} {
		if !c.At.IsZero() {
			all = append(all, pair{c.name, c.At.Sub(c.Here.Truncate(time.Second))})
		}
	}
	if len(all) == 0 {
		b.say(Note, "look from where the cluster and Azure can be reached",
			"no clock could be read")
		return
	}
	for _, p := range all {
		if p.off.Abs() > clockNote {
			b.say(Note, "set it, if you ask Azure from here; the controller runs by the clock of "+
				"its node", "the clock of this machine is %s off that of %s", p.off.Abs(), p.name)
		}
	}
	if len(all) == 2 {
		if off := (all[0].off - all[1].off).Abs(); off > clockLimit {
			b.say(Stop, "set the clock of the machine that is wrong: Azure refuses tokens from "+
				"the future",
				"the clocks of the API server and of Azure are %s apart", off)
		}
	}
	b.well("the clocks that could be read agree")
}

func definitions(b *book, f Facts) {
	if f.Cluster.Unreached != "" {
		return
	}
	if len(f.Cluster.Definitions) == 0 {
		b.say(Note, "look as somebody who may read customresourcedefinitions: karpenter crds diff",
			"the definitions could not be seen from here")
		return
	}
	var missing, others []string
	for _, d := range f.Cluster.Definitions {
		switch {
		case !d.Present:
			missing = append(missing, d.Name)
		case len(d.Severe) > 0:
			b.say(Stop, "karpenter crds diff; karpenter crds apply",
				"%s is older than this version: %s", d.Name, some(d.Severe))
		case d.Others > 0:
			others = append(others, d.Name)
		}
	}
	if len(missing) > 0 {
		b.say(Stop, "karpenter crds apply; or install the chart karpenter-crd",
			"not in the cluster: %s", strings.Join(missing, ", "))
	}
	if len(others) > 0 {
		b.say(Note, "karpenter crds diff",
			"other rules than this version's, and no field is missing: %s", strings.Join(others,
				", "))
	}
	b.well("%d definitions have every field of this version", len(f.Cluster.Definitions))
}

// some shows the first of a list and how many there are.
func some(all []string) string {
	if len(all) <= 3 {
		return strings.Join(all, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(all[:3], "; "), len(all)-3)
}

// String is the access as "kubectl auth can-i" would be asked.
func (a Access) String() string {
	out := a.Verb + " " + a.Resource
	if a.Group != "" {
		out += "." + a.Group
	}
	if a.Name != "" {
		out += " " + a.Name
	}
	if a.Namespace != "" {
		out += " in " + a.Namespace
	}
	return out
}

func refused(all []Access) []string {
	var out []string
	for _, a := range all {
		if !a.Allowed {
			out = append(out, a.String())
		}
	}
	return out
}

func access(b *book, f Facts) {
	if f.Cluster.Unreached != "" {
		return
	}
	who := f.Settings.Namespace + "/" + f.Settings.Account
	if !f.Cluster.Installed {
		if bad := refused(f.Cluster.Installer); len(bad) > 0 {
			b.say(Stop, "let somebody install who may administer the cluster",
				"you may not %s, which an installation does", strings.Join(bad, ", "))
		}
		b.well("service account %s is not there yet: the chart brings it and its rights", who)
		return
	}
	if len(f.Cluster.Access) == 0 {
		b.say(Note, "look as somebody who may create subjectaccessreviews",
			"what service account %s may do could not be asked", who)
		return
	}
	if bad := refused(f.Cluster.Access); len(bad) > 0 {
		b.say(Stop, "install the chart's roles: helm upgrade with this version's chart, and look "+
			"whether "+
			"its role bindings name this account",
			"service account %s may not %s", who, some(bad))
	}
	b.well("service account %s may do all %d things that the controller does", who,
		len(f.Cluster.Access))
}

// tokens looks at what the holders of machines' bootstrap tokens may do.
func tokens(b *book, f Facts) {
	if f.Cluster.Unreached != "" {
		return
	}
	if len(f.Cluster.Tokens) == 0 {
		b.say(Note, "look as somebody who may create subjectaccessreviews",
			"what the holder of a machine's token may do could not be asked")
		return
	}
	groups := append([]string{"system:bootstrappers"}, f.Settings.TokenGroups...)
	approve := func(a Access) bool { return strings.HasSuffix(a.Resource, "/nodeclient") }
	all := slices.Clone(f.Cluster.Tokens)
	if slices.ContainsFunc(all, func(a Access) bool { return approve(a) && !a.Allowed }) {
		b.say(Note, "after the first machine has booted, see that it is signed: kubectl get csr",
			"Kubernetes' own approver signs no certificate for such a token: somebody else "+
				"has to, as AKS may do")
	}
	all = slices.DeleteFunc(all, approve)
	if bad := refused(all); len(bad) > 0 {
		b.say(Stop, "find the groups of AKS' own token (docs/security.md) and set "+
			"settings.bootstrapTokenExtraGroups", "a machine's token, which gives %s, may not %s: "+
			"machines would run and never join", strings.Join(groups, " and "),
			strings.Join(bad, ", "))
	}
	b.well("a machine's token gives %s, which may ask for a node's certificate",
		strings.Join(groups, " and "))
}

// leadFor is how long a lease is believed. The controller renews it every two seconds.
const leadFor = time.Minute

func controller(b *book, f Facts) {
	c := f.Cluster
	if c.Unreached != "" {
		return
	}
	room := slices.ContainsFunc(c.Nodes, func(n Node) bool { return n.Ready && !n.Ours })
	if !room && len(c.Nodes) > 0 {
		b.say(Stop, "add a node pool of AKS with one node or two",
			"every ready node is one that Karpenter made: the controller may not run there")
	}
	switch now := f.Now.Add(c.Clock.At.Sub(c.Clock.Here)); {
	case !c.Installed:
		b.well("not installed yet")
	case c.Renewed.IsZero():
		b.say(Stop, "kubectl -n "+f.Settings.Namespace+" describe pods -l "+
			"app.kubernetes.io/name=karpenter",
			"no controller leads")
	case !c.Clock.At.IsZero() && now.Sub(c.Renewed) > leadFor:
		b.say(Stop, "kubectl -n "+f.Settings.Namespace+" logs -l app.kubernetes.io/name=karpenter",
			"no controller leads: the last one said so at %s", c.Renewed.UTC().Format(time.RFC3339))
	default:
		b.well("a controller leads")
	}
}
