// Package bench answers: on which inputs do we measure the engine, and what must it never fall below?
//
// It holds the catalogues and cases that benchmarks and the comparison with upstream share, and its tests are the floors:
// allocations per pod and growth with size, which hold on any machine. Pods come from workload. It prints nothing and
// knows no other engine (compat does).
package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/cloud/azure"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	location = "westus3"
	// plenty of quota, in cores: a benchmark is about packing, not about quota.
	plenty = 1_000_000
)

// Azure returns what the product's own driver makes of the lab's Azure: every D, E and F size with amd64 processors,
// without accelerators, on demand, in the three zones of westus3.
func Azure(ctx context.Context) (model.Catalog, error) {
	all, err := asked(ctx)
	if err != nil {
		return model.Catalog{}, fmt.Errorf("ask the emulated Azure what it sells: %w", err)
	}
	out := only(all, func(t model.InstanceType) bool {
		return t.Labels[model.LabelArch] == "amd64" && len(t.Capacity.Extended) == 0 && slices.Contains([]string{"D", "E", "F"}, t.Labels[azure.LabelSKUFamily])
	}, func(o model.Offering) bool {
		return o.Available && o.CapacityType == model.OnDemand && strings.HasPrefix(o.Zone, location+"-")
	})
	if len(out.Types) == 0 {
		return model.Catalog{}, errors.New("the emulated Azure sells nothing that fits")
	}
	return out, nil
}

// Region returns all that the product's own driver makes of the lab's Azure: every size that is for sale in westus3, on demand and spot, in and
// outside of its zones.
func Region(ctx context.Context) (model.Catalog, error) {
	all, err := asked(ctx)
	if err != nil {
		return model.Catalog{}, fmt.Errorf("ask the emulated Azure what it sells: %w", err)
	}
	return only(all, func(model.InstanceType) bool { return true }, func(o model.Offering) bool { return o.Available }), nil
}

// asked runs the emulator and the driver for one question.
func asked(ctx context.Context) (model.Catalog, error) {
	quota := map[string]int{"*": plenty, "cores": plenty, "lowPriorityCores": plenty}
	sim, err := arm.New(arm.Config{Location: location, Knobs: arm.Knobs{Quota: quota}})
	if err != nil {
		return model.Catalog{}, err
	}
	defer sim.Close()
	srv := httptest.NewTLSServer(sim)
	defer srv.Close()
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return model.Catalog{}, err
	}
	defer os.RemoveAll(dir)
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("assertion"), 0o600); err != nil {
		return model.Catalog{}, err
	}
	c := sim.Config()
	fleet, err := azure.New(azure.Config{
		SubscriptionID: c.Subscription, TenantID: c.Tenant, ClientID: "client", FederatedTokenFile: token, Location: c.Location,
		NodeResourceGroup: c.NodeResourceGroup, ClusterName: c.ClusterName, SubnetID: c.SubnetID, VnetGUID: c.VNetGUID,
		Network:      azure.Network{Plugin: "azure", Mode: "overlay", Dataplane: "cilium"},
		SSHPublicKey: "ssh-rsa AAAAB3NzaC1yc2E bench", MemoryOverheadPercent: 0.075,
		Endpoints: azure.Endpoints{ResourceManager: srv.URL, AuthorityHost: srv.URL + "/", Audience: srv.URL, RetailPrices: srv.URL},
		Transport: srv.Client(), Version: "bench",
	}, nil)
	if err != nil {
		return model.Catalog{}, err
	}
	defer fleet.Close()
	return fleet.Offerings(ctx, model.Class{Ref: workload.Class(), Azure: &model.AzureClass{ImageFamily: "Ubuntu", OSDiskSizeGB: 128}})
}

// OnDemand keeps what is sold on demand.
func OnDemand(cat model.Catalog) model.Catalog {
	return only(cat, func(model.InstanceType) bool { return true }, func(o model.Offering) bool { return o.CapacityType == model.OnDemand })
}

// Capped keeps sizes of at most so many cores.
func Capped(cat model.Catalog, cores int64) model.Catalog {
	return only(cat, func(t model.InstanceType) bool { return t.Capacity.CPU <= cores*1000 }, func(model.Offering) bool { return true })
}

// only copies the catalogue with the types and offerings that both say yes to; types without offerings go.
func only(cat model.Catalog, typ func(model.InstanceType) bool, offering func(model.Offering) bool) model.Catalog {
	out := model.Catalog{Class: workload.Class(), Epoch: cat.Epoch}
	for _, t := range cat.Types {
		if !typ(t) {
			continue
		}
		t.Offerings = slices.DeleteFunc(slices.Clone(t.Offerings), func(o model.Offering) bool { return !offering(o) })
		if len(t.Offerings) > 0 {
			out.Types = append(out.Types, t)
		}
	}
	return out
}
