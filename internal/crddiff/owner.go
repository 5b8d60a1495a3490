package crddiff

import "fmt"

// Helm's marks of ownership (its documentation, "Labels and Annotations", and what "helm install" checks before it takes over an object).
const (
	labelManagedBy    = "app.kubernetes.io/managed-by"
	annotationRelease = "meta.helm.sh/release-name"
	annotationSpace   = "meta.helm.sh/release-namespace"
)

// Owner is who takes care of a definition, by the marks that are on it.
type Owner struct {
	// Release and Namespace are those of Helm; both "" when no release owns it.
	Release   string `json:"release,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Keeper is a controller that would undo changes, such as "Argo CD (karpenter:…)"; "" when there is none.
	Keeper string `json:"keeper,omitempty"`
}

// OwnerOf reads the marks of Helm, Argo CD and Flux.
func OwnerOf(definition map[string]any) Owner {
	mark := func(of, key string) string {
		s, _ := object(dig(definition, "metadata", of))[key].(string)
		return s
	}
	o := Owner{Release: mark("annotations", annotationRelease), Namespace: mark("annotations",
		annotationSpace)}
	if mark("labels", labelManagedBy) != "Helm" {
		o.Release, o.Namespace = "", ""
	}
	for _, k := range []struct{ of, key, name string }{
		{"annotations", "argocd.argoproj.io/tracking-id", "Argo CD"},
		{"labels", "argocd.argoproj.io/instance", "Argo CD"},
		{"labels", "kustomize.toolkit.fluxcd.io/name", "Flux"},
		{"labels", "helm.toolkit.fluxcd.io/name", "Flux"},
	} {
		if v := mark(k.of, k.key); v != "" && o.Keeper == "" {
			o.Keeper = fmt.Sprintf("%s (%s)", k.name, v)
		}
	}
	return o
}

// String says it in words.
func (o Owner) String() string {
	switch {
	case o.Keeper != "":
		return "kept by " + o.Keeper
	case o.Release != "":
		return fmt.Sprintf("owned by Helm release %s in %s", o.Release, o.Namespace)
	}
	return "owned by nobody"
}

// Adoption is the merge patch after which a Helm release owns a definition. It is nil when the release owns it already.
func Adoption(definition map[string]any, release, namespace string) map[string]any {
	o := OwnerOf(definition)
	if o.Release == release && o.Namespace == namespace {
		return nil
	}
	return map[string]any{"metadata": map[string]any{
		"labels":      map[string]any{labelManagedBy: "Helm"},
		"annotations": map[string]any{annotationRelease: release, annotationSpace: namespace},
	}}
}
