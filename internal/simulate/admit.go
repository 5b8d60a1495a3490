package simulate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/api/admit"
	"github.com/karpenter-aks/karpenter/internal/ready"
	"github.com/karpenter-aks/karpenter/model"
)

// custom says what would come of creating a custom resource: the object as it would be kept, and what is wrong with it. For other
// kinds it is the object itself.
func (in *input) custom(object []byte) ([]byte, []admit.Fault, error) {
	created, faults, known, err := in.server.Create(object)
	if !known || err != nil {
		return object, nil, err
	}
	if len(faults) > 0 {
		return object, faults, nil // to be read as far as it can be
	}
	var given map[string]any
	if err := json.Unmarshal(object, &given); err != nil {
		return nil, nil, err
	}
	if status, ok := given["status"]; ok { // nobody can create it, but somebody may ask what would be if it stood there
		created["status"] = status
	}
	out, err := json.Marshal(created)
	return out, nil, err
}

// told are faults of objects as deciders see them.
func told(seen []model.Object) []admit.Fault {
	var out []admit.Fault
	for _, o := range seen {
		if p, ok := o.(model.Pool); ok {
			for _, wrong := range ready.Problems(p) {
				field, what, _ := strings.Cut(wrong, ": ")
				field, _, _ = strings.Cut(field, " (")
				out = append(out, admit.Fault{Field: field, What: what})
			}
			continue
		}
		for _, wrong := range nonsense(o) {
			out = append(out, admit.Fault{What: wrong})
		}
	}
	return out
}

// refused says that an object is not as it must be. One that was dumped from a cluster stands there, maybe under other rules than
// ours: of it this is only noted.
func (in *input) refused(c chunk, head header, faults []admit.Fault) {
	name := head.Kind + " " + head.Metadata.Name
	for _, f := range faults {
		at := func(do string) Problem {
			return Problem{c.file, in.lineOf(c, steps(f.Field)), strings.TrimSuffix(name+": "+f.Field, ": ") + ": " + f.What, do}
		}
		if head.Metadata.UID == "" {
			in.bad(at("correct it"))
		} else {
			in.refusals.add(head.Kind+" "+index.ReplaceAllString(f.Field, ""), func() Problem {
				return at("the cluster has it, and the API server of this version would refuse it")
			})
		}
	}
}

// beside are the faults in lines of which the problems, of the same object, say nothing yet.
func (in *input) beside(c chunk, problems []Problem, faults []admit.Fault) []admit.Fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f admit.Fault) bool {
		line := in.lineOf(c, steps(f.Field))
		return slices.ContainsFunc(problems, func(p Problem) bool { return p.Line == line })
	})
}

// steps splits a path as Kubernetes writes it: names with dots between them, and positions and keys in brackets.
func steps(field string) path {
	var out path
	for field != "" {
		switch at := strings.IndexAny(field, ".["); {
		case field[0] == '[':
			key, rest, _ := strings.Cut(field[1:], "]")
			out, field = append(out, key), strings.TrimPrefix(rest, ".")
		case at < 0:
			return append(out, field)
		default:
			if at > 0 {
				out = append(out, field[:at])
			}
			field = strings.TrimPrefix(field[at:], ".")
		}
	}
	return out
}
