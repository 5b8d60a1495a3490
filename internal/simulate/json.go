package simulate

import (
	"math"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// The shape of the JSON answer. Prices are dollars per hour unless the name says otherwise. Amounts are numbers in one unit each:
// cpu in cores, memory, disk and huge pages in bytes, everything else as it is counted.
type (
	jsonAnswer struct {
		Buy          []jsonPurchase `json:"buy"`
		Fits         []jsonFit      `json:"fits"`
		Left         []jsonLeft     `json:"left"`
		Static       []jsonStatic   `json:"static"`
		PricePerHour float64        `json:"pricePerHour"`
		// Totals count all machines that would be bought, those of static pools included.
		Totals   jsonTotals   `json:"totals"`
		Bound    *jsonBound   `json:"bound,omitempty"`
		CutShort bool         `json:"cutShort"`
		WhatIf   []jsonVaried `json:"whatIf,omitempty"`
		// Refused says what is wrong with a plan that the input holds.
		Refused []string `json:"refused,omitempty"`
		Notes   []string `json:"notes"`
	}
	// jsonBound says what the machines of "buy" would cost at the very least, and how far above that the plan is.
	jsonBound struct {
		PricePerHour float64 `json:"pricePerHour"`
		Tier         string  `json:"tier"`
		GapPercent   float64 `json:"gapPercent"`
		// Ignores names what the bound does not know of these pods and pools; a gap may come from there.
		Ignores []string `json:"ignores"`
	}
	jsonVaried struct {
		What         string  `json:"what"`
		Machines     int     `json:"machines"`
		Left         int     `json:"left"`
		PricePerHour float64 `json:"pricePerHour"`
	}
	jsonTotals struct {
		Machines      int         `json:"machines"`
		PricePerMonth float64     `json:"pricePerMonth"`
		Sizes         []jsonTotal `json:"sizes"`
		Zones         []jsonTotal `json:"zones"`
		CapacityTypes []jsonTotal `json:"capacityTypes"`
		Pools         []jsonTotal `json:"pools"`
	}
	jsonTotal struct {
		Name         string  `json:"name"`
		Machines     int     `json:"machines"`
		PricePerHour float64 `json:"pricePerHour"`
	}
	jsonStatic struct {
		Pool   string         `json:"pool"`
		Buy    []jsonPurchase `json:"buy"`
		Delete []string       `json:"delete"`
		Why    string         `json:"why,omitempty"`
		Detail string         `json:"detail,omitempty"`
	}
	jsonPurchase struct {
		Pool     string       `json:"pool"`
		Offering jsonOffering `json:"offering"`
		// Options is how many offerings hold the pods, the best included.
		Options int `json:"options"`
		// Relaxed is set when these show fewer distinct values than the pool's minValues ask for.
		Relaxed  bool               `json:"relaxed,omitempty"`
		Requests map[string]float64 `json:"requests"`
		Pods     []string           `json:"pods"`
	}
	jsonOffering struct {
		Type         string  `json:"type"`
		Zone         string  `json:"zone"`
		CapacityType string  `json:"capacityType"`
		PricePerHour float64 `json:"pricePerHour"`
	}
	jsonFit struct {
		Pod   string `json:"pod"`
		Node  string `json:"node,omitempty"`
		Claim string `json:"claim,omitempty"`
	}
	jsonLeft struct {
		Pod    string        `json:"pod"`
		Why    string        `json:"why,omitempty"`
		Detail string        `json:"detail,omitempty"`
		Pools  []jsonRefusal `json:"pools"`
	}
	jsonRefusal struct {
		Pool      string        `json:"pool"`
		Why       string        `json:"why"`
		Detail    string        `json:"detail"`
		Offerings int           `json:"offerings"`
		Removed   []jsonRemoved `json:"removed"`
	}
	jsonRemoved struct {
		Why       string `json:"why"`
		What      string `json:"what,omitempty"`
		Offerings int    `json:"offerings"`
	}
)

// JSON prints the answer for machines. Lists are never null.
func (a Answer) JSON() ([]byte, error) {
	out := jsonAnswer{Buy: []jsonPurchase{}, Fits: []jsonFit{}, Left: []jsonLeft{}, Static: []jsonStatic{}, PricePerHour: a.price().Float(),
		CutShort: a.Plan.BudgetExceeded, Notes: append([]string{}, a.Notes...)}
	out.Totals = a.jsonTotals()
	for _, v := range a.WhatIf {
		out.WhatIf = append(out.WhatIf, jsonVaried{v.What, v.Machines, v.Unscheduled, v.Price.Float()})
	}
	for _, p := range a.Plan.NewClaims {
		out.Buy = append(out.Buy, purchase(p))
	}
	if a.Bound != nil {
		out.Bound = &jsonBound{a.Bound.Value.Float(), a.Bound.Tier.String(), math.Round(1e4*a.gap()) / 100, append([]string{}, a.ignored()...)}
	}
	for _, f := range a.Refused {
		out.Refused = append(out.Refused, f.String())
	}
	for _, s := range a.Static {
		j := jsonStatic{Pool: s.Pool, Buy: []jsonPurchase{}, Delete: append([]string{}, s.Delete...), Why: string(s.Why), Detail: s.Detail}
		for _, c := range s.Create {
			j.Buy = append(j.Buy, purchase(c.Purchase))
		}
		out.Static = append(out.Static, j)
	}
	for _, n := range a.Plan.Existing {
		out.Fits = append(out.Fits, jsonFit{n.Pod.String(), n.Node, n.Claim})
	}
	for _, l := range a.Plan.Unscheduled {
		out.Left = append(out.Left, a.jsonLeft(l))
	}
	return indented(out)
}

func purchase(p place.NewClaim) jsonPurchase {
	o := p.Options[0]
	j := jsonPurchase{Pool: p.Pool, Options: len(p.Options), Relaxed: p.Relaxed, Requests: amounts(p.Requests), Pods: []string{},
		Offering: offering(o.Key, o.Price)}
	for _, k := range p.Pods {
		j.Pods = append(j.Pods, k.String())
	}
	return j
}

// amounts are resources as numbers. Bytes up to nine petabytes are exact.
func amounts(r model.Resources) map[string]float64 {
	out := map[string]float64{}
	for _, n := range r.Names() {
		v := float64(r.Get(n))
		if n == model.ResourceCPU {
			v /= 1000
		}
		out[n] = v
	}
	return out
}

func (a Answer) jsonTotals() jsonTotals {
	list := func(name func(string, model.OfferingKey) string) []jsonTotal {
		out := []jsonTotal{}
		for _, t := range a.totals(name) {
			out = append(out, jsonTotal{t.Name, t.Machines, t.Price.Float()})
		}
		return out
	}
	return jsonTotals{len(a.bought()), math.Round(100*a.price().Month()) / 100,
		list(bySize), list(byZone), list(byCapacity), list(byPool)}
}

func (a Answer) jsonRefusal(r place.Refusal) jsonRefusal {
	out := jsonRefusal{Pool: r.Pool, Why: string(r.Why), Detail: r.Detail, Offerings: a.offerings(r.Pool), Removed: []jsonRemoved{}}
	for _, x := range r.Removed {
		out.Removed = append(out.Removed, jsonRemoved{string(x.Why), x.What, x.Offerings})
	}
	return out
}
