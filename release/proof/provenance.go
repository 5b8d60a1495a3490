package proof

import (
	"encoding/json"
	"time"
)

const (
	// StatementType is in-toto's, PredicateType that of SLSA's provenance.
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://slsa.dev/provenance/v1"
	// BuildType says how to read the parameters: they are those of "karpenter-release".
	BuildType = "https://github.com/karpenter-aks/karpenter/blob/main/docs/release.md#provenance"
	// PayloadType is what an envelope of DSSE calls a statement.
	PayloadType = "application/vnd.in-toto+json"
)

// Subject is something that was made, and its digest in hex by algorithm.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Source is what it was made from.
type Source struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest,omitempty"`
}

// Making says how something was made, in the words of SLSA's provenance.
type Making struct {
	Subjects []Subject
	// External are the parameters that whoever builds chooses; Internal those that the repository does.
	External map[string]any
	Internal map[string]any
	Sources  []Source
	Builder  string // URI of who built it
	// When is the commit's time: two builds of one commit say the same.
	When time.Time
}

// Provenance is an in-toto statement with SLSA's provenance. Field names are those of
// https://slsa.dev/spec/v1.0/provenance. encoding/json sorts keys of maps, so the bytes are stable.
func Provenance(m Making) ([]byte, error) {
	type definition struct {
		BuildType string         `json:"buildType"`
		External  map[string]any `json:"externalParameters"`
		Internal  map[string]any `json:"internalParameters,omitempty"`
		Sources   []Source       `json:"resolvedDependencies,omitempty"`
	}
	type builder struct {
		ID string `json:"id"`
	}
	type metadata struct {
		Started string `json:"startedOn"`
	}
	type run struct {
		Builder  builder  `json:"builder"`
		Metadata metadata `json:"metadata"`
	}
	type predicate struct {
		Definition definition `json:"buildDefinition"`
		Run        run        `json:"runDetails"`
	}
	return json.MarshalIndent(struct {
		Type          string    `json:"_type"`
		Subject       []Subject `json:"subject"`
		PredicateType string    `json:"predicateType"`
		Predicate     predicate `json:"predicate"`
	}{
		StatementType, m.Subjects, PredicateType, predicate{
			definition{BuildType, m.External, m.Internal, m.Sources},
			run{builder{m.Builder}, metadata{m.When.UTC().Format(time.RFC3339)}},
		},
	}, "", "  ")
}
