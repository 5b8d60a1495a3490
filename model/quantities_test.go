package model

import (
	"slices"
	"testing"
)

func TestAmountsBesideEachOtherHaveOneUnit(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []int64
		want   []string
	}{
		{ResourceCPU, []int64{200_000, 189_740}, []string{"200", "189.74"}},
		{ResourceCPU, []int64{500, 250}, []string{"500m", "250m"}},
		{ResourceCPU, []int64{1500, 250}, []string{"1.5", "0.25"}},
		{ResourceCPU, []int64{1000, 999}, []string{"1", "0.999"}},
		{ResourceCPU, []int64{4000, 0}, []string{"4", "0"}},
		{ResourceMemory, []int64{8 << 30, 6_615_040 << 10}, []string{"8Gi", "6.31Gi"}},
		{ResourceMemory, []int64{8 << 30, 8<<30 - 1}, []string{"8Gi", "7.999999999Gi"}},
		{ResourceMemory, []int64{512, 3}, []string{"512", "3"}},
		{ResourcePods, []int64{111, 110}, []string{"111", "110"}},
		{"nvidia.com/gpu", []int64{8, 4}, []string{"8", "4"}},
		{"nvidia.com/gpu", nil, []string{}},
	} {
		if got := FormatQuantities(c.name, c.values...); !slices.Equal(got, c.want) {
			t.Errorf("%s %v: got %q, want %q", c.name, c.values, got, c.want)
		}
	}
}
