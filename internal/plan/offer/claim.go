package offer

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/plan/answer"
	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/internal/plan/problem"
	"github.com/karpenter-aks/karpenter/internal/require"
	"github.com/karpenter-aks/karpenter/model"
)

// suffixLetters are safe at the end of DNS names and spell no words: no vowels, no digits that look like letters.
const suffixLetters = "bcdfghjklmnpqrstvwxz2456789"

const (
	suffixLength = 5
	// maxClaimName keeps names within a DNS label, because the node's hostname is made from it.
	maxClaimName = 57
)

// ClaimName names the claim for a new claim: the pool, a dash, and five characters hashed from the pool and the pods. The same
// new claim gets the same name, so that a plan carried out twice (a crash in between, or two of us) creates one claim. ordinal
// tells equal new claims of one plan apart; attempt is raised by the caller when the name belongs to another claim already.
func ClaimName(p answer.NewClaim, ordinal, attempt int) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d %d", p.Pool, p.Class, ordinal, attempt)
	for _, k := range slices.SortedFunc(slices.Values(p.Pods), answer.CompareKeys) {
		fmt.Fprintf(h, " %q", k)
	}
	n := binary.BigEndian.Uint64(h.Sum(nil))
	name := p.Pool
	if most := maxClaimName - suffixLength - 1; len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	name += "-"
	for range suffixLength {
		name += string(suffixLetters[n%uint64(len(suffixLetters))])
		n /= uint64(len(suffixLetters))
	}
	return name
}

// FreeName is the claim's name of the first attempt that is not taken, and takes it. Names repeat at most once for each that is
// taken, so that the loop ends.
func FreeName(p answer.NewClaim, ordinal int, taken map[string]bool) string {
	name := ClaimName(p, ordinal, 0)
	for attempt := 1; taken[name] && attempt <= len(taken); attempt++ {
		name = ClaimName(p, ordinal, attempt)
	}
	taken[name] = true
	return name
}

// Claim builds the claim to create for a new claim from pool and class. It carries everything that a restart needs: what
// may be launched, which labels and taints the node will have, and the pods it is for.
func Claim(p answer.NewClaim, pool model.Pool, class model.Class, name string) model.Claim {
	labels := problem.Merged(pool.Labels, map[string]string{
		model.LabelPool:                pool.Name,
		problem.ClassLabel(pool.Class): pool.Class.Name,
	})
	for _, r := range p.Requirements {
		if r.Op == model.In && len(r.Values) == 1 && !require.Cloud(r.Key) {
			labels[r.Key] = r.Values[0]
		}
	}
	notes := map[string]string{}
	maps.Copy(notes, pool.NodeAnnotations)
	label := problem.ClassLabel(pool.Class)
	for k, v := range map[string]string{
		model.AnnotationPoolHash: pool.Hash, model.AnnotationPoolHashVersion: pool.HashVersion,
		label + "-hash": class.Hash, label + "-hash-version": class.HashVersion,
		planned.Annotation: planned.Text(p.Pods),
	} {
		if v != "" {
			notes[k] = v
		}
	}
	if p.Chosen {
		notes[AnnotationFirst] = p.Options[0].Key.String()
	}
	if p.Relaxed {
		notes[model.AnnotationMinValuesRelaxed] = "true"
	}
	return model.Claim{
		Name: name, Pool: pool.Name, PoolUID: pool.UID, Class: pool.Class,
		Labels: labels, Annotations: notes, Finalizers: []string{model.Finalizer},
		Requirements: p.Requirements, Requests: p.Requests,
		Taints: slices.Clone(pool.Taints), StartupTaints: slices.Clone(pool.StartupTaints),
		ExpireAfter: pool.ExpireAfter, TerminationGracePeriod: pool.TerminationGracePeriod,
	}
}

// AnnotationFirst on a claim names the offering that a launch asks for first, of those of one price, as its key reads: the plan
// chose it for the sake of spread that is not required, or so that not all spot machines are of one kind.
const AnnotationFirst = "karpenter.azure.com/preferred-offering"

// onePrice: offerings at most one part in so many dearer than the cheapest cost the same. What is closer is one price told twice, rounded
// to the hour or converted from a currency; what is farther apart is a price, and choosing by it is not steering's business.
const onePrice = 10_000

// SamePrice reports whether p is the price of the cheapest, or so little above that it makes no difference.
func SamePrice(p, cheapest model.Price) bool { return p-cheapest <= cheapest/onePrice }

// firstOf puts the offering first that a claim prefers, if it is among those of one price.
func firstOf(options []answer.Option, claim model.Claim) []answer.Option {
	i := slices.IndexFunc(options, func(o answer.Option) bool {
		return o.Key.String() == claim.Annotations[AnnotationFirst]
	})
	if i <= 0 || !SamePrice(options[i].Price, options[0].Price) {
		return options
	}
	return slices.Concat(options[i:i+1], options[:i], options[i+1:])
}
