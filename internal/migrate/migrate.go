// Package migrate answers: how are agent pools and a profile of the cluster autoscaler written as
// NodePools and AKSNodeClasses?
//
// It reads what Azure says of a cluster, or what its nodes show, and writes manifests with notes on
// everything that these do not say. Nothing is dropped in silence: a setting that nobody here knows
// becomes a note, too. It is pure, asks nobody, and judges no manifest (api/admit does).
//
// Source of names and defaults: the ManagedClusterAgentPoolProfile and
// ManagedClusterPropertiesAutoScalerProfile of Azure's REST API, 2025-02-01.
package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Note is something that the manifests do not say, and what follows from that.
type Note struct {
	// Pools are the agent pools that it is about; none = the cluster.
	Pools []string `json:"pools,omitempty"`
	// Field is the setting as Azure calls it, with its value; "" when it is about no single one.
	Field string `json:"field,omitempty"`
	What  string `json:"what"`
}

// String is POOLS: FIELD: WHAT.
func (n Note) String() string {
	who := "cluster"
	switch len(n.Pools) {
	case 0:
	case 1:
		who = "pool " + n.Pools[0]
	default:
		who = "pools " + strings.Join(n.Pools, ", ")
	}
	if n.Field == "" {
		return who + ": " + n.What
	}
	return who + ": " + n.Field + ": " + n.What
}

// Kept is an agent pool that becomes no NodePool.
type Kept struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Made is an agent pool that became a NodePool of the same name.
type Made struct {
	Name string `json:"name"`
	// Sizes are its machines as the cloud says, the most numerous first.
	Sizes []Size `json:"sizes"`
	// Spot says that they are spot machines.
	Spot bool `json:"spot,omitempty"`
}

// Size is so many machines of one size.
type Size struct {
	Name string `json:"name"`
	// Count is how many there are; Most how many there may be, 0 = nobody says.
	Count int64 `json:"count"`
	Most  int64 `json:"most,omitempty"`
}

// Result is what became of the agent pools.
type Result struct {
	// Text are the manifests as YAML documents, two for each pool, with its notes as comments.
	Text []byte
	Made []Made
	Kept []Kept
	// Notes are in the order of the pools; those of the cluster come last.
	Notes []Note
}

// Options of Write.
type Options struct {
	// Catalog is what the region sells. A size that it does not have is kept as it is.
	Catalog model.Catalog
	// SameSize keeps every size as it is, instead of its family.
	SameSize bool
}

// Write makes a NodePool and an AKSNodeClass of each agent pool with Linux machines for people's
// pods; all others are kept. O(settings).
func (c Cluster) Write(o Options) Result {
	w := &writer{cluster: c, options: o}
	p := w.profile()
	for _, pool := range c.pools {
		w.pool(pool, p)
	}
	w.at = ""
	w.rest(c.profile, "autoScalerProfile.")
	return Result{Text: w.text(), Made: w.made, Kept: w.kept, Notes: merged(w.notes)}
}

// writer writes one result.
type writer struct {
	cluster Cluster
	options Options
	at      string // the agent pool that is written; "" = none
	made    []Made
	kept    []Kept
	notes   []Note
	written []written
}

// written are the objects that an agent pool became.
type written struct {
	from        string // the agent pool in short
	name        string
	pool, class object
}

// note takes down what the manifests do not say.
func (w *writer) note(field, format string, args ...any) {
	n := Note{Field: field, What: fmt.Sprintf(format, args...)}
	if w.at != "" {
		n.Pools = []string{w.at}
	}
	w.notes = append(w.notes, n)
}

// rest notes the settings that nobody has read: what is not known here is not dropped in silence.
func (w *writer) rest(s *settings, before string) {
	for _, f := range s.unread() {
		w.note(before+f, "this version does not know it, and it was not carried over")
	}
}

// merged tells what is so of several pools once, and what is about the cluster last.
func merged(notes []Note) []Note {
	var out []Note
	for _, n := range notes {
		i := slices.IndexFunc(out, func(have Note) bool {
			return have.Field == n.Field && have.What == n.What && len(have.Pools) > 0 &&
				len(n.Pools) > 0
		})
		switch {
		case i < 0:
			out = append(out, n)
		case !slices.Contains(out[i].Pools, n.Pools[0]):
			out[i].Pools = append(slices.Clone(out[i].Pools), n.Pools...)
		}
	}
	slices.SortStableFunc(out, func(a, b Note) int {
		return cmp.Compare(min(1, len(b.Pools)), min(1, len(a.Pools)))
	})
	return out
}
