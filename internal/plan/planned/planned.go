// Package planned answers: which pods was a claim made for?
//
// A claim names them in an annotation, so that every look at the same cluster plans the same and nothing is bought twice.
package planned

import (
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

// Annotation on a claim lists the pods it was bought for, as "namespace/name" separated by commas. As long as
// they wait, they are expected there, so that every look at the same picture plans the same and nothing is bought twice.
const Annotation = "karpenter.azure.com/planned-pods"

// maxAnnotation bounds AnnotationPods in bytes; pods beyond it are placed by size like any other.
const maxAnnotation = 32 << 10

// Pods reads AnnotationPods: the pods that the claim was bought for, in the order of the plan. What is no namespace/name is skipped.
func Pods(c model.Claim) []model.PodKey {
	var out []model.PodKey
	for s := range strings.SplitSeq(c.Annotations[Annotation], ",") {
		if ns, name, ok := strings.Cut(s, "/"); ok {
			out = append(out, model.PodKey{Namespace: ns, Name: name})
		}
	}
	return out
}

// All is the set of pods that claims were made for, of those claims that of accepts. What others nominate is not in it.
func All(w *model.World, of func(*model.Claim) bool) map[model.PodKey]bool {
	out := map[model.PodKey]bool{}
	for i := range w.Claims {
		if c := &w.Claims[i]; of(c) {
			for _, key := range Pods(*c) {
				out[key] = true
			}
		}
	}
	return out
}

// Staying reports whether nobody deletes the claim.
func Staying(c *model.Claim) bool { return !c.Deleting() }

// Text writes AnnotationPods.
func Text(pods []model.PodKey) string {
	var b strings.Builder
	for _, k := range pods {
		if b.Len()+len(k.Namespace)+len(k.Name)+2 > maxAnnotation {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(k.String())
	}
	return b.String()
}
