package evidence

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// Noun begins each line of a plan.
const Noun = "plan"

// unsaid stands for the words that the notation leaves out.
const unsaid = "as the controller said"

func printPlan(b *strings.Builder, p place.Plan) {
	for _, x := range p.NewClaims {
		// What a claim has in common with a purchase is written as a claim.
		claim := worldtext.Print(model.World{Claims: []model.Claim{{Name: "it", Pool: x.Pool, Class: x.Class, Requirements: x.Requirements, Requests: x.Requests}}})
		b.WriteString(Noun + " buy" + strings.TrimPrefix(strings.TrimSuffix(claim, "\n"), "claim it"))
		for _, o := range x.Options {
			fmt.Fprintf(b, " option=%s/%s/%s/%s", o.Key.Type, o.Key.Zone, o.Key.CapacityType, dollars(o.Price))
		}
		var pods []string
		for _, k := range x.Pods {
			pods = append(pods, k.String())
		}
		if x.Relaxed {
			b.WriteString(" relaxed")
		}
		fmt.Fprintf(b, " pods=%s\n", strings.Join(pods, ","))
	}
	for _, x := range p.Existing {
		where := "node=" + x.Node
		if x.Node == "" {
			where = "claim=" + x.Claim
		}
		fmt.Fprintf(b, "%s fit %s %s\n", Noun, x.Pod, where)
	}
	for _, x := range p.Unscheduled {
		fmt.Fprintf(b, "%s left %s", Noun, x.Pod)
		if x.Why != "" {
			fmt.Fprintf(b, " why=%s", x.Why)
		}
		for _, r := range x.Refusals {
			why := string(r.Why)
			if r.Detail == "" {
				why = "" // it is a refusal without a reason either way
			}
			fmt.Fprintf(b, " refused=%s:%s", r.Pool, why)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "%s price %s\n", Noun, dollars(p.Price))
	if p.BudgetExceeded {
		b.WriteString(Noun + " cut\n")
	}
}

func dollars(p model.Price) string { return strconv.FormatFloat(p.Float(), 'f', -1, 64) }

// ReadLine adds to p what one line of a plan says. words are those of the line, Noun the first. Errors are for people.
func ReadLine(p *place.Plan, words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("a plan line says buy, fit, left, price or cut")
	}
	switch rest := words[2:]; words[1] {
	case "buy":
		return readPurchase(p, rest)
	case "fit":
		return readFit(p, rest)
	case "left":
		return readLeft(p, rest)
	case "price":
		if len(rest) != 1 {
			return fmt.Errorf("want one price")
		}
		price, err := readDollars(rest[0])
		p.Price = price
		return err
	case "cut":
		p.BudgetExceeded = true
		return nil
	}
	return fmt.Errorf("there is no %q: want buy, fit, left, price or cut", words[1])
}

func readPurchase(p *place.Plan, words []string) error {
	var x place.NewClaim
	claim := []string{"claim", "it"}
	for _, w := range words {
		key, v, _ := strings.Cut(w, "=")
		switch key {
		case "option":
			o, err := readOption(v)
			if err != nil {
				return err
			}
			x.Options = append(x.Options, o)
		case "relaxed":
			x.Relaxed = true
		case "pods":
			for s := range strings.SplitSeq(v, ",") {
				k, err := readKey(s)
				if err != nil {
					return err
				}
				x.Pods = append(x.Pods, k)
			}
		default:
			claim = append(claim, w)
		}
	}
	w, err := worldtext.Parse(strings.Join(claim, " "))
	if err != nil {
		return fmt.Errorf("plan buy: %s", strings.TrimPrefix(err.Error(), "line 1: claim it: "))
	}
	c := w.Claims[0]
	x.Pool, x.Class, x.Requirements, x.Requests = c.Pool, c.Class, c.Requirements, c.Requests
	p.NewClaims = append(p.NewClaims, x)
	return nil
}

// readOption reads TYPE/ZONE/CAPACITY-TYPE/PRICE.
func readOption(s string) (place.Option, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return place.Option{}, fmt.Errorf("option %q: want type/zone/capacity-type/price", s)
	}
	price, err := readDollars(parts[3])
	return place.Option{Key: model.OfferingKey{Type: parts[0], Zone: parts[1], CapacityType: parts[2]}, Price: price}, err
}

func readDollars(s string) (model.Price, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 || v > 1e9 {
		return 0, fmt.Errorf("%q is no price", s)
	}
	return model.Dollars(v), nil
}

func readKey(s string) (model.PodKey, error) {
	ns, name, ok := strings.Cut(s, "/")
	if !ok {
		return model.PodKey{}, fmt.Errorf("pod %q: want namespace/name", s)
	}
	return model.PodKey{Namespace: ns, Name: name}, nil
}

func readFit(p *place.Plan, words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("want a pod, and node= or claim=")
	}
	pod, err := readKey(words[0])
	if err != nil {
		return err
	}
	n := place.Nomination{Pod: pod}
	switch key, v, _ := strings.Cut(words[1], "="); key {
	case "node":
		n.Node = v
	case "claim":
		n.Claim = v
	default:
		return fmt.Errorf("there is no %q: want node= or claim=", key)
	}
	p.Existing = append(p.Existing, n)
	return nil
}

func readLeft(p *place.Plan, words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("want a pod")
	}
	pod, err := readKey(words[0])
	if err != nil {
		return err
	}
	l := place.Unscheduled{Pod: pod}
	for _, w := range words[1:] {
		switch key, v, _ := strings.Cut(w, "="); key {
		case "why":
			l.Why, l.Detail = model.Why(v), unsaid
		case "refused":
			pool, why, _ := strings.Cut(v, ":")
			r := place.Refusal{Pool: pool, Why: model.Why(why)}
			if why != "" {
				r.Detail = unsaid
			}
			l.Refusals = append(l.Refusals, r)
		default:
			return fmt.Errorf("there is no %q: want why= or refused=", key)
		}
	}
	p.Unscheduled = append(p.Unscheduled, l)
	return nil
}
