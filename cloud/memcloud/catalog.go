package memcloud

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/karpenter-aks/karpenter/model"
)

// SmallCatalog returns a small catalogue in the manner of Azure: D, E and F sizes of 2 to 32 cores with amd64, D sizes
// with arm64, and one burstable size; each in three zones and outside zones ("0"), on demand and spot. Prices are
// round and made up, but stand to each other about as the real ones do; price does not depend on the zone.
func SmallCatalog(region string) model.Catalog {
	var c model.Catalog
	c.Epoch = 1
	for _, s := range []struct {
		name, family, arch string
		letter             string
		gibPerCore         int64
		perCore            float64 // dollars per hour
		cores              []int64
	}{
		{"Standard_B%dms", "standardBSFamily", "amd64", "B", 4, 0.0416, []int64{2}},
		{"Standard_D%ds_v5", "standardDSv5Family", "amd64", "D", 4, 0.048, []int64{2, 4, 8, 16, 32}},
		{"Standard_D%dps_v5", "standardDPSv5Family", "arm64", "D", 4, 0.0385, []int64{2, 4, 8, 16, 32}},
		{"Standard_E%ds_v5", "standardESv5Family", "amd64", "E", 8, 0.063, []int64{2, 4, 8, 16, 32}},
		{"Standard_F%ds_v2", "standardFSv2Family", "amd64", "F", 2, 0.0423, []int64{2, 4, 8, 16, 32}},
	} {
		for _, n := range s.cores {
			t := model.InstanceType{Name: fmt.Sprintf(s.name, n), Family: s.family}
			t.Capacity = model.Resources{CPU: n * 1000, Memory: n * s.gibPerCore << 30, Ephemeral: 128 << 30, Pods: 250}
			// What the system keeps, roughly: a little of the cores, and a larger part of the first gigabytes.
			t.Allocatable = t.Capacity.Sub(model.Resources{CPU: 60 + 20*n, Memory: 1<<30 + t.Capacity.Memory/20, Ephemeral: 13 << 30})
			t.Labels = map[string]string{
				model.LabelInstanceType: t.Name, model.LabelArch: s.arch, model.LabelOS: "linux", model.LabelRegion: region,
				"karpenter.azure.com/sku-name": t.Name, "karpenter.azure.com/sku-family": s.letter,
				"karpenter.azure.com/sku-cpu":    strconv.FormatInt(n, 10),
				"karpenter.azure.com/sku-memory": strconv.FormatInt(n*s.gibPerCore*1024, 10),
			}
			t.Either = map[string][]string{"kubernetes.azure.com/mode": {"system", "user"}}
			t.Offerings = offerings(t.Name, region, model.Dollars(s.perCore*float64(n)))
			c.Types = append(c.Types, t)
		}
	}
	slices.SortFunc(c.Types, func(a, b model.InstanceType) int { return cmp.Compare(a.Name, b.Name) })
	return c
}

// offerings sells one type everywhere; spot costs a quarter.
func offerings(name, region string, price model.Price) []model.Offering {
	var out []model.Offering
	for _, zone := range []string{"0", region + "-1", region + "-2", region + "-3"} {
		scope := "zonal"
		if zone == "0" {
			scope = "regional"
		}
		for capacity, p := range map[string]model.Price{model.OnDemand: price, model.Spot: price / 4} {
			out = append(out, model.Offering{Type: name, Zone: zone, CapacityType: capacity, Price: p, Available: true,
				Labels: map[string]string{model.LabelZone: zone, model.LabelCapacityType: capacity,
					"karpenter.azure.com/placement-scope": scope}})
		}
	}
	slices.SortFunc(out, func(a, b model.Offering) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), a.Key().Compare(b.Key()))
	})
	return out
}
