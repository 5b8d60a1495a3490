package migrate_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v6"

	"github.com/karpenter-aks/karpenter/internal/migrate"
)

type (
	cluster   = armcontainerservice.ManagedCluster
	agentPool = armcontainerservice.ManagedClusterAgentPoolProfile
	profile   = armcontainerservice.ManagedClusterPropertiesAutoScalerProfile
)

// state are fields that only say how things are: nobody can ask for them.
func state() []string {
	return []string{"Type", "ETag", "ProvisioningState", "CurrentOrchestratorVersion",
		"NodeImageVersion"}
}

// TestNoSettingIsDroppedInSilence sets each field that Azure's SDK knows of an agent pool and of
// the autoscaler's profile, alone, to something that is not its default: a manifest or a note
// changes.
func TestNoSettingIsDroppedInSilence(t *testing.T) {
	before := asked(t, base())
	fields := 0
	try := func(path []string, set func(cluster, reflect.Value) bool) {
		fields++
		told := false
		for _, v := range choices() {
			c := base()
			if !set(c, v) {
				continue
			}
			after := asked(t, c)
			told = told || string(after.Text) != string(before.Text) ||
				!reflect.DeepEqual(after.Notes, before.Notes) ||
				!reflect.DeepEqual(after.Kept, before.Kept)
		}
		if told == slices.Contains(state(), strings.Join(path, ".")) {
			t.Errorf("%s: told is %v", strings.Join(path, "."), told)
		}
	}
	leaves(reflect.TypeFor[agentPool](), nil, func(path []string) {
		try(path, func(c cluster, v reflect.Value) bool {
			return put(reflect.ValueOf(c.Properties.AgentPoolProfiles[0]).Elem(), path, v)
		})
	})
	pool := fields
	leaves(reflect.TypeFor[profile](), nil,
		func(path []string) {
			try(path, func(c cluster, v reflect.Value) bool {
				return put(reflect.ValueOf(c.Properties.AutoScalerProfile).Elem(), path, v)
			})
		})
	if pool < 90 || fields-pool < 20 {
		t.Errorf("%d fields of agent pools and %d of the profile: is everything asked?", pool,
			fields-pool)
	}
}

// TestBothSpellingsSayTheSame compares what Azure's API says with what its command line prints,
// which has no properties, and names of its own.
func TestBothSpellingsSayTheSame(t *testing.T) {
	c := base()
	c.Properties.AgentPoolProfiles[0].OSDiskSizeGB = of[int32](64)
	c.Properties.AgentPoolProfiles[0].VnetSubnetID = of("/subnet")
	c.Properties.AutoScalerProfile.ScaleDownUnneededTime = of("7m")
	c.Properties.AutoScalerProfile.ScanInterval = of("20s")
	api := decoded(t, c)
	cli := maps.Clone(api.(map[string]any))
	maps.Copy(cli, cli["properties"].(map[string]any))
	delete(cli, "properties")
	raw, err := json.Marshal(cli)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for theirs, printed := range map[string]string{"osDiskSizeGB": "osDiskSizeGb",
		"vnetSubnetID": "vnetSubnetId", "scale-down-unneeded-time": "scaleDownUnneededTime",
		"scan-interval": "scanInterval"} {
		if !strings.Contains(text, `"`+theirs+`"`) {
			t.Errorf("the SDK does not write %s", theirs)
		}
		text = strings.ReplaceAll(text, `"`+theirs+`"`, `"`+printed+`"`)
	}
	if err := json.Unmarshal([]byte(text), &cli); err != nil {
		t.Fatal(err)
	}
	a, b := written(t, api), written(t, cli)
	if string(a.Text) != string(b.Text) || !strings.Contains(string(a.Text), "osDiskSizeGB: 64") ||
		!strings.Contains(string(a.Text), "consolidateAfter: 7m") {
		t.Errorf("the API says\n%s\nthe command line\n%s", a.Text, b.Text)
	}
}

// choices are values of all types that fields have; each field gets those of its own type.
func choices() []reflect.Value {
	var out []reflect.Value
	for _, v := range []any{"other", true, false, int32(77), float32(0.25)} {
		out = append(out, reflect.ValueOf(v))
	}
	return out
}

// leaves calls each with the way to every field that is no structure itself.
func leaves(t reflect.Type, at []string, each func([]string)) {
	for i := range t.NumField() {
		f := t.Field(i)
		path := append(slices.Clone(at), f.Name)
		x := f.Type
		if x.Kind() == reflect.Slice {
			x = x.Elem()
		}
		if x.Kind() == reflect.Pointer && x.Elem().Kind() == reflect.Struct {
			leaves(x.Elem(), path, each)
			continue
		}
		each(path)
	}
}

// put sets a field, if the value is of its type, and makes what it stands in.
func put(in reflect.Value, path []string, v reflect.Value) bool {
	f := in.FieldByName(path[0])
	list := f.Kind() == reflect.Slice
	if len(path) > 1 {
		to := f.Type()
		if list {
			to = to.Elem()
		}
		made := reflect.New(to.Elem())
		if !list && !f.IsNil() {
			made.Elem().Set(f.Elem())
		}
		if !put(made.Elem(), path[1:], v) {
			return false
		}
		if list {
			made = reflect.Append(reflect.MakeSlice(f.Type(), 0, 1), made)
		}
		f.Set(made)
		return true
	}
	to := f.Type()
	if list || to.Kind() == reflect.Map {
		to = to.Elem()
	}
	if to.Elem().Kind() != v.Kind() {
		return false
	}
	p := reflect.New(to.Elem())
	p.Elem().Set(v.Convert(to.Elem()))
	switch {
	case list:
		f.Set(reflect.Append(reflect.MakeSlice(f.Type(), 0, 1), p))
	case f.Kind() == reflect.Map:
		f.Set(reflect.MakeMap(f.Type()))
		f.SetMapIndex(reflect.ValueOf("key"), p)
	default:
		f.Set(p)
	}
	return true
}

func of[T any](v T) *T { return &v }

// base is a cluster with one agent pool that says little.
func base() cluster {
	return cluster{Name: of("shop"), Location: of("westeurope"),
		Properties: &armcontainerservice.ManagedClusterProperties{
			CurrentKubernetesVersion: of("1.33.2"),
			AutoScalerProfile:        &profile{},
			AgentPoolProfiles: []*agentPool{{
				Name: of("user"), Mode: of(armcontainerservice.AgentPoolModeUser),
				VMSize: of("Standard_D4s_v5"),
				Count:  of[int32](3), EnableAutoScaling: of(true), MinCount: of[int32](0),
				MaxCount: of[int32](9), AvailabilityZones: []*string{of("1")},
			}},
		}}
}

func asked(t *testing.T, c cluster) migrate.Result {
	t.Helper()
	return written(t, decoded(t, c))
}

func decoded(t *testing.T, c cluster) any {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var data any
	if err := json.Unmarshal(raw, &data); err != nil {
		t.Fatal(err)
	}
	return data
}

func written(t *testing.T, data any) migrate.Result {
	t.Helper()
	c, err := migrate.Read([]migrate.Answer{{Name: "aks.json", Data: data}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Write(migrate.Options{Catalog: sold()})
}
