package azure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// anyTags draws tags in which our own keys, in any spelling, and keys that become the same are common.
func anyTags(t *rapid.T, name string) map[string]string {
	ours := []string{TagPool, TagCluster, TagBilling, TagClaim, TagClaimUID, tagMachine, "team/cost", "team_cost", "Team", "x"}
	key := rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 3).Draw(t, "own") == 0 {
			return rapid.StringMatching(`[A-Za-z0-9 ._/-]{1,20}`).Draw(t, "word")
		}
		k := []byte(rapid.SampledFrom(ours).Draw(t, "key"))
		for i, c := range k {
			switch rapid.IntRange(0, 9).Draw(t, "twist") {
			case 0:
				k[i] = strings.ToUpper(string(c))[0]
			case 1:
				if c == '_' {
					k[i] = '/'
				}
			}
		}
		return string(k)
	})
	return rapid.MapOfN(key, rapid.SampledFrom([]string{"", "1", "another", "linux"}), 0, 12).Draw(t, name)
}

// No class and no option makes a machine that List misses or Terminate refuses, and none that Azure refuses for its tags.
func TestNoTagHidesAMachineFromUs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := testConfig()
		cfg.AdditionalTags = anyTags(t, "option")
		o := cloud.Order{Claim: "a", ClaimUID: "u", Pool: rapid.SampledFrom([]string{"", "p"}).Draw(t, "pool"),
			Class: model.Class{Azure: &model.AzureClass{Tags: anyTags(t, "class")}}}
		tags, err := tagsFor(o, cfg)
		if err != nil {
			t.Fatal(err)
		}
		lower := map[string]bool{}
		for k := range tags {
			if lower[strings.ToLower(k)] || strings.Contains(k, "/") {
				t.Fatalf("%q is there twice, or is no key: %v", k, tags)
			}
			lower[strings.ToLower(k)] = true
		}
		// Somebody writes the keys anew in another case.
		shouted := map[string]*string{}
		for k, v := range tags {
			shouted[strings.ToUpper(k)] = &v
		}
		for _, back := range []map[string]string{values(pointers(tags)), values(shouted)} {
			if !ours(back, cfg.ClusterName) || claimOf("aks-a", back) != "a" || back[TagPool] != o.Pool || back[TagClaimUID] != "u" {
				t.Fatalf("not ours: %v", back)
			}
		}
		if again, _ := tagsFor(o, cfg); !maps.Equal(again, tags) {
			t.Fatalf("%v, then %v", tags, again)
		}
		if v := validation(o.Class.Azure, cfg); v.Status != model.True {
			t.Fatalf("%+v", v)
		}
	})
}

func TestTagsOfLaterSourcesWinInAnyCase(t *testing.T) {
	got := people(map[string]string{"Team": "a", "b/c": "slash", "b_c": "plain", "karpenter.azure.com/aksmachine_nodeclaim": "x"}, map[string]string{"TEAM": "b"})
	if want := map[string]string{"TEAM": "b", "b_c": "plain"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheClassSaysWhatIsWrongWithItsTags(t *testing.T) {
	many := map[string]string{}
	for n := range maxTags {
		many[fmt.Sprint("k", n)] = "v"
	}
	for _, c := range []struct {
		tags  map[string]string
		want  model.Status
		words string
	}{
		{map[string]string{"team": "a"}, model.True, ""},
		{map[string]string{"Karpenter.sh/nodepool": "a", "x": "y"}, model.True, "Karpenter.sh/nodepool"},
		{map[string]string{"a<b": "x"}, model.False, "a<b"},
		{map[string]string{"a": strings.Repeat("x", maxTagValue+1)}, model.False, "values up to 256"},
		{many, model.False, "52 tags, Azure takes 45"},
	} {
		v := validation(&model.AzureClass{Tags: c.tags}, testConfig())
		if v.Status != c.want || !strings.Contains(v.Message, c.words) || c.words == "" && v.Message != "" {
			t.Errorf("%v: %+v", slices.Sorted(maps.Keys(c.tags)), v)
		}
	}
}
