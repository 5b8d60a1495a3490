package arm

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func rowsForTest() []object {
	return []object{
		{"name": "a", "type": "x/vm", "tags": object{"pool": "one", "n.sh_pool": ""}, "resourceGroup": "mc"},
		{"name": "B", "type": "x/nic", "tags": object{}, "resourceGroup": "mc"},
		{"name": "c", "type": "x/vm", "tags": object{"Pool": "two words"}, "resourceGroup": "other", "properties": object{"n": 3, "on": true}},
	}
}

func TestQueryLanguage(t *testing.T) {
	for query, want := range map[string]string{
		`resources`:                                                                              "a B c",
		`Resources | where type == 'x/vm'`:                                                       "a c",
		`resources | where type != "x/vm"`:                                                       "B",
		`resources | where type =~ 'X/VM' and name !~ "A"`:                                       "c",
		`resources | where name == 'b' or name =~ 'b'`:                                           "B",
		`resources | where tags has "pool"`:                                                      "a c",
		`resources | where tags has_cs "Pool"`:                                                   "c",
		`resources | where tags has_cs "n.sh_pool"`:                                              "a",
		`resources | where tags has 'words'`:                                                     "c",
		`resources | where tags has 'word'`:                                                      "",
		`resources | where tags contains 'WORD'`:                                                 "c",
		`resources | where tags contains_cs 'WORD'`:                                              "",
		`resources | where tags["pool"] == "one"`:                                                "a",
		`resources | where tags.pool == "one"`:                                                   "a",
		`resources | where isnotempty(tags['pool'])`:                                             "a",
		`resources | where isempty(tags['pool'])`:                                                "B c",
		`resources | where isnotnull(tags['n.sh_pool'])`:                                         "a",
		`resources | where isnull(tags['n.sh_pool'])`:                                            "B c",
		`resources | where not(type == 'x/vm')`:                                                  "B",
		`resources | where name in ('a', 'b')`:                                                   "a",
		`resources | where name in~ ('a', 'b')`:                                                  "a B",
		`resources | where tolower(name) == 'b'`:                                                 "B",
		`resources | where toupper(name) == 'A'`:                                                 "a",
		`resources | where tostring(properties.n) == "3"`:                                        "c",
		`resources | where properties.n == 3`:                                                    "c",
		`resources | where properties.on == true`:                                                "c",
		`resources | where resourceGroup startswith 'o'`:                                         "c",
		`resources | where (name == 'a' or name == 'c') and type == 'x/vm' | order by name desc`: "c a",
		`resources | sort by name asc | take 2`:                                                  "B a",
		`resources | limit 1 | project name, type`:                                               "a",
	} {
		k, err := parseKQL(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		var names []string
		for _, r := range k.run(rowsForTest()) {
			names = append(names, text(r["name"]))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// Whatever comes in, the parser answers or refuses; a refused query never runs.
func TestQueryParserSurvivesAnything(t *testing.T) {
	words := []string{"resources", "|", "where", "project", "order", "by", "take", "not", "(", ")", "[", "]", ".", ",", "'x'", `"y`, "==", "in", "in~", "has", "tags", "name", "and", "or", "7", "isnull", "é", ";"}
	rapid.Check(t, func(rt *rapid.T) {
		q := "resources | " + strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(rt, "words"), " ")
		if k, err := parseKQL(q); err == nil {
			k.run(rowsForTest())
		}
	})
}
