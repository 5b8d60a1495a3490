package disrupt

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// Record is a move as it stands in the cluster, in the annotation model.AnnotationMove of every
// claim that leaves by it. It is written before anything else is touched, so that a restart finds
// the move and carries on, or undoes it.
type Record struct {
	Why model.Why `json:"why"`
	// Claims leave, all at once; Replacements are bought before. Both by claim name, sorted.
	Claims       []string  `json:"claims"`
	Replacements []string  `json:"replacements,omitempty"`
	Since        time.Time `json:"since"`
	// Saves is what the move saves, in dollars per hour as people read them.
	Saves string `json:"saves,omitempty"`
}

// maxMembers bounds how many claims a record may name: more is nothing that we wrote.
const maxMembers = 64

// Text is the record as it is written. The same record is the same text.
func (r Record) Text() string {
	r.Since = r.Since.UTC().Truncate(time.Second)
	b, err := json.Marshal(r)
	if err != nil {
		return "" // never: these are plain values
	}
	return string(b)
}

// RecordOf reads the record on a claim; there is none when it cannot be read, or when the claim is
// not among those that it names.
func RecordOf(c *model.Claim) (r Record, text string, ok bool) {
	text = c.Annotations[model.AnnotationMove]
	if text == "" {
		return Record{}, "", false
	}
	err := json.Unmarshal([]byte(text), &r)
	ok = err == nil && len(r.Claims)+len(r.Replacements) <= maxMembers &&
		slices.Contains(r.Claims, c.Name)
	return r, text, ok
}
