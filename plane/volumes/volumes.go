// Package volumes answers: who makes the disks and shares that claims ask for?
//
// It plays, beside a control plane, what AKS runs of the two storage drivers' controllers:
// external-provisioner with its own library, in front of the simulated Azure. kube-scheduler picks
// the node, kube-controller-manager binds, protects and releases, as everywhere. Attaching is
// lab/kubelet's. Nothing is mounted. Volumes grow as external-resizer and a kubelet have them grow.
package volumes

import (
	"context"
	_ "embed" // for the classes below
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

//go:embed classes.yaml
var classes []byte

// Manifests returns the storage classes of AKS and its two drivers, as a stream of YAML documents.
func Manifests() []byte { return classes }

// Azure is what the drivers ask of the cloud; *arm.Cloud is one.
type Azure interface {
	MakeDisk(arm.Volume) (id string, err error)
	DropDisk(id string) error
	MakeShare(arm.Volume) (account string, err error)
	DropShare(account, name string) error
	GrowDisk(id string, gib int64) error
	GrowShare(account, name string, gib int64) error
}

// Config says for whom volumes are made. Every field must be given.
type Config struct {
	API      kubernetes.Interface // with all rights
	Azure    Azure
	Region   string
	Group    string // resource group of the machines, where disks and shares go
	Log      slog.Handler
	Retry    time.Duration // first wait after a failure, doubled each time up to RetryMax
	RetryMax time.Duration
}

// threads is how many claims of one driver are worked on at once, and how many volumes are deleted.
const threads = 4

// Run provisions, grows and deletes until ctx ends, and returns when no work is left in flight.
func Run(ctx context.Context, c Config) {
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(c.Log))
	var working, running sync.WaitGroup
	for driver, p := range map[string]controller.Provisioner{
		diskDriver: &disks{Config: c}, fileDriver: &shares{Config: c},
	} {
		pc := controller.NewProvisionController(ctx, c.API, driver, p,
			controller.LeaderElection(false), controller.MetricsPort(0),
			controller.Threadiness(threads),
			controller.FailedProvisionThreshold(0), controller.FailedDeleteThreshold(0),
			controller.AddFinalizer(true),
			controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](
				c.Retry, c.RetryMax)))
		pc.ControllerWaitGroup(&working)
		running.Go(func() { pc.Run(ctx) })
	}
	running.Go(func() { newGrower(c).run(ctx) })
	running.Wait()
	working.Wait()
}

// parameter reads a parameter of a class by any of its names; their case does not matter to the
// drivers (their documentation, "driver parameters").
func parameter(of map[string]string, def string, names ...string) string {
	for k, v := range of {
		for _, name := range names {
			if strings.EqualFold(k, name) && v != "" {
				return v
			}
		}
	}
	return def
}
