package arm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

// says checks that err is a refusal that has the words in it.
func says(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("want a refusal that says %q, have %v", words, err)
	}
}

// kept lists names, kinds and owners of data disks and shares.
func (w *world) kept() string {
	var out []string
	for _, r := range w.cloud.Resources() {
		if r.Size != "" && !strings.HasSuffix(r.Type, "virtualMachines") {
			out = append(out, fmt.Sprintf("%s %s zone %q on %q", r.Name, r.Size, r.Zone, r.Owner[strings.LastIndexByte(r.Owner, '/')+1:]))
		}
	}
	return strings.Join(out, "; ")
}

// Volumes grow, attached or not, up to what Azure has, and never shrink.
func TestVolumesGrow(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPut("one", w.body("one", "Standard_D2s_v5"))
	disk, err := w.cloud.MakeDisk(arm.Volume{Name: "d", Zone: "1", SKU: "StandardSSD_LRS", GiB: 4})
	if err != nil {
		t.Fatal(err)
	}
	account, err := w.cloud.MakeShare(arm.Volume{Name: "s", SKU: "Standard_LRS", GiB: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.cloud.AttachDisk(disk, "one"), w.cloud.GrowDisk(disk, 8), w.cloud.GrowDisk(disk, 6), w.cloud.GrowShare(account, "s", 9)} {
		if err != nil {
			t.Error(err)
		}
	}
	for _, want := range []string{"d StandardSSD_LRS 8Gi", "s Standard_LRS 9Gi"} {
		if got := w.kept(); !strings.Contains(got, want) {
			t.Errorf("no %s: %s", want, got)
		}
	}
	says(t, w.cloud.GrowDisk(disk, 40_000), "is more than the 32767")
	says(t, w.cloud.GrowDisk(disk+"x", 9), "there is no such volume")
}

func TestDataDisks(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPut("one", w.body("one", "Standard_D2s_v5"))
	elsewhere := w.body("two", "Standard_D2s_v5")
	elsewhere.Zones = []*string{to.Ptr("2")}
	w.mustPut("two", elsewhere)
	make := func(v arm.Volume) string {
		t.Helper()
		id, err := w.cloud.MakeDisk(v)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	a := arm.Volume{Name: "a", Zone: "1", SKU: "StandardSSD_LRS", GiB: 4}
	disk := make(a)
	if again := make(a); again != disk {
		t.Errorf("the same order made %s and %s", disk, again)
	}
	a.GiB = 8
	_, err := w.cloud.MakeDisk(a)
	says(t, err, "is another")
	_, err = w.cloud.MakeDisk(arm.Volume{Name: "b", SKU: "Fast_LRS", GiB: 1})
	says(t, err, "there is no disk of kind \"Fast_LRS\"")
	if !errors.Is(err, arm.ErrUnfit) {
		t.Errorf("%v will never do, and does not say so", err)
	}
	says(t, w.cloud.AttachDisk(disk, "two"), "the disk is in zone 1, the machine in zone 2")
	says(t, w.cloud.AttachDisk(disk, "nobody"), "there is no running virtual machine nobody")
	for range 2 { // drivers repeat themselves
		if err := w.cloud.AttachDisk(disk, "one"); err != nil {
			t.Fatal(err)
		}
	}
	says(t, w.cloud.DropDisk(disk), "is attached to VM")
	redundant := make(arm.Volume{Name: "z", Zone: "1", SKU: "Premium_ZRS", GiB: 4})
	if err := w.cloud.AttachDisk(redundant, "two"); err != nil {
		t.Errorf("a zone-redundant disk can be reached from every zone: %v", err)
	}
	says(t, w.cloud.AttachDisk(redundant, "one"), "it is attached to two")
	for i := range 3 {
		if err := w.cloud.AttachDisk(make(arm.Volume{Name: fmt.Sprint("more-", i), Zone: "1", SKU: "Standard_LRS", GiB: 1}), "one"); err != nil {
			t.Fatal(err)
		}
	}
	says(t, w.cloud.AttachDisk(make(arm.Volume{Name: "fifth", Zone: "1", SKU: "Standard_LRS", GiB: 1}), "one"), "the maximum number of data disks of the size Standard_D2s_v5 is 4")

	// A machine that goes leaves its data behind.
	w.delete("one")
	if err := w.cloud.DetachDisk(redundant, "two"); err != nil {
		t.Fatal(err)
	}
	want := `a StandardSSD_LRS 4Gi zone "1" on ""; fifth Standard_LRS 1Gi zone "1" on ""; more-0 Standard_LRS 1Gi zone "1" on ""; ` +
		`more-1 Standard_LRS 1Gi zone "1" on ""; more-2 Standard_LRS 1Gi zone "1" on ""; z Premium_ZRS 4Gi zone "" on ""`
	if got := w.kept(); got != want {
		t.Errorf("kept %s\nwant %s", got, want)
	}
	for range 2 {
		if err := w.cloud.DropDisk(disk); err != nil {
			t.Error(err)
		}
	}
	if strings.Contains(w.kept(), "a StandardSSD") {
		t.Error("the disk is still there")
	}
	if err := w.cloud.AttachDisk("/disks/made-up", "two"); err != nil {
		t.Errorf("a volume that a person made up: %v", err)
	}
}

func TestFileShares(t *testing.T) {
	w := newWorld(t, nil)
	account, err := w.cloud.MakeShare(arm.Volume{Name: "s", SKU: "Standard_LRS", GiB: 5})
	if got := w.kept(); err != nil || got != `s Standard_LRS 5Gi zone "" on ""` {
		t.Fatalf("kept %s, %v", got, err)
	}
	_, err = w.cloud.MakeShare(arm.Volume{Name: "s", SKU: "StandardSSD_LRS", GiB: 5})
	says(t, err, "there is no storage account of kind")
	if err := w.cloud.DropShare(account, "s"); err != nil || w.kept() != "" {
		t.Errorf("kept %s, %v", w.kept(), err)
	}
}
