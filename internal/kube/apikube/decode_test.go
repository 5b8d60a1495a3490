package apikube

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/model"
)

func read[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestQuantitiesRoundAgainstUs(t *testing.T) {
	for _, tc := range []struct {
		name, text   string
		asked, given int64
	}{
		{"cpu", "1", 1000, 1000},
		{"cpu", "250m", 250, 250},
		{"cpu", "100u", 1, 0},
		{"cpu", "1.0001", 1001, 1000},
		{"memory", "1Gi", 1 << 30, 1 << 30},
		{"memory", "1500m", 2, 1},
		{"memory", "1e3", 1000, 1000},
		{"memory", "8Ei", most, most},
		{"memory", "100000Ei", most, most},
		{"cpu", "10E", most, most},
		{"memory", "-1", 0, 0},
		{"nvidia.com/gpu", "8", 8, 8},
		{"hugepages-2Mi", "4Mi", 4 << 20, 4 << 20},
		{"cpu", "0", 0, 0},
	} {
		l := corev1.ResourceList{corev1.ResourceName(tc.name): resource.MustParse(tc.text)}
		if got := asked(l).Get(tc.name); got != tc.asked {
			t.Errorf("%s %s asked: %d, want %d", tc.name, tc.text, got, tc.asked)
		}
		if got := given(l).Get(tc.name); got != tc.given {
			t.Errorf("%s %s given: %d, want %d", tc.name, tc.text, got, tc.given)
		}
	}
}

// Eight thousand of the largest amount can be added up, or this does not compile.
const _ = int64(most) * 8000

func TestPodRequestsAreCountedAsTheSchedulerDoes(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want model.Resources
	}{
		"nothing asked is still one pod": {`{containers: [{name: a}]}`, model.Resources{Pods: 1}},
		"containers add up": {`
containers:
- {name: a, resources: {requests: {cpu: 100m, memory: 1Gi, nvidia.com/gpu: 1}}}
- {name: b, resources: {requests: {cpu: 200m, ephemeral-storage: 1Gi}}}`,
			model.Resources{CPU: 300, Memory: 1 << 30, Ephemeral: 1 << 30, Pods: 1, Extended: map[string]int64{"nvidia.com/gpu": 1}}},
		"the largest init container counts when it is more": {`
initContainers:
- {name: i, resources: {requests: {cpu: "1", memory: 1Mi}}}
- {name: j, resources: {requests: {cpu: 500m, memory: 2Gi}}}
containers:
- {name: a, resources: {requests: {cpu: 100m, memory: 1Gi}}}`,
			model.Resources{CPU: 1000, Memory: 2 << 30, Pods: 1}},
		"sidecars run beside containers and later init containers": {`
initContainers:
- {name: side, restartPolicy: Always, resources: {requests: {cpu: 300m, memory: 1Gi}}}
- {name: i, resources: {requests: {cpu: "1"}}}
containers:
- {name: a, resources: {requests: {cpu: 100m, memory: 1Gi}}}`,
			model.Resources{CPU: 1300, Memory: 2 << 30, Pods: 1}},
		"overhead comes on top": {`
overhead: {cpu: 50m, memory: 64Mi}
containers:
- {name: a, resources: {requests: {cpu: 100m, memory: 64Mi}}}`,
			model.Resources{CPU: 150, Memory: 128 << 20, Pods: 1}},
		"pod-level requests win over the containers'": {`
resources: {requests: {cpu: "2"}}
containers:
- {name: a, resources: {requests: {cpu: 100m, memory: 64Mi}}}`,
			model.Resources{CPU: 2000, Memory: 64 << 20, Pods: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, "requests", podRequests(&corev1.Pod{Spec: *read[corev1.PodSpec](t, tc.spec)}), tc.want)
		})
	}
}

// TestResizedPodsCountAsTheSchedulerDoes: while a running pod is resized, the larger of what it asks for, what it was allotted and what
// it has counts; what its node can never give does not.
func TestResizedPodsCountAsTheSchedulerDoes(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  string
		want model.Resources
	}{
		"growing counts as what it asks for": {`
spec: {containers: [{name: a, resources: {requests: {cpu: "2", memory: 1Gi}}}]}
status: {containerStatuses: [{name: a, allocatedResources: {cpu: "1", memory: 1Gi}, resources: {requests: {cpu: "1", memory: 1Gi}}}]}`,
			model.Resources{CPU: 2000, Memory: 1 << 30, Pods: 1}},
		"shrinking counts as what it has still": {`
spec: {containers: [{name: a, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}
status: {containerStatuses: [{name: a, allocatedResources: {cpu: "1", memory: 1Gi}, resources: {requests: {cpu: "3", memory: 1Gi}}}]}`,
			model.Resources{CPU: 3000, Memory: 1 << 30, Pods: 1}},
		"what the node can never give does not count": {`
spec: {containers: [{name: a, resources: {requests: {cpu: "90", memory: 1Gi}}}]}
status:
  conditions: [{type: PodResizePending, status: "True", reason: Infeasible}]
  containerStatuses: [{name: a, allocatedResources: {cpu: "1", memory: 1Gi}, resources: {requests: {cpu: "1", memory: 1Gi}}}]`,
			model.Resources{CPU: 1000, Memory: 1 << 30, Pods: 1}},
	} {
		t.Run(name, func(t *testing.T) { same(t, "requests", podRequests(read[corev1.Pod](t, tc.pod)), tc.want) })
	}
}

func TestNeedsAreWhatNobodyCanDecide(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want []model.Why
	}{
		"plain": {`{containers: [{name: a}]}`, nil},
		"constraints that are decided": {`
topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]
affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z}]}}
volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]
containers: [{name: a, ports: [{containerPort: 80, hostPort: 80}]}]`, nil},
		"a wish by field": {`
affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchFields: [{key: metadata.name, operator: In, values: [n]}]}}]}}`, nil},
		"a resource claim": {`resourceClaims: [{name: gpu, resourceClaimName: x}]`, []model.Why{model.WhyResourceClaims}},
		"by field": {`
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n]}]}]}}}`,
			[]model.Why{model.WhyMatchFields}},
		"both, in the order of the reasons": {`
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n]}]}]}}}
resourceClaims: [{name: gpu, resourceClaimName: x}]`, []model.Why{model.WhyResourceClaims, model.WhyMatchFields}},
	} {
		t.Run(name, func(t *testing.T) { same(t, "needs", needs(read[corev1.PodSpec](t, tc.spec)), tc.want) })
	}
}

func TestDecodePod(t *testing.T) {
	got := decodePod(read[corev1.Pod](t, `
metadata:
  namespace: ns
  name: p
  uid: u-1
  labels: {app: web, pod-template-generation: "3"}
  annotations: {karpenter.sh/do-not-disrupt: "true", controller.kubernetes.io/pod-deletion-cost: "-7", kubernetes.io/config.mirror: x}
  creationTimestamp: "2026-05-01T12:00:00Z"
  deletionTimestamp: "2026-05-01T12:01:30Z"
  deletionGracePeriodSeconds: 30
  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u-2}]
spec:
  nodeName: n1
  priority: 2000001000
  priorityClassName: system-node-critical
  terminationGracePeriodSeconds: 60
  schedulingGates: [{name: wait}]
  nodeSelector: {disk: ssd}
  tolerations:
  - {operator: Exists}
  - {key: k, operator: Equal, value: v, effect: NoExecute, tolerationSeconds: 5}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: zone, operator: In, values: [a, b]}, {key: old, operator: DoesNotExist}]
        - matchFields: [{key: metadata.name, operator: In, values: [n]}]
  volumes:
  - {name: scratch, ephemeral: {}}
  - {name: data, persistentVolumeClaim: {claimName: data-0}}
  - {name: again, persistentVolumeClaim: {claimName: data-0}}
  containers: [{name: a, resources: {requests: {cpu: 1500u}}}]
status:
  phase: Failed
  nominatedNodeName: m
  startTime: "2026-05-01T12:00:05Z"
  conditions:
  - {type: Ready, status: "True"}
  - {type: PodScheduled, status: "False", reason: Unschedulable}
`))
	five := int64(5)
	same(t, "pod", got, model.Pod{
		Namespace: "ns", Name: "p", UID: "u-1", Labels: map[string]string{"app": "web", "pod-template-generation": "3"},
		Created: noon, Started: noon.Add(5 * time.Second), DeletedAt: noon.Add(90 * time.Second), GraceSeconds: 30,
		Node: "n1", Unschedulable: true, Nominated: "m", Gated: true, Terminal: true, PodReady: true, Phase: model.PodFailed,
		Requests: model.Resources{CPU: 2, Pods: 1}, NodeSelector: map[string]string{"disk": "ssd"},
		Affinity: []model.Term{
			{{Key: "zone", Op: model.In, Values: []string{"a", "b"}}, {Key: "old", Op: model.DoesNotExist}},
			nil,
		},
		Tolerations: []model.Toleration{{Op: "Exists"}, {Key: "k", Op: "Equal", Value: "v", Effect: model.NoExecute, Seconds: &five}},
		Priority:    2000001000, Critical: true, DaemonSet: true, Revision: "d/3", Mirror: true, Owner: "/apis/apps/v1/namespaces/ns/daemonsets/d", DoNotDisrupt: "true", DeletionCost: -7,
		VolumeClaims: []string{"data-0", "p-scratch"},
		Needs:        []model.Why{model.WhyMatchFields},
	})
	plain := decodePod(read[corev1.Pod](t, `
metadata: {namespace: ns, labels: {pod-template-generation: "3"}, annotations: {controller.kubernetes.io/pod-deletion-cost: much}, ownerReferences: [{apiVersion: batch/v1, kind: DaemonSet, name: d, uid: u}]}
status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}
`))
	same(t, "plain pod", plain, model.Pod{Namespace: "ns", Owner: "/apis/batch/v1/namespaces/ns/daemonsets/d", Labels: map[string]string{"pod-template-generation": "3"}, GraceSeconds: 30, Requests: model.Resources{Pods: 1}})
}

// What ends of a StatefulSet comes back; an owner of another group that is called the same means nothing.
func TestDecodePodOfAStatefulSet(t *testing.T) {
	for group, want := range map[string]bool{"apps/v1": true, "apps.kruise.io/v1beta1": false} {
		got := decodePod(read[corev1.Pod](t, `
metadata: {deletionTimestamp: "2026-05-01T12:01:30Z", ownerReferences: [{apiVersion: `+group+`, kind: StatefulSet, name: db, uid: u}]}
`))
		if got.StatefulSet != want || got.Reschedulable() != want {
			t.Errorf("%s: a StatefulSet's %v, needs a place %v", group, got.StatefulSet, got.Reschedulable())
		}
	}
}

func TestDecodeDaemon(t *testing.T) {
	got := decodeDaemon(read[appsv1.DaemonSet](t, `
metadata: {namespace: kube-system, name: cilium, annotations: {deprecated.daemonset.template.generation: "3"}}
spec:
  selector: {}
  template:
    metadata: {labels: {app: cilium}}
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      tolerations: [{key: x, operator: Exists}]
      containers:
      - {name: a, resources: {limits: {cpu: 100m, memory: 64Mi}, requests: {cpu: 50m}}}
`))
	exists := func(key string, effect model.Effect) model.Toleration {
		return model.Toleration{Key: key, Op: "Exists", Effect: effect}
	}
	same(t, "daemon", got, model.Daemon{Namespace: "kube-system", Name: "cilium", Pod: model.Pod{
		Namespace: "kube-system", Name: "cilium", Labels: map[string]string{"app": "cilium"}, GraceSeconds: 30,
		Requests: model.Resources{CPU: 50, Memory: 64 << 20, Pods: 1}, Critical: true, DaemonSet: true, Revision: "cilium/3",
		Tolerations: []model.Toleration{
			{Key: "x", Op: "Exists"},
			exists("node.kubernetes.io/not-ready", model.NoExecute), exists("node.kubernetes.io/unreachable", model.NoExecute),
			exists("node.kubernetes.io/disk-pressure", model.NoSchedule), exists("node.kubernetes.io/memory-pressure", model.NoSchedule),
			exists("node.kubernetes.io/pid-pressure", model.NoSchedule), exists("node.kubernetes.io/unschedulable", model.NoSchedule),
			exists("node.kubernetes.io/network-unavailable", model.NoSchedule),
		},
	}})
}

func TestDecodeNode(t *testing.T) {
	got := decodeNode(read[corev1.Node](t, `
metadata: {name: n1, uid: u, labels: {a: b}, annotations: {c: d}, finalizers: [karpenter.sh/termination], creationTimestamp: "2026-05-01T12:00:00Z"}
spec: {providerID: "azure:///x", unschedulable: true, taints: [{key: k, value: v, effect: NoSchedule}]}
status:
  capacity: {cpu: "2", memory: 8000001, pods: "110", nvidia.com/gpu: "0"}
  allocatable: {cpu: 1900m, memory: 7Gi, pods: "110"}
  nodeInfo: {kubeletVersion: v1.37.1}
  conditions:
  - {type: Ready, status: "False", lastTransitionTime: "2026-05-01T12:00:00Z"}
  - {type: MemoryPressure, status: "False", lastTransitionTime: "2026-05-01T12:00:00Z"}
  - {type: PreemptionScheduled, status: "True", lastTransitionTime: "2026-05-01T12:00:00Z", reason: SpotEvictionIncoming, message: soon}
`))
	same(t, "node", got, model.Node{
		Name: "n1", UID: "u", ProviderID: "azure:///x", Created: noon, Labels: map[string]string{"a": "b"},
		Annotations: map[string]string{"c": "d"}, Finalizers: []string{model.Finalizer},
		Taints: []model.Taint{{Key: "k", Value: "v", Effect: model.NoSchedule}}, Cordoned: true,
		Capacity:    model.Resources{CPU: 2000, Memory: 8000001, Pods: 110},
		Allocatable: model.Resources{CPU: 1900, Memory: 7 << 30, Pods: 110},
		Ready:       model.False, ReadySince: noon, KubeletVersion: "v1.37.1",
		Conditions: []model.Condition{{Type: model.PreemptionScheduled, Status: model.True, Since: noon, Reason: "SpotEvictionIncoming", Message: "soon"}},
	})
	if got := decodeNode(&corev1.Node{}).Ready; got != model.Unknown {
		t.Errorf("a node that says nothing is %s, want Unknown", got)
	}
}

func TestDecodeBudget(t *testing.T) {
	budget := func(status string) model.PDB {
		return decodeBudget(read[policyv1.PodDisruptionBudget](t, `
metadata: {namespace: ns, name: b, generation: 2}
spec:
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector: {matchLabels: {z: "1", a: "2"}, matchExpressions: [{key: m, operator: NotIn, values: [x]}]}
`+status))
	}
	want := model.PDB{Namespace: "ns", Name: "b", HasSel: true, Allowed: 3, AlwaysAllowUnready: true, Selector: []model.Requirement{
		{Key: "a", Op: model.In, Values: []string{"2"}}, {Key: "m", Op: model.NotIn, Values: []string{"x"}}, {Key: "z", Op: model.In, Values: []string{"1"}},
	}}
	same(t, "budget", budget(`status: {observedGeneration: 2, disruptionsAllowed: 3, currentHealthy: 5, desiredHealthy: 2, expectedPods: 5}`), want)
	want.Allowed = 0
	same(t, "not observed yet", budget(`status: {observedGeneration: 1, disruptionsAllowed: 3, currentHealthy: 5, desiredHealthy: 2, expectedPods: 5}`), want)
	same(t, "no selector", decodeBudget(&policyv1.PodDisruptionBudget{}), model.PDB{})
	same(t, "empty selector", decodeBudget(read[policyv1.PodDisruptionBudget](t, `spec: {selector: {}}`)), model.PDB{HasSel: true})
}

func TestDecodePool(t *testing.T) {
	raw := read[karpv1.NodePool](t, `
metadata: {name: p, uid: u, generation: 3, annotations: {a: b}, creationTimestamp: "2026-05-01T12:00:00Z"}
spec:
  weight: 10
  limits: {cpu: 1500m, memory: 10Gi, nodes: "5", nvidia.com/gpu: "8"}
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 30s
    budgets:
    - {nodes: 10%}
    - {nodes: "0", reasons: [Drifted], schedule: "0 9 * * *", duration: 8h}
  template:
    metadata: {labels: {team: x}, annotations: {note: yy}}
    spec:
      nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: default}
      expireAfter: Never
      terminationGracePeriod: 1h
      taints: [{key: k, effect: NoSchedule}]
      startupTaints: [{key: s, effect: NoExecute}]
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand], minValues: 2}]
status:
  nodes: 2
  nodeClassObservedGeneration: 6
  resources: {cpu: "4", nodes: "2"}
  conditions: [{type: Ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-05-01T12:00:00Z", observedGeneration: 3}]
`)
	hour, half := time.Hour, 30*time.Second
	want := model.Pool{
		Name: "p", UID: "u", Generation: 3, Created: noon, Annotations: map[string]string{"a": "b"},
		Conditions: []model.Condition{{Type: model.Ready, Status: model.True, Reason: "Ready", Since: noon, ObservedGeneration: 3}},
		Class:      model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}, Weight: 10,
		Labels: map[string]string{"team": "x"}, NodeAnnotations: map[string]string{"note": "yy"},
		Taints: []model.Taint{{Key: "k", Effect: model.NoSchedule}}, StartupTaints: []model.Taint{{Key: "s", Effect: model.NoExecute}},
		Requirements:           []model.Requirement{{Key: "karpenter.sh/capacity-type", Op: model.In, Values: []string{"spot", "on-demand"}, MinValues: 2}},
		TerminationGracePeriod: &hour,
		Limits:                 map[string]int64{"cpu": 1500, "memory": 10 << 30, "nodes": 5, "nvidia.com/gpu": 8},
		Policy:                 model.WhenEmpty, ConsolidateAfter: &half,
		Budgets: []model.DisruptionBudget{{Nodes: "10%"}, {Nodes: "0", Reasons: []string{"Drifted"}, Schedule: "0 9 * * *", Duration: 8 * time.Hour}},
		Hash:    raw.Hash(), HashVersion: "v3",
		StatusResources: model.Resources{CPU: 4000}, StatusNodes: 2, ClassGeneration: 6,
	}
	same(t, "pool", decodePool(raw), want)
	raw.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("720h")
	raw.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("Never")
	got := decodePool(raw)
	if got.ExpireAfter == nil || *got.ExpireAfter != 720*time.Hour || got.ConsolidateAfter != nil || got.Hash == want.Hash {
		t.Errorf("expireAfter %v, consolidateAfter %v, hash %s (was %s)", got.ExpireAfter, got.ConsolidateAfter, got.Hash, want.Hash)
	}
}

func TestClaimsSurviveTheRoundTrip(t *testing.T) {
	day := 24 * time.Hour
	c := model.Claim{
		Name: "c", Pool: "p", PoolUID: "u-1", Class: model.ClassRef{Group: "g", Kind: "K", Name: "n"},
		Labels: map[string]string{model.LabelPool: "p"}, Annotations: map[string]string{"a": "b"}, Finalizers: []string{model.Finalizer},
		Requirements: []model.Requirement{{Key: "k", Op: model.Gte, Values: []string{"4"}, MinValues: 2}, {Key: "e", Op: model.Exists}},
		Requests:     model.Resources{CPU: 1501, Memory: 3<<30 + 1, Ephemeral: 7, Pods: 4, Extended: map[string]int64{"nvidia.com/gpu": 2}},
		Taints:       []model.Taint{{Key: "t", Value: "v", Effect: model.NoSchedule}}, StartupTaints: []model.Taint{{Key: "s", Effect: model.NoExecute}},
		ExpireAfter: &day, TerminationGracePeriod: &day,
	}
	raw := encodeClaim(c)
	same(t, "claim", decodeClaim(raw), c)
	if o := raw.OwnerReferences[0]; o.APIVersion != "karpenter.sh/v1" || o.Kind != "NodePool" || o.Name != "p" || o.BlockOwnerDeletion == nil || !*o.BlockOwnerDeletion {
		t.Errorf("owner %+v", o)
	}
	c.Pool, c.PoolUID, c.Labels, c.Finalizers, c.ExpireAfter = "", "", nil, nil, nil
	raw = encodeClaim(c)
	text, err := yaml.Marshal(raw.Spec)
	if err != nil || len(raw.OwnerReferences) != 0 || len(raw.Finalizers) != 1 {
		t.Errorf("a claim made by hand: owners %v, finalizers %v, %v", raw.OwnerReferences, raw.Finalizers, err)
	}
	if back := read[karpv1.NodeClaimSpec](t, string(text)); back.ExpireAfter.Duration != nil {
		t.Errorf("never expiring became %v", back.ExpireAfter)
	}
}

// Conditions are written in the order in which they became what they are, Ready last, whatever order they had.
func TestConditionsAreWrittenInOrder(t *testing.T) {
	at := func(s int64) metav1.Time { return metav1.Unix(1_800_000_000+s, 0) }
	have := []metav1.Condition{{Type: "Ready", Status: "Unknown", LastTransitionTime: at(0)}, {Type: "Registered", Status: "Unknown", LastTransitionTime: at(0)},
		{Type: "Launched", Status: "True", LastTransitionTime: at(5)}}
	patch := []model.Condition{{Type: "Registered", Status: model.True, Since: at(9).Time}, {Type: "Ready", Status: model.True, Since: at(9).Time},
		{Type: "Initialized", Status: model.Unknown, Since: at(1).Time}}
	var got []string
	for _, c := range setConditions(have, patch, 1, at(20).Time) {
		got = append(got, c.Type)
	}
	if want := []string{"Initialized", "Launched", "Registered", "Ready"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if have[0].Type != "Ready" {
		t.Error("the list that was there was changed in place")
	}
}
