package bound

import (
	"encoding/binary"

	"github.com/karpenter-aks/karpenter/internal/plan/pack"
)

// stepsAsWork: one step of pack takes as long as so many numbers touched.
const stepsAsWork = 16

// columns prices groups by column generation over whole pods. Nothing that pack says is believed: certify proves prices, or lowers them.
func (q *part) columns(effort int) []float64 {
	in := pack.Input{Steps: (effort - q.work) / stepsAsWork}
	kinds := map[string]int{}
	words := make([][]byte, len(q.groups))
	for m, fits := range q.fits {
		for _, f := range fits {
			words[f.g] = binary.AppendUvarint(words[f.g], uint64(m))
		}
	}
	for i, g := range q.groups {
		x := q.p.Groups[g]
		kind, known := kinds[string(words[i])]
		if !known {
			kind = len(kinds)
			kinds[string(words[i])] = kind
		}
		item := pack.Item{Size: x.Need, Count: int(x.Count), Kind: kind}
		if x.Most > 0 {
			item.Ties = []pack.Tie{{Count: int32(i), Adds: 1, Limit: int32(min(x.Most, x.Count))}}
		}
		in.Items = append(in.Items, item)
	}
	for m, id := range q.machines {
		x := q.p.Machines[id]
		b := pack.Bin{Room: x.Room, Price: int64(x.Price), Takes: make([]uint64, len(kinds)/64+1)}
		for _, f := range q.fits[m] {
			k := in.Items[f.g].Kind
			b.Takes[k>>6] |= 1 << (k & 63)
		}
		in.Bins = append(in.Bins, b)
	}
	q.work = effort
	worth := pack.Prices(in)
	for i := range worth {
		worth[i] /= q.money
	}
	return worth
}
