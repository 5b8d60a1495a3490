package apikube

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/karpenter/pkg/apis"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// Limits of events: they are for people, and must never hold up or flood anything.
const (
	eventQueue   = 512  // waiting to be published; more are dropped
	eventMemory  = 8192 // equal events remembered; more than are published while one is kept quiet, so that it is full for moments only
	eventRate    = 20   // published per second, after a burst
	eventBurst   = 100
	eventTimeout = 5 * time.Second
	messageLimit = 1024 // bytes; what the API takes

	quiet           = 2 * time.Minute // how long an equal event is not said again
	quietScheduling = 5 * time.Minute // for FailedScheduling
)

// component is who speaks, as users know it.
const component = "karpenter"

// announcer publishes events, one at a time, until closed.
type announcer struct {
	publish func(context.Context, *corev1.Event) error
	queue   chan kube.Event
	stop    context.CancelFunc
	done    chan struct{}

	mu   sync.Mutex           // guards said
	said map[string]time.Time // until when an equal event keeps quiet
}

func announceWith(publish func(context.Context, *corev1.Event) error) *announcer {
	ctx, stop := context.WithCancel(context.Background())
	a := &announcer{
		publish: publish, queue: make(chan kube.Event, eventQueue), stop: stop, done: make(chan struct{}), said: map[string]time.Time{},
	}
	go a.run(ctx)
	return a
}

func (a *announcer) close() {
	a.stop()
	<-a.done
}

func (a *announcer) run(ctx context.Context) {
	defer close(a.done)
	limit := rate.NewLimiter(eventRate, eventBurst)
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case e := <-a.queue:
			if limit.Wait(ctx) != nil {
				return
			}
			call, cancel := context.WithTimeout(ctx, eventTimeout)
			_ = a.publish(call, event(e, n, time.Now())) // best effort: an event that cannot be published is lost
			cancel()
		}
	}
}

// Announce implements kube.Store.
func (s *Store) Announce(e kube.Event) { s.events.announce(e, time.Now()) }

// sameness is what makes events equal. Why a pod goes nowhere is told with numbers (how many offerings each constraint removed) that
// change with every offering that is sold out: they make no news.
func sameness(about corev1.ObjectReference, e kube.Event) string {
	message := e.Message
	if e.Reason == "FailedScheduling" {
		message = strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' {
				return -1
			}
			return r
		}, message)
	}
	return strings.Join([]string{about.Kind, about.Namespace, about.Name, string(about.UID), e.Reason, message}, "\x00")
}

// announce queues the event unless an equal one was queued a short while ago or the queue is full.
func (a *announcer) announce(e kube.Event, now time.Time) {
	if e.About == nil {
		return
	}
	window := quiet
	if e.Reason == "FailedScheduling" {
		window = quietScheduling
	}
	about := reference(e.About)
	key := sameness(about, e)
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Before(a.said[key]) {
		return
	}
	if len(a.said) >= eventMemory {
		maps.DeleteFunc(a.said, func(_ string, until time.Time) bool { return !now.Before(until) })
	}
	if len(a.said) >= eventMemory || e.Minor && len(a.queue) > eventQueue/4 {
		return
	}
	select {
	case a.queue <- e:
		a.said[key] = now.Add(window)
	default:
	}
}

// event builds the API's object. n keeps names apart within one process and moment.
func event(e kube.Event, n int, now time.Time) *corev1.Event {
	about := reference(e.About)
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where events of cluster-wide objects live
	}
	at := metav1.NewTime(now)
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%x.%x", about.Name, now.UnixNano(), n)},
		InvolvedObject: about,
		Type:           string(e.Type), Reason: e.Reason, Message: shorten(e.Message),
		Source:         corev1.EventSource{Component: component},
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
		ReportingController: component,
	}
}

// shorten cuts a message to what the API takes, between characters.
func shorten(s string) string {
	if len(s) <= messageLimit {
		return s
	}
	cut := messageLimit - len("…")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// reference names the object as kubectl describe looks for it, UID included.
func reference(o model.Object) corev1.ObjectReference {
	ref := func(version, kind, namespace, name, uid string) corev1.ObjectReference {
		return corev1.ObjectReference{APIVersion: version, Kind: kind, Namespace: namespace, Name: name, UID: types.UID(uid)}
	}
	switch o := o.(type) {
	case model.Pool:
		return ref(apis.Group+"/v1", "NodePool", "", o.Name, o.UID)
	case model.Claim:
		return ref(apis.Group+"/v1", "NodeClaim", "", o.Name, o.UID)
	case model.Class:
		return ref(o.Ref.Group+"/v1beta1", o.Ref.Kind, "", o.Ref.Name, o.UID)
	case model.Node:
		return ref("v1", "Node", "", o.Name, o.UID)
	case model.Pod:
		return ref("v1", "Pod", o.Namespace, o.Name, o.UID)
	case model.Overlay:
		return ref(apis.Group+"/v1alpha1", "NodeOverlay", "", o.Name, o.UID)
	case model.Buffer:
		return ref(bufferv1beta1.Group+"/v1beta1", "CapacityBuffer", o.Namespace, o.Name, o.UID)
	case model.Unserved:
		return ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", o.Resource, "")
	case model.Daemon:
		return ref(appsv1.SchemeGroupVersion.String(), "DaemonSet", o.Namespace, o.Name, "")
	case model.PDB:
		return ref(policyv1.SchemeGroupVersion.String(), "PodDisruptionBudget", o.Namespace, o.Name, "")
	}
	return corev1.ObjectReference{Name: o.ObjectKey()}
}
