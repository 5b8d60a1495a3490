package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// audience is whom workload identity's tokens are for in the public clouds' default.
const audience = "api://AzureADTokenExchange"

// advice is what to do about a refusal of the token endpoint, by Entra's documented codes.
func advice(code string) string {
	switch code {
	case "AADSTS700016":
		return "settings.azure.clientID names no identity of this tenant: az identity list -o table"
	case "AADSTS90002", "AADSTS900023":
		return "settings.azure.tenantID names no tenant: az account show --query tenantId"
	case "AADSTS70021", "AADSTS700211", "AADSTS700212", "AADSTS700213":
		return "make a federated credential for exactly this issuer, subject and audience (see " +
			"federation)"
	case "AADSTS700024":
		return "the service account's token is not valid now: look at the clocks"
	}
	return "look up the code at https://login.microsoftonline.com/error"
}

// federated are Entra's codes for credentials that do not match.
func federated(code string) bool {
	return slices.Contains([]string{"AADSTS70021", "AADSTS700211", "AADSTS700212",
		"AADSTS700213"}, code)
}

func (s Settings) subject() string {
	return "system:serviceaccount:" + s.Namespace + ":" + s.Account
}

func federation(b *book, f Facts) {
	s, issuer := f.Settings, f.Cluster.Issuer
	if f.Cluster.Unreached == "" {
		if !strings.HasPrefix(issuer, "https://") {
			b.say(Stop, `az aks update -g "$RG" -n "$NAME" --enable-oidc-issuer `+
				"--enable-workload-identity",
				"the cluster's tokens have the issuer %q, which Azure cannot read", issuer)
		}
		if !f.Cluster.Webhook {
			b.say(Stop, `az aks update -g "$RG" -n "$NAME" --enable-workload-identity`,
				"there is no webhook of workload identity: pods get no token for Azure")
		}
		if a := f.Cluster.AccountClientID; f.Cluster.Installed && !strings.EqualFold(a,
			s.ClientID) {
			b.say(Stop, "set settings.azure.clientID, and install again",
				"service account %s/%s is annotated with client id %q, the settings say %q",
				s.Namespace, s.Account, a, s.ClientID)
		}
	}
	create := fmt.Sprintf("az identity federated-credential create --name karpenter "+
		"--identity-name %s "+
		"--resource-group %s \\\n  --issuer %s \\\n  --subject %s \\\n  --audience %s",
		cmp.Or(f.Azure.Identity, `"$IDENTITY"`), cmp.Or(f.Azure.Group, `"$RG"`),
		cmp.Or(issuer, `"$ISSUER"`), s.subject(), audience)
	switch {
	case federated(f.Azure.Code):
		b.say(Stop, create, "Azure knows no federated credential for the controller's token: %s "+
			"(%s)",
			f.Azure.Code, f.Azure.Unreached)
	case f.Azure.Unreached == "" && f.Azure.Controller:
		b.well("Azure took the controller's own token")
	case f.Azure.Credentials == nil:
		b.say(Note, create, "the identity's federated credentials could not be seen; it needs "+
			"this one")
	default:
		b.credentials(f, create)
	}
}

// credentials looks for the one that fits, and says of the nearest what does not.
func (b *book) credentials(f Facts, do string) {
	var near []string
	for _, c := range f.Azure.Credentials {
		var bad []string
		if strings.TrimSuffix(c.Issuer, "/") != strings.TrimSuffix(f.Cluster.Issuer, "/") {
			bad = append(bad, fmt.Sprintf("issuer %s instead of %s", c.Issuer, f.Cluster.Issuer))
		}
		if c.Subject != f.Settings.subject() {
			bad = append(bad, fmt.Sprintf("subject %s instead of %s", c.Subject,
				f.Settings.subject()))
		}
		if !slices.Contains(c.Audiences, audience) {
			bad = append(bad, fmt.Sprintf("audience %s instead of %s", strings.Join(c.Audiences,
				","), audience))
		}
		if len(bad) == 0 {
			b.well("federated credential %s fits the controller's service account", c.Name)
			return
		}
		near = append(near, c.Name+" has "+strings.Join(bad, ", "))
	}
	b.say(Stop, do, "no federated credential of identity %s fits%s", f.Azure.Identity,
		map[bool]string{true: "", false: ": " + some(near)}[len(near) == 0])
}

func azure(b *book, f Facts) {
	a := f.Azure
	if a.Unreached == "" {
		for _, h := range a.Hidden {
			b.say(Note, "look as somebody who may read it (Reader): az login",
				"not looked at: %s", h)
		}
		b.well("Azure answers")
		return
	}
	switch {
	case a.Code != "" && a.Controller:
		b.say(Stop, advice(a.Code), "Azure takes nobody for the controller: %s: %s", a.Code,
			a.Unreached)
	case a.Code != "":
		b.say(Unknown, "az login, as somebody who may read the cluster's groups",
			"Azure takes nobody for you: %s: %s", a.Code, a.Unreached)
	default:
		b.say(Unknown, "az login; or look from the controller's pod: kubectl -n "+
			""+f.Settings.Namespace+
			" exec deploy/karpenter -- /karpenter doctor", "Azure cannot be asked: %s", a.Unreached)
	}
}

// managed looks at what AKS itself does on the cluster.
func managed(b *book, f Facts) {
	if !f.Azure.Asked["aks"] {
		return
	}
	m := f.Azure.Managed
	if m.Provisioning {
		b.say(Stop, `az aks update -g "$RG" -n "$NAME" --node-provisioning-mode Manual`,
			"AKS runs a Karpenter of its own (node auto-provisioning): both would act on the same "+
				"NodePools")
	}
	if len(m.Autoscaled) > 0 {
		b.say(Note, "switch it off for pools that Karpenter is to replace: az aks nodepool update "+
			"--disable-cluster-autoscaler", "the cluster autoscaler works on pool %s, and would "+
			"buy for "+
			"the same pods", strings.Join(m.Autoscaled, ", "))
	}
	b.well("nothing that AKS does on the cluster is in Karpenter's way")
}

func roles(b *book, f Facts) {
	a := f.Azure
	if a.Unreached != "" {
		return
	}
	for _, d := range a.Denied {
		b.say(Stop, "assign the roles of deploy/azure as docs/azure-roles.md says; a new "+
			"assignment takes "+
			"some minutes to count", "Azure refuses the controller: %s", d)
	}
	if a.Grants == nil {
		b.say(Note, "look as somebody who may read role assignments (Reader): az login",
			"the assigned roles could not be read; what the controller may write was not looked at")
		return
	}
	for _, n := range a.Needs {
		var lacks []string
		for _, action := range n.Actions {
			if !granted(a.Grants, action, n.Scope) {
				lacks = append(lacks, action)
			}
		}
		if len(lacks) > 0 {
			b.say(Stop, fmt.Sprintf("az role assignment create --assignee %s --role %q --scope %s",
				f.Settings.ClientID, n.Role, n.Scope),
				"the controller lacks %d of %d rights on %s: %s", len(lacks), len(n.Actions),
				n.Scope, some(lacks))
		}
	}
	b.well("the controller has every right of the roles in deploy/azure")
}

// granted reports whether any grant allows an action at a scope. What a role excludes counts within this role alone, as in Azure.
func granted(all []Grant, action, scope string) bool {
	return slices.ContainsFunc(all, func(g Grant) bool {
		return within(scope, g.Scope) && matches(g.Actions, action) && !matches(g.NotActions,
			action)
	})
}

func within(id, scope string) bool {
	id, scope = strings.ToLower(id), strings.ToLower(strings.TrimSuffix(scope, "/"))
	return id == scope || strings.HasPrefix(id, scope+"/")
}

func matches(patterns []string, action string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return wildcard(strings.ToLower(p), strings.ToLower(action))
	})
}

// wildcard matches a pattern in which each * stands for any text.
func wildcard(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	for i := range len(s) + 1 {
		if wildcard(rest, s[i:]) {
			return true
		}
	}
	return false
}

const (
	// Azure keeps five addresses of each range (documentation "Azure Virtual Network FAQ").
	reserved = 5
	// fewMachines is how many machines a subnet should still have room for.
	fewMachines = 20
	// podsPerMachine is how many addresses a machine takes whose pods have addresses of the subnet, by default.
	podsPerMachine = 31
)

func subnet(b *book, f Facts) {
	s := f.Azure.Subnet
	switch {
	case !f.Azure.Asked["subnet"]:
		return
	case s.Missing:
		b.say(Stop, "set settings.azure.vnetSubnetID: az network vnet subnet list shows the ids",
			"there is no subnet %s, or the controller may not read it", f.Settings.SubnetID)
		return
	case s.Delegated != "":
		b.say(Stop, "name another subnet", "subnet %s is delegated to %s: no machine can be in it",
			f.Settings.SubnetID, s.Delegated)
	}
	room := -s.Used
	for _, p := range s.Prefixes {
		_, length, _ := strings.Cut(p, "/")
		bits, err := strconv.Atoi(length)
		if err == nil && !strings.Contains(p, ":") && bits >= 0 && bits <= 32 {
			room += 1<<(32-bits) - reserved
		}
	}
	each := 1
	if !f.Settings.Overlay {
		each = podsPerMachine
	}
	n := max(0, room) / each
	switch {
	case n == 0:
		b.say(Stop, "name a larger subnet in the AKSNodeClass (vnetSubnetID), or free addresses",
			"the subnet has no address left for a machine: %d of %s are taken", s.Used,
			strings.Join(s.Prefixes, ", "))
	case n < fewMachines:
		b.say(Note, "before more are needed, name a larger subnet in the AKSNodeClass "+
			"(vnetSubnetID)", "the subnet has room for %d more machines", n)
	default:
		b.well("the subnet has room for %d more machines", n)
	}
}

// someCores is what the smallest useful machine takes.
const someCores = 2

func quota(b *book, f Facts) {
	if !f.Azure.Asked["quota"] {
		return
	}
	var open, full []string
	for _, u := range f.Azure.Usages {
		left := u.Limit - u.Used
		switch {
		case strings.EqualFold(u.Name, "cores"):
			if left < someCores {
				b.say(Stop, "ask for more: https://portal.azure.com, Quotas, Compute",
					"the region's quota is used up: %d of %d cores", u.Used, u.Limit)
			}
		case strings.EqualFold(u.Name, "lowPriorityCores"):
			if left < someCores {
				b.say(Note, "ask for more where NodePools allow spot: https://portal.azure.com, "+
					"Quotas, Compute",
					"there is no quota for spot machines: %d of %d cores are used",
					u.Used, u.Limit)
			}
		case !strings.HasSuffix(strings.ToLower(u.Name), "family"):
		case left >= someCores:
			open = append(open, u.Name)
		case u.Used > 0:
			full = append(full, cmp.Or(u.Words, u.Name))
		}
	}
	if len(full) > 0 {
		b.say(Note, "ask for more where NodePools need one of them; others are bought meanwhile",
			"families that are used up: %s", some(full))
	}
	if len(open) == 0 {
		b.say(Stop, "ask for quota of a family that the NodePools allow",
			"no family of sizes has quota left")
	}
	b.well("%d families of sizes have quota left", len(open))
}

func sizes(b *book, f Facts) {
	if !f.Azure.Asked["sizes"] {
		return
	}
	if f.Azure.Sizes == 0 {
		b.say(Stop, "look whether the subscription may use the region: az vm list-skus --location "+
			f.Settings.Location, "Azure sells no size in %s to the subscription",
			f.Settings.Location)
	}
	b.well("Azure sells %d sizes in %s", f.Azure.Sizes, f.Settings.Location)
}

func galleries(b *book, f Facts) {
	if !f.Azure.Asked["gallery"] {
		return
	}
	for _, g := range f.Azure.Galleries {
		if g.Versions == 0 {
			b.say(Stop, "the subscription needs "+
				"Microsoft.Compute/locations/communityGalleries/images/"+
				"versions/read, and a policy must not forbid community galleries",
				"image %s of gallery %s shows no version: %s", g.Image, g.Name, cmp.Or(g.Why,
					"there is none"))
		}
	}
	b.well("%d public galleries of node images can be read", len(f.Azure.Galleries))
}

func prices(b *book, f Facts) {
	switch {
	case !f.Azure.Asked["prices"]:
	case f.Azure.Prices == 0:
		b.say(Note, "let the controller reach https://prices.azure.com; without prices it cannot "+
			"tell which "+
			"machines are cheap", "no price could be read: %s", f.Azure.NoPrices)
	default:
		b.say(OK, "", "the price list answers")
	}
}
