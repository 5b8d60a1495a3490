package simulate

import (
	"encoding/json"
	"time"

	"github.com/karpenter-aks/karpenter/internal/worldtext"
	"github.com/karpenter-aks/karpenter/model"
)

// seen notes when a node last said that it lives: a kubelet says so every five minutes at least, so that the newest of all nodes is about when the dump
// was made. What cannot be read says nothing.
func (in *input) seen(node []byte) {
	var o struct {
		Status struct {
			Conditions []struct{ LastHeartbeatTime, LastTransitionTime string }
		}
	}
	if json.Unmarshal(node, &o) != nil {
		return
	}
	for _, c := range o.Status.Conditions {
		for _, text := range []string{c.LastHeartbeatTime, c.LastTransitionTime} {
			at, err := time.Parse(time.RFC3339, text)
			if err == nil && at.After(in.heard) {
				in.heard = at
			}
		}
	}
}

// moment is the newest time that the world knows of: it is looked at as of then. A scenario without times is looked at long after everything in it.
func (in *input) moment(w model.World) time.Time {
	now := in.heard
	later := func(t time.Time) {
		if t.After(now) {
			now = t
		}
	}
	for i := range w.Claims {
		c := &w.Claims[i]
		later(c.Created)
		later(c.LastPodEvent)
		for _, x := range c.Conditions {
			later(x.Since)
		}
	}
	for i := range w.Pods {
		later(w.Pods[i].Created)
		later(w.Pods[i].Started)
	}
	if in.objects == 0 {
		later(worldtext.Epoch().Add(long))
	}
	return now
}

// long is after all that scenarios wait for.
const long = 24 * time.Hour
