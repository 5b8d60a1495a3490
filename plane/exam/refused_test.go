package exam

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/world"
)

// Each draw is one value in a pod that is right otherwise: a path, and what stands there.
func podDraws() []struct {
	at     []step
	values []any
} {
	field := func(names ...string) []step {
		var out []step
		for _, n := range names {
			if n == "[]" {
				out = append(out, step{list: true})
			} else {
				out = append(out, step{field: n})
			}
		}
		return out
	}
	amounts := []any{"0", "1", "-1", "500m", "-500m", "-1e3", "1Gi", "1e3"}
	spread := func(name string) []step { return field("spec", "topologySpreadConstraints", "[]", name) }
	hard := "requiredDuringSchedulingIgnoredDuringExecution"
	soft := "preferredDuringSchedulingIgnoredDuringExecution"
	return []struct {
		at     []step
		values []any
	}{
		{field("spec", "containers", "[]", "resources", "requests", "cpu"), amounts},
		{field("spec", "containers", "[]", "resources", "limits", "cpu"), amounts},
		{field("spec", "containers", "[]", "resources", "limits", "memory"), []any{"64Mi", "-64Mi", "256Mi"}},
		{field("spec", "containers", "[]", "resources", "requests", "ephemeral-storage"), amounts},
		{field("spec", "containers", "[]", "resources", "requests", "memry"), []any{"1Gi"}},
		{field("spec", "containers", "[]", "resources", "requests", "pods"), []any{"1"}},
		{field("spec", "initContainers", "[]", "resources", "requests", "cpu"), amounts},
		{field("spec", "overhead", "cpu"), amounts},
		{field("spec", "containers", "[]", "ports", "[]", "hostPort"), []any{int64(-1), int64(0), int64(80), int64(65535), int64(65536)}},
		{spread("maxSkew"), []any{int64(-1), int64(0), int64(1), int64(1000)}},
		{spread("minDomains"), []any{int64(-1), int64(0), int64(1)}},
		{spread("topologyKey"), []any{"", "topology.kubernetes.io/zone"}},
		{spread("whenUnsatisfiable"), []any{"", "Never", "DoNotSchedule", "ScheduleAnyway"}},
		{field("spec", "tolerations", "[]", "operator"), []any{"Exists", "Equal", ""}},
		{field("spec", "tolerations", "[]", "key"), []any{"a", ""}},
		{field("spec", "affinity", "podAffinity", hard, "[]", "topologyKey"), []any{"", "kubernetes.io/hostname"}},
		{field("spec", "affinity", "podAntiAffinity", hard, "[]", "topologyKey"), []any{"", "kubernetes.io/hostname"}},
		{field("spec", "affinity", "podAntiAffinity", soft, "[]", "weight"), []any{int64(0), int64(1), int64(100), int64(101), int64(-1)}},
		{field("spec", "affinity", "podAffinity", soft, "[]", "weight"), []any{int64(0), int64(1), int64(100), int64(101)}},
	}
}

const rightPod = `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec:
  containers:
  - name: a
    image: exam.invalid/pause:1
    resources: {requests: {memory: 128Mi}}
    ports: [{containerPort: 80}]
  initContainers: [{name: i, image: exam.invalid/pause:1}]
  tolerations: [{key: a, value: v}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}]
      preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {}}}]
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}]
      preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {}}}]
`

// What the reader of files says about pods is what Kubernetes' own validation says: no more, and of these fields no less.
func TestPodsInFilesAreRefusedAsByTheAPIServer(t *testing.T) {
	reader, err := apikube.NewReader(world.New())
	must(t, err)
	judged := map[bool]int{}
	for _, draw := range append(podDraws(), struct {
		at     []step
		values []any
	}{[]step{{field: "metadata"}, {field: "name"}}, []any{"right"}}) {
		for _, value := range draw.values {
			var o map[string]any
			must(t, yaml.Unmarshal([]byte(rightPod), &o))
			put(o, draw.at, value)
			raw, err := json.Marshal(o)
			must(t, err)
			var pod corev1.Pod
			must(t, json.Unmarshal(raw, &pod))
			legacyscheme.Scheme.Default(&pod)
			var internal core.Pod
			must(t, legacyscheme.Scheme.Convert(&pod, &internal, nil))
			theirs := validation.ValidatePodCreate(&internal, validation.PodValidationOptions{})
			report, err := reader.Check(raw)
			must(t, err)
			judged[len(theirs) == 0]++
			if (len(theirs) == 0) != (len(report.Faults) == 0) {
				t.Errorf("%v = %v: the API server says %v, we say %v", draw.at, value, theirs, report.Faults)
			}
			for _, f := range report.Faults { // the same field, but for how keys are written, and that an overhead has no limits
				plain := strings.NewReplacer("overhead.limits", "overhead", "[", ".", "]", "").Replace
				found := false
				for _, e := range theirs {
					found = found || strings.HasPrefix(plain(f.Field), plain(e.Field))
				}
				if !found {
					t.Errorf("%v = %v: we blame %s, the API server %v", draw.at, value, f.Field, fmt.Sprint(theirs))
				}
			}
		}
	}
	if judged[true] < 20 || judged[false] < 20 {
		t.Errorf("%d pods are taken and %d refused: too few of either", judged[true], judged[false])
	}
}
