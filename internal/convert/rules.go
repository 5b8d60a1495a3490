package convert

import (
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// convert rewrites one object, or says why not.
func (r *run) convert(o *object) {
	version := text(o.node, "apiVersion")
	switch {
	case o.is(poolBefore, "NodePool"):
		r.pool(o)
	case o.is(classBefore, "AKSNodeClass"):
		set(o.node, "apiVersion", scalar(classToday)) // the two schemas are the same
		r.touch(o)
	case o.is(poolBefore, "NodeClaim"):
		r.problems = append(r.problems, o.at(nil, "NodeClaims are written by the controller and not by people: leave it out"))
	case strings.HasPrefix(version, "karpenter.sh/v1alpha"), strings.HasPrefix(version, "karpenter.azure.com/v1alpha1"):
		r.problems = append(r.problems, o.at(get(o.node, "apiVersion"), "%s is older than what can be converted: write it anew as %s NodePool and %s AKSNodeClass", version, poolToday, classToday))
	}
}

// touch notes that the object was rewritten.
func (r *run) touch(o *object) {
	o.doc.changed = true
	r.changed++
}

// pool rewrites a NodePool. The rules are those of the conversion that Karpenter v1.0 carried as a webhook.
func (r *run) pool(o *object) {
	r.touch(o)
	set(o.node, "apiVersion", scalar(poolToday))
	spec := get(o.node, "spec")
	template := get(get(spec, "template"), "spec")
	if template == nil || template.Kind != yaml.MappingNode {
		r.problems = append(r.problems, o.at(spec, "spec.template.spec is missing: say there which nodes it may buy"))
		return
	}
	r.disruption(o, spec, template)
	r.classRef(template)
	r.kubelet(o, template)
	if n := cut(template, "resources"); n != nil {
		r.notes = append(r.notes, o.at(n, "spec.template.spec.resources is left out: it never had an effect on a NodePool"))
	}
}

// disruption renames the policy, and moves expireAfter to the template.
func (r *run) disruption(o *object, spec, template *yaml.Node) {
	d := get(spec, "disruption")
	policy := text(d, "consolidationPolicy")
	if policy == "WhenUnderutilized" {
		set(d, "consolidationPolicy", scalar("WhenEmptyOrUnderutilized"))
	}
	if n := cut(d, "expireAfter"); n != nil {
		if get(template, "expireAfter") == nil {
			set(template, "expireAfter", n)
		}
		if n.Value != "Never" {
			r.notes = append(r.notes, o.at(n, "expireAfter %s stands in spec.template.spec now, and nodes leave at that age even where a budget would hold them; terminationGracePeriod beside it bounds their drain", n.Value))
		}
	}
	switch {
	case d == nil:
	case len(d.Content) == 0:
		cut(spec, "disruption")
	case get(d, "consolidateAfter") != nil:
	case policy == "WhenEmpty": // both were needed; without the time nothing was consolidated
		set(d, "consolidateAfter", scalar("Never"))
	default: // it had to be left out, and has to be there today
		set(d, "consolidateAfter", scalar("0s"))
	}
}

// classRef names the class by group instead of version. v1beta1 let the kind and the version out.
func (r *run) classRef(template *yaml.Node) {
	ref := get(template, "nodeClassRef")
	if ref == nil {
		return
	}
	group := "karpenter.azure.com"
	if v := cut(ref, "apiVersion"); v != nil {
		if g, _, ok := strings.Cut(v.Value, "/"); ok {
			group = g
		}
	}
	if get(ref, "kind") == nil {
		first(ref, "kind", scalar("AKSNodeClass"))
	}
	if get(ref, "group") == nil {
		first(ref, "group", scalar(group))
	}
}

// moved are the kubelet settings of a v1beta1 NodePool that an AKSNodeClass has; the others never had an effect on AKS.
var moved = map[string][]string{
	"maxPods":                     {"maxPods"},
	"cpuCFSQuota":                 {"kubelet", "cpuCFSQuota"},
	"imageGCHighThresholdPercent": {"kubelet", "imageGCHighThresholdPercent"},
	"imageGCLowThresholdPercent":  {"kubelet", "imageGCLowThresholdPercent"},
}

// kubelet moves kubelet settings from the NodePool to its class.
func (r *run) kubelet(o *object, template *yaml.Node) {
	k := cut(template, "kubelet")
	if k == nil || k.Kind != yaml.MappingNode {
		return
	}
	name := text(get(template, "nodeClassRef"), "name")
	class := r.class(name)
	for i := 0; i+1 < len(k.Content); i += 2 {
		key, value := k.Content[i], k.Content[i+1]
		path, known := moved[key.Value]
		switch {
		case !known:
			r.notes = append(r.notes, o.at(key, "kubelet.%s is left out: an AKSNodeClass has no such setting", key.Value))
		case class == nil:
			r.problems = append(r.problems, o.at(key, "kubelet.%s belongs to AKSNodeClass %s now, which is in none of the files: name its file, too", key.Value, name))
		default:
			r.give(o, class, path, key, value)
		}
	}
}

// give sets a field of the class, unless it has another value already.
func (r *run) give(o, class *object, path []string, key, value *yaml.Node) {
	at := child(class.node, "spec")
	for _, step := range path[:len(path)-1] {
		at = child(at, step)
	}
	last := path[len(path)-1]
	if have := get(at, last); have != nil && have.Value != value.Value {
		r.problems = append(r.problems, o.at(key, "kubelet.%s is %s here, and spec.%s of %s is %s: two NodePools that differ in it need two classes",
			key.Value, value.Value, strings.Join(path, "."), class, have.Value))
		return
	}
	set(at, last, value)
	class.doc.changed = true
	r.notes = append(r.notes, o.at(key, "kubelet.%s is spec.%s of %s now, for all NodePools that use it", key.Value, strings.Join(path, "."), class))
}

// class finds an AKSNodeClass of either version.
func (r *run) class(name string) *object {
	for _, o := range r.objects {
		if (o.is(classBefore, "AKSNodeClass") || o.is(classToday, "AKSNodeClass")) && text(get(o.node, "metadata"), "name") == name {
			return o
		}
	}
	return nil
}
