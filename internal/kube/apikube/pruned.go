package apikube

import (
	"encoding/json"
	"maps"
	"slices"
)

// dropped names what was sent and is not in the answer, by path, each once, sorted: fields that the CRD of the cluster does not know. The API
// server prunes these and says nothing ("Field pruning" in the Kubernetes documentation of custom resources). Values are not compared:
// the API server may write them in another way. A patch of metadata is no matter of the CRD.
func dropped(sent, answer []byte) []string {
	var s, a map[string]any
	if json.Unmarshal(sent, &s) != nil || json.Unmarshal(answer, &a) != nil {
		return nil
	}
	delete(s, "metadata")
	seen := map[string]bool{}
	lacking(s, a, "", seen)
	return slices.Sorted(maps.Keys(seen))
}

func lacking(sent, got any, path string, seen map[string]bool) {
	switch sent := sent.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return
		}
		for k, v := range sent {
			at := k
			if path != "" {
				at = path + "." + k
			}
			g, there := got[k]
			switch {
			case v == nil: // null asks for the field to go
			case !there:
				seen[at] = true
			default:
				lacking(v, g, at, seen)
			}
		}
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(sent) {
			return
		}
		for i := range sent {
			lacking(sent[i], got[i], path+"[]", seen)
		}
	}
}
