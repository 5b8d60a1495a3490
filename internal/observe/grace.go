package observe

import (
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// GraceEnds tells that all pods of a claim's node will have been deleted by a time (RFC 3339), whatever protects them.
func (r *Recorder) GraceEnds(c model.Claim, end string) {
	for _, o := range []model.Object{c, model.Node{Name: c.NodeName}} {
		if o.ObjectKey() != "" {
			r.say(o, kube.Warning, "TerminationGracePeriodExpiring", "All pods will be deleted by %s", end)
		}
	}
}

// Asking tells pods with the annotation do-not-disrupt what it comes to: that it cannot be read, until when it protects, or that it does not any
// more. Each is said when it changes, and not at all of annotations without an end. It is told of all such pods that were looked at.
func (r *Recorder) Asking(pods *model.Index, keys []model.PodKey, now time.Time) {
	for k, a := range r.asked {
		if p := pods.Pod(k); p == nil || p.UID != a.uid {
			delete(r.asked, k)
		}
	}
	for _, k := range keys {
		p := pods.Pod(k)
		if p == nil {
			continue
		}
		until, forever, wrong := p.Protected()
		typ, reason, text := kube.Normal, "DoNotDisruptUntil", "The annotation "+model.AnnotationDoNotDisrupt+" protects the pod until "+until.UTC().Format(time.RFC3339)
		switch {
		case wrong != "":
			typ, reason, text = kube.Warning, "InvalidDoNotDisruptAnnotation", "The annotation "+model.AnnotationDoNotDisrupt+" is ignored: "+wrong
		case forever, until.IsZero():
			continue
		case !until.After(now):
			reason, text = "DoNotDisruptGracePeriodElapsed", "The annotation "+model.AnnotationDoNotDisrupt+" does not protect the pod any more"
		}
		before, known := r.asked[k]
		if before.text == text {
			continue
		}
		r.asked[k] = asked{p.UID, text}
		if reason == "DoNotDisruptGracePeriodElapsed" && !known {
			continue
		}
		r.say(*p, typ, reason, "%s", text)
	}
}

// asked is what a pod was told last.
type asked struct{ uid, text string }
