package simulate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/karpenter-aks/karpenter/api/admit"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/model"
)

// maxRollOut bounds the pods that one workload brings, so that a typing error does not fill the memory.
const maxRollOut = 100_000

// workload is an object that makes pods, as a file has it: no cluster has seen it, so that nobody made its pods.
type workload struct {
	at        chunk
	header    header
	namespace string
	object    []byte
}

// String is the kind and name.
func (w workload) String() string { return w.header.Kind + " " + w.header.Metadata.Name }

// faults are what is wrong with one of its pods: what the workload's own kind is read for, it is told for already.
func (w workload) faults(list []admit.Fault, p model.Pod) []admit.Fault {
	out := told([]model.Object{p})
	if !unread(w.header.Kind) {
		return out
	}
	template := "spec.template."
	if w.header.Kind == "CronJob" {
		template = "spec.jobTemplate.spec.template."
	}
	for _, f := range list {
		out = append(out, admit.Fault{Field: template + f.Field, What: f.What})
	}
	return out
}

// isWorkload reports whether objects of the kind make pods that look for a place. A DaemonSet's go where their node is.
func isWorkload(kind string) bool {
	return slices.Contains([]string{"Deployment", "StatefulSet", "ReplicaSet", "Job", "CronJob"}, kind)
}

// unread reports whether the controller itself never reads the kind.
func unread(kind string) bool { return kind == "Job" || kind == "CronJob" }

// podMaker is what of a workload says which pods it makes.
type podMaker struct {
	Spec struct {
		Replicas    *int32
		Parallelism *int32
		Completions *int32
		Suspend     bool
		Template    struct {
			Metadata struct {
				Labels, Annotations map[string]string
			}
			Spec json.RawMessage
		}
		VolumeClaimTemplates []volumeTemplate
		JobTemplate          json.RawMessage
	}
}

// volumeTemplate is what a volume claim of each pod is made from.
type volumeTemplate struct {
	Metadata struct{ Name string }
	Spec     json.RawMessage
}

// count is how many pods there would be at once.
func (m *podMaker) count(kind string) int {
	n := int32(1)
	switch {
	case m.Spec.Suspend:
		return 0
	case kind != "Job":
		if m.Spec.Replicas != nil {
			n = *m.Spec.Replicas
		}
	default:
		if m.Spec.Parallelism != nil {
			n = *m.Spec.Parallelism
		}
		if c := m.Spec.Completions; c != nil {
			n = min(n, *c)
		}
	}
	return max(0, int(n))
}

// rollOut makes the pods of the workloads that were never in a cluster, and their volume claims, as their controllers would: what if they were
// deployed? It runs when all files are read: a claim that a file has stands.
func (in *input) rollOut() {
	for _, w := range in.workloads {
		object, kind := w.object, w.header.Kind
		if kind == "CronJob" { // one run of it
			var m podMaker
			if json.Unmarshal(object, &m) != nil || m.Spec.Suspend {
				continue
			}
			object, kind = m.Spec.JobTemplate, "Job"
		}
		var m podMaker
		if err := json.Unmarshal(object, &m); err != nil {
			in.bad(Problem{w.at.file, w.at.line, fmt.Sprintf("%s: %v", w, err), "correct it"})
			continue
		}
		in.roll(w, kind, &m)
	}
}

// roll makes the pods of one workload.
func (in *input) roll(w workload, kind string, m *podMaker) {
	wanted := m.count(kind)
	n := min(wanted, maxRollOut)
	var like *model.Pod
	for i := range n {
		name := fmt.Sprintf("%s-%d", w.header.Metadata.Name, i)
		if like != nil {
			p := *like
			p.Name = name
			in.tell(p)
			continue
		}
		p, ok := in.pod(w, m, name, kind == "StatefulSet")
		if !ok {
			return
		}
		if len(p.VolumeClaims) == 0 || !m.ownClaims() {
			like = &p // the others differ by name only
		}
	}
	if n > 0 {
		in.note(fmt.Sprintf("%s %s/%s was never in a cluster: its %s counted as waiting", w.header.Kind, w.namespace, w.header.Metadata.Name, model.Count(n, "pod")))
	}
	if wanted > n {
		in.note(fmt.Sprintf("%s %s/%s asks for %s: those beyond %d are left out", w.header.Kind, w.namespace, w.header.Metadata.Name, model.Count(wanted, "pod"), n))
	}
}

// podVolumes is what of a pod's spec says which claims are its own.
type podVolumes struct{ Volumes []podVolume }

type podVolume struct {
	Name      string
	Ephemeral *struct{ VolumeClaimTemplate volumeTemplate }
}

func (v podVolume) ephemeral() bool { return v.Ephemeral != nil }

// ownClaims reports whether each pod has volume claims of its own.
func (m *podMaker) ownClaims() bool {
	var v podVolumes
	_ = json.Unmarshal(m.Spec.Template.Spec, &v) // a spec that cannot be read is told when its pod is
	return len(m.Spec.VolumeClaimTemplates) > 0 || slices.ContainsFunc(v.Volumes, podVolume.ephemeral)
}

// pod makes one pod and its volume claims. ok is false when its template cannot be read, which is told.
func (in *input) pod(w workload, m *podMaker, name string, stateful bool) (model.Pod, bool) {
	spec := map[string]json.RawMessage{}
	if len(m.Spec.Template.Spec) > 0 {
		if err := json.Unmarshal(m.Spec.Template.Spec, &spec); err != nil {
			in.bad(Problem{w.at.file, w.at.line, fmt.Sprintf("%s: spec.template.spec: %v", w, err), "correct it"})
			return model.Pod{}, false
		}
	}
	in.prioritize(w, spec)
	if stateful {
		in.statefulClaims(w, m, name, spec)
	}
	var v podVolumes
	if json.Unmarshal(m.Spec.Template.Spec, &v) == nil {
		for _, x := range v.Volumes {
			if x.ephemeral() {
				in.volumeClaim(w.namespace, name+"-"+x.Name, x.Ephemeral.VolumeClaimTemplate.Spec)
			}
		}
	}
	object, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": spec,
		"metadata": map[string]any{"name": name, "namespace": w.namespace, "labels": maps.Clone(m.Spec.Template.Metadata.Labels),
			"annotations": maps.Clone(m.Spec.Template.Metadata.Annotations)},
	})
	in.mirror.seen = nil
	var report apikube.Report
	if err == nil {
		report, err = in.reader.Read(object)
	}
	if err == nil && len(in.mirror.seen) == 1 {
		if p, ok := in.mirror.seen[0].(model.Pod); ok {
			in.refused(w.at, w.header, w.faults(report.Faults, p))
			p.Unschedulable = true
			in.tell(p)
			return p, true
		}
	}
	in.bad(Problem{w.at.file, w.at.line, fmt.Sprintf("%s: its pod cannot be made: %v", w, err), "correct the template"})
	return model.Pod{}, false
}

// priorityClasses are what is known of PriorityClasses: those that every cluster has
// (k8s.io/kubernetes/pkg/apis/scheduling), and those of the files.
type priorityClasses struct {
	values  map[string]int32
	general int32 // of pods that name none
	unknown map[string]bool
}

func newPriorityClasses() priorityClasses {
	return priorityClasses{values: map[string]int32{"system-cluster-critical": 2_000_000_000,
		"system-node-critical": 2_000_001_000}, unknown: map[string]bool{}}
}

// priorityClass takes note of a PriorityClass. One that cannot be read is told.
func (in *input) priorityClass(c chunk, name string, object []byte) {
	var class struct {
		Value         int32
		GlobalDefault bool
	}
	if err := json.Unmarshal(object, &class); err != nil {
		in.bad(Problem{c.file, c.line, fmt.Sprintf("PriorityClass %s: %v", name, err), "correct it"})
		return
	}
	in.priorities.values[name] = class.Value
	if class.GlobalDefault {
		in.priorities.general = class.Value
	}
}

// prioritize gives a pod the priority of its class, as the API server's Priority plugin does.
func (in *input) prioritize(w workload, spec map[string]json.RawMessage) {
	if spec["priority"] != nil {
		return
	}
	var name string
	if json.Unmarshal(spec["priorityClassName"], &name) != nil || name == "" {
		spec["priority"] = mustJSON(in.priorities.general)
		return
	}
	value, known := in.priorities.values[name]
	if !known && !in.priorities.unknown[name] {
		in.priorities.unknown[name] = true
		in.note(fmt.Sprintf("%s: PriorityClass %s is not in the input: its pods count with priority 0", w, name))
	}
	spec["priority"] = mustJSON(value)
}

// statefulClaims gives a pod of a StatefulSet its volume claims, named TEMPLATE-POD; they take the place of volumes of the same name.
func (in *input) statefulClaims(w workload, m *podMaker, pod string, spec map[string]json.RawMessage) {
	if len(m.Spec.VolumeClaimTemplates) == 0 {
		return
	}
	var volumes []map[string]json.RawMessage
	_ = json.Unmarshal(spec["volumes"], &volumes) // what is no list of volumes is told when the pod is read
	for _, t := range m.Spec.VolumeClaimTemplates {
		claim := t.Metadata.Name + "-" + pod
		in.volumeClaim(w.namespace, claim, t.Spec)
		name, source := mustJSON(t.Metadata.Name), mustJSON(map[string]string{"claimName": claim})
		volumes = slices.DeleteFunc(volumes, func(v map[string]json.RawMessage) bool { return string(v["name"]) == string(name) })
		volumes = append(volumes, map[string]json.RawMessage{"name": name, "persistentVolumeClaim": source})
	}
	spec["volumes"] = mustJSON(volumes)
}

// volumeClaim makes a claim that no file has. One that cannot be read is told with the pod's, which then has no claim.
func (in *input) volumeClaim(namespace, name string, spec json.RawMessage) {
	key := model.VolumeClaim{Namespace: namespace, Name: name}.ObjectKey()
	if in.claims[key] || len(spec) == 0 {
		return
	}
	in.claims[key] = true
	in.made++
	if in.defaultClass != "" {
		var given map[string]json.RawMessage
		if json.Unmarshal(spec, &given) == nil && given != nil && given["storageClassName"] == nil {
			given["storageClassName"] = mustJSON(in.defaultClass) // as the API server's DefaultStorageClass plugin does
			spec = mustJSON(given)
		}
	}
	_, err := in.reader.Read(mustJSON(map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": map[string]string{"name": name, "namespace": namespace}, "spec": spec}))
	if err != nil {
		in.bad(Problem{What: fmt.Sprintf("volume claim %s/%s cannot be made from its template: %v", namespace, name, err), Do: "correct the template"})
	}
}

// mustJSON writes strings, and what was read from JSON.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
