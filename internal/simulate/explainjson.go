package simulate

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/internal/budget"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

// The shape of what explain says, for machines. Units are those of the answer of simulate: prices in dollars per hour, cpu in cores,
// memory in bytes.
type (
	jsonPod struct {
		Pod      string             `json:"pod"`
		Requests map[string]float64 `json:"requests"`
		// State is running, fits, bought, left-over or idle; Idle says in words why nothing is done for the pod.
		State string        `json:"state"`
		Idle  string        `json:"idle,omitempty"`
		Node  string        `json:"node,omitempty"`
		Claim string        `json:"claim,omitempty"`
		Buy   *jsonPurchase `json:"buy,omitempty"`
		// Left is set when the pod is left over, with the remedies by reason and what would let it in.
		Left      *jsonLeft         `json:"left,omitempty"`
		Remedies  map[string]string `json:"remedies,omitempty"`
		Ways      []jsonWay         `json:"ways,omitempty"`
		Tried     int               `json:"tried,omitempty"`
		Questions int               `json:"questions,omitempty"`
		Notes     []string          `json:"notes"`
	}
	jsonWay struct {
		Object string `json:"object"`
		Field  string `json:"field"`
		From   string `json:"from"`
		To     string `json:"to"`
		// Exactly one of Node, Claim and Offering is set.
		Node     string        `json:"node,omitempty"`
		Claim    string        `json:"claim,omitempty"`
		Pool     string        `json:"pool,omitempty"`
		Offering *jsonOffering `json:"offering,omitempty"`
		// With counts other pods on the same new machine, Also those that had no place and get one.
		With int `json:"with"`
		Also int `json:"also"`
		// MorePerHour is by how much the whole plan is dearer.
		MorePerHour float64 `json:"morePerHour"`
	}
	jsonClaim struct {
		Claim     string             `json:"claim,omitempty"`
		Node      string             `json:"node,omitempty"`
		Pool      string             `json:"pool,omitempty"`
		Offering  *jsonOffering      `json:"offering,omitempty"`
		Requests  map[string]float64 `json:"requests,omitempty"`
		BoughtFor []string           `json:"boughtFor,omitempty"`
		// Sizes are the others that would do for what it asked for, and the cheaper ones that would not, by price.
		Sizes []jsonSize `json:"sizes,omitempty"`
		// Next is what is done next about it; absent when nothing is.
		Next   *jsonNext    `json:"next,omitempty"`
		Holds  *jsonHolds   `json:"holds,omitempty"`
		Stays  *jsonVerdict `json:"stays,omitempty"`
		Leaves *jsonVerdict `json:"leaves,omitempty"`
		AsOf   time.Time    `json:"asOf"`
		Notes  []string     `json:"notes"`
	}
	jsonSize struct {
		Type         string  `json:"type"`
		PricePerHour float64 `json:"pricePerHour"`
		// Why is set when the size would not do.
		Why    string `json:"why,omitempty"`
		Detail string `json:"detail,omitempty"`
	}
	jsonNext struct {
		Do     string `json:"do"`
		Why    string `json:"why"`
		Detail string `json:"detail,omitempty"`
		Remedy string `json:"remedy,omitempty"`
		// HeldBy are the pods that keep a node which leaves.
		HeldBy []jsonHolder `json:"heldBy,omitempty"`
	}
	jsonHolder struct {
		Pod    string `json:"pod"`
		Why    string `json:"why"`
		Detail string `json:"detail,omitempty"`
	}
	jsonHolds struct {
		Pods    int                `json:"pods"`
		Movable int                `json:"movable"`
		Used    map[string]float64 `json:"used"`
		Room    map[string]float64 `json:"room"`
	}
	jsonVerdict struct {
		Why          string         `json:"why"`
		Detail       string         `json:"detail,omitempty"`
		Remedy       string         `json:"remedy,omitempty"`
		Pods         int            `json:"pods,omitempty"`
		SavesPerHour float64        `json:"savesPerHour,omitempty"`
		With         []string       `json:"with,omitempty"`
		Buy          []jsonPurchase `json:"buy,omitempty"`
	}
	jsonPool struct {
		Pool         string                 `json:"pool"`
		Class        string                 `json:"class"`
		Ready        bool                   `json:"ready"`
		Claims       int                    `json:"claims"`
		PricePerHour float64                `json:"pricePerHour"`
		Limits       map[string]jsonLimit   `json:"limits"`
		MayLeave     map[string]int         `json:"mayLeave"` // by reason; -1 = any number
		Stay         map[string]jsonStaying `json:"stay"`     // by reason
		AsOf         time.Time              `json:"asOf"`
		Notes        []string               `json:"notes"`
	}
	jsonLimit struct {
		Used float64 `json:"used"`
		Most float64 `json:"most"`
	}
	jsonStaying struct {
		Claims []string `json:"claims"`
		Remedy string   `json:"remedy,omitempty"`
	}
	jsonClass struct {
		Class             string   `json:"class"`
		Ready             bool     `json:"ready"`
		KubernetesVersion string   `json:"kubernetesVersion,omitempty"`
		Images            int      `json:"images"`
		Pools             []string `json:"pools"`
		Claims            int      `json:"claims"`
		Notes             []string `json:"notes"`
	}
)

func indented(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

// ExplainJSON is Explain for machines.
func (a Answer) ExplainJSON(key model.PodKey) (text []byte, ok bool, err error) {
	i := slices.IndexFunc(a.World.Pods, func(p model.Pod) bool { return p.Key() == key })
	if i < 0 {
		return nil, false, nil
	}
	pod := a.World.Pods[i]
	out := jsonPod{Pod: key.String(), Requests: amounts(pod.Requests), State: "idle", Notes: append([]string{}, a.Notes...)}
	if pod.Node != "" {
		out.State, out.Node = "running", pod.Node
	}
	for _, n := range a.Plan.Existing {
		if n.Pod == key {
			out.State, out.Node, out.Claim = "fits", n.Node, n.Claim
		}
	}
	for _, c := range a.Plan.NewClaims {
		if slices.Contains(c.Pods, key) {
			out.State, out.Buy = "bought", new(purchase(c))
		}
	}
	for _, l := range a.Plan.Unscheduled {
		if l.Pod != key {
			continue
		}
		out.State, out.Left, out.Remedies = "left-over", new(a.jsonLeft(l)), map[string]string{}
		for _, why := range append([]model.Why{l.Why}, refusedFor(l)...) {
			if r := why.Remedy(); r != "" {
				out.Remedies[string(why)] = r
			}
		}
		if err := a.jsonWays(&out, key); err != nil {
			return nil, false, err
		}
	}
	if out.State == "idle" {
		out.Idle = idle(pod)
	}
	text, err = indented(out)
	return text, true, err
}

func (a Answer) jsonWays(out *jsonPod, key model.PodKey) error {
	x, err := a.WaysIn(key)
	if err != nil {
		return err
	}
	out.Tried, out.Questions = x.Tried, x.Questions
	for _, w := range x.Ways {
		j := jsonWay{w.Object, w.Field, w.From, w.To, w.Node, w.Claim, w.Pool, nil, w.With, w.Also, w.More.Float()}
		if w.Pool != "" {
			j.Offering = new(offering(w.Offering, w.Price))
		}
		out.Ways = append(out.Ways, j)
	}
	return nil
}

func offering(k model.OfferingKey, p model.Price) jsonOffering {
	return jsonOffering{k.Type, k.Zone, k.CapacityType, p.Float()}
}

func (a Answer) jsonLeft(l place.Unscheduled) jsonLeft {
	j := jsonLeft{Pod: l.Pod.String(), Why: string(l.Why), Detail: l.Detail, Pools: []jsonRefusal{}}
	for _, r := range l.Refusals {
		j.Pools = append(j.Pools, a.jsonRefusal(r))
	}
	return j
}

// NodeJSON is ExplainNode for machines.
func (a Answer) NodeJSON(name string, d Disruption) (text []byte, ok bool, err error) {
	w := a.World.Indexed()
	n := w.Index.Node(name)
	if n == nil {
		return nil, false, nil
	}
	text, err = indented(a.jsonClaim(w, w.Index.ClaimOf(n), n, d))
	return text, true, err
}

// ClaimJSON is ExplainClaim for machines.
func (a Answer) ClaimJSON(name string, d Disruption) (text []byte, ok bool, err error) {
	w := a.World.Indexed()
	c := w.Index.Claim(name)
	if c == nil {
		return nil, false, nil
	}
	text, err = indented(a.jsonClaim(w, c, w.Index.NodeBy(c.ProviderID), d))
	return text, true, err
}

func (a Answer) jsonClaim(w model.World, c *model.Claim, n *model.Node, d Disruption) jsonClaim {
	out := jsonClaim{AsOf: a.Now.UTC(), Notes: append([]string{}, a.Notes...)}
	if n != nil {
		on := w.Index.On(n.Name)
		out.Node = n.Name
		out.Holds = &jsonHolds{len(on.Pods), on.Tenants, amounts(on.Used), amounts(n.Allocatable)}
	}
	if c == nil {
		return out
	}
	out.Claim, out.Pool, out.Requests = c.Name, c.Pool, amounts(c.Requests)
	for _, k := range planned.Pods(*c) {
		out.BoughtFor = append(out.BoughtFor, k.String())
	}
	if price, sold := a.priceOf(c, c.Offering()); sold {
		out.Offering = new(offering(c.Offering(), price))
		others, _, _ := a.sizesOf(w, c)
		for _, x := range others {
			if x.best.Key.Type != "" || x.price < price {
				out.Sizes = append(out.Sizes, jsonSize{x.name, x.price.Float(), string(x.why.Why), x.why.Detail})
			}
		}
	}
	if next, ok := a.next(w, c, d); ok {
		out.Next = next.json()
	}
	for _, k := range d.Kept {
		if k.Claim == c.Name {
			out.Stays = &jsonVerdict{Why: string(k.Why), Detail: k.Detail, Remedy: k.Why.Remedy()}
		}
	}
	for _, m := range d.Moves {
		if slices.Contains(m.Claims, c.Name) {
			out.Leaves = &jsonVerdict{Why: string(m.Why), Detail: m.Detail, Pods: m.Pods, SavesPerHour: m.Saves.Float(), With: others(m.Claims, c.Name)}
			for _, x := range m.Buy {
				out.Leaves.Buy = append(out.Leaves.Buy, purchase(x))
			}
		}
	}
	return out
}

// PoolJSON is ExplainPool for machines.
func (a Answer) PoolJSON(name string, d Disruption) (text []byte, ok bool, err error) {
	i := slices.IndexFunc(a.World.Pools, func(p model.Pool) bool { return p.Name == name })
	if i < 0 {
		return nil, false, nil
	}
	p, w := a.World.Pools[i], a.World.Indexed()
	held, claims, _ := a.held(w, p)
	out := jsonPool{Pool: name, Class: p.Class.String(), Ready: p.Ready(), Claims: claims, PricePerHour: held.price.Float(),
		Limits: map[string]jsonLimit{}, MayLeave: map[string]int{}, Stay: map[string]jsonStaying{}, AsOf: a.Now.UTC(), Notes: append([]string{}, a.Notes...)}
	for _, r := range slices.Sorted(maps.Keys(p.Limits)) {
		used, most := held.resources.Get(r), p.Limits[r]
		if r == model.ResourceNodes {
			used = held.nodes
		}
		scale := 1.0
		if r == model.ResourceCPU {
			scale = 1000
		}
		out.Limits[r] = jsonLimit{float64(used) / scale, float64(most) / scale}
	}
	for _, r := range d.Rooms {
		for reason, n := range r.Left {
			if r.Pool != name {
				continue
			}
			if n == budget.Unlimited {
				n = -1
			}
			out.MayLeave[reason] = n
		}
	}
	for _, k := range d.Kept {
		if c := w.Index.Claim(k.Claim); c != nil && c.Pool == name {
			was := out.Stay[string(k.Why)]
			out.Stay[string(k.Why)] = jsonStaying{append(was.Claims, k.Claim), k.Why.Remedy()}
		}
	}
	text, err = indented(out)
	return text, true, err
}

// ClassJSON is ExplainClass for machines.
func (a Answer) ClassJSON(name string) (text []byte, ok bool, err error) {
	i := slices.IndexFunc(a.World.Classes, func(c model.Class) bool { return c.Ref.Name == name })
	if i < 0 {
		return nil, false, nil
	}
	c := a.World.Classes[i]
	out := jsonClass{Class: c.Ref.String(), Ready: c.Ready(), KubernetesVersion: c.KubernetesVersion, Images: len(c.Images), Pools: []string{},
		Notes: append([]string{}, a.Notes...)}
	for _, p := range a.World.Pools {
		if p.Class == c.Ref {
			out.Pools = append(out.Pools, p.Name)
		}
	}
	for i := range a.World.Claims {
		if a.World.Claims[i].Class == c.Ref {
			out.Claims++
		}
	}
	text, err = indented(out)
	return text, true, err
}
