// Package drift answers: is this node still what its NodePool and its class ask for?
//
// Wanted.Of compares a claim and its node with the pool, the class and the catalogue as they are now, and names the first difference. It is pure,
// and neither writes the Drifted condition (lifecycle says what to write) nor decides when a drifted node leaves (disrupt).
// Reasons are those of Karpenter and of its Azure provider, in the order in which these look.
package drift

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// Reasons of the Drifted condition, as dashboards and scripts know them.
const (
	// NodePool: the template of the NodePool is another one.
	NodePool = "NodePoolDrifted"
	// Requirements: the NodePool's requirements exclude the node's labels.
	Requirements = "RequirementsDrifted"
	// TypeNotFound: the cloud does not know the size any more.
	TypeNotFound = "InstanceTypeNotFound"
	// Class: the spec of the class is another one.
	Class = "NodeClassDrift"
	// KubernetesDrift: the kubelet is of another version than the class asks for.
	KubernetesDrift = "K8sVersionDrift"
	// KubeletIdentity: the node runs under another kubelet identity.
	KubeletIdentity = "KubeletIdentityDrift"
	// ImageDrift: the class does not list the node's image any more.
	ImageDrift = "ImageDrift"
)

// TypePatience is how long a size must be missing from the catalogue before a node of it counts as drifted: an answer of the cloud may
// leave something out.
const TypePatience = time.Hour

// LabelKubeletIdentity is the label by which nodes of AKS say which kubelet identity they run under.
const LabelKubeletIdentity = "kubernetes.azure.com/kubelet-identity-client-id"

// Wanted is what nodes of a pool should be.
type Wanted struct {
	pool     *model.Pool
	class    *model.Class
	required require.Set
	types    map[string]bool // that the cloud lists; empty when it is not known
	identity string
}

// Want says what nodes of a pool should be, by its class and catalogue. pool and class are nil where there are none; identity is the client id
// of the kubelet identity that new nodes get, "" when it is not known. O(types).
func Want(pool *model.Pool, class *model.Class, catalog model.Catalog, identity string) Wanted {
	w := Wanted{
		pool:     pool,
		class:    class,
		types:    make(map[string]bool, len(catalog.Types)),
		identity: identity,
	}
	if pool != nil {
		w.required = require.New(pool.Requirements)
	}
	for i := range catalog.Types {
		w.types[catalog.Types[i].Name] = true
	}
	return w
}

// Finding is the first difference; without Reason there is none.
type Finding struct {
	Reason  string // of the condition
	Message string // what it was and what it is to be
	// Patience is how long the difference must last before it counts.
	Patience time.Duration
}

// Of compares a claim and its node with what they should be. A claim without pool, or without class, is never drifted: nobody says what it
// should be. O(requirements + images).
func (w Wanted) Of(c *model.Claim, n *model.Node) Finding {
	if w.pool == nil || w.class == nil {
		return Finding{}
	}
	looks := []func(*model.Claim, *model.Node) Finding{w.template, w.requirements, w.instanceType,
		w.spec, w.kubernetes, w.kubeletIdentity, w.image}
	for _, look := range looks {
		f := look(c, n)
		if f.Reason != "" {
			return f
		}
	}
	return Finding{}
}

// template compares hashes. Those that were made by different rules say nothing about each other.
func (w Wanted) template(c *model.Claim, _ *model.Node) Finding {
	return hashes(
		c,
		model.AnnotationPoolHash,
		w.pool.Hash,
		w.pool.HashVersion,
		NodePool,
		"the template of NodePool "+w.pool.Name,
	)
}

func (w Wanted) spec(c *model.Claim, _ *model.Node) Finding {
	return hashes(
		c,
		classHash(c.Class),
		w.class.Hash,
		w.class.HashVersion,
		Class,
		"the spec of "+w.class.Ref.String(),
	)
}

func hashes(c *model.Claim, key, now, version, reason, what string) Finding {
	was := c.Annotations[key]
	if was == "" || now == "" || was == now || c.Annotations[key+"-version"] != version {
		return Finding{}
	}
	return Finding{
		Reason:  reason,
		Message: fmt.Sprintf("%s has changed: its hash was %s and is %s", what, was, now),
	}
}

// classHash is the annotation that has the hash of a claim's class, "karpenter.azure.com/aksnodeclass-hash".
func classHash(r model.ClassRef) string { return r.Group + "/" + strings.ToLower(r.Kind) + "-hash" }

func (w Wanted) requirements(c *model.Claim, _ *model.Node) Finding {
	refused, ok := w.required.Allows(c.Labels)
	if ok {
		return Finding{}
	}
	has := c.Labels[refused]
	return Finding{
		Reason: Requirements,
		Message: fmt.Sprintf(
			"NodePool %s does not allow %s=%s any more",
			w.pool.Name,
			refused,
			has,
		),
	}
}

func (w Wanted) instanceType(c *model.Claim, _ *model.Node) Finding {
	name := c.Labels[model.LabelInstanceType]
	if name == "" || len(w.types) == 0 || w.types[name] {
		return Finding{}
	}
	return Finding{
		Reason:   TypeNotFound,
		Message:  "the cloud does not list instance type " + name,
		Patience: TypePatience,
	}
}

func (w Wanted) kubernetes(_ *model.Claim, n *model.Node) Finding {
	want, have := strings.TrimPrefix(
		w.class.KubernetesVersion,
		"v",
	), strings.TrimPrefix(
		n.KubeletVersion,
		"v",
	)
	if want == "" || have == "" || want == have ||
		!model.IsTrue(w.class.Conditions, model.KubernetesVersionReady) {
		return Finding{}
	}
	return Finding{
		Reason:  KubernetesDrift,
		Message: fmt.Sprintf("the kubelet is of version %s, and the class asks for %s", have, want),
	}
}

func (w Wanted) kubeletIdentity(_ *model.Claim, n *model.Node) Finding {
	have := n.Labels[LabelKubeletIdentity]
	if have == "" || w.identity == "" || strings.EqualFold(have, w.identity) {
		return Finding{}
	}
	return Finding{
		Reason:  KubeletIdentity,
		Message: fmt.Sprintf("the kubelet identity is %s, and new nodes get %s", have, w.identity),
	}
}

// image looks for the claim's image among those of the class. Resource ids of Azure do not tell upper and lower case apart.
func (w Wanted) image(c *model.Claim, _ *model.Node) Finding {
	id := c.ImageID
	if id == "" || len(w.class.Images) == 0 ||
		!model.IsTrue(w.class.Conditions, model.ImagesReady) {
		return Finding{}
	}
	if slices.ContainsFunc(
		w.class.Images,
		func(i model.Image) bool { return strings.EqualFold(i.ID, id) },
	) {
		return Finding{}
	}
	return Finding{Reason: ImageDrift, Message: "the class does not list image " + id + " any more"}
}

// Backfill names the annotations to write on a claim whose hashes were made by older rules: without them nobody could tell whether it
// drifts. A claim that is drifted already keeps what it has.
func (w Wanted) Backfill(c *model.Claim) map[string]string {
	if w.pool == nil || w.class == nil || model.IsTrue(c.Conditions, model.Drifted) {
		return nil
	}
	out := map[string]string{}
	for key, now := range map[string][2]string{
		model.AnnotationPoolHash: {w.pool.Hash, w.pool.HashVersion},
		classHash(c.Class):       {w.class.Hash, w.class.HashVersion},
	} {
		have := c.Annotations[key+"-version"]
		if now[0] != "" && now[1] != "" && have != "" && have != now[1] {
			out[key], out[key+"-version"] = now[0], now[1]
		}
	}
	return out
}
