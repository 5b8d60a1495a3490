package arm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/mutated"
	"github.com/karpenter-aks/karpenter/lab/arm"
)

// paths of the operations that take a body.
func (w *world) paths() map[string]string {
	rg := "/subscriptions/" + w.cfg.Subscription + "/resourceGroups/" + w.cfg.NodeResourceGroup + "/providers/"
	return map[string]string{
		"vm": rg + "Microsoft.Compute/virtualMachines/vm", "extension": rg + "Microsoft.Compute/virtualMachines/vm/extensions/x",
		"nic": rg + "Microsoft.Network/networkInterfaces/nic", "graph": "/providers/Microsoft.ResourceGraph/resources",
	}
}

// ask sends a body and headers ("name: value") and returns status and code; "" when it was taken.
func (w *world) ask(method, path, version, body string, headers ...string) (string, map[string]any) {
	w.Helper()
	req := httptest.NewRequest(method, path+"?api-version="+version, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+w.token)
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Add(k, v)
	}
	rec := httptest.NewRecorder()
	w.cloud.ServeHTTP(rec, req)
	v := decode(w.T, rec.Body.Bytes())
	if rec.Code < 300 {
		return "", v
	}
	return fmt.Sprint(rec.Code, " ", errorCode(v)), v
}

const (
	vmVersion  = "2025-04-01"
	nicVersion = "2025-05-01"
)

// Each body is refused by the one who reads it, in that one's words.
func TestBodiesThatNoProviderReads(t *testing.T) {
	w := newWorld(t, nil)
	w.token = w.bearer()
	good := w.bodyJSON("vm", "Standard_D2s_v5")
	at := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%s is not in %s", old, good)
		}
		return strings.Replace(good, old, with, 1)
	}
	inProps := func(more string) string { return at(`"properties":{`, `"properties":{`+more+`,`) }
	nic := func(more string) string {
		return `{"location":"eastus","properties":{` + more + `"ipConfigurations":[{"name":"a","properties":{"subnet":{"id":"` + w.cfg.SubnetID + `"}}}]}}`
	}
	ext := func(more string) string {
		return `{"location":"eastus","properties":{` + more + `"publisher":"p","type":"t","typeHandlerVersion":"1.0"}}`
	}
	w.mustPut("vm", w.body("vm", "Standard_D2s_v5"))
	p := w.paths()
	other := strings.TrimSuffix(p["vm"], "vm") + "other"
	for name, c := range map[string]struct{ method, path, version, body, want, text string }{
		"unknown member":            {"PUT", other, vmVersion, inProps(`"fromTheFuture":1`), "400 BadRequest", "Could not find member 'fromTheFuture' on object of type 'VirtualMachineProperties'. Path 'properties.fromTheFuture', line 1, position"},
		"unknown member far down":   {"PUT", other, vmVersion, at(`"osDisk":{`, `"osDisk":{"diskSize":1,`), "400 BadRequest", "'properties.storageProfile.osDisk.diskSize'"},
		"unknown member in a list":  {"PUT", other, vmVersion, at(`"publicKeys":[{`, `"publicKeys":[{"key":"x",`), "400 BadRequest", "publicKeys[0].key'"},
		"unknown member at the top": {"PUT", other, vmVersion, at(`{"identity"`, `{"sku":{},"identity"`), "400 BadRequest", "'sku'"},
		"unknown member of a patch": {"PATCH", p["vm"], vmVersion, `{"tag":{}}`, "400 BadRequest", "VirtualMachineUpdate"},
		"unknown member, extension": {"PUT", p["extension"], vmVersion, ext(`"level":1,`), "400 BadRequest", "VirtualMachineExtensionProperties"},
		"unknown member, interface": {"PUT", p["nic"], nicVersion, nic(`"speed":1,`), "400 InvalidRequestFormat", "Could not find member 'speed' on object of type 'InterfacePropertiesFormat'"},
		"unknown member, graph":     {"POST", p["graph"], "2024-04-01", `{"query":"Resources","page":1}`, "400 BadRequest", "'page'"},
		"member of a later version": {"PUT", other, "2024-07-01", at(`{"identity"`, `{"placement":{"zonePlacementPolicy":"Any"},"identity"`), "400 BadRequest", "Could not find member 'placement'"},
		"deep member, later":        {"PUT", other, "2024-07-01", at(`"osProfile"`, `"storageProfile2":{},"osProfile"`), "400 BadRequest", "storageProfile2"},
		"text for a number":         {"PUT", other, vmVersion, at(`"diskSizeGB":128`, `"diskSizeGB":"big"`), "400 BadRequest", "Error converting value"},
		"fraction for a number":     {"PUT", other, vmVersion, at(`"diskSizeGB":128`, `"diskSizeGB":1.5`), "400 BadRequest", "Error converting value"},
		"object for a text":         {"PUT", other, vmVersion, at(`"computerName":"vm"`, `"computerName":{}`), "400 BadRequest", "Error converting value"},
		"text for an object":        {"PUT", other, vmVersion, at(`"hardwareProfile":{"vmSize":"Standard_D2s_v5"}`, `"hardwareProfile":"x"`), "400 BadRequest", "Error converting value"},
		"object for a list":         {"PUT", other, vmVersion, at(`"zones":["1"]`, `"zones":{"1":1}`), "400 BadRequest", "Error converting value"},
		"number for a truth":        {"PUT", other, vmVersion, at(`"disablePasswordAuthentication":true`, `"disablePasswordAuthentication":1`), "400 BadRequest", "Error converting value"},
		"value of no enumeration":   {"PUT", other, vmVersion, at(`"priority":"Regular"`, `"priority":"Cheap"`), "400 InvalidParameter", "The value of parameter priority is invalid."},
		"one member, two spellings": {"PUT", other, vmVersion, at(`"priority":"Regular"`, `"priority":"Regular","Priority":"Regular"`), "400 BadRequest", "same name already exists"},
		"required member":           {"PUT", other, vmVersion, at(`"createOption":"FromImage",`, ``), "400 InvalidParameter", "'storageProfile.osDisk.createOption' is missing (null)"},
		"no object":                 {"PUT", other, vmVersion, `[]`, "400 InvalidRequestContent", ""},
		"null":                      {"PUT", other, vmVersion, `null`, "400 InvalidRequestContent", ""},
		"two objects":               {"PUT", other, vmVersion, good + "{}", "400 InvalidRequestContent", ""},
		"tags in a list":            {"PUT", other, vmVersion, at(`"tags":{"karpenter.sh_nodepool":"default"},"zones"`, `"tags":["x"],"zones"`), "400 InvalidRequestContent", ""},
		"location is a number":      {"PUT", other, vmVersion, at(`"location":"eastus"`, `"location":1`), "400 InvalidRequestContent", ""},
		"location of an interface":  {"PUT", p["nic"], nicVersion, strings.Replace(nic(""), "eastus", "westus3", 1), "400 LocationNotAvailableForResourceType", ""},
		"interface without":         {"PUT", p["nic"], nicVersion, strings.Replace(nic(""), `"location":"eastus",`, "", 1), "400 LocationRequired", ""},
		"extension elsewhere":       {"PUT", p["extension"], vmVersion, strings.Replace(ext(""), "eastus", "westus3", 1), "400 LocationNotAvailableForResourceType", ""},
		"machine moves":             {"PUT", p["vm"], vmVersion, at(`"location":"eastus"`, `"location":"westus3"`), "409 InvalidResourceLocation", ""},
		"extension's name":          {"PUT", p["extension"] + "%20y", vmVersion, ext(""), "400 InvalidParameter", "vmExtensionName"},
		"extension of no machine":   {"PUT", strings.Replace(p["extension"], "/vm/", "/none/", 1), vmVersion, ext(""), "404 ParentResourceNotFound", ""},
		"interface's name":          {"PUT", p["nic"] + "%20y", nicVersion, nic(""), "400 InvalidResourceName", ""},
		"tags of a patch":           {"PATCH", p["vm"], vmVersion, `{"tags":{"windowsTeam":"x"}}`, "400 ReservedTagName", ""},
		"identity of a patch":       {"PATCH", p["vm"], vmVersion, `{"identity":{"type":"UserAssigned","userAssignedIdentities":{"/none":{}}}}`, "400 FailedIdentityOperation", ""},
	} {
		have, v := w.ask(c.method, c.path, c.version, c.body)
		if have != c.want || !strings.Contains(fmt.Sprint(v), c.text) {
			t.Errorf("%s: %q %v\nwant %s with %q", name, have, v, c.want, c.text)
		}
	}
	if left := w.states(); strings.Contains(left, "other") || strings.Contains(left, "nic ") || strings.Contains(left, "extensions") {
		t.Errorf("left over: %s", left)
	}
}

// What Azure's readers forgive is forgiven: spelling, numbers as text, nulls, and members that only answers have.
func TestBodiesThatProvidersForgive(t *testing.T) {
	w := newWorld(t, nil)
	w.token = w.bearer()
	good := w.bodyJSON("vm", "Standard_D2s_v5")
	for old, with := range map[string]string{
		`"diskSizeGB":128`:                     `"DISKSIZEGB":"128"`,
		`"priority":"Regular"`:                 `"priority":"regular","evictionPolicy":null,"provisioningState":"Failed","vmId":"mine"`,
		`"disablePasswordAuthentication":true`: `"disablePasswordAuthentication":"true"`,
		`{"identity"`:                          `{"id":"/x","name":"y","type":"z","etag":"1","placement":null,"identity"`,
	} {
		good = strings.Replace(good, old, with, 1)
	}
	if have, v := w.ask("PUT", w.paths()["vm"], vmVersion, good); have != "" {
		t.Fatalf("%s %v", have, v)
	}
	_, v := w.ask("GET", w.paths()["vm"], vmVersion, "")
	for _, want := range []string{"diskSizeGB:128", "priority:Regular", "name:vm ", "disablePasswordAuthentication:true"} {
		if !strings.Contains(fmt.Sprint(v), want) {
			t.Errorf("no %q in %v", want, v)
		}
	}
	if strings.Contains(fmt.Sprint(v), "vmId:mine") {
		t.Errorf("a read-only member was kept: %v", v)
	}
}

// Each operation has its versions.
func TestVersionsOfOperations(t *testing.T) {
	w := newWorld(t, nil)
	w.token = w.bearer()
	p := w.paths()
	disk := strings.Replace(p["vm"], "virtualMachines", "disks", 1)
	for _, c := range []struct{ path, version, want string }{
		{p["vm"], vmVersion, "404 ResourceNotFound"},
		{p["vm"], "2024-03-01", "404 ResourceNotFound"},
		{p["vm"], "2099-01-01", "400 NoRegisteredProviderFound"},
		{p["vm"], "2025-01-02", "400 NoRegisteredProviderFound"}, // of disks
		{p["vm"], "2025-04-01-preview", "400 NoRegisteredProviderFound"},
		{p["vm"], "2025-13-01", "400 InvalidApiVersionParameter"},
		{p["vm"], "latest", "400 InvalidApiVersionParameter"},
		{p["vm"], "", "400 MissingApiVersionParameter"},
		{disk, "2025-01-02", "404 ResourceNotFound"},
		{disk, vmVersion, "400 NoRegisteredProviderFound"},
		{p["nic"], nicVersion, "404 ResourceNotFound"},
		{p["nic"], vmVersion, "400 NoRegisteredProviderFound"},
	} {
		have, v := w.ask("GET", c.path, c.version, "")
		if have != c.want {
			t.Errorf("%s %s: %q %v, want %s", c.path, c.version, have, v, c.want)
		}
	}
	_, v := w.ask("GET", p["nic"], "2020-01-01", "")
	if !strings.Contains(fmt.Sprint(v), "No registered resource provider found for location 'eastus' and API version '2020-01-01' for type 'networkInterfaces'. The supported api-versions are '2025-05-01'. The supported locations are '") {
		t.Errorf("%v", v)
	}
	// A member is there from its first version on.
	body := strings.Replace(w.bodyJSON("vm", "Standard_D2s_v5"), `{"identity"`, `{"placement":{},"identity"`, 1)
	if have, v := w.ask("PUT", p["vm"], "2024-11-01", body); have != "" {
		t.Errorf("%s %v", have, v)
	}
}

func TestConditionsOfPut(t *testing.T) {
	w := newWorld(t, nil)
	w.token = w.bearer()
	p, body := w.paths()["vm"], w.bodyJSON("vm", "Standard_D2s_v5")
	for _, c := range []struct{ headers, want string }{
		{"If-None-Match: always", "400 BadRequest"},
		{`If-None-Match: "1"`, "400 BadRequest"},
		{"If-None-Match: ", "400 BadRequest"},
		{"If-None-Match: *,If-Match: *", "400 BadRequest"},
		{"If-Match: *", "412 PreconditionFailed"},
		{"If-None-Match: *", ""},
		{"If-None-Match: *", "412 PreconditionFailed"},
		{`If-Match: "none"`, "412 PreconditionFailed"},
		{"If-Match: *", ""},
	} {
		have, v := w.ask("PUT", p, vmVersion, body, strings.Split(c.headers, ",")...)
		if have != c.want {
			t.Errorf("%s: %q %v, want %q", c.headers, have, v, c.want)
		}
	}
	tag, have := "", ""
	for range 10 { // what was asked for before may change it still
		_, v := w.ask("GET", p, vmVersion, "")
		tag, _ = v["etag"].(string)
		have, _ = w.ask("PUT", p, vmVersion, body, "If-Match: "+tag)
		if have == "" {
			break
		}
	}
	if have != "" {
		t.Errorf("etag %s: %s", tag, have)
	}
	if have, _ := w.ask("PUT", p, vmVersion, body, "If-Match: "+tag); have != "412 PreconditionFailed" {
		t.Errorf("the old etag %s: %q", tag, have)
	}
}

// Every value of every body, replaced by what does not belong there, is read or refused: nothing panics, and nothing else
// than a refusal comes of it that a good body would not have done.
func TestNoValueOutOfPlaceFails(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) { c.Knobs.Throttle.Budget = -1 })
	w.token = w.bearer()
	p := w.paths()
	ip := `[{"name":"a","properties":{"subnet":{"id":"` + w.cfg.SubnetID + `"},"loadBalancerBackendAddressPools":[{"id":"/x"}]}}]`
	tried := 0
	for path, c := range map[string]struct{ method, version, body string }{
		p["vm"]:        {"PUT", vmVersion, w.bodyJSON("vm", "Standard_D2s_v5")},
		p["vm"] + "x":  {"PATCH", vmVersion, `{"tags":{"a":"b"},"identity":{"type":"UserAssigned","userAssignedIdentities":{"/x":{}}}}`},
		p["extension"]: {"PUT", vmVersion, `{"location":"eastus","tags":{"a":"b"},"properties":{"publisher":"p","type":"t","typeHandlerVersion":"1.0","settings":{"a":[1]}}}`},
		p["nic"]:       {"PUT", nicVersion, `{"location":"eastus","tags":{"a":"b"},"properties":{"ipConfigurations":` + ip + `,"networkSecurityGroup":{"id":"/x"}}}`},
		p["graph"]:     {"POST", "2024-04-01", `{"query":"Resources | where type =~ 'x' | order by name asc","subscriptions":["x"],"options":{"$top":1,"$skip":1,"$skipToken":"MQ==","resultFormat":"objectArray"}}`},
	} {
		for _, body := range tornApart(t, c.body) {
			tried++
			if have, v := w.ask(c.method, path, c.version, body); strings.HasPrefix(have, "5") {
				t.Errorf("%s %s: %s %v", path, body, have, v)
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d bodies were tried", tried)
	}
}

// tornApart gives copies of a body in which one value each is replaced, or taken away.
func tornApart(t *testing.T, body string) []string {
	t.Helper()
	var whole any
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		t.Fatal(err)
	}
	bad := []any{nil, true, "", "x", "/", -1, 1e300, []any{}, []any{nil}, map[string]any{}, map[string]any{"": nil}, strings.Repeat("ä", 600)}
	var out []string
	add := func() {
		b, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	var walk func(v any, set func(any))
	walk = func(v any, set func(any)) {
		for _, x := range bad {
			set(x)
			add()
		}
		set(v)
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				was := v[k]
				delete(v, k)
				add()
				v[k] = was
				walk(was, func(x any) { v[k] = x })
			}
		case []any:
			for i, was := range v {
				walk(was, func(x any) { v[i] = x })
			}
		}
	}
	walk(whole, func(x any) { whole = x })
	return out
}

// No body makes this Azure fail, whatever it is and wherever it is sent.
func FuzzBodies(f *testing.F) {
	c, err := arm.New(arm.Config{Rights: []arm.Assignment{{Scope: "/", Actions: []string{"*"}}}, Knobs: arm.Knobs{Throttle: arm.Throttle{Budget: -1}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.Close)
	w := &world{cloud: c, cfg: c.Config()}
	token := tokenOf(f, c)
	good := w.bodyJSON("vm", "Standard_D2s_v5")
	seeds := []string{good, `{}`, `null`, `[]`, `{"location":"eastus","properties":null}`, `{"location":"eastus","properties":{"ipConfigurations":[null,{"name":"a"}]}}`,
		`{"location":"eastus","tags":{"a":null},"properties":{"networkProfile":{"networkInterfaces":[null]}}}`, `{"identity":{"userAssignedIdentities":{"a":null}}}`,
		`{"query":"Resources | where type =~ 'x'","options":{"$top":-1,"$skip":-5,"$skipToken":"!"}}`, `{"location":"eastus","zones":[null],"properties":{"osProfile":{"linuxConfiguration":{"ssh":{"publicKeys":[null]}}}}}`}
	mutated.AddBytes(f, 100, seeds...)
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, path := range w.paths() {
			version := map[string]string{"nic": nicVersion, "graph": "2024-04-01"}[name]
			if version == "" {
				version = vmVersion
			}
			for _, method := range []string{"PUT", "PATCH", "POST"} {
				r := httptest.NewRequest(method, path+"?api-version="+version, bytes.NewReader(body))
				r.Header.Set("Authorization", "Bearer "+token)
				rec := httptest.NewRecorder()
				c.ServeHTTP(rec, r)
				if rec.Code >= http.StatusInternalServerError {
					t.Errorf("%s %s: %d %s", method, path, rec.Code, rec.Body)
				}
			}
		}
	})
}
