package place_test

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

func TestPodsThatDependOnOthersAreNotAlone(t *testing.T) {
	for name, x := range map[string]struct {
		pod  model.Pod
		want bool
	}{
		"nothing asked": {model.Pod{}, true},
		"a soft spread": {model.Pod{Spread: []model.Spread{{Key: model.LabelZone}}}, true},
		"a hard spread": {model.Pod{Spread: []model.Spread{{Key: model.LabelZone, Hard: true}}}, false},
		"affinity":      {model.Pod{PodAffinity: []model.PodTerm{{}}}, false},
		"anti-affinity": {model.Pod{PodAntiAffinity: []model.PodTerm{{}}}, false},
		"a port":        {model.Pod{HostPorts: []model.HostPort{{Port: 80}}}, false},
		"a volume":      {model.Pod{Volumes: []model.Volume{{ID: "v"}}}, false},
		"a wish":        {model.Pod{Prefers: []model.Preference{{Weight: 1}}}, true},
		"a selector":    {model.Pod{NodeSelector: map[string]string{"a": "b"}}, true},
	} {
		if got := place.Alone(x.pod); got != x.want {
			t.Errorf("%s: alone=%v, want %v", name, got, x.want)
		}
	}
}
