package migrate_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/api/admit"
	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
	"github.com/karpenter-aks/karpenter/internal/manifest"
	"github.com/karpenter-aks/karpenter/internal/migrate"
	"github.com/karpenter-aks/karpenter/internal/mutated"
	"github.com/karpenter-aks/karpenter/model"
	"sigs.k8s.io/yaml"
)

// sold is a small catalogue: a size with a large OS disk of its own, one without, one with GPUs.
func sold() model.Catalog {
	size := func(name, family, gpus, room string, price model.Price) model.InstanceType {
		return model.InstanceType{Name: name, Labels: map[string]string{
			model.LabelArch: "amd64", "karpenter.azure.com/sku-family": family,
			"karpenter.azure.com/sku-cpu": "4", "karpenter.azure.com/sku-memory": "16384",
			"karpenter.azure.com/sku-gpu-count":                   gpus,
			"karpenter.azure.com/sku-storage-premium-capable":     "true",
			"karpenter.azure.com/sku-storage-ephemeralos-maxsize": room,
		}, Offerings: []model.Offering{
			{Zone: "westeurope-1", CapacityType: model.OnDemand, Price: price},
			{Zone: "0", CapacityType: model.Spot, Price: price / 5},
		}}
	}
	return model.Catalog{Types: []model.InstanceType{
		size("Standard_D4ds_v5", "D", "0", "150", 250_000),
		size("Standard_D4s_v5", "D", "0", "", 200_000),
		size("Standard_NC4as_T4_v3", "N", "1", "", 500_000)}}
}

// pools writes agent pools in a cluster of westeurope, each as JSON without its braces; all have a
// name, user0 and so on, and are of the first size.
func pools(t *testing.T, profile string, list ...string) migrate.Result {
	t.Helper()
	var all []string
	for i, p := range list {
		if !strings.Contains(p, "vmSize") && !strings.Contains(p, "virtualMachinesProfile") {
			p += `,"vmSize":"Standard_D4ds_v5"`
		}
		all = append(all, `{"name":"user`+string(rune('0'+i))+`","count":2,`+
			strings.TrimPrefix(p, ",")+`}`)
	}
	return written(t, parsed(t, `{"name":"shop","location":"westeurope","autoScalerProfile":{`+
		profile+`},"agentPoolProfiles":[`+strings.Join(all, ",")+`]}`))
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	var data any
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return data
}

func TestWhatAnAgentPoolSaysIsWritten(t *testing.T) {
	for _, c := range []struct {
		name, pool, profile string
		want, not           []string // in the manifests
		notes               []string
	}{
		{name: "a disk on the host asks for room there",
			pool: `"osDiskType":"Ephemeral","osDiskSizeGb":100`,
			want: []string{"osDiskSizeGB: 100", `maxsize, operator: Gt, values: ["99"]`}},
		{name: "a disk that the host has no room for is managed",
			pool:  `"osDiskType":"Ephemeral","osDiskSizeGb":200`,
			not:   []string{"ephemeralos-maxsize, operator"},
			notes: []string{"has room for 150 GB"}},
		{name: "bounds of the class hold", pool: `"osDiskSizeGb":4095,"maxPods":300`,
			want:  []string{"osDiskSizeGB: 2048", "maxPods: 250"},
			notes: []string{"osDiskSizeGB 4095", "maxPods 300"}},
		{name: "FIPS has images of its own", pool: `"enableFips":true,"osSku":"Ubuntu2204"`,
			want:  []string{"imageFamily: Ubuntu\n", "fipsMode: FIPS"},
			notes: []string{"enableFIPS"}},
		{name: "FIPS with a protected boot chain", pool: `"enableFips":true,"osSku":"Ubuntu2204",` +
			`"securityProfile":{"enableVtpm":true,"sshAccess":"Disabled"}`,
			want: []string{"imageFamily: Ubuntu2204", "vtpm: true"}, notes: []string{"sshAccess"}},
		{name: "older names of Linux", pool: `"osSku":"CBLMariner"`,
			want:  []string{"imageFamily: AzureLinux"},
			notes: []string{"it is called AzureLinux here"}},
		{name: "ultra disks", pool: `"enableUltraSsd":true`,
			want: []string{`sku-storage-ultra-ssd, operator: In, values: ["true"]`}},
		{name: "taints that go when a node starts",
			pool:  `"nodeInitializationTaints":["a=b:NoSchedule","wrong"]`,
			want:  []string{"startupTaints:\n        - {key: a, value: b, effect: NoSchedule}"},
			notes: []string{"it is not KEY=VALUE:EFFECT"}},
		{name: "virtual machines of several sizes", pool: `"type":"VirtualMachines",` +
			`"virtualMachinesProfile":{"scale":{"manual":[{"size":"Standard_D4s_v5","count":1},` +
			`{"size":"Standard_D4ds_v5","count":3}]}}`,
			want: []string{"In, values: [Standard_D4ds_v5, Standard_D4s_v5]"}},
		{name: "GPUs keep their size", pool: `"vmSize":"standard_nc4as_t4_v3"`,
			want: []string{"In, values: [Standard_NC4as_T4_v3]"}, not: []string{"sku-family"}},
		{name: "a size that nobody knows is kept", pool: `"vmSize":"Standard_Z9"`,
			want:  []string{"In, values: [Standard_Z9]", "nodes: 2"},
			notes: []string{"does not sell it"}},
		{name: "a tag that Azure's machines do not take", pool: `"tags":{"a<b":"c","d":"e"}`,
			want: []string{"d: e"}, not: []string{"a<b: c"}, notes: []string{"tags a<b"}},
		{name: "swap needs a kubelet that starts beside it",
			pool: `"kubeletConfig":{"failSwapOn":true},"linuxOsConfig":{"swapFileSizeMb":100}`,
			want: []string{"failSwapOn: false", "swapFileSize: 100Mi"}},
		{name: "only nodes without pods leave", profile: `"scaleDownUtilizationThreshold":"0"`,
			want: []string{"consolidationPolicy: WhenEmpty\n"}},
		{name: "hours are hours", profile: `"scaleDownUnneededTime":"120m"`,
			want: []string{"consolidateAfter: 2h\n"}},
		{name: "what is as it is everywhere is carried over as it is",
			profile: `"maxGracefulTerminationSec":"600","scaleDownUnneededTime":"10m",` +
				`"maxEmptyBulkDelete":"10"`,
			want: []string{"consolidateAfter: 10m\n", `{nodes: "10", reasons: [Empty]}`},
			not:  []string{"terminationGracePeriod"}},
		{name: "pods end in time", profile: `"maxGracefulTerminationSec":"90"`,
			want:  []string{"terminationGracePeriod: 90s"},
			notes: []string{"against their disruption budgets"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := pools(t, c.profile, c.pool)
			all := ""
			for _, n := range r.Notes {
				all += n.String() + "\n"
			}
			missing(t, string(r.Text), c.want, true)
			missing(t, string(r.Text), c.not, false)
			missing(t, all, c.notes, true)
			valid(t, r.Text, 2)
		})
	}
}

func missing(t *testing.T, text string, list []string, want bool) {
	t.Helper()
	for _, x := range list {
		if strings.Contains(text, x) != want {
			t.Errorf("%q in it: %v, want %v:\n%s", x, !want, want, text)
		}
	}
}

// valid says that an API server would take the manifests, of which there are so many.
func valid(t *testing.T, text []byte, want int) {
	t.Helper()
	var s admit.Server
	docs := manifest.Documents(text)
	if len(docs) != want {
		t.Errorf("%d manifests, want %d", len(docs), want)
	}
	for _, d := range docs {
		body, _ := d.Body()
		object, err := yaml.YAMLToJSON(body)
		if err != nil {
			t.Fatal(err)
		}
		if _, faults, known, err := s.Create(object); err != nil || !known || len(faults) > 0 {
			t.Errorf("%v %v %v\n%s", faults, known, err, body)
		}
	}
}

func TestSystemPoolsAndWindowsStay(t *testing.T) {
	r := pools(t, "", `"mode":"System"`, `"mode":"User","osType":"Windows","osSku":"Windows2022"`,
		`"mode":"Gateway"`, `"osSku":"Flatcar"`, `"osType":"Linux"`)
	if len(r.Kept) != 4 || len(r.Made) != 1 || r.Made[0].Name != "user4" {
		t.Errorf("kept %v, made %v", r.Kept, r.Made)
	}
	if !strings.Contains(r.Kept[1].Why, "run Windows") {
		t.Error(r.Kept[1])
	}
	valid(t, r.Text, 2)
}

// TestWeightsAreTheExpandersPriorities: the best of the lines that match counts.
func TestWeightsAreTheExpandersPriorities(t *testing.T) {
	for lines, want := range map[string]string{
		`10:\n- .*\n50:\n- aks-user1-.*\n`:       "weight: 10 weight: 50",
		`-5:\n- .*user0.*\n1000:\n- .*user1.*\n`: "weight: 1 weight: 2",
	} {
		answers := []migrate.Answer{{Data: parsed(t, `{"name":"c","location":"westeurope",
			"autoScalerProfile":{"expander":"priority"},"agentPoolProfiles":[
			{"name":"user0","vmSize":"Standard_D4s_v5"},
			{"name":"user1","vmSize":"Standard_D4s_v5"}]}`)},
			{Data: parsed(t, `{"kind":"ConfigMap","data":{"priorities":"`+lines+`"}}`)}}
		c, err := migrate.Read(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(string(c.Write(migrate.Options{Catalog: sold()}).Text)) {
			if strings.HasPrefix(line, "  weight:") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", lines, got, want)
		}
	}
}

func TestNodesThatLeaveTakeNoPodsAlong(t *testing.T) {
	label := func(pool, size, zone string) map[string]string {
		return map[string]string{"kubernetes.azure.com/agentpool": pool,
			model.LabelInstanceType: size, model.LabelZone: zone, model.LabelRegion: "westeurope"}
	}
	w := model.World{Nodes: []model.Node{{Name: "a", Labels: label("user0", "Standard_D4s_v5",
		"westeurope-1")}, {Name: "s", Labels: label("system", "Standard_D4s_v5", "westeurope-1")},
		{Name: "k", Labels: map[string]string{model.LabelPool: "user0", "agentpool": "user0"}}},
		Pods: []model.Pod{{Name: "web", Node: "a"}, {Name: "agent", Node: "a", DaemonSet: true},
			{Name: "held", Node: "a", DoNotDisrupt: "true"}, {Name: "dns", Node: "s"},
			{Name: "new"}, {Name: "ours", Node: "k"}},
		Attachments: []model.Attachment{{Name: "x", Node: "a"}, {Name: "y", Node: "s"}}}
	r := pools(t, "", `"mode":"User"`)
	moved, held := r.Moved(w)
	var at []string
	for _, p := range moved.Pods {
		at = append(at, p.Name+"@"+p.Node)
	}
	if !slices.Equal(at, []string{"web@", "held@", "dns@s", "new@", "ours@k"}) ||
		len(moved.Nodes) != 2 || len(moved.Attachments) != 1 || len(held) != 1 {
		t.Errorf("%v, nodes %v, attachments %v, held %v", at, moved.Nodes, moved.Attachments, held)
	}
	if w.Pods[0].Node != "a" || len(w.Nodes) != 3 {
		t.Error("the world that was given is another now")
	}
	if b := r.Bill(w.Nodes, sold()); b.Machines != 1 || b.Price != 200_000 {
		t.Errorf("of nodes: %+v", b)
	}
	if b := r.Bill(nil, sold()); b.Machines != 2 || b.Price != 500_000 {
		t.Errorf("of Azure's numbers: %+v", b)
	}
}

// TestLabelsThatTheCRDsRefuseAreNotCarried asks the CRDs about labels of all domains.
func TestLabelsThatTheCRDsRefuseAreNotCarried(t *testing.T) {
	for _, key := range []string{"agentpool", "accelerator", "storagetier", "storageprofile",
		"kubernetes.azure.com/agentpool", "x.kubernetes.azure.com/y", "karpenter.azure.com/z",
		"karpenter.sh/x", "a.karpenter.sh/x", "kubernetes.io/hostname",
		"kubernetes.azure.com/network-policy"} {
		r := pools(t, "", `"nodeLabels":{"`+key+`":"v"}`)
		valid(t, r.Text, 2)
		if !slices.ContainsFunc(r.Notes, func(n migrate.Note) bool {
			return n.Field == "nodeLabels "+key
		}) {
			t.Errorf("nothing is said of %s: %v", key, r.Notes)
		}
	}
	r := pools(t, "", `"nodeLabels":{"team":"a","example.com/x":"b"}`)
	missing(t, string(r.Text), []string{"team: a", "example.com/x: b"}, true)
	valid(t, r.Text, 2)
}

// TestKernelSettingsHaveTheNamesOfTheClass sets all of them: the class has each, and no other.
func TestKernelSettingsHaveTheNamesOfTheClass(t *testing.T) {
	class := reflect.TypeFor[v1beta1.SysctlConfiguration]()
	for i := range class.NumField() {
		name, _, _ := strings.Cut(class.Field(i).Tag.Get("json"), ",")
		value := "77"
		switch class.Field(i).Type.Elem().Kind() {
		case reflect.Bool:
			value = "true"
		case reflect.String:
			value = `"32768 60999"`
		}
		r := pools(t, "", `"linuxOsConfig":{"sysctls":{"`+strings.ToUpper(name)+`":`+value+`}}`)
		missing(t, string(r.Text), []string{"      " + name + ": "}, true)
	}
}

func TestWhatCannotBeReadIsTold(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:              "there is no agent pool",
		`{}`:              "no managed cluster",
		`[1]`:             "no managed cluster",
		`{"name":"vnet"}`: "no managed cluster",
		`{"vmSize":"x"}`:  "an agent pool has no name",
		`[{"name":"a","agentPoolProfiles":[{"name":"x"}]},
		  {"name":"b","agentPoolProfiles":[{"name":"x"}]}]`: "there are two clusters, a and b",
		`{"kind":"ConfigMap","data":{"priorities":"a: b"}}`:       "priorities: ",
		`{"kind":"ConfigMap","data":{"priorities":"1: [\"(\"]"}}`: "priorities: 1: ",
	} {
		_, err := migrate.Read([]migrate.Answer{{Name: "f", Data: parsed(t, text)}}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzRead gives what somebody may take for az's output: nothing panics, and what is written is
// YAML, two manifests for each agent pool, and the same a second time.
func FuzzRead(f *testing.F) {
	const good = `{"name":"shop","location":"westeurope",
"networkProfile":{"networkDataplane":"cilium"},
"autoScalerProfile":{"scan-interval":"10s","expander":"priority","scaleDownUnneededTime":"5m"},
"agentPoolProfiles":[{"name":"user","vmSize":"Standard_D4s_v5","count":3,"nodeLabels":{"a":"b"},
"nodeTaints":["a=b:NoSchedule"],"properties":{"maxPods":30,"tags":{"x":null}},
"availabilityZones":["1"],
"kubeletConfig":{"cpuCfsQuota":true},"linuxOSConfig":{"sysctls":{"vmSwappiness":1}}}]}`
	f.Add(good)
	for _, v := range mutated.Texts(200, good) {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var data any
		if json.Unmarshal([]byte(text), &data) != nil {
			return
		}
		c, err := migrate.Read([]migrate.Answer{{Name: "f", Data: data}}, nil)
		if err != nil {
			return
		}
		r := c.Write(migrate.Options{Catalog: sold()})
		again := c.Write(migrate.Options{Catalog: sold()}).Text
		if string(again) != string(r.Text) {
			t.Errorf("first\n%s\nthen\n%s", r.Text, again)
		}
		docs := manifest.Documents(r.Text)
		if len(docs) != 2*len(r.Made) {
			t.Errorf("%d documents of %d pools:\n%s", len(docs), len(r.Made), r.Text)
		}
		for _, d := range docs {
			body, _ := d.Body()
			if _, err := yaml.YAMLToJSON(body); err != nil {
				t.Errorf("%v\n%s", err, body)
			}
		}
	})
}
