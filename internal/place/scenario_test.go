package place_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/plan/offer"
	"github.com/karpenter-aks/karpenter/internal/scenario"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// TestScenarios runs testdata/scenarios: each file's name is the claim that it makes. The commands are
//
//	decide [limit=N] [max-options=N] [ignore-preferences] [best-effort] [requirements]   what to do with the world
//	options claim=NAME                               what a claim may be launched with
//	claims                                           the claims to create for the plan
func TestScenarios(t *testing.T) {
	scenario.Run(t, "testdata/scenarios", scenario.Commands{
		"decide": func(q *scenario.Question) string {
			p := place.Decide(asked(q))
			out := p.String()
			if q.Has("requirements") {
				for _, b := range p.NewClaims {
					out += "asks:\n" + requirementsText(b.Requirements)
				}
			}
			return out
		},
		"options": func(q *scenario.Question) string { return optionsText(q.World(), q.Arg("claim")) },
		"claims": func(q *scenario.Question) string {
			in := asked(q)
			return claimsText(in.World, place.Decide(in))
		},
	})
}

// asked is what a command of a scenario asks.
func asked(q *scenario.Question) place.Input {
	in := place.Input{World: q.World(), Limit: q.IntArg("limit"), MaxOptions: q.IntArg("max-options")}
	if q.Has("ignore-preferences") {
		in.Preferences = place.Ignore
	}
	if q.Has("best-effort") {
		in.MinValues = place.BestEffort
	}
	return in
}

func requirementsText(list []model.Requirement) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "  %s %s %s", r.Key, r.Op, strings.Join(r.Values, " "))
		if r.MinValues > 0 {
			fmt.Fprintf(&b, ", at least %d", r.MinValues)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func optionsText(w model.World, name string) string {
	for _, c := range w.Claims {
		if c.Name != name {
			continue
		}
		list, why := place.OptionsOrWhy(c, w.Catalogs[c.Class])
		if len(list) == 0 {
			return why.String() + "\n"
		}
		var b strings.Builder
		for _, o := range list {
			fmt.Fprintf(&b, "%s %s\n", o.Key, o.Price)
		}
		return b.String()
	}
	return "no such claim\n"
}

func claimsText(w model.World, p place.Plan) string {
	out := model.World{}
	for i, b := range p.NewClaims {
		for _, pool := range w.Pools {
			if pool.Name == b.Pool {
				out.Claims = append(out.Claims, offer.Claim(b, pool, w.Classes[0], offer.ClaimName(b, i, 0)))
			}
		}
	}
	return strings.ReplaceAll(worldtext.Print(out), " ", "\n  ")
}
