package apikube

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/karpenter-aks/karpenter/model"
)

func in(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Op: model.In, Values: values}
}

func picks(list ...model.Requirement) *model.Selector { return &model.Selector{Requirements: list} }

func rawPod(t *testing.T, spec string) *corev1.Pod {
	t.Helper()
	return &corev1.Pod{
		ObjectMeta: read[corev1.Pod](t, `metadata: {namespace: ns, name: p, labels: {app: web, pod-template-hash: h1}}`).ObjectMeta,
		Spec:       *read[corev1.PodSpec](t, spec),
	}
}

func onePod(t *testing.T, spec string) model.Pod {
	t.Helper()
	return decodePod(rawPod(t, spec))
}

func TestDecodeSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		constraint string
		want       model.Spread
	}{
		"with its defaults": {`{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}`,
			model.Spread{Key: "z", MaxSkew: 1, Hard: true, HonorAffinity: true, Selector: picks(in("app", "web"))}},
		"a wish": {`{maxSkew: 2, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}`,
			model.Spread{Key: "z", MaxSkew: 2, HonorAffinity: true, Selector: picks()}},
		"no selector counts nothing": {`{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [app]}`,
			model.Spread{Key: "z", MaxSkew: 1, Hard: true, HonorAffinity: true}},
		"policies and domains": {`{maxSkew: 1, minDomains: 3, topologyKey: z, whenUnsatisfiable: DoNotSchedule, nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor, labelSelector: {}}`,
			model.Spread{Key: "z", MaxSkew: 1, MinDomains: 3, Hard: true, HonorTaints: true, Selector: picks()}},
		"policies said aloud": {`{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, nodeAffinityPolicy: Honor, nodeTaintsPolicy: Ignore, labelSelector: {}}`,
			model.Spread{Key: "z", MaxSkew: 1, Hard: true, HonorAffinity: true, Selector: picks()}},
		"label keys fold in": {`{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [pod-template-hash, absent], labelSelector: {matchLabels: {app: web}}}`,
			model.Spread{Key: "z", MaxSkew: 1, Hard: true, HonorAffinity: true, Selector: picks(in("app", "web"), in("pod-template-hash", "h1"))}},
		"label keys that the API server folded in already": {`{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [pod-template-hash], labelSelector: {matchExpressions: [{key: pod-template-hash, operator: In, values: [h1]}]}}`,
			model.Spread{Key: "z", MaxSkew: 1, Hard: true, HonorAffinity: true, Selector: picks(in("pod-template-hash", "h1"))}},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, "spread", onePod(t, `topologySpreadConstraints: [`+tc.constraint+`]`).Spread, []model.Spread{tc.want})
		})
	}
}

func TestDecodePodTerms(t *testing.T) {
	for name, tc := range map[string]struct {
		term string
		want model.PodTerm
	}{
		"the pod's own namespace": {`{topologyKey: z, labelSelector: {matchLabels: {app: db}}}`,
			model.PodTerm{Key: "z", Selector: picks(in("app", "db")), Namespaces: []string{"ns"}}},
		"named namespaces, sorted": {`{topologyKey: z, labelSelector: {}, namespaces: [b, a, b]}`,
			model.PodTerm{Key: "z", Selector: picks(), Namespaces: []string{"a", "b"}}},
		"picked namespaces": {`{topologyKey: z, labelSelector: {}, namespaceSelector: {matchLabels: {team: x}}}`,
			model.PodTerm{Key: "z", Selector: picks(), NamespaceSelector: picks(in("team", "x"))}},
		"all namespaces": {`{topologyKey: z, labelSelector: {}, namespaceSelector: {}}`,
			model.PodTerm{Key: "z", Selector: picks(), NamespaceSelector: picks()}},
		"named and picked": {`{topologyKey: z, labelSelector: {}, namespaces: [a], namespaceSelector: {matchLabels: {team: x}}}`,
			model.PodTerm{Key: "z", Selector: picks(), Namespaces: []string{"a"}, NamespaceSelector: picks(in("team", "x"))}},
		"no selector picks nothing": {`{topologyKey: z}`, model.PodTerm{Key: "z", Namespaces: []string{"ns"}}},
		"label keys fold in": {`{topologyKey: z, labelSelector: {matchLabels: {tier: web}}, matchLabelKeys: [app], mismatchLabelKeys: [pod-template-hash, absent]}`,
			model.PodTerm{Key: "z", Namespaces: []string{"ns"}, Selector: picks(in("app", "web"),
				model.Requirement{Key: "pod-template-hash", Op: model.NotIn, Values: []string{"h1"}}, in("tier", "web"))}},
		"label keys that were folded in stay as they were, whatever the labels are now": {
			`{topologyKey: z, labelSelector: {matchExpressions: [{key: app, operator: In, values: [before]}]}, matchLabelKeys: [app], mismatchLabelKeys: [pod-template-hash]}`,
			model.PodTerm{Key: "z", Namespaces: []string{"ns"}, Selector: picks(in("app", "before"),
				model.Requirement{Key: "pod-template-hash", Op: model.NotIn, Values: []string{"h1"}})}},
	} {
		t.Run(name, func(t *testing.T) {
			p := onePod(t, `
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution: [`+tc.term+`]
    preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, podAffinityTerm: `+tc.term+`}]
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution: [`+tc.term+`]
    preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7, podAffinityTerm: `+tc.term+`}]`)
			same(t, "affinity", p.PodAffinity, []model.PodTerm{tc.want})
			same(t, "anti-affinity", p.PodAntiAffinity, []model.PodTerm{tc.want})
			same(t, "wishes", p.Prefers, []model.Preference{{Weight: 5, Pod: &tc.want}, {Weight: 7, Pod: &tc.want, Anti: true}})
		})
	}
}

func TestDecodeNodeWishes(t *testing.T) {
	p := onePod(t, `
affinity:
  nodeAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 3, preference: {matchExpressions: [{key: disk, operator: In, values: [ssd]}]}}
    - {weight: 4, preference: {}}
    - {weight: 5, preference: {matchFields: [{key: metadata.name, operator: In, values: [n]}]}}
    - {weight: 6, preference: {matchExpressions: [{key: old, operator: DoesNotExist}]}}`)
	same(t, "wishes", p.Prefers, []model.Preference{
		{Weight: 3, Node: model.Term{in("disk", "ssd")}},
		{Weight: 6, Node: model.Term{{Key: "old", Op: model.DoesNotExist}}},
	})
}

func TestDecodeHostPorts(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want []model.HostPort
	}{
		"a container's own port is none": {`containers: [{name: a, ports: [{containerPort: 80}]}]`, nil},
		"TCP on every address by default": {`containers: [{name: a, ports: [{containerPort: 80, hostPort: 8080}]}]`,
			[]model.HostPort{{Protocol: "TCP", Port: 8080}}},
		"0.0.0.0 is every address": {`containers: [{name: a, ports: [{containerPort: 53, hostPort: 53, protocol: UDP, hostIP: 0.0.0.0}]}]`,
			[]model.HostPort{{Protocol: "UDP", Port: 53}}},
		"every container, sorted": {`
initContainers:
- {name: i, ports: [{containerPort: 1, hostPort: 9}]}
- {name: side, restartPolicy: Always, ports: [{containerPort: 1, hostPort: 8, hostIP: 10.0.0.1}]}
containers:
- {name: a, ports: [{containerPort: 1, hostPort: 9}, {containerPort: 2, hostPort: 7, protocol: SCTP}]}`,
			[]model.HostPort{{Protocol: "SCTP", Port: 7}, {IP: "10.0.0.1", Protocol: "TCP", Port: 8}, {Protocol: "TCP", Port: 9}}},
	} {
		t.Run(name, func(t *testing.T) { same(t, "host ports", onePod(t, tc.spec).HostPorts, tc.want) })
	}
	for name, tc := range map[string]struct {
		network string
		want    []model.HostPort
	}{
		"a template on the host's network": {"hostNetwork: true", []model.HostPort{{Protocol: "TCP", Port: 9100}}},
		"a template on its own network":    {"hostNetwork: false", nil},
	} {
		d := decodeDaemon(read[appsv1.DaemonSet](t, `
spec: {selector: {}, template: {spec: {`+tc.network+`, containers: [{name: a, ports: [{containerPort: 9100}]}]}}}`))
		same(t, name, d.Pod.HostPorts, tc.want)
	}
}

func TestDaemonsHaveConstraintsToo(t *testing.T) {
	d := decodeDaemon(read[appsv1.DaemonSet](t, `
metadata: {namespace: ops, name: agent}
spec:
  selector: {}
  template:
    metadata: {labels: {app: agent}}
    spec:
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {}, matchLabelKeys: [app]}]}}`))
	same(t, "anti-affinity", d.Pod.PodAntiAffinity, []model.PodTerm{{Key: "z", Namespaces: []string{"ops"}, Selector: picks(in("app", "agent"))}})
}

func TestDecodeVolumeClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		claim string
		want  model.VolumeClaim
	}{
		"asked for": {`spec: {storageClassName: managed-csi}`, model.VolumeClaim{Class: "managed-csi"}},
		"bound": {`
metadata: {annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {storageClassName: managed-csi, volumeName: pv-1}
status: {phase: Bound}`, model.VolumeClaim{Class: "managed-csi", Volume: "pv-1", Bound: true}},
		"named beforehand": {`spec: {storageClassName: "", volumeName: pv-1}`, model.VolumeClaim{Volume: "pv-1"}},
		"being made":       {`metadata: {annotations: {volume.kubernetes.io/selected-node: n1}}`, model.VolumeClaim{SelectedNode: "n1"}},
		"for one pod":      {`spec: {accessModes: [ReadWriteOncePod]}`, model.VolumeClaim{OnePod: true}},
		"for one node":     {`spec: {accessModes: [ReadWriteOnce]}`, model.VolumeClaim{}},
		"lost":             {`status: {phase: Lost}`, model.VolumeClaim{Lost: true}},
		"going":            {`metadata: {deletionTimestamp: "2026-05-01T12:00:00Z"}`, model.VolumeClaim{Deleting: true}},
		"with a class in the old place": {`
metadata: {annotations: {volume.beta.kubernetes.io/storage-class: old}}
spec: {storageClassName: new}`, model.VolumeClaim{Class: "old"}},
	} {
		t.Run(name, func(t *testing.T) {
			raw := read[corev1.PersistentVolumeClaim](t, tc.claim)
			raw.Namespace, raw.Name, tc.want.Namespace, tc.want.Name = "ns", "c", "ns", "c"
			same(t, "claim", decodeVolumeClaim(raw), tc.want)
		})
	}
}

func TestDecodeVolumes(t *testing.T) {
	for name, tc := range map[string]struct {
		volume string
		want   model.PersistentVolume
	}{
		"a disk in a zone": {`
metadata: {name: pv}
spec:
  claimRef: {namespace: ns, name: c}
  csi: {driver: disk.csi.azure.com, volumeHandle: /disks/1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.disk.csi.azure.com/zone, operator: In, values: [eastus-1]}]}]}}`,
			model.PersistentVolume{Driver: "disk.csi.azure.com", Handle: "/disks/1", ClaimNamespace: "ns", ClaimName: "c",
				Terms: []model.Term{{in("topology.disk.csi.azure.com/zone", "eastus-1")}}}},
		"alternatives": {`
spec:
  csi: {driver: d, volumeHandle: h}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: z, operator: In, values: [a]}]}, {matchExpressions: [{key: z, operator: In, values: [b]}]}]}}`,
			model.PersistentVolume{Driver: "d", Handle: "h", Terms: []model.Term{{in("z", "a")}, {in("z", "b")}}}},
		"a local disk": {`
spec:
  local: {path: /mnt/0}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}`,
			model.PersistentVolume{Terms: []model.Term{{in("kubernetes.io/hostname", "n1")}}}},
		"a disk in the old form, with labels": {`
metadata: {labels: {topology.kubernetes.io/zone: eastus-2__eastus-1, other: x}}
spec: {azureDisk: {diskName: d, diskURI: /disks/2}}`,
			model.PersistentVolume{Driver: "disk.csi.azure.com", Handle: "/disks/2", Terms: []model.Term{{in("topology.kubernetes.io/zone", "eastus-1", "eastus-2")}}}},
		"an old disk elsewhere": {`spec: {awsElasticBlockStore: {volumeID: vol-1}}`, model.PersistentVolume{Driver: "ebs.csi.aws.com", Handle: "vol-1"}},
		"labels beside an affinity": {`
metadata: {labels: {failure-domain.beta.kubernetes.io/region: eastus}}
spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: z, operator: In, values: [a]}]}]}}}`,
			model.PersistentVolume{Terms: []model.Term{{in("z", "a"), in("failure-domain.beta.kubernetes.io/region", "eastus")}}}},
		"by field, which no new node has": {`
spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n]}]}]}}}`,
			model.PersistentVolume{Terms: []model.Term{nil}}},
		"reached from everywhere": {`spec: {nfs: {server: s, path: /}}`, model.PersistentVolume{}},
	} {
		t.Run(name, func(t *testing.T) {
			raw := read[corev1.PersistentVolume](t, tc.volume)
			raw.Name, tc.want.Name = "pv", "pv"
			same(t, "volume", decodeVolume(raw), tc.want)
		})
	}
}

func TestDecodeStorageClasses(t *testing.T) {
	for name, tc := range map[string]struct {
		class string
		want  model.StorageClass
	}{
		"waits, in a zone": {`
provisioner: disk.csi.azure.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: topology.disk.csi.azure.com/zone, values: [eastus-1, eastus-2]}]}]`,
			model.StorageClass{Provisioner: "disk.csi.azure.com", Waits: true, Terms: []model.Term{{in("topology.disk.csi.azure.com/zone", "eastus-1", "eastus-2")}}}},
		"at once by default":    {`provisioner: file.csi.azure.com`, model.StorageClass{Provisioner: "file.csi.azure.com"}},
		"by its old name":       {`provisioner: kubernetes.io/azure-disk`, model.StorageClass{Provisioner: "disk.csi.azure.com"}},
		"kept in several zones": {`{provisioner: disk.csi.azure.com, parameters: {skuname: StandardSSD_ZRS}}`, model.StorageClass{Provisioner: "disk.csi.azure.com", Redundant: true}},
		"kept in one zone":      {`{provisioner: disk.csi.azure.com, parameters: {skuname: StandardSSD_LRS}}`, model.StorageClass{Provisioner: "disk.csi.azure.com"}},
		"an empty topology is nowhere": {`{provisioner: d, allowedTopologies: [{matchLabelExpressions: [{key: z, values: [a]}]}, {}]}`,
			model.StorageClass{Provisioner: "d", Terms: []model.Term{{in("z", "a")}, nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, "class", decodeStorageClass(read[storagev1.StorageClass](t, tc.class)), tc.want)
		})
	}
}

func TestDecodeCSINodesAndNamespaces(t *testing.T) {
	got := decodeCSINode(read[storagev1.CSINode](t, `
metadata: {name: n1}
spec:
  drivers:
  - {name: disk.csi.azure.com, nodeID: n1, topologyKeys: [z], allocatable: {count: 8}}
  - {name: file.csi.azure.com, nodeID: n1, topologyKeys: []}`))
	same(t, "csi node", got, model.CSINode{Name: "n1", AttachLimits: map[string]int64{"disk.csi.azure.com": 8},
		TopologyKeys: map[string][]string{"disk.csi.azure.com": {"z"}, "file.csi.azure.com": nil}})
	same(t, "namespace", decodeNamespace(read[corev1.Namespace](t, `metadata: {name: a, labels: {team: x}}`)),
		model.Namespace{Name: "a", Labels: map[string]string{"team": "x"}})
}

// Whatever is shared, a pod comes out as it does without sharing, and pods of different templates do not meet.
func TestSharingChangesNothing(t *testing.T) {
	var n interner
	var pods []*corev1.Pod
	for _, spec := range []string{
		`{}`,
		`nodeSelector: {}`,
		`nodeSelector: {a: b}`,
		`nodeSelector: {a: c}`,
		`nodeSelector: {ab: ""}`,
		`{priority: 0}`,
		`{priority: 7}`,
		`priorityClassName: system-node-critical`,
		`terminationGracePeriodSeconds: 7`,
		`schedulingGates: [{name: g}]`,
		`{tolerations: [{key: a, operator: Exists}]}`,
		`{tolerations: [{key: a, operator: Exists, tolerationSeconds: 0}]}`,
		`{tolerations: [{key: a}, {operator: Exists}]}`,
		`containers: [{name: a, resources: {requests: {x/gpu: 1}}}]`,
		`containers: [{name: a, resources: {requests: {x/gpu: 2}}}]`,
		`containers: [{name: a, resources: {requests: {cpu: 1m}}}]`,
		`containers: [{name: a, resources: {requests: {cpu: 100u}}}, {name: b, resources: {requests: {cpu: 100u}}}]`,
		`containers: [{name: a, resources: {requests: {cpu: 1m}}}, {name: b, resources: {requests: {cpu: 1m}}}]`,
		`containers: [{name: a, resources: {requests: {memory: 8Ei}}}]`,
		`{overhead: {cpu: 1m}, containers: [{name: a}]}`,
		`{resources: {requests: {cpu: 1m}}, containers: [{name: a}]}`,
		`{initContainers: [{name: i, resources: {requests: {cpu: 1m}}}], containers: [{name: a, resources: {requests: {cpu: 1m}}}]}`,
		`{initContainers: [{name: i, restartPolicy: Always, resources: {requests: {cpu: 1m}}}], containers: [{name: a, resources: {requests: {cpu: 1m}}}]}`,
		`containers: [{name: a, ports: [{containerPort: 1, hostPort: 1}]}]`,
		`containers: [{name: a, ports: [{containerPort: 1, hostPort: 1, hostIP: 10.0.0.1}]}]`,
		`resourceClaims: [{name: gpu, resourceClaimName: x}]`,
		`topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]`,
		`topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]`,
		`topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]`,
		`affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {}}]}}`,
		`affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {}}]}}`,
		`affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {}, namespaceSelector: {}}]}}`,
		`affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: z, labelSelector: {}}}]}}`,
		`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}]}}}`,
		`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}`,
		`affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}`,
	} {
		pods = append(pods, rawPod(t, spec))
	}
	for _, status := range []string{
		`allocatedResources: {cpu: 5m}`,
		`containerStatuses: [{name: a, ready: true, restartCount: 0, image: "", imageID: "", allocatedResources: {cpu: 6m}}]`,
		`containerStatuses: [{name: a, ready: true, restartCount: 0, image: "", imageID: "", resources: {requests: {cpu: 7m}}}]`,
	} {
		p := rawPod(t, `containers: [{name: a, resources: {requests: {cpu: 1m}}}]`)
		p.Status = *read[corev1.PodStatus](t, status)
		pods = append(pods, p)
	}
	for range 2 { // the second time, everything is known
		for _, p := range pods {
			same(t, "pod", *n.pod(p), decodePod(p))
		}
	}
	if got, want := len(n.templates.young), len(pods); got != want {
		t.Errorf("%d templates are kept, want %d", got, want)
	}
}

// What is a pod's own is not its template's.
func TestPodsOfOneTemplateStayThemselves(t *testing.T) {
	var n interner
	const spec = `
volumes: [{name: scratch, ephemeral: {}}]
topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, matchLabelKeys: [app]}]
affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {}}]}}`
	for _, edit := range []func(*corev1.Pod){
		func(*corev1.Pod) {},
		func(p *corev1.Pod) { p.Name, p.UID = "q", "u" },
		func(p *corev1.Pod) { p.Namespace = "other" },
		func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} },
		func(p *corev1.Pod) { p.Labels = nil },
		func(p *corev1.Pod) { p.Spec.NodeName, p.Status.NominatedNodeName = "n1", "n2" },
		func(p *corev1.Pod) { p.Annotations = map[string]string{model.AnnotationDoNotDisrupt: "true"} },
		func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
	} {
		p := rawPod(t, spec)
		edit(p)
		same(t, "pod", *n.pod(p), decodePod(p))
	}
	if got := len(n.templates.young); got != 4 { // the constraints name the pod's namespace and one of its labels
		t.Errorf("%d templates are kept, want 4", got)
	}
}

func TestSharingIsBounded(t *testing.T) {
	var s shelf[int]
	get := func(i int) (v int, made bool) {
		v = s.get([]byte{byte(i >> 16), byte(i >> 8), byte(i)}, func() int { made = true; return i })
		return v, made
	}
	for i := range 3 * InternLimit {
		if v, made := get(i); v != i || !made || len(s.young)+len(s.old) > 2*InternLimit {
			t.Fatalf("thing %d is %d, made %v; %d things are kept", i, v, made, len(s.young)+len(s.old))
		}
	}
	for _, tc := range []struct {
		i    int
		made bool
	}{{3*InternLimit - 1, false}, {2*InternLimit - 1, false}, {0, true}} {
		if v, made := get(tc.i); v != tc.i || made != tc.made {
			t.Errorf("thing %d: %d, made anew %v, want %v", tc.i, v, made, tc.made)
		}
	}
}
