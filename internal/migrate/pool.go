package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-aks/karpenter/model"
)

const (
	ciliumTaint   = "node.cilium.io/agent-not-ready"
	labelFamily   = "karpenter.azure.com/sku-family"
	labelCPU      = "karpenter.azure.com/sku-cpu"
	labelPremium  = "karpenter.azure.com/sku-storage-premium-capable"
	labelUltra    = "karpenter.azure.com/sku-storage-ultra-ssd"
	labelDiskRoom = "karpenter.azure.com/sku-storage-ephemeralos-maxsize"
	labelScope    = "karpenter.azure.com/placement-scope"

	// mostCores bounds the machines of a family; an agent pool of larger ones gets twice its own.
	mostCores = 32
	// classDisk is the size of the OS disk of an AKSNodeClass that names none, in GB.
	classDisk = 128
)

// pool writes one agent pool, or keeps it.
func (w *writer) pool(s *settings, p profile) {
	name := s.text("name")
	if why := keeps(s); why != "" {
		w.kept = append(w.kept, Kept{name, why})
		return
	}
	w.at = name
	for _, f := range facts() {
		s.get(f)
	}
	made := Made{Name: name, Sizes: sizesOf(s), Spot: s.is("scaleSetPriority", "Spot")}
	w.made = append(w.made, made)

	var labels, template, spec object
	labels = w.labels(s)
	meta := object{}
	meta.put("labels", labels)
	template.put("metadata", meta)
	spec.put("nodeClassRef", inline{{"group", "karpenter.azure.com"}, {"kind", "AKSNodeClass"},
		{"name", name}})
	spec.put("taints", w.taints(s, "nodeTaints"))
	startup := w.taints(s, "nodeInitializationTaints")
	if w.cluster.cilium {
		startup = append(startup, inline{{"key", ciliumTaint}, {"value", "true"},
			{"effect", "NoExecute"}})
	}
	spec.put("startupTaints", startup)
	spec.put("requirements", w.requirements(s, made))
	spec.put("terminationGracePeriod", p.grace)
	spec.put("expireAfter", "Never")
	template.put("spec", spec)

	body := object{}
	body.put("template", template)
	if weight := weightOf(name, w.cluster.priorities); p.byPriority && weight > 0 {
		body.put("weight", weight)
	}
	body.put("limits", w.limits(s, made))
	body.put("disruption", p.disruption())
	class := w.class(s)
	for _, n := range silent() {
		if v := s.get(n.name); !empty(v) && !strings.EqualFold(said(v), n.says) {
			w.note(shown(n.name, v), "%s", n.what)
		}
	}
	w.version(s)
	w.rest(s, "")
	w.written = append(w.written, written{
		from: inShort(made, s), name: name,
		pool:  kubernetes("karpenter.sh/v1", "NodePool", name, body),
		class: kubernetes("karpenter.azure.com/v1beta1", "AKSNodeClass", name, class),
	})
}

func kubernetes(version, kind, name string, spec object) object {
	o := object{{"apiVersion", version}, {"kind", kind}, {"metadata", object{{"name", name}}}}
	o.put("spec", spec)
	return o
}

func inShort(m Made, s *settings) string {
	var sizes []string
	for _, x := range m.Sizes {
		sizes = append(sizes, fmt.Sprintf("%d × %s", x.Count, x.Name))
	}
	text := "from agent pool " + m.Name + ": " + strings.Join(sizes, ", ")
	if s.is("enableAutoScaling", "true") {
		text += fmt.Sprintf(", from %d to %d", s.number("minCount"), s.number("maxCount"))
	}
	return text
}

// keeps says why an agent pool becomes no NodePool; "" when it does.
func keeps(s *settings) string {
	switch {
	case s.is("mode", "System"):
		return "a system pool: the cluster needs one, and Karpenter itself runs there"
	case !s.is("mode", "User") && s.text("mode") != "":
		return "mode " + s.text("mode") + ": no NodePool does that"
	case !s.is("osType", "Linux") && s.text("osType") != "":
		return "its machines run " + s.text("osType") +
			", and Karpenter makes Linux machines on Azure"
	case imageFamily(s) == "":
		return "osSKU " + s.text("osSKU") + ": no AKSNodeClass has such an image"
	}
	return ""
}

// facts are fields that say how things are, and nothing that somebody could want.
func facts() []string {
	return []string{"id", "name", "type", "resourceGroup", "mode", "osType", "eTag",
		"provisioningState", "currentOrchestratorVersion", "nodeImageVersion", "status",
		"virtualMachineNodesStatus", "enableAutoScaling", "count", "systemData"}
}

// sizesOf are the sizes of an agent pool's machines: one of a scale set, several of virtual
// machines.
func sizesOf(s *settings) []Size {
	var out []Size
	if size := s.text("vmSize"); size != "" {
		x := Size{Name: size, Count: s.number("count"), Most: s.number("count")}
		if s.is("enableAutoScaling", "true") {
			x.Most = s.number("maxCount")
		}
		return []Size{x}
	}
	scale := s.sub("virtualMachinesProfile").sub("scale")
	manual, _ := scale.get("manual").([]any)
	for _, m := range manual {
		x := newSettings(m)
		out = append(out, Size{Name: x.text("size"), Count: x.number("count")})
	}
	if auto := scale.sub("autoscale"); auto.has("size") {
		out = append(out, Size{auto.text("size"), s.number("count"), auto.number("maxCount")})
	}
	slices.SortStableFunc(out, func(a, b Size) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// labels are those of an agent pool that a NodePool may carry.
func (w *writer) labels(s *settings) object {
	own := s.texts("nodeLabels")
	for _, f := range sorted(own) {
		switch {
		case brought(f.name):
			delete(own, f.name)
		case reserved(f.name):
			delete(own, f.name)
			w.note("nodeLabels "+f.name, "AKS keeps this label for itself, machines will not "+
				"carry "+
				"it: a pod that selects it has to select another")
		}
	}
	if w.cluster.cilium {
		own[labelDataplane] = cilium
	}
	return sorted(own)
}

// brought are labels that every machine has without being told.
func brought(key string) bool {
	return key == "kubernetes.azure.com/scalesetpriority" || key == "kubernetes.azure.com/mode" ||
		key == "kubernetes.azure.com/os-sku" || key == "kubernetes.azure.com/fips_enabled"
}

// reserved reports whether the CRDs refuse a label on a NodePool (api/crds).
func reserved(key string) bool {
	domain, _, has := strings.Cut(key, "/")
	if !has {
		bare := []string{"accelerator", "agentpool", "storageprofile", "storagetier"}
		return slices.Contains(bare, key)
	}
	return key == model.LabelHostname || strings.HasSuffix(domain, "karpenter.sh") ||
		strings.HasSuffix(domain, "kubernetes.azure.com") ||
		strings.HasSuffix(domain, "karpenter.azure.com")
}

// taints reads KEY=VALUE:EFFECT.
func (w *writer) taints(s *settings, name string) []any {
	var out []any
	for _, t := range s.list(name) {
		rest, effect, ok := strings.Cut(t, ":")
		key, value, _ := strings.Cut(rest, "=")
		if !ok || key == "" {
			w.note(name+" "+t, "it is not KEY=VALUE:EFFECT, and was not carried over")
			continue
		}
		x := inline{{"key", key}}
		if value != "" {
			x = append(x, field{"value", value})
		}
		out = append(out, append(x, field{"effect", effect}))
	}
	return out
}

func requires(key string, values ...string) inline {
	var list []any
	for _, v := range values {
		list = append(list, v)
	}
	return inline{{"key", key}, {"operator", "In"}, {"values", list}}
}

func bounds(key, operator string, value int64) inline {
	return inline{{"key", key}, {"operator", operator},
		{"values", []any{strconv.FormatInt(value, 10)}}}
}

// requirements say which machines may be bought.
func (w *writer) requirements(s *settings, made Made) []any {
	out := []any{requires(model.LabelOS, "linux")}
	out = append(out, w.sizes(made)...)
	capacity := model.OnDemand
	if made.Spot {
		capacity = model.Spot
	}
	out = append(out, requires(model.LabelCapacityType, capacity))
	if p := s.text("scaleSetPriority"); !made.Spot && p != "" && !strings.EqualFold(p, "Regular") {
		w.note("scaleSetPriority "+p, "machines are bought on demand")
	}
	var zones []string
	for _, z := range s.list("availabilityZones") {
		zones = append(zones, w.cluster.Location+"-"+z)
	}
	if len(zones) > 0 {
		out = append(out, requires(model.LabelZone, zones...))
	} else {
		out = append(out, requires(labelScope, "regional"))
		w.note("availabilityZones", "machines stand in no zone, as before: disks that were made "+
			"there can be attached to such only. Where no pod has a disk, take the requirement "+
			"on %s "+
			"away", labelScope)
	}
	if s.is("enableUltraSSD", "true") {
		out = append(out, requires(labelUltra, "true"))
	}
	return append(out, w.diskRoom(s, made)...)
}

// sizes are the family of a size, or the size itself.
func (w *writer) sizes(made Made) []any {
	var names []string
	for _, s := range made.Sizes {
		names = append(names, w.cased(s.Name))
	}
	exactly := []any{requires(model.LabelInstanceType, names...)}
	if w.options.SameSize {
		return exactly
	}
	for _, n := range names {
		t, ok := w.options.Catalog.Type(n)
		if !ok {
			w.note("vmSize "+n, "%s does not sell it by the built-in table: it is kept as it is",
				cmp.Or(w.cluster.Location, "the region"))
			return exactly
		}
		if t.Labels["karpenter.azure.com/sku-gpu-count"] != "0" {
			w.note("vmSize "+n, "a size with GPUs is kept as it is")
			return exactly
		}
	}
	if len(names) != 1 {
		return exactly
	}
	t, _ := w.options.Catalog.Type(names[0])
	cores, _ := strconv.ParseInt(t.Labels[labelCPU], 10, 64)
	most := max(mostCores, 2*cores)
	out := []any{requires(model.LabelArch, t.Labels[model.LabelArch]),
		requires(labelFamily, t.Labels[labelFamily]), bounds(labelCPU, "Lt", most+1)}
	premium := ""
	if t.Labels[labelPremium] == "true" {
		out = append(out, requires(labelPremium, "true"))
		premium = ", and takes premium disks"
	}
	w.note("vmSize "+names[0], "any size may be bought that is of family %s, has at most %d "+
		"cores%s; "+
		"--same-size keeps the size", t.Labels[labelFamily], most, premium)
	return out
}

// cased is a size as the catalogue writes it: Azure takes names in any case, labels do not.
func (w *writer) cased(size string) string {
	for _, t := range w.options.Catalog.Types {
		if strings.EqualFold(t.Name, size) {
			return t.Name
		}
	}
	return size
}

// diskRoom asks for room for the OS disk on the host, where the agent pool's machines have it.
func (w *writer) diskRoom(s *settings, made Made) []any {
	if kind := s.text("osDiskType"); !strings.EqualFold(kind, "Ephemeral") {
		if kind != "" {
			w.note("osDiskType "+kind, "a machine whose host has room for the OS disk has it there")
		}
		return nil
	}
	want := cmp.Or(s.number("osDiskSizeGB"), classDisk)
	for _, x := range made.Sizes {
		t, _ := w.options.Catalog.Type(w.cased(x.Name))
		if room, _ := strconv.ParseInt(t.Labels[labelDiskRoom], 10, 64); room < want {
			w.note("osDiskType Ephemeral", "%s has room for %d GB on its host by the built-in "+
				"table, "+
				"and the OS disk has %d: machines with a managed OS disk may be bought",
				x.Name, room, want)
			return nil
		}
	}
	return []any{bounds(labelDiskRoom, "Gt", want-1)}
}

// limits are what the agent pool could hold at most.
func (w *writer) limits(s *settings, made Made) object {
	auto := s.is("enableAutoScaling", "true")
	least, most := s.number("minCount"), int64(0)
	for _, x := range made.Sizes {
		most += x.Most
	}
	s.get("maxCount")
	switch {
	case w.cluster.FromNodes:
		w.note("", "it has no limit here, since nodes do not show the most that there may be: "+
			"az aks nodepool list -o json says it (-f)")
		return nil
	case most == 0:
		w.note("count 0", "nobody says how many machines there may be, so there is no limit")
		return nil
	case auto && least > 0:
		w.note(fmt.Sprintf("minCount %d", least), "machines come and go with the pods, to none; "+
			"room that is to stay free is a CapacityBuffer")
	case !auto:
		w.note(fmt.Sprintf("count %d", most), "the number was fixed; here machines come and go "+
			"with "+
			"the pods, up to as much. spec.replicas keeps a fixed number")
	}
	var cpu, memory int64
	extended := map[string]int64{}
	for _, x := range made.Sizes {
		t, ok := w.options.Catalog.Type(w.cased(x.Name))
		if !ok {
			return object{{"nodes", most}}
		}
		cores, _ := strconv.ParseInt(t.Labels[labelCPU], 10, 64)
		mebi, _ := strconv.ParseInt(t.Labels["karpenter.azure.com/sku-memory"], 10, 64)
		cpu, memory = cpu+x.Most*cores, memory+x.Most*mebi
		for name, n := range t.Capacity.Extended {
			extended[name] += x.Most * n
		}
	}
	out := object{{"cpu", cpu}, {"memory", fmt.Sprintf("%dGi", (memory+1023)/1024)}}
	for _, name := range []string{"nvidia.com/gpu", "amd.com/gpu"} {
		if extended[name] > 0 {
			out = append(out, field{name, extended[name]})
		}
	}
	return out
}

// version notes an agent pool that has another version than the cluster.
func (w *writer) version(s *settings) {
	v := s.text("orchestratorVersion")
	if v == "" || w.cluster.version == v || strings.HasPrefix(w.cluster.version, v+".") {
		return
	}
	w.note("orchestratorVersion "+v, "machines get the version of the control plane, and are "+
		"replaced when that moves on")
}

// remark is a setting that no manifest says, and what follows.
type remark struct {
	name string
	says string // the value that says nothing
	what string
}

// silent are the settings of an agent pool that no NodePool and no AKSNodeClass has.
func silent() []remark {
	return []remark{
		{"enableNodePublicIP", "false", "machines get no public address of their own"},
		{"nodePublicIPPrefixID", "", "machines get no public address of their own"},
		{"proximityPlacementGroupID", "", "machines stand in no proximity placement group"},
		{"hostGroupID", "", "machines are not made on dedicated hosts"},
		{"capacityReservationGroupID", "", "machines are not taken from a capacity reservation " +
			"group; what is paid for already can be preferred with a NodeOverlay"},
		{"podSubnetID", "", "pods get their addresses as the cluster's network says, not from a " +
			"subnet of their own"},
		{"messageOfTheDay", "", "machines greet nobody"},
		{"kubeletDiskType", "OS", "kubelets keep their files on the OS disk"},
		{"podIPAllocationMode", "DynamicIndividual", "addresses of pods are handed out as the " +
			"cluster's network says"},
		{"workloadRuntime", "OCIContainer", "machines run ordinary containers only"},
		{"gpuInstanceProfile", "", "GPUs are not divided"},
		{"creationData", "", "machines are made from today's image, not from a snapshot"},
		{"scaleDownMode", "Delete", "machines that leave are deleted, and cost nothing then"},
		{"scaleSetEvictionPolicy", "Delete", "spot machines that Azure takes are deleted"},
		{"spotMaxPrice", "-1", "spot machines are bought at whatever they cost, which is never " +
			"above the price on demand"},
		{"powerState", `{"code":"Running"}`,
			"a NodePool is not stopped: it has machines when pods need them"},
		{"upgradeSettings", "", "machines are replaced by drift, as fast as the budgets allow"},
		{"networkProfile", "", "machines have no ports, tags of addresses or application " +
			"security " +
			"groups of their own"},
		{"windowsProfile", "", "machines run Linux"},
		{"gatewayProfile", "", "no NodePool makes gateways"},
		{"localDNSProfile", "", "write spec.localDNS of the AKSNodeClass yourself"},
	}
}
