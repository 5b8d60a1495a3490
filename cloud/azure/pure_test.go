package azure

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// testConfig is a cluster with Azure CNI overlay and Cilium in a network that AKS manages.
func testConfig() Config {
	return Config{
		SubscriptionID: "sub", TenantID: "tenant", ClientID: "client", Location: "eastus", NodeResourceGroup: "MC_lab_lab_eastus",
		ClusterName: "lab", SubnetID: "/subscriptions/sub/resourceGroups/MC_lab_lab_eastus/providers/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet",
		VnetGUID: "guid", Network: Network{Plugin: "azure", Mode: "overlay", Dataplane: "cilium"}, SSHPublicKey: "ssh-rsa AAAA lab",
		NodeIdentities: []string{"/subscriptions/sub/identity"}, KubeletIdentityClientID: "kubelet-id", MemoryOverheadPercent: 0.075,
		AdditionalTags: map[string]string{"team": "a", "env": "lab"},
	}.withDefaults()
}

func testNetwork() nodeNetwork {
	return nodeNetwork{
		securityGroup: "aks-agentpool-12345678-nsg", securityGroupID: "/nsg", routeTable: "aks-agentpool-12345678-routetable",
		backendPools: []string{"/lb/kubernetes/aksOutboundBackendPool", "/lb/kubernetes/kubernetes"},
	}
}

// rawSKU is a size as Azure lists it; words like "GPUs=1" set capabilities, "zones=1,2" zones, "forbidden" a restriction.
func rawSKU(name string, words ...string) *armcompute.ResourceSKU {
	caps := map[string]string{
		"vCPUs": "2", "MemoryGB": "8", "HyperVGenerations": "V1,V2", "CpuArchitectureType": "x64", "LowPriorityCapable": "True",
		"PremiumIO": "True", "AcceleratedNetworkingEnabled": "True", "EncryptionAtHostSupported": "True",
	}
	r := &armcompute.ResourceSKU{Name: to.Ptr(name), ResourceType: to.Ptr("virtualMachines"), Family: to.Ptr("family")}
	info := &armcompute.ResourceSKULocationInfo{Location: to.Ptr("eastus")}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "family":
			r.Family = to.Ptr(value)
		case "zones":
			info.Zones = to.SliceOfPtrs(strings.Split(value, ",")...)
		case "ultra":
			info.ZoneDetails = append(info.ZoneDetails, &armcompute.ResourceSKUZoneDetails{
				Name:         to.SliceOfPtrs(strings.Split(value, ",")...),
				Capabilities: []*armcompute.ResourceSKUCapabilities{{Name: to.Ptr("UltraSSDAvailable"), Value: to.Ptr("True")}},
			})
		case "nozone":
			r.Restrictions = append(r.Restrictions, &armcompute.ResourceSKURestrictions{
				Type:            to.Ptr(armcompute.ResourceSKURestrictionsTypeZone),
				RestrictionInfo: &armcompute.ResourceSKURestrictionInfo{Zones: to.SliceOfPtrs(strings.Split(value, ",")...)},
			})
		case "forbidden":
			r.Restrictions = append(r.Restrictions, &armcompute.ResourceSKURestrictions{
				Type: to.Ptr(armcompute.ResourceSKURestrictionsTypeLocation), Values: to.SliceOfPtrs(value),
			})
		default:
			caps[key] = value
		}
	}
	for _, k := range slices.Sorted(maps.Keys(caps)) {
		r.Capabilities = append(r.Capabilities, &armcompute.ResourceSKUCapabilities{Name: to.Ptr(k), Value: to.Ptr(caps[k])})
	}
	r.LocationInfo = []*armcompute.ResourceSKULocationInfo{info}
	return r
}

// classWith builds a class from words: "family=AzureLinux disk=64 pods=30 tl fips encrypt dns gpu=None streaming".
func classWith(words []string) *model.AzureClass {
	c := &model.AzureClass{ImageFamily: "Ubuntu", OSDiskSizeGB: 128}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		n, _ := strconv.Atoi(value)
		switch key {
		case "family":
			c.ImageFamily = value
		case "disk":
			c.OSDiskSizeGB = int32(n)
		case "pods":
			c.MaxPods = to.Ptr(int32(n))
		case "tl":
			c.VTPM, c.SecureBoot = true, true
		case "fips":
			c.FIPSMode = "FIPS"
		case "encrypt":
			c.EncryptionAtHost = true
		case "dns":
			c.LocalDNSMode = "Required"
		case "gpu":
			c.GPUMode = value
		case "streaming":
			c.ArtifactStreaming = true
		case "subnet":
			c.VnetSubnetID = value
		case "tag":
			k, v, _ := strings.Cut(value, ":")
			c.Tags = map[string]string{k: v}
		}
	}
	return c
}

func skusOf(input string) []*armcompute.ResourceSKU {
	var out []*armcompute.ResourceSKU
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		if words := strings.Fields(line); len(words) > 0 {
			out = append(out, rawSKU(words[0], words[1:]...))
		}
	}
	return out
}

// args returns a command's arguments in the form "key=value" or "key".
func args(d *datadriven.TestData) []string {
	var out []string
	for _, a := range d.CmdArgs {
		for _, v := range a.Vals {
			out = append(out, a.Key+"="+v)
		}
		if len(a.Vals) == 0 {
			out = append(out, a.Key)
		}
	}
	return out
}

func flag(words []string, key string) string {
	for _, w := range words {
		if k, v, _ := strings.Cut(w, "="); k == key {
			return v
		}
	}
	return ""
}

func testOrder(words []string, s SKU) cloud.Order {
	class := classWith(words)
	zone := zoneLabel("eastus", flag(words, "zone"))
	capacityType := model.OnDemand
	if slices.Contains(words, "spot") {
		capacityType = model.Spot
	}
	version := "1.37.1"
	if v := flag(words, "version"); v != "" {
		version = v
	}
	o := cloud.Order{
		Claim: "general-abcde", ClaimUID: "uid-1", Pool: "general",
		Class: model.Class{Ref: model.ClassRef{Kind: "AKSNodeClass", Name: "default"}, Azure: class},
		Offering: model.Offering{
			Type: s.Name, Zone: zone, CapacityType: capacityType,
		},
		Labels: map[string]string{
			model.LabelPool: "general", model.LabelZone: zone, model.LabelArch: s.Arch, LabelSKUName: s.Name, "team": "a",
			model.LabelExcludeLB: "true", "node-restriction.kubernetes.io/x": "y", LabelHyperVGeneration: "2",
		},
		Taints: []model.Taint{
			{Key: "node.cilium.io/agent-not-ready", Value: "true", Effect: model.NoExecute},
			{Key: model.TaintUnregistered, Effect: model.NoExecute}, {Key: model.TaintUnregistered, Effect: model.NoExecute},
		},
		Token:   "abcdef.0123456789abcdef",
		Cluster: model.Cluster{Endpoint: "https://lab.hcp.eastus.azmk8s.io:443", CA: []byte("PEM"), Version: version},
	}
	if slices.Contains(words, "ultra") {
		o.Labels[LabelUltraSSD] = "true"
	}
	for _, d := range definitionsOf(class, resolveFamily(class, class.FIPSMode, version)) {
		o.Class.Images = append(o.Class.Images, model.Image{ID: imageID(d, "202611.01.0"), Requirements: d.requirements()})
	}
	return o
}

// TestPure runs the scenarios under testdata; each file's name is its claim.
func TestPure(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return answer(t, d) })
	})
}

func answer(t *testing.T, d *datadriven.TestData) string {
	words := args(d)
	var b strings.Builder
	switch d.Cmd {
	case "size":
		for _, name := range strings.Fields(d.Input) {
			if s, ok := ParseSize(name); ok {
				fmt.Fprintf(&b, "%s: family %s series %s version %s cpus %d", name, s.Family, s.Series(), s.VersionLabel(), s.CPUs)
				if s.Constrained > 0 {
					fmt.Fprintf(&b, " constrained to %d", s.Constrained)
				}
				if s.Accelerator != "" {
					fmt.Fprintf(&b, " accelerator %s", s.Accelerator)
				}
				b.WriteString("\n")
			} else {
				fmt.Fprintf(&b, "%s: not a size\n", name)
			}
		}
	case "sizes":
		for _, s := range readSKUs(skusOf(d.Input), "eastus") {
			if suits(s, classWith(words)) {
				fmt.Fprintln(&b, s.Name)
			}
		}
	case "catalog":
		catalogText(&b, d, words)
	case "classify":
		classifyText(&b, d, words)
	case "build", "bootstrap", "differs":
		s := readSKUs(skusOf(d.Input), "eastus")[0]
		cfg := testConfig()
		if slices.Contains(words, "own-network") {
			cfg.SubnetID = "/subscriptions/sub/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/mine/subnets/nodes"
		}
		if slices.Contains(words, "node-subnet") {
			cfg.Network = Network{Plugin: "azure", Dataplane: "azure"}
		}
		if d.Cmd == "build" {
			return buildText(t, testOrder(words, s), s, cfg)
		}
		data, err := customData(testOrder(words, s), s, cfg, testNetwork())
		if err != nil {
			return err.Error()
		}
		script, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		if d.Cmd == "differs" {
			return differsText(t, string(script))
		}
		return string(script)
	case "drivers":
		for _, s := range readSKUs(skusOf(d.Input), "eastus") {
			g := gpuDriverFor(s, flag(words, "mode"))
			if g == (driverInfo{}) {
				fmt.Fprintf(&b, "%s: none\n", s.Name)
				continue
			}
			fmt.Fprintf(&b, "%s: aks-gpu-%s:%s-%s", s.Name, g.kind, g.version, g.suffix)
			if g.fabric {
				b.WriteString(", fabric manager")
			}
			b.WriteString("\n")
		}
	case "arrives":
		return arrivalText(t, words, readSKUs(skusOf(d.Input), "eastus")[0])
	case "fleet":
		return fleetText(t, words, readSKUs(skusOf(d.Input), "eastus"))
	case "images":
		class := classWith(words)
		for _, def := range definitionsOf(class, resolveFamily(class, class.FIPSMode, flag(words, "version"))) {
			fmt.Fprintf(&b, "%s %s gen%d\n", def.name, def.arch, def.generation)
		}
	default:
		t.Fatalf("unknown command %q", d.Cmd)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// differsText lists the variables, flags and labels in which a machine's first boot differs from that of a plain one:
// Standard_D2s_v5, Ubuntu, Kubernetes 1.37.1.
func differsText(t *testing.T, script string) string {
	parts := func(script string) map[string]string {
		env, err := bashReads(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range []struct{ name, sep string }{{"KUBELET_FLAGS", " "}, {"KUBELET_NODE_LABELS", ","}} {
			for _, p := range strings.Split(env[list.name], list.sep) {
				k, v, _ := strings.Cut(p, "=")
				env[list.name+" "+k] = v
			}
			delete(env, list.name)
		}
		for k, v := range env {
			if text, err := base64.StdEncoding.DecodeString(v); err == nil && strings.HasSuffix(k, "_CONTENT") {
				env[k] = fmt.Sprintf("%d bytes, nvidia %t", len(text), strings.Contains(string(text), "nvidia"))
			}
		}
		return env
	}
	s := readSKUs(skusOf("Standard_D2s_v5"), "eastus")[0]
	data, err := customData(testOrder(nil, s), s, testConfig(), testNetwork())
	if err != nil {
		t.Fatal(err)
	}
	first, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	base, other := parts(string(first)), parts(script)
	keys := map[string]bool{}
	for k := range base {
		keys[k] = true
	}
	for k := range other {
		keys[k] = true
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		was, had := base[k]
		v, has := other[k]
		switch {
		case had && !has:
			fmt.Fprintf(&b, "- %s\n", k)
		case !had:
			fmt.Fprintf(&b, "+ %s=%s\n", k, v)
		case was != v:
			fmt.Fprintf(&b, "  %s=%s\n", k, v)
		}
	}
	return b.String()
}

func catalogText(b *strings.Builder, d *datadriven.TestData, words []string) {
	m := market{skus: readSKUs(skusOf(d.Input), "eastus"), usages: usageBook{}}
	m.prices = priceBook{onDemand: map[string]model.Price{"Standard_D2s_v5": model.Dollars(0.096)}, spot: map[string]model.Price{"Standard_D2s_v5": model.Dollars(0.02)}}
	if slices.Contains(words, "no-prices") {
		m.prices = priceBook{}
	}
	for _, w := range words {
		if name, ok := strings.CutPrefix(w, "quota="); ok { // quota=name:used:limit
			p := strings.Split(name, ":")
			used, _ := strconv.ParseInt(p[1], 10, 64)
			limit, _ := strconv.ParseInt(p[2], 10, 64)
			m.usages[strings.ToLower(p[0])] = usage{used, limit}
		}
	}
	at := place{location: "eastus", clusterLabel: clusterLabelOf("MC_lab_lab_eastus"), net: testConfig().Network, overhead: 0.075}
	for _, typ := range catalogOf(m, classWith(words), at) {
		fmt.Fprintf(b, "%s (%s)\n  capacity %s\n  allocatable %s\n", typ.Name, typ.Family, typ.Capacity, typ.Allocatable)
		for _, k := range slices.Sorted(maps.Keys(typ.AttachLimits)) {
			fmt.Fprintf(b, "  attach %s %d\n", k, typ.AttachLimits[k])
		}
		for _, k := range slices.Sorted(maps.Keys(typ.Labels)) {
			fmt.Fprintf(b, "  %s=%s\n", k, typ.Labels[k])
		}
		for _, o := range typ.Offerings {
			ultra := o.Labels[LabelUltraSSD] + strings.Join(typ.Choices(o, LabelUltraSSD), "|")
			fmt.Fprintf(b, "  %s %s %s ultra=%s %s=%s", o.Zone, o.CapacityType, o.Price, ultra, o.Labels[LabelPlacementScope], o.Labels[LabelAKSPriority])
			if !o.Available {
				fmt.Fprintf(b, " unavailable: %s", o.Unavailable)
			}
			b.WriteString("\n")
		}
	}
}

func classifyText(b *strings.Builder, d *datadriven.TestData, words []string) {
	t := tried{offering: model.OfferingKey{Type: "Standard_D4s_v5", Zone: zoneLabel("eastus", flag(words, "zone")), CapacityType: model.OnDemand}, family: "standardDSv5Family", cpu: 4000}
	if slices.Contains(words, "spot") {
		t.offering.CapacityType = model.Spot
	}
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		code, message, _ := strings.Cut(line, ": ")
		e := classify(code, message, t)
		fmt.Fprintf(b, "%s: %s", code, e.Code)
		s := e.More.Scope
		for _, f := range []struct{ name, value string }{{"type", s.Type}, {"family", s.Family}, {"zone", s.Zone}, {"capacity-type", s.CapacityType}} {
			if f.value != "" {
				fmt.Fprintf(b, " %s=%s", f.name, f.value)
			}
		}
		for _, f := range []struct {
			name string
			on   bool
		}{{"zonal", s.Zonal}, {"regional", s.Regional}, {"all", s.All}} {
			if f.on {
				b.WriteString(" " + f.name)
			}
		}
		if s.MinCPU > 0 {
			fmt.Fprintf(b, " from=%dm", s.MinCPU)
		}
		if s.For > 0 {
			fmt.Fprintf(b, " for=%s", s.For)
		}
		b.WriteString("\n")
	}
}

func buildText(t *testing.T, o cloud.Order, s SKU, cfg Config) string {
	vm, err := build(o, s, cfg, testNetwork())
	if err != nil {
		return err.Error()
	}
	if vm.Properties.OSProfile.CustomData == nil || *vm.Properties.OSProfile.CustomData == "" {
		t.Error("no custom data")
	}
	vm.Properties.OSProfile.CustomData = nil // its own golden: bootstrap
	js, err := json.Marshal(vm)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(js, &v); err != nil {
		t.Fatal(err)
	}
	js, err = json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(js)
}

// The published table of reservations.
func TestReservationsFollowTheTable(t *testing.T) {
	for cpus, want := range map[int64]int64{2: 100, 4: 140, 8: 180, 16: 260, 32: 420, 64: 740} {
		if got := kubeReservedMilliCPU(cpus); got != want {
			t.Errorf("%d cores: %dm reserved, want %dm", cpus, got, want)
		}
	}
	for gib, want := range map[float64]int64{4: 1024, 8: 1843, 16: 2662, 32: 3645, 64: 5611, 128: 9543, 256: 12165} {
		if got := kubeReservedMi(gib); got != want {
			t.Errorf("%v GiB: %dMi reserved, want %dMi", gib, got, want)
		}
	}
}

// Whatever the order of the price list, the same meter wins.
func TestPricesDoNotDependOnOrder(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	gen := rapid.Custom(func(t *rapid.T) meter {
		return meter{
			ArmSkuName: rapid.SampledFrom([]string{"Standard_D2s_v5", "Standard_D4s_v5"}).Draw(t, "size"), ArmRegionName: "eastus",
			SkuName:              rapid.SampledFrom([]string{"D2s v5", "D2s v5 Spot", "D2s v5 Low Priority"}).Draw(t, "sku"),
			ProductName:          rapid.SampledFrom([]string{"Dsv5 Series", "Dsv5 Series Windows", "Dsv5 Dedicated Host"}).Draw(t, "product"),
			RetailPrice:          float64(rapid.IntRange(0, 5).Draw(t, "price")) / 10,
			MeterID:              rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "meter"),
			EffectiveStartDate:   rapid.SampledFrom([]string{"2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"}).Draw(t, "from"),
			IsPrimaryMeterRegion: rapid.Bool().Draw(t, "primary"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(gen, 0, 8).Draw(t, "meters")
		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		a, b := readPrices(list, "eastus", now), readPrices(shuffled, "eastus", now)
		if !maps.Equal(a.onDemand, b.onDemand) || !maps.Equal(a.spot, b.spot) {
			t.Fatalf("%v and %v", a, b)
		}
		for _, p := range a.onDemand {
			if p <= 0 {
				t.Fatalf("price %s", p)
			}
		}
	})
}

// What bash reads between the quotes is what was put there: undoing the escapes gives the text back.
func TestQuoteKeepsTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.StringOf(rapid.SampledFrom([]rune("a \"$`\\'!\n{}=,"))).Draw(t, "value")
		q := quote(v)
		var got strings.Builder
		for i := 1; i < len(q)-1; i++ {
			switch c := q[i]; {
			case c == '\\' && strings.ContainsRune("\"$`\\", rune(q[i+1])):
				i++
				got.WriteByte(q[i])
			case strings.ContainsRune("\"$`", rune(c)):
				t.Fatalf("%q has a bare %q", q, c)
			default:
				got.WriteByte(c)
			}
		}
		if got.String() != v {
			t.Fatalf("%q reads as %q", q, got.String())
		}
	})
}

// The same order gives the same bytes.
func TestCustomDataIsDeterministic(t *testing.T) {
	s := readSKUs([]*armcompute.ResourceSKU{rawSKU("Standard_D2s_v5")}, "eastus")[0]
	first, err := customData(testOrder(nil, s), s, testConfig(), testNetwork())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, _ := customData(testOrder(nil, s), s, testConfig(), testNetwork()); again != first {
			t.Fatal("two renderings of one order differ")
		}
	}
	big := testOrder(nil, s)
	for i := range 1000 {
		big.Labels[fmt.Sprintf("huge-%d", i)] = strings.Repeat("x", 63)
	}
	if _, err := customData(big, s, testConfig(), testNetwork()); cloud.CodeOf(err) != cloud.Invalid {
		t.Errorf("custom data beyond the limit: %v, want %s", err, cloud.Invalid)
	}
}

func TestProviderIDs(t *testing.T) {
	cfg := testConfig()
	id := providerID(cfg, "aks-a")
	if want := "azure:///subscriptions/sub/resourceGroups/mc_lab_lab_eastus/providers/Microsoft.Compute/virtualMachines/aks-a"; id != want {
		t.Errorf("provider id %s, want %s", id, want)
	}
	if name, err := nameOf(cfg, id); err != nil || name != "aks-a" {
		t.Errorf("name of %s: %q, %v", id, name, err)
	}
	for _, bad := range []string{"", id + "/x", strings.Replace(id, "mc_lab", "mc_other", 1), "aws:///x", strings.TrimSuffix(id, "aks-a")} {
		if _, err := nameOf(cfg, bad); cloud.CodeOf(err) != cloud.Invalid {
			t.Errorf("name of %q: %v, want %s", bad, err, cloud.Invalid)
		}
	}
	if _, err := machineName(strings.Repeat("x", 60)); cloud.CodeOf(err) != cloud.Invalid {
		t.Error("a name of 64 characters was taken")
	}
	if got := clusterLabelOf("MC_(a)_" + strings.Repeat("b", 55) + "-tail"); got != "MC_-a-_"+strings.Repeat("b", 55)+"z" {
		t.Errorf("cluster label %q", got)
	}
}
