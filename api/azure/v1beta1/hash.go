package v1beta1

import (
	"fmt"
	"strconv"

	"github.com/mitchellh/hashstructure/v2"
)

// HashVersion names the rules of Hash. It changes when the same spec would hash to another value.
const HashVersion = "v3"

// Annotations that carry the hash, on classes and on the claims built from them.
const (
	AnnotationHash        = Group + "/aksnodeclass-hash"
	AnnotationHashVersion = Group + "/aksnodeclass-hash-version"
)

// Hash returns the drift hash of the spec, in decimal. Tags do not count, the order of lists does not count, and an
// unset field counts like an absent one. It covers names of Go types and fields, so that clusters which already carry
// hashes of version v3 see the same values and no drift.
func (c *AKSNodeClass) Hash() string {
	h, err := hashstructure.Hash(c.Spec, hashstructure.FormatV2, &hashstructure.HashOptions{
		SlicesAsSets:    true,
		IgnoreZeroValue: true,
		ZeroNil:         true,
	})
	if err != nil {
		// Only a type that cannot be hashed fails, and the types are fixed.
		panic(fmt.Sprintf("hash AKSNodeClass spec: %v", err))
	}
	return strconv.FormatUint(h, 10)
}
