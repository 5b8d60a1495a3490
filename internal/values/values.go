// Package values answers: which values does the chart need for this cluster, and who says so?
//
// Facts are what a cluster shows of itself, what Azure's command line prints about it, and what a person says. From them it makes a values file in
// which each value names its source, and a list of what nobody said, with the way to find it. It asks nobody itself.
package values

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Facts are what is known about a cluster. Every field may be empty.
type Facts struct {
	// Given are values that a person named, by path; they win.
	Given map[string]string
	// Answers are what Azure's command line or its API printed, each a resource or a list of them, by file name.
	Answers []Answer
	// Endpoint is the URL of the API server as the kubeconfig has it; Cluster and User are its names there.
	Endpoint, Cluster, User string
	// Issuer is the issuer of service account tokens.
	Issuer string
	// Nodes are the cluster's nodes.
	Nodes []Node
	// DNS is the address of the service kube-dns in kube-system.
	DNS string
	// DaemonSets are the names of those in kube-system.
	DaemonSets []string
	// Karpenter is the environment of an installed Karpenter, and Account its service account.
	Karpenter map[string]string
	Account   Account
}

// Answer is one resource of Azure, or a list of them, as JSON.
type Answer struct {
	Name string
	Data any
}

// Node is what matters of a node.
type Node struct {
	Name, ProviderID string
	Labels           map[string]string
}

// Account is a service account: its name and the client id that it is annotated with.
type Account struct{ Namespace, Name, ClientID string }

// Value is one value that was found.
type Value struct {
	Path string `json:"path"`
	Text string `json:"value"`
	// From says who said so.
	From string `json:"from"`
}

// Missing is one value that nobody said.
type Missing struct {
	Path string `json:"path"`
	// Need says what it is for, Ask how it is found.
	Need string `json:"need"`
	Ask  string `json:"ask"`
}

// Dispute is one value on which sources differ; the first was taken.
type Dispute struct {
	Path  string `json:"path"`
	Taken Value  `json:"taken"`
	Other Value  `json:"other"`
}

// File is what is known of a values file, each part in the order of the chart.
type File struct {
	Values   []Value   `json:"values"`
	Missing  []Missing `json:"missing"`
	Disputes []Dispute `json:"disputes"`
	// Notes are what the person should know and no value says.
	Notes []string `json:"notes"`
}

// Find takes the first of: what was given, Azure's own answers, an installed Karpenter, the cluster's objects. An account's name that differs
// from the chart's default comes along.
func Find(f Facts) File {
	b := &book{found: map[string][]Value{}}
	b.given(f.Given)
	for _, a := range ordered(f.Answers) {
		b.resource(a.Name, a.Data, a.among)
	}
	b.karpenter(f)
	b.objects(f)
	out := File{Notes: b.notes}
	for _, k := range keys() {
		all := b.found[k.path]
		if len(all) == 0 {
			if k.need != "" {
				out.Missing = append(out.Missing, Missing{k.path, k.need, b.ask(k.ask)})
			}
			continue
		}
		out.Values = append(out.Values, all[0])
		for _, v := range all[1:] {
			if !strings.EqualFold(trimmed(v.Text), trimmed(all[0].Text)) {
				out.Disputes = append(out.Disputes, Dispute{k.path, all[0], v})
				break
			}
		}
	}
	if f.Account.Name != "" {
		out.Values = append(out.Values, Value{Path: "serviceAccount.name", Text: f.Account.Name,
			From: "service account " + f.Account.Namespace + "/" + f.Account.Name})
	}
	return out
}

// trimmed makes URLs with and without the port of https, or a slash at the end, the same.
func trimmed(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "/"), ":443") }

type book struct {
	found map[string][]Value // by path, best source first
	notes []string
}

func (b *book) put(path, value, from string) {
	if value != "" {
		b.found[path] = append(b.found[path], Value{Path: path, Text: value, From: from})
	}
}

// choose records a value for which empty is a choice.
func (b *book) choose(path, value, from string) {
	b.found[path] = append(b.found[path], Value{Path: path, Text: value, From: from})
}

// best is the value that stands for a path so far.
func (b *book) best(path string) string {
	if all := b.found[path]; len(all) > 0 {
		return all[0].Text
	}
	return ""
}

// ask fills in what is known already, so that a command can be copied.
func (b *book) ask(command string) string {
	for variable, path := range map[string]string{
		`"$RG"`:   "settings.azure.resourceGroup",
		`"$NAME"`: "settings.clusterName",
		`"$MC"`:   "settings.azure.nodeResourceGroup",
	} {
		if v := b.best(path); v != "" {
			command = strings.ReplaceAll(command, variable, v)
		}
	}
	return command
}

func (b *book) given(all map[string]string) {
	for _, k := range keys() {
		if v, ok := all[k.path]; ok && (v != "" || k.emptyCounts()) {
			b.choose(k.path, v, "--set")
		}
	}
}

// karpenter takes over what an installed Karpenter was told.
func (b *book) karpenter(f Facts) {
	const from = "the installed Karpenter's environment"
	for _, k := range keys() {
		v, ok := f.Karpenter[k.env]
		if k.env == "AZURE_SUBSCRIPTION_ID" || k.env == "AZURE_TENANT_ID" {
			v = cmp.Or(v, f.Karpenter["ARM_"+strings.TrimPrefix(k.env, "AZURE_")])
		}
		switch {
		case ok && v == "" && k.emptyCounts():
			b.choose(k.path, "", from)
		default:
			b.put(k.path, v, from)
		}
	}
	b.put("settings.azure.clientID", f.Account.ClientID,
		"annotation of service account "+f.Account.Namespace+"/"+f.Account.Name)
	b.chosen(f.Karpenter)
}

// Forms in which AKS names things.
var (
	// machineID is the provider ID of a node: subscription and resource group of its machine.
	machineID = regexp.MustCompile(`(?i)^azure:///subscriptions/([^/]+)/resourceGroups/([^/]+)/`)
	// issuerForm is the issuer of an AKS cluster: its region's host, the tenant, the cluster.
	issuerForm = regexp.MustCompile(`^https://[^/]+\.oic\.[^/]*aks[^/]*/([0-9a-fA-F-]{36})/`)
	// userForm is what "az aks get-credentials" calls the person: clusterUser_GROUP_NAME.
	userForm = regexp.MustCompile(`^cluster(User|Admin)_(.+)$`)
)

func (b *book) objects(f Facts) {
	if strings.HasPrefix(f.Endpoint, "https://") {
		b.put("settings.clusterEndpoint", f.Endpoint, "the kubeconfig")
	}
	if m := userForm.FindStringSubmatch(f.User); m != nil && f.Cluster != "" {
		if rg, ok := strings.CutSuffix(m[2], "_"+f.Cluster); ok {
			b.put("settings.clusterName", f.Cluster, "the kubeconfig")
			b.put("settings.azure.resourceGroup", rg, "the kubeconfig")
		}
	}
	if m := issuerForm.FindStringSubmatch(f.Issuer); m != nil {
		b.put("settings.azure.tenantID", m[1], "the issuer of the cluster's tokens")
	}
	b.nodes(f.Nodes)
	b.put("settings.azure.dnsServiceIP", f.DNS, "service kube-system/kube-dns")
	b.network(f)
}

// nodes reads the labels and the machines of the nodes that AKS made.
func (b *book) nodes(all []Node) {
	for _, n := range all {
		from := "node " + n.Name
		if m := machineID.FindStringSubmatch(n.ProviderID); m != nil {
			group := m[2]
			if name := n.Labels["kubernetes.azure.com/cluster"]; strings.EqualFold(name, group) {
				group = name // provider IDs are in lower case
			}
			b.once("settings.azure.subscriptionID", m[1], from)
			b.once("settings.azure.nodeResourceGroup", group, from)
		}
		b.once("settings.azure.location", n.Labels["topology.kubernetes.io/region"], from)
		b.once("settings.azure.kubeletIdentityClientID",
			n.Labels["kubernetes.azure.com/kubelet-identity-client-id"], from)
		b.once("settings.azure.vnetGUID",
			n.Labels["kubernetes.azure.com/nodenetwork-vnetguid"], from)
	}
	b.cluster()
}

// once records a value when it is the first of its kind or another than the last.
func (b *book) once(path, value, from string) {
	all := b.found[path]
	if len(all) == 0 || !strings.EqualFold(all[len(all)-1].Text, value) {
		b.put(path, value, from)
	}
}

// cluster reads the group of the nodes, MC_GROUP_CLUSTER_REGION, where it can be read in one way only.
func (b *book) cluster() {
	group, region := b.best("settings.azure.nodeResourceGroup"), b.best("settings.azure.location")
	low := strings.ToLower(group)
	if region == "" || !strings.HasPrefix(low, "mc_") || !strings.HasSuffix(low, "_"+region) {
		return
	}
	middle := strings.Split(group[len("mc_"):len(group)-len("_"+region)], "_")
	if len(middle) != 2 {
		return
	}
	from := "the name of resource group " + group
	if len(b.found["settings.azure.resourceGroup"]) == 0 {
		b.put("settings.azure.resourceGroup", middle[0], from)
	}
	if len(b.found["settings.clusterName"]) == 0 {
		b.put("settings.clusterName", middle[1], from)
	}
}

// network tells how pods get addresses, by the labels that AKS puts on the nodes of each kind and by its DaemonSets.
func (b *book) network(f Facts) {
	i := slices.IndexFunc(f.Nodes, func(n Node) bool {
		return n.Labels["kubernetes.azure.com/azure-cni-overlay"] == "true" ||
			n.Labels["kubernetes.azure.com/podnetwork-type"] == "overlay"
	})
	has := func(name string) bool { return slices.Contains(f.DaemonSets, name) }
	if i >= 0 {
		from := "labels of node " + f.Nodes[i].Name
		b.put("settings.azure.networkPlugin", "azure", from)
		b.put("settings.azure.networkPluginMode", "overlay", from)
	}
	switch {
	case has("cilium") && has("azure-cns"):
		b.put("settings.azure.networkDataplane", "cilium", "DaemonSet kube-system/cilium")
	case has("azure-cns") && has("kube-proxy"):
		b.put("settings.azure.networkDataplane", "azure", "DaemonSet kube-system/kube-proxy")
	}
	for name, policy := range map[string]string{"cilium": "cilium", "azure-npm": "azure"} {
		if has(name) {
			b.put("settings.azure.networkPolicy", policy, "DaemonSet kube-system/"+name)
		}
	}
	i = slices.IndexFunc(f.Nodes, func(n Node) bool {
		return n.Labels["kubernetes.azure.com/podnetwork-subnet"] != ""
	})
	if i >= 0 {
		b.notes = append(b.notes, fmt.Sprintf("node %s takes addresses for pods from a subnet of "+
			"their own, which the controller cannot set up on new machines", f.Nodes[i].Name))
	}
}

// MachineOf reads the subscription and the resource group in a node's provider ID; both "" when it is none of Azure's.
func MachineOf(providerID string) (subscription, group string) {
	if m := machineID.FindStringSubmatch(providerID); m != nil {
		return m[1], m[2]
	}
	return "", ""
}
