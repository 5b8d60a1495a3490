package worldtext

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/karpenter-aks/karpenter/internal/mutated"
	"github.com/karpenter-aks/karpenter/model"
)

// crowd finds xN beyond three digits: right, and slow to do often.
var crowd = regexp.MustCompile(`x\d{4,}`)

// FuzzParse reads any text: an error names a line of it, and a world that was read is printed as one that reads back the same.
func FuzzParse(f *testing.F) {
	f.Add(sample)
	for line := range strings.Lines(sample) {
		f.Add(line)
		mutated.Add(f, 100, line, sample)
	}
	f.Add("pool a limit.a/b=1 limit.%25=2")
	f.Add("pod 0 volume")
	f.Add("pool 0 limit.%09=0")
	f.Add("type a zones=%e price=1e300 supply.1/spot=1")
	f.Fuzz(func(t *testing.T, text string) {
		if crowd.MatchString(text) {
			return
		}
		w, err := Parse(text)
		if err != nil {
			rest, ok := strings.CutPrefix(err.Error(), "line ")
			at, _, _ := strings.Cut(rest, ":")
			if n, bad := strconv.Atoi(at); !ok || bad != nil || n < 1 || n > strings.Count(text, "\n")+1 {
				t.Errorf("%q: the error names no line of it: %v", text, err)
			}
			return
		}
		printed := Print(w)
		again, err := Parse(printed)
		if err != nil {
			t.Fatalf("%q is printed as %q: %v", text, printed, err)
		}
		if d := cmp.Diff(w, again, cmp.Comparer(sameAmounts), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%q is printed as %q, which differs: %s", text, printed, d)
		}
	})
}

// sameAmounts takes a resource of which there is nothing for one that is not there, as everybody does who reads resources.
func sameAmounts(a, b model.Resources) bool {
	return slices.Equal(a.Names(), b.Names()) && !slices.ContainsFunc(a.Names(), func(n string) bool { return a.Get(n) != b.Get(n) })
}

// FuzzQuantity reads any amount: never one below zero, none is made smaller by a larger unit, and it is printed as one that reads back
// the same.
func FuzzQuantity(f *testing.F) {
	for _, s := range []string{"1", "250m", "1.5Gi", "1e3", "-5m", "1e300", "nan", "inf", "9223372036854775807", "9223372036854775807Ki", "0x1p4", "1_0", ""} {
		f.Add(s, true)
		f.Add(s, false)
	}
	for _, s := range mutated.Texts(1000, "1.5Gi", "250m", "1e3", "-5m", "9223372036854775807Ki") {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, cpu bool) {
		name := model.ResourceMemory
		if cpu {
			name = model.ResourceCPU
		}
		v, err := Quantity(name, text)
		if err != nil {
			return
		}
		if v < 0 {
			t.Fatalf("%s %q is %d", name, text, v)
		}
		printed := model.FormatQuantity(name, v)
		if again, err := Quantity(name, printed); err != nil || again != v {
			t.Errorf("%s %q is %d, printed as %q, which is %d: %v", name, text, v, printed, again, err)
		}
		if text == "" || text[len(text)-1] < '0' || text[len(text)-1] > '9' {
			return
		}
		if more, err := Quantity(name, text+"Ki"); err == nil && more < v {
			t.Errorf("%s %q is %d, and with Ki %d", name, text, v, more)
		}
	})
}
