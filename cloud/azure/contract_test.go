package azure

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/lab"
	"github.com/karpenter-aks/karpenter/lab/kubelet"
	"github.com/karpenter-aks/karpenter/lab/provision"
)

// reachable is a network in which the API server answers.
type reachable struct{}

func (reachable) Lookup(context.Context, string) error        { return nil }
func (reachable) Greet(context.Context, string, []byte) error { return nil }
func (reachable) Dial(context.Context, string) error          { return nil }

// clusterCA is a certificate such as a cluster's; which one is no matter.
func clusterCA(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// boot provisions a machine of this size with the custom data that the driver writes for it.
func boot(t *testing.T, words []string, s SKU) (provision.Outcome, lab.Machine) {
	t.Helper()
	o := testOrder(words, s)
	o.Cluster.CA = clusterCA(t)
	data, err := customData(o, s, testConfig(), testNetwork())
	if err != nil {
		t.Fatal(err)
	}
	script, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	m := machineOf(o, s)
	m.CustomData = script
	return provision.Run(t.Context(), script, m, reachable{}), m
}

// machineOf is the machine of the order, of which the image fits, as it is before its first boot.
func machineOf(o cloud.Order, s SKU) lab.Machine {
	m := lab.Machine{Name: "aks-general-abcde", Size: s.Name, CPUs: int(s.CPUs), MemoryMiB: int64(s.MemoryGiB * 1024), GPUs: int(s.GPUs), Arch: s.Arch,
		OSDiskGB: 128, Region: "eastus", Address: "10.224.0.9"}
	class := o.Class.Azure
	for _, d := range definitionsOf(class, resolveFamily(class, class.FIPSMode, o.Cluster.Version)) {
		if d.arch == s.Arch && m.Image == "" {
			m.Image = "/CommunityGalleries/" + d.gallery + "/images/" + d.name + "/versions/202608.12.0"
		}
	}
	return m
}

// imageName is the definition in a machine's image reference.
func imageName(m lab.Machine) string {
	_, rest, _ := strings.Cut(m.Image, "/images/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// arrivalText is all that a machine arrives at: what was decided, the kubelet's command line, the files.
func arrivalText(t *testing.T, words []string, s SKU) string {
	out, m := boot(t, words, s)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", imageName(m), verdict(out, m))
	for _, w := range out.Kubelet {
		b.WriteString("  " + w + "\n")
	}
	for _, path := range slices.Sorted(maps.Keys(out.Files)) {
		if f := out.Files[path]; !strings.HasSuffix(path, "provision.json") {
			fmt.Fprintf(&b, "%s %04o %d lines\n", path, f.Mode, strings.Count(f.Content, "\n"))
		}
	}
	return b.String() + "azure.json " + out.Files["/etc/kubernetes/azure.json"].Content + out.Files["/etc/sysctl.d/999-sysctl-aks.conf"].Content
}

// verdict is what becomes of a machine, in one line.
func verdict(out provision.Outcome, m lab.Machine) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case out.Refused != nil:
		return "refused: " + out.Refused.Error()
	case out.ExitCode != 0:
		add("exit %d: %s", out.ExitCode, out.Failed)
	case out.NoKubelet != "":
		add("no kubelet: %s", out.NoKubelet)
	}
	if out.Kubelet != nil {
		if errs := kubelet.Start(out, m); len(errs) > 0 {
			add("the kubelet exits: %v", errs)
		} else {
			add("joins")
		}
	}
	if out.NotReady != "" {
		add("never ready: %s", out.NotReady)
	}
	if out.Driver != "" {
		add("driver %s", out.Driver)
	}
	if len(out.Services) > 0 {
		add("services %s", strings.Join(out.Services, ","))
	}
	for _, w := range out.Warnings {
		add("warning: %s", w)
	}
	return strings.Join(parts, "; ")
}

// fleetText boots every size with every version of Kubernetes, for one class: a line for each, where neighbouring versions
// with the same fate, and the same kubelet flags but for the version's, share one.
func fleetText(t *testing.T, words []string, sizes []SKU) string {
	var b strings.Builder
	for _, s := range sizes {
		if !suits(s, classWith(words)) {
			fmt.Fprintf(&b, "%s: not sold to this class\n", s.Name)
			continue
		}
		first, last, before := "", "", ""
		for _, version := range []string{"1.29", "1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37", ""} {
			text := ""
			if version != "" {
				out, m := boot(t, append([]string{"version=" + version + ".1"}, words...), s)
				text = imageName(m) + ": " + strings.ReplaceAll(verdict(out, m), version+".1", "<version>")
			}
			if text != before && before != "" {
				fmt.Fprintf(&b, "%s %s..%s %s\n", s.Name, first, last, before)
			}
			if text != before {
				first, before = version, text
			}
			last = version
		}
	}
	return b.String()
}

// TestEveryMachineJoins boots what the driver writes for every image family, kind of GPU and version of Kubernetes: each
// machine becomes a node, and nothing is read otherwise than it was meant.
func TestEveryMachineJoins(t *testing.T) {
	for _, family := range []string{"Ubuntu", "Ubuntu2204", "Ubuntu2404", "AzureLinux"} {
		for _, size := range []string{"Standard_D2s_v5", "Standard_D2ps_v6 CpuArchitectureType=Arm64", "Standard_NC4as_T4_v3 vCPUs=4 MemoryGB=28 GPUs=1",
			"Standard_NV6ads_A10_v5 vCPUs=6 MemoryGB=55 GPUs=1", "Standard_NC8ads_A10_v4 vCPUs=8 MemoryGB=55 GPUs=1", "Standard_NC24ads_A100_v4 vCPUs=24 MemoryGB=220 GPUs=1",
			"Standard_ND96asr_v4 vCPUs=96 MemoryGB=900 GPUs=8", "Standard_ND96isr_H100_v5 vCPUs=96 MemoryGB=1900 GPUs=8", "Standard_ND96isr_H200_v5 vCPUs=96 MemoryGB=1850 GPUs=8",
			"Standard_NC36lds_xl_RTXPRO6000BSE_v6 vCPUs=36 MemoryGB=200 GPUs=1"} {
			s := readSKUs(skusOf(size), "eastus")[0]
			for _, version := range []string{"1.30.4", "1.33.4", "1.34.9", "1.37.1"} {
				words := []string{"family=" + family, "version=" + version}
				if !suits(s, classWith(words)) {
					continue
				}
				out, m := boot(t, words, s)
				if v := verdict(out, m); !strings.Contains(v, "joins") || strings.Contains(v, "warning") || strings.Contains(v, "never ready") {
					t.Errorf("%s %s %s on %s: %s", family, version, s.Name, imageName(m), v)
				}
			}
		}
	}
}
