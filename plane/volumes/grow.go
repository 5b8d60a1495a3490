package volumes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/pkg/volume/util"
)

// grower does what external-resizer does, and the kubelet's part: the API server has checked that the
// class allows it and that nothing shrinks.
//
//	claim asks for more ─▶ Resizing ─▶ Azure ─▶ the volume says so ─┬─ share ─────────────────▶ done
//	                                                                └─ disk: FileSystemResizePending
//	                                                                    until a running pod has it ─▶ done
type grower struct {
	Config
	queue  workqueue.TypedRateLimitingInterface[string]
	events record.EventRecorder
}

// mountedEvery is how often a claim whose file system waits for a pod is looked at.
const mountedEvery = 2 * time.Second

func newGrower(c Config) *grower {
	return &grower{Config: c, events: &record.FakeRecorder{},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](c.Retry, c.RetryMax))}
}

// run works until ctx ends.
func (g *grower) run(ctx context.Context) {
	told := record.NewBroadcaster(record.WithContext(ctx))
	defer told.Shutdown()
	told.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: g.API.CoreV1().Events("")})
	g.events = told.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "external-resizer"})
	factory := informers.NewSharedInformerFactory(g.API, 0)
	claims := factory.Core().V1().PersistentVolumeClaims()
	note := func(o any) {
		key, err := cache.MetaNamespaceKeyFunc(o)
		if err == nil {
			g.queue.Add(key)
		}
	}
	_, err := claims.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(_, o any) { note(o) }})
	if err != nil {
		return // only an informer that was stopped refuses
	}
	factory.Start(ctx.Done())
	stop := context.AfterFunc(ctx, g.queue.ShutDown)
	defer stop()
	for {
		key, over := g.queue.Get()
		if over {
			factory.Shutdown()
			return
		}
		g.turn(ctx, key)
		g.queue.Done(key)
	}
}

// turn looks at one claim.
func (g *grower) turn(ctx context.Context, key string) {
	namespace, name, _ := strings.Cut(key, "/")
	claims := g.API.CoreV1().PersistentVolumeClaims(namespace)
	claim, err := claims.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		g.queue.Forget(key)
		return
	}
	again := false
	if err == nil {
		again, err = g.grow(ctx, claim)
	}
	switch {
	case err != nil && ctx.Err() == nil:
		g.queue.AddRateLimited(key)
	case again:
		g.queue.AddAfter(key, mountedEvery)
	default:
		g.queue.Forget(key)
	}
}

// grow does what is next for a claim. again means that it waits for a pod.
func (g *grower) grow(ctx context.Context, claim *corev1.PersistentVolumeClaim) (
	again bool, err error) {
	wants := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	has := claim.Status.Capacity[corev1.ResourceStorage]
	if claim.Status.Phase != corev1.ClaimBound || wants.Cmp(has) <= 0 {
		return false, nil
	}
	volumes := g.API.CoreV1().PersistentVolumes()
	pv, err := volumes.Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	if c := pv.Spec.CSI; c == nil || c.Driver != diskDriver && c.Driver != fileDriver {
		return false, nil
	}
	size := pv.Spec.Capacity[corev1.ResourceStorage]
	if wants.Cmp(size) > 0 {
		claim, pv, err = g.order(claim, pv, wants)
		if err != nil {
			return false, err
		}
		size = pv.Spec.Capacity[corev1.ResourceStorage]
	}
	if pv.Spec.CSI.Driver == fileDriver {
		return false, g.finish(claim, size, "VolumeResizeSuccessful", "the share has grown")
	}
	mounted, err := g.mounted(ctx, claim)
	if err != nil {
		return false, err
	}
	if mounted {
		return false, g.finish(claim, size, "FileSystemResizeSuccessful",
			"the disk has grown, and its file system")
	}
	if !waits(claim) {
		_, err = util.MarkForFSResize(claim, g.API)
		g.events.Event(claim, corev1.EventTypeNormal, "FileSystemResizeRequired",
			"the disk has grown; its file system does when a pod that mounts it runs")
	}
	return true, err
}

// order has Azure grow the volume, and says so on claim and volume.
func (g *grower) order(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume,
	wants resource.Quantity) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, error) {
	gibs := max((wants.Value()+gib-1)/gib, 1)
	size := *resource.NewQuantity(gibs*gib, resource.BinarySI)
	claim, err := util.MarkControllerReisizeInProgress(claim, pv.Spec.CSI.Driver, size, g.API)
	if err != nil {
		return nil, nil, err
	}
	handle := pv.Spec.CSI.VolumeHandle
	if pv.Spec.CSI.Driver == diskDriver {
		err = g.Azure.GrowDisk(handle, gibs)
	} else if parts := strings.Split(handle, "#"); len(parts) > 2 {
		err = g.Azure.GrowShare(parts[1], parts[2], gibs)
	} else {
		err = fmt.Errorf("%q is no share's handle", handle)
	}
	if err != nil {
		g.events.Eventf(claim, corev1.EventTypeWarning, "VolumeResizeFailed",
			"%s does not grow to %s: %v", pv.Name, size.String(), err)
		return nil, nil, err
	}
	pv, err = util.UpdatePVSize(pv, size, g.API)
	return claim, pv, err
}

func (g *grower) finish(claim *corev1.PersistentVolumeClaim, size resource.Quantity,
	reason, words string) error {
	_, err := util.MarkFSResizeFinished(claim, size, g.API)
	if err == nil {
		g.events.Event(claim, corev1.EventTypeNormal, reason, words)
	}
	return err
}

// mounted reports whether a running pod has the claim.
func (g *grower) mounted(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	pods, err := g.API.CoreV1().Pods(claim.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodRunning &&
			slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
				c := v.PersistentVolumeClaim
				return c != nil && c.ClaimName == claim.Name
			})
	}), nil
}

// waits reports whether the claim says that it waits for a pod.
func waits(claim *corev1.PersistentVolumeClaim) bool {
	list := claim.Status.Conditions
	return slices.ContainsFunc(list, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimFileSystemResizePending
	})
}
