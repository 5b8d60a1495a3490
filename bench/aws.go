package bench

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/model"
)

//go:embed aws.txt
var awsTable string

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
	// rootGiB is the disk of a machine that has no disks of its own; those of its own are joined, and take its place.
	rootGiB = 20
)

// AWS returns what a driver would make of Amazon EC2: machines of some fifty families in three zones of us-east-1, on demand, with
// what the kubelet keeps there by default. Models of accelerators stand under the label that pods of workload ask for.
func AWS() (model.Catalog, error) {
	out := model.Catalog{Class: workload.Class(), Epoch: 1}
	for line := range strings.Lines(awsTable) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if len(words) < 3 {
			return out, fmt.Errorf("%q has no sizes", line)
		}
		for _, w := range words[2:] {
			t, err := ec2(words[0], words[1], w)
			if err != nil {
				return out, fmt.Errorf("%s %s: %w", words[0], w, err)
			}
			out.Types = append(out.Types, t)
		}
	}
	return out, nil
}

// ec2 reads one size: see aws.txt.
func ec2(family, accelerator, text string) (model.InstanceType, error) {
	var size string
	var cores, pods, local, accelerators int64
	var memory, price float64
	at := strings.IndexByte(text, '=')
	numbers := strings.ReplaceAll(text[at+1:], "/", " ")
	n, err := fmt.Sscan(numbers, &cores, &memory, &price, &pods, &local, &accelerators)
	if size = text[:max(at, 0)]; size == "" || n < 4 {
		return model.InstanceType{}, fmt.Errorf("%d numbers: %w", n, err)
	}
	t := model.InstanceType{Name: family + "." + size, Family: family}
	t.Labels = map[string]string{model.LabelInstanceType: t.Name, model.LabelArch: "amd64", model.LabelOS: "linux"}
	t.Capacity = model.Resources{CPU: cores * 1000, Memory: int64(memory * 0.925 * float64(gib)), Ephemeral: rootGiB * gib, Pods: pods}
	if local > 0 {
		t.Capacity.Ephemeral = local * 1_000_000_000
	}
	if accelerators > 0 {
		t.Capacity.Extended = map[string]int64{workload.GPU: accelerators}
		t.Labels[workload.GPUModel] = accelerator
	}
	t.Allocatable = t.Capacity
	t.Allocatable.CPU -= kept(cores)
	t.Allocatable.Memory -= (11*pods + 255 + 100) * mib
	t.Allocatable.Ephemeral -= gib + t.Capacity.Ephemeral/10
	for _, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
		t.Offerings = append(t.Offerings, model.Offering{Type: t.Name, Zone: zone, CapacityType: model.OnDemand, Price: model.Dollars(price), Available: true,
			Labels: map[string]string{model.LabelZone: zone, model.LabelCapacityType: model.OnDemand}})
	}
	return t, nil
}

// kept is what the kubelet keeps of so many cores, in thousandths: 6 % of the first, 1 % of the second, half of that of the
// next two, and a quarter of all others.
func kept(cores int64) int64 {
	n := 60 + 10*min(1, cores-1)
	n += 5 * min(2, max(0, cores-2))
	return n + max(0, cores-4)*5/2
}
