package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/drain"
	"github.com/karpenter-aks/karpenter/model"
)

// Pods that ask to be left alone are told what that comes to, once, and again when it changes.
func TestPodsAreToldWhatTheirAnnotationComesTo(t *testing.T) {
	r, ear, _ := recorder(t)
	start := time.Unix(1_800_000_000, 0)
	pods := []model.Pod{
		{Namespace: "a", Name: "ever", UID: "1", DoNotDisrupt: "true", Started: start},
		{Namespace: "a", Name: "while", UID: "2", DoNotDisrupt: "10m", Started: start},
		{Namespace: "a", Name: "wrong", UID: "3", DoNotDisrupt: "ten minutes", Started: start},
		{Namespace: "a", Name: "over", UID: "4", DoNotDisrupt: "1m", Started: start},
	}
	tell := func(after time.Duration) string {
		keys := make([]model.PodKey, 0, 2*len(pods))
		for range 2 { // each may be named more than once
			for _, p := range pods {
				keys = append(keys, p.Key())
			}
		}
		ear.heard = nil
		r.Asking(model.World{Pods: pods}.Indexed().Index, keys, start.Add(after))
		var said []string
		for _, e := range ear.heard {
			said = append(said, e.About.ObjectKey()+" "+e.Reason)
		}
		return strings.Join(said, ", ")
	}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{5 * time.Minute, "a/while DoNotDisruptUntil, a/wrong InvalidDoNotDisruptAnnotation"},
		{6 * time.Minute, ""},
		{10 * time.Minute, "a/while DoNotDisruptGracePeriodElapsed"},
		{11 * time.Minute, ""},
	} {
		if got := tell(c.after); got != c.want {
			t.Errorf("after %s: %q, want %q", c.after, got, c.want)
		}
	}
	pods[1].UID = "5" // another pod of that name
	pods[1].Started = start.Add(11 * time.Minute)
	if got := tell(12 * time.Minute); got != "a/while DoNotDisruptUntil" {
		t.Errorf("of a new pod: %q", got)
	}
}

// A drain names all who block it, and the volumes it waits for, five at most.
func TestADrainNamesWhoHoldsTheNode(t *testing.T) {
	r, ear, _ := recorder(t)
	step := drain.Step{Waiting: []drain.Waiting{{Pod: model.PodKey{Namespace: "a", Name: "grace"}, Why: model.WhyGrace}}}
	for i := range 7 {
		step.Waiting = append(step.Waiting, drain.Waiting{Pod: model.PodKey{Namespace: "a", Name: fmt.Sprint("p", i)}, Why: model.WhyPDB, Detail: "budget a/b"})
		step.Volumes = append(step.Volumes, fmt.Sprint("v", i))
	}
	r.Draining(model.Node{Name: "n"}, step)
	r.Draining(model.Node{Name: "n"}, drain.Step{Drained: true, Volumes: step.Volumes})
	want := []string{
		"FailedDraining Failed to drain node, pod a/p0: budget a/b, pod a/p1: budget a/b, pod a/p2: budget a/b, pod a/p3: budget a/b, pod a/p4: budget a/b and 2 more",
		"AwaitingVolumeDetachment Awaiting deletion of VolumeAttachments bound to node: v0, v1, v2, v3, v4 and 2 more",
	}
	for i, w := range want {
		if i >= len(ear.heard) || ear.heard[i].Reason+" "+ear.heard[i].Message != w {
			t.Errorf("heard %+v, want %q", ear.heard, w)
		}
	}
}
