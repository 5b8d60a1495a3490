package world

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-aks/karpenter/model"
)

// A daemon asks for what its live pods ask for, and for what its template says when none of the present template is there.
func TestDaemonsAskForWhatTheirLivePodsAsk(t *testing.T) {
	template := model.Resources{CPU: 100, Memory: 1000, Pods: 1}
	live := func(name, revision string, cpu, memory int64, edit func(*model.Pod)) model.Pod {
		p := model.Pod{Namespace: "system", Name: name, DaemonSet: true, Revision: revision, Requests: model.Resources{CPU: cpu, Memory: memory, Pods: 1}}
		if edit != nil {
			edit(&p)
		}
		return p
	}
	for name, tc := range map[string]struct {
		revision string
		pods     []model.Pod
		want     model.Resources
	}{
		"no pod":                        {"agent/2", nil, template},
		"more":                          {"agent/2", []model.Pod{live("a", "agent/2", 300, 2000, nil)}, model.Resources{CPU: 300, Memory: 2000, Pods: 1}},
		"less":                          {"agent/2", []model.Pod{live("a", "agent/2", 30, 200, nil)}, model.Resources{CPU: 30, Memory: 200, Pods: 1}},
		"waiting for its node":          {"agent/2", []model.Pod{live("a", "agent/2", 300, 2000, func(p *model.Pod) { p.Unschedulable = true })}, model.Resources{CPU: 300, Memory: 2000, Pods: 1}},
		"each most of another":          {"agent/2", []model.Pod{live("a", "agent/2", 300, 200, nil), live("b", "agent/2", 30, 2000, nil)}, model.Resources{CPU: 300, Memory: 2000, Pods: 1}},
		"of an older template":          {"agent/2", []model.Pod{live("a", "agent/1", 300, 2000, nil)}, template},
		"of another daemon":             {"agent/2", []model.Pod{live("a", "other/2", 300, 2000, nil)}, template},
		"of another namespace":          {"agent/2", []model.Pod{live("a", "agent/2", 300, 2000, func(p *model.Pod) { p.Namespace = "other" })}, template},
		"going":                         {"agent/2", []model.Pod{live("a", "agent/2", 300, 2000, func(p *model.Pod) { p.DeletedAt = p.DeletedAt.AddDate(1, 0, 0) })}, template},
		"done":                          {"agent/2", []model.Pod{live("a", "agent/2", 300, 2000, func(p *model.Pod) { p.Terminal = true })}, template},
		"a template without a number":   {"", []model.Pod{live("a", "", 300, 2000, nil)}, template},
		"nobody's pod with such a word": {"agent/2", []model.Pod{live("a", "agent/2", 300, 2000, func(p *model.Pod) { p.DaemonSet = false })}, template},
	} {
		t.Run(name, func(t *testing.T) {
			w := New()
			d := model.Daemon{Namespace: "system", Name: "agent", Pod: model.Pod{Namespace: "system", Name: "agent", DaemonSet: true, Revision: tc.revision, Requests: template}}
			put(w, d)
			if got := w.Snapshot().Daemons; cmp.Diff(got, []model.Daemon{d}) != "" {
				t.Fatalf("without pods %v", got)
			}
			for _, p := range tc.pods {
				put(w, p)
			}
			want := d
			want.Pod.Requests = tc.want
			if diff := cmp.Diff([]model.Daemon{want}, w.Snapshot().Daemons); diff != "" {
				t.Error(diff)
			}
			for _, p := range tc.pods {
				w.Apply(model.Change{Object: p, Gone: true})
			}
			if diff := cmp.Diff([]model.Daemon{d}, w.Snapshot().Daemons); diff != "" {
				t.Errorf("when they are gone: %s", diff)
			}
		})
	}
}
