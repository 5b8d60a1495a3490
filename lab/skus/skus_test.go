package skus

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func load(t *testing.T) *Table {
	t.Helper()
	table, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Every size of the table, and no other, stands in the published list with the same numbers.
func TestTableAgreesWithPublishedFacts(t *testing.T) {
	table := load(t)
	f, err := os.Open("testdata/published.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, row := range rows[1:] {
		s, ok := table.Size(row[0])
		if !ok {
			t.Errorf("%s is missing", row[0])
			continue
		}
		seen++
		got := []string{s.Name, s.Family, strconv.Itoa(s.VCPUs), strconv.FormatInt(s.MemoryMiB, 10), strconv.Itoa(s.GPUs), s.Arch}
		for _, region := range []string{"eastus", "westus3", "westeurope"} {
			price := ""
			if o, ok := table.Offer(region, s.Name); ok {
				price = strconv.FormatFloat(o.USDPerHour, 'f', -1, 64)
			}
			got = append(got, price)
		}
		if !slices.Equal(got, row) {
			t.Errorf("table has %q\npublished is %q", got, row)
		}
	}
	if seen != table.Len() {
		t.Errorf("table has %d sizes, published list %d of them", table.Len(), seen)
	}
	if table.Len() < 300 {
		t.Errorf("only %d sizes", table.Len())
	}
}

func TestRegionsAndZones(t *testing.T) {
	table := load(t)
	if n := len(table.Regions()); n < 4 {
		t.Fatalf("%d regions", n)
	}
	for _, r := range table.Regions() {
		offers := table.Offers(r.Name)
		if len(offers) < 50 {
			t.Errorf("%s sells only %d sizes", r.Name, len(offers))
		}
		full, some, denied := 0, 0, 0
		for _, o := range offers {
			if len(r.Zones) == 0 && len(o.Zones) != 0 {
				t.Errorf("%s: %s has zones %v in a region without", r.Name, o.Size.Name, o.Zones)
			}
			if len(o.Zones) == len(r.Zones) {
				full++
			} else {
				some++
			}
			if o.Denied || len(o.DeniedZones) > 0 {
				denied++
			}
			if o.USDPerHour <= 0 || o.SpotUSDPerHour >= o.USDPerHour {
				t.Errorf("%s: %s costs %v, spot %v", r.Name, o.Size.Name, o.USDPerHour, o.SpotUSDPerHour)
			}
		}
		if full == 0 || len(r.Zones) > 0 && (some == 0 || denied == 0) {
			t.Errorf("%s: %d sizes in all zones, %d in some, %d restricted", r.Name, full, some, denied)
		}
	}
}

// Spot checks of published capabilities.
func TestCapabilities(t *testing.T) {
	table := load(t)
	for _, c := range []struct {
		name  string
		check func(Size) bool
	}{
		{"Standard_D2s_v3", func(s Size) bool {
			return s.Gen1 && s.Gen2 && s.CacheMiB == 50<<10 && s.TempMiB == 16384 && slices.Equal(s.Placements, []string{"CacheDisk", "ResourceDisk"})
		}},
		{"Standard_D2_v5", func(s Size) bool { return !s.PremiumIO && len(s.Placements) == 0 && s.Spot }},
		{"Standard_D2as_v6", func(s Size) bool {
			return !s.Gen1 && s.Gen2 && slices.Equal(s.Controllers, []string{"NVMe"}) && len(s.Placements) == 0
		}},
		{"Standard_D128ds_v6", func(s Size) bool {
			return s.NVMeMiB == 7208960 && slices.Equal(s.Placements, []string{"NvmeDisk"})
		}},
		{"Standard_D16plds_v5", func(s Size) bool { return s.Arch == "arm64" && s.CacheMiB == 400<<10 && !s.TrustedLaunch }},
		{"Standard_E4d_v5", func(s Size) bool { return s.TempMiB == 153600 && len(s.Placements) == 0 }},
		{"Standard_B20ms", func(s Size) bool { return !s.Spot && s.CacheMiB == 30<<10 && s.TempMiB == 160<<10 }},
		{"Standard_NC16as_T4_v3", func(s Size) bool { return s.GPUs == 1 && s.TempMiB == 360<<10 }},
		{"Standard_DC4as_v5", func(s Size) bool { return s.Confidential == "SNP" && !s.Gen1 }},
	} {
		s, ok := table.Size(strings.ToUpper(c.name))
		if !ok || s.Name != c.name || !c.check(s) {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestWrongLinesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"D#s | f | 4 | 1 1 1 | 2":                "want 6 columns",
		"Ds | f | 4 | 1 1 1 | 2 |":               "has no #",
		"D#s | f | x | 1 1 1 | 2 |":              "bad memory ratio",
		"D#s | f | 4 | 1 1 | 2 |":                "want 3 prices",
		"D#s | f | 4 | 1 1 y | 2 |":              "bad price",
		"D#s | f | 4 | 1 1 1 | 2@1 |":            `size "2@1"`,
		"D#s | f | 4 | 1 1 1 | 2 | fast":         "unknown option",
		"D#s | f | 4 | 1 1 1 | 2 | zones=eastus": "bad zones",
		"# fine\nD#s | f | 4 | 1 1 1 | 2 2 |":    "line 2: Standard_D2s stands in the table twice",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
