package arm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

func (w *world) skus(region string) map[string]*armcompute.ResourceSKU {
	w.Helper()
	client, err := armcompute.NewResourceSKUsClient(w.cfg.Subscription, w.cred, w.opts)
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]*armcompute.ResourceSKU{}
	for pager := client.NewListPager(&armcompute.ResourceSKUsClientListOptions{Filter: to.Ptr("location eq '" + region + "'")}); pager.More(); {
		page, err := pager.NextPage(w.ctx)
		if err != nil {
			w.Fatal(err)
		}
		for _, s := range page.Value {
			if *s.ResourceType == "virtualMachines" {
				out[*s.Name] = s
			}
		}
	}
	return out
}

func capability(s *armcompute.ResourceSKU, name string) string {
	for _, c := range s.Capabilities {
		if *c.Name == name {
			return *c.Value
		}
	}
	return ""
}

func TestSKUsHaveZonesCapabilitiesAndRestrictions(t *testing.T) {
	w := newWorld(t, nil)
	east := w.skus("eastus")
	if len(east) < 300 {
		t.Fatalf("only %d sizes", len(east))
	}
	d := east["Standard_D2ds_v5"]
	zones := func(s *armcompute.ResourceSKU) string {
		var out []string
		for _, z := range s.LocationInfo[0].Zones {
			out = append(out, *z)
		}
		slices.Sort(out)
		return strings.Join(out, ",")
	}
	if zones(d) != "1,2,3" || *d.Family != "standardDDSv5Family" || *d.LocationInfo[0].Location != "eastus" || *d.LocationInfo[0].ZoneDetails[0].Capabilities[0].Name != "UltraSSDAvailable" {
		t.Errorf("D2ds_v5: zones %s, family %s", zones(d), *d.Family)
	}
	for name, want := range map[string]string{"vCPUs": "2", "MemoryGB": "8", "HyperVGenerations": "V1,V2", "CpuArchitectureType": "x64", "CachedDiskBytes": "53687091200",
		"MaxResourceVolumeMB": "76800", "EphemeralOSDiskSupported": "True", "SupportedEphemeralOSDiskPlacements": "CacheDisk,ResourceDisk", "LowPriorityCapable": "True", "GPUs": ""} {
		if got := capability(d, name); got != want {
			t.Errorf("D2ds_v5 %s is %q, want %q", name, got, want)
		}
	}
	if h := east["Standard_NC40ads_H100_v5"]; zones(h) != "2" || capability(h, "GPUs") != "1" {
		t.Errorf("H100 zones %s", zones(h))
	}
	if a := east["Standard_D2pds_v5"]; capability(a, "CpuArchitectureType") != "Arm64" || capability(a, "TrustedLaunchDisabled") != "True" {
		t.Error("D2pds_v5 is not Arm64")
	}
	f := east["Standard_FX4mds"].Restrictions
	if len(f) != 1 || *f[0].Type != armcompute.ResourceSKURestrictionsTypeZone || *f[0].RestrictionInfo.Zones[0] != "3" {
		t.Error("FX4mds is not restricted in zone 3")
	}
	if n := w.skus("westus3")["Standard_NV4as_v4"].Restrictions; len(n) == 0 || *n[0].Type != armcompute.ResourceSKURestrictionsTypeLocation {
		t.Error("NV4as_v4 is not restricted in westus3")
	}
	if c := w.skus("WestCentralUS"); len(c) < 50 || zones(c["Standard_D2s_v5"]) != "" {
		t.Errorf("westcentralus has %d sizes", len(c))
	}
	if n := len(w.skus("atlantis")); n != 0 {
		t.Errorf("atlantis sells %d sizes", n)
	}
	resp, v := w.do("GET", "/subscriptions/"+w.cfg.Subscription+"/providers/Microsoft.Compute/skus?api-version=2021-07-01&$filter="+url.QueryEscape("name eq 'x'"), w.bearer(), "")
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("another filter: %d %v", resp.StatusCode, v)
	}
}

// priceRecord is what a client reads.
type priceRecord struct {
	RetailPrice                                                      float64
	ArmSKUName, ArmRegionName, ProductName, SKUName, MeterName, Type string
}

// retail walks all pages of a filter.
func (w *world) retail(filter string) (items []priceRecord, pages int) {
	w.Helper()
	next := w.srv.URL + "/api/retail/prices?api-version=2023-01-01-preview&$filter=" + url.QueryEscape(filter)
	for ; next != ""; pages++ {
		resp, err := w.srv.Client().Get(next)
		if err != nil {
			w.Fatal(err)
		}
		var page struct {
			Items        []priceRecord
			NextPageLink string
			Count        int
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || page.Count != len(page.Items) || page.Count > 1000 {
			w.Fatalf("%v %d, count %d of %d", err, resp.StatusCode, page.Count, len(page.Items))
		}
		items, next = append(items, page.Items...), page.NextPageLink
	}
	return items, pages
}

func TestPricesArePagedAmongNoise(t *testing.T) {
	w := newWorld(t, nil)
	filter := "priceType eq 'Consumption' and currencyCode eq 'USD' and serviceFamily eq 'Compute' and serviceName eq 'Virtual Machines' and armRegionName eq 'eastus'"
	items, pages := w.retail(filter)
	linux, spot, noise := map[string]float64{}, map[string]float64{}, 0
	for _, it := range items {
		switch {
		case it.Type != "Consumption" || it.ArmRegionName != "eastus":
			t.Fatalf("the filter let %+v through", it)
		case strings.HasSuffix(it.ProductName, " Windows") || strings.HasSuffix(it.MeterName, " Low Priority") || strings.HasSuffix(it.ProductName, " Dedicated Host"):
			noise++
		case strings.HasSuffix(it.SKUName, " Spot"):
			spot[it.ArmSKUName] = it.RetailPrice
		default:
			linux[it.ArmSKUName] = it.RetailPrice
		}
	}
	sizes := w.skus("eastus")
	if pages < 3 || noise < 1000 || len(linux) != len(sizes) {
		t.Errorf("%d pages, %d records of noise, %d prices of %d sizes", pages, noise, len(linux), len(sizes))
	}
	if linux["Standard_D2s_v5"] != 0.096 || spot["Standard_D2s_v5"] <= 0 || spot["Standard_D2s_v5"] > 0.05 || spot["Standard_B2s"] != 0 {
		t.Errorf("D2s_v5 costs %v, spot %v", linux["Standard_D2s_v5"], spot["Standard_D2s_v5"])
	}
	w.turn(func(k *arm.Knobs) {
		k.Prices = map[string]float64{"eastus/Standard_D2s_v5": 7, "eastus/Standard_D2s_v5/spot": 3}
	})
	got, _ := w.retail(filter + " and armSkuName eq 'Standard_D2s_v5'")
	var list []float64
	for _, it := range got {
		if !strings.HasSuffix(it.ProductName, " Windows") && (strings.HasSuffix(it.SKUName, " Spot") || it.SKUName == "D2s v5") {
			list = append(list, it.RetailPrice)
		}
	}
	if !slices.Equal(list, []float64{7, 3}) {
		t.Errorf("after the change: %v", list)
	}
	// The maximum price of a spot machine is compared with the price of now.
	vm := spotVM(w, "a")
	vm.Properties.BillingProfile.MaxPrice = to.Ptr(2.5)
	w.refused(w.begin("a", vm), http.StatusConflict, "OperationNotAllowed")
	for _, bad := range []string{"armRegionName like 'x'", "colour eq 'red'"} {
		if resp, _ := w.do("GET", "/api/retail/prices?$filter="+url.QueryEscape(bad), "", ""); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, resp.StatusCode)
		}
	}
}

func spotVM(w *world, name string) armcompute.VirtualMachine {
	return spot(w.body(name, "Standard_D2s_v5"))
}

func TestImagesAreListedAndReleased(t *testing.T) {
	w := newWorld(t, nil)
	client, err := armcompute.NewCommunityGalleryImageVersionsClient(w.cfg.Subscription, w.cred, w.opts)
	if err != nil {
		t.Fatal(err)
	}
	const gallery = "AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2"
	versions := func() (out []string) {
		for pager := client.NewListPager("eastus", gallery, "2204gen2containerd", nil); pager.More(); {
			page, err := pager.NextPage(w.ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range page.Value {
				if v.Properties.PublishedDate.IsZero() {
					t.Error("no date")
				}
				out = append(out, *v.Name)
			}
		}
		return out
	}
	before := versions()
	w.turn(func(k *arm.Knobs) {
		k.Images = []arm.ImageVersion{{Gallery: gallery, Image: "*", Version: "202701.05.0", Published: time.Date(2027, 1, 6, 0, 0, 0, 0, time.UTC)}}
	})
	after := versions()
	if len(after) != len(before)+1 || after[len(after)-1] != "202701.05.0" || !slices.Contains(before, "202608.12.0") {
		t.Errorf("before %v, after %v", before, after)
	}
	images, err := armcompute.NewCommunityGalleryImagesClient(w.cfg.Subscription, w.cred, w.opts)
	if err != nil {
		t.Fatal(err)
	}
	img, err := images.Get(w.ctx, "eastus", gallery, "2204gen2arm64containerd", nil)
	if err != nil || *img.Properties.HyperVGeneration != armcompute.HyperVGenerationV2 || *img.Properties.Architecture != armcompute.ArchitectureArm64 {
		t.Errorf("image: %v", err)
	}
	_, err = images.Get(w.ctx, "eastus", gallery, "9904", nil)
	w.refused(err, http.StatusNotFound, "GalleryImageNotFound")
	_, v := w.do("GET", "/subscriptions/"+w.cfg.Subscription+"/providers/Microsoft.ContainerService/locations/eastus/nodeImageVersions?api-version=2025-05-01", w.bearer(), "")
	if s := fmt.Sprint(v["values"]); !strings.Contains(s, "AKSUbuntu-2204gen2containerd-202701.05.0") {
		t.Errorf("node image versions: %.300s", s)
	}
}

func TestGraphListsByTagInPages(t *testing.T) {
	w, c := slowWorld(t, arm.Knobs{GraphLag: arm.Duration(10 * time.Second)})
	client, err := armresourcegraph.NewClient(w.cred, w.opts)
	if err != nil {
		t.Fatal(err)
	}
	query := func(kql string) (names []string, pages int) {
		t.Helper()
		req := armresourcegraph.QueryRequest{Query: &kql, Subscriptions: []*string{&w.cfg.Subscription},
			Options: &armresourcegraph.QueryRequestOptions{ResultFormat: to.Ptr(armresourcegraph.ResultFormatObjectArray), Top: to.Ptr[int32](2)}}
		for {
			page, err := client.Resources(w.ctx, req, nil)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			for _, x := range page.Data.([]any) {
				names = append(names, x.(map[string]any)["name"].(string))
			}
			if page.SkipToken == nil {
				return names, pages
			}
			req.Options.SkipToken = page.SkipToken
		}
	}
	for i := range 5 {
		name := fmt.Sprintf("vm%d", i)
		vm := w.body(name, "Standard_D2s_v5")
		if i == 3 {
			vm.Tags = nil
		}
		if err := w.begin(name, vm); err != nil {
			t.Fatal(err)
		}
	}
	c.pass(time.Second)
	const machines = `Resources | where type == "microsoft.compute/virtualmachines" | where resourceGroup == "%s" | where tags has_cs "karpenter.sh_nodepool"`
	mine := fmt.Sprintf(machines, strings.ToLower(w.cfg.NodeResourceGroup))
	if names, _ := query(mine); len(names) != 0 {
		t.Errorf("the graph knows %v before its time", names)
	}
	c.pass(10 * time.Second)
	if names, pages := query(mine); strings.Join(names, " ") != "vm0 vm1 vm2 vm4" || pages != 2 {
		t.Errorf("%v in %d pages", names, pages)
	}
	if names, _ := query(fmt.Sprintf(machines, "elsewhere")); len(names) != 0 {
		t.Errorf("another group has %v", names)
	}
	nics := `resources | where type =~ 'Microsoft.Network/networkInterfaces' and isnotempty(tags["karpenter.sh_nodepool"]) | project id, name, tags | order by name asc`
	if names, _ := query(nics); len(names) != 5 {
		t.Errorf("interfaces %v", names)
	}
	if names, _ := query(`resources | where properties.extended.instanceView.powerState.code == 'PowerState/running' and not(name in ('vm1', 'vm2')) | order by name desc`); strings.Join(names, " ") != "vm4 vm3 vm0" {
		t.Errorf("running: %v", names)
	}
	for _, bad := range []string{"", "storage | take 1", "resources | summarize count()", "resources | where colour == 'red'", "resources | where name ==", "resources | where name @ 'x'"} {
		_, err := client.Resources(w.ctx, armresourcegraph.QueryRequest{Query: &bad}, nil)
		w.refused(err, http.StatusBadRequest, "BadRequest")
	}
}
