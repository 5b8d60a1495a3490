package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/simulate"
	"github.com/karpenter-aks/karpenter/internal/top"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// topCluster is a cluster that is watched: the mirror that the controller has, too, and the events of whoever calls itself karpenter. It
// asks the API server for nothing but one list and one watch per kind.
type topCluster struct {
	name   string
	flags  *simulateFlags
	mirror *world.World
	news   *world.Watch
	store  *apikube.Store
	end    context.CancelFunc
	ended  sync.WaitGroup

	told func() bool // whether the events that there were have been told

	sold map[model.ClassRef]model.Catalog // of --catalog

	// pricing is held by whoever looks prices up, and guards the fields below. Before mu.
	pricing sync.Mutex
	priced  map[model.ClassRef]int64 // generation of the class that a catalogue was made for
	azure   *offlineAzure            // made when it is needed
	regions []string                 // that the built-in table knows; read when they are needed

	mu      sync.Mutex // guards the fields below
	trouble error      // why the last Follow ended
	events  []top.Event
	deaf    error  // why events cannot be read
	unknown string // why there are no prices
	said    bool   // that is new
}

// followAgain is the pause after a connection that could not be kept.
const followAgain = 2 * time.Second

// followCluster begins to watch.
func followCluster(ctx context.Context, f *simulateFlags) (*topCluster, error) {
	quietly()
	rc, err := f.live.rest()
	if err != nil {
		return nil, err
	}
	c := &topCluster{name: strings.TrimPrefix(rc.Host, "https://"), flags: f, mirror: world.New(),
		priced: map[model.ClassRef]int64{}}
	if f.catalog != "" {
		file, err := readInput(nil, f.catalog, maxInput)
		if err != nil {
			return nil, err
		}
		if c.sold, err = simulate.Sold(file); err != nil {
			return nil, err
		}
	}
	c.store, err = apikube.New(rc, apikube.Options{Spectator: true, QPS: rc.QPS, Burst: rc.Burst,
		Extras: apikube.Extras{Overlays: true, Buffers: true}})
	if err != nil {
		return nil, err
	}
	c.news = c.mirror.Subscribe(world.Everything)
	ctx, c.end = context.WithCancel(ctx)
	c.ended.Go(func() { c.run(ctx) })
	if err := c.listen(ctx, rc); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// quietly keeps the API client from writing over the screen.
func quietly() {
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
}

// run keeps following.
func (c *topCluster) run(ctx context.Context) {
	for {
		err := c.store.Follow(ctx, c.mirror)
		if ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		c.trouble = err
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(followAgain):
		}
	}
}

// karpenterEvents are those of controllers that call themselves as upstream's does, ours among them.
const karpenterEvents = "source=karpenter"

// listen watches events.
func (c *topCluster) listen(ctx context.Context, rc *rest.Config) error {
	api, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return err
	}
	selector := func(o *metav1.ListOptions) { o.FieldSelector = fields.ParseSelectorOrDie(karpenterEvents).String() }
	tell := func(o any) {
		if e, ok := o.(*corev1.Event); ok {
			c.mu.Lock()
			c.events = append(c.events, eventOf(e))
			c.mu.Unlock()
		}
	}
	informer := cache.NewSharedIndexInformer(cache.NewFilteredListWatchFromClient(api.CoreV1().RESTClient(), "events",
		metav1.NamespaceAll, selector), &corev1.Event{}, 0, nil)
	told, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, o any) { tell(o) }})
	err = errors.Join(err, informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		c.mu.Lock()
		c.deaf = err
		c.mu.Unlock()
	}))
	if err != nil {
		return err
	}
	c.told = told.HasSynced
	c.ended.Go(func() { informer.RunWithContext(ctx) })
	return nil
}

func eventOf(e *corev1.Event) top.Event {
	at := e.LastTimestamp.Time
	if at.IsZero() {
		at = e.EventTime.Time
	}
	if at.IsZero() {
		at = e.CreationTimestamp.Time
	}
	name := e.InvolvedObject.Name
	if ns := e.InvolvedObject.Namespace; ns != "" && e.InvolvedObject.Kind == "Pod" {
		name = ns + "/" + name
	}
	return top.Event{At: at, Kind: e.InvolvedObject.Kind, Name: name, Reason: e.Reason, Message: e.Message,
		Warning: e.Type == corev1.EventTypeWarning, ID: e.Namespace + "/" + e.Name}
}

// stop ends it.
func (c *topCluster) stop() {
	c.end()
	c.ended.Wait()
	c.news.Stop()
	c.store.Close()
	if c.azure != nil {
		c.azure.Close()
	}
}

// whole waits until everything that there is was told. The error says why that cannot be.
func (c *topCluster) whole(ctx context.Context) error {
	for {
		c.mu.Lock()
		err, deaf := c.trouble, c.deaf
		c.mu.Unlock()
		if c.mirror.IsSynced() && (c.told() || deaf != nil) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// show gives the state what there is now.
func (c *topCluster) show(ctx context.Context, state *top.State) {
	c.pricesBeside(ctx)
	w := c.mirror.Snapshot()
	c.mu.Lock()
	events, trouble := c.events, c.trouble
	c.events = nil
	c.mu.Unlock()
	for _, e := range events {
		state.Hear(e)
	}
	synced := c.mirror.IsSynced()
	switch {
	case synced:
		state.Trouble("")
	case trouble != nil:
		state.Trouble(trouble.Error())
	default:
		state.Trouble("the cluster is being read")
	}
	state.Note(c.notes(w))
	state.Show(top.New(w, time.Now()))
}

// notes are what could not be read.
func (c *topCluster) notes(w model.World) (out []string) {
	for _, u := range w.Unserved {
		out = append(out, fmt.Sprintf("%s cannot be read: %s", u.Resource, u.Message))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = false
	if c.unknown != "" {
		out = append(out, "there are no prices: "+c.unknown)
	}
	if c.deaf != nil {
		out = append(out, "events cannot be read: "+c.deaf.Error())
	}
	return out
}

// question is what the deciders are asked: the same as karpenter explain asks them of a cluster. It waits for prices.
func (c *topCluster) question(ctx context.Context, now time.Time) simulate.Question {
	c.prices(ctx)
	w := c.mirror.Snapshot()
	return simulate.Question{World: w.Flat(), Now: now, Notes: c.notes(w),
		Preferences: place.Preferences(c.flags.preferences), MinValues: place.MinValues(c.flags.minValues)}
}

// prices puts what can be bought into the picture, for classes that are new or changed. The first time makes the built-in table's
// catalogue, which takes about a second.
func (c *topCluster) prices(ctx context.Context) {
	c.pricing.Lock()
	defer c.pricing.Unlock()
	c.lookUp(ctx, c.unpriced())
}

// pricesBeside is prices for who draws a screen: it waits for nothing. The mirror's news tell of prices that come.
func (c *topCluster) pricesBeside(ctx context.Context) {
	if !c.pricing.TryLock() {
		return // somebody is at it
	}
	list := c.unpriced()
	if len(list) == 0 {
		c.pricing.Unlock()
		return
	}
	c.ended.Go(func() {
		defer c.pricing.Unlock()
		c.lookUp(ctx, list)
	})
}

// unpriced are the classes that pools refer to whose prices are not known. The caller holds pricing.
func (c *topCluster) unpriced() (out []model.Class) {
	w := c.mirror.Snapshot()
	for i := range w.Classes {
		class := w.Classes[i]
		if at, ok := c.priced[class.Ref]; ok && at == class.Generation ||
			!slices.ContainsFunc(w.Pools, func(p model.Pool) bool { return p.Class == class.Ref }) {
			continue
		}
		out = append(out, class)
	}
	return out
}

// lookUp asks for the catalogue of each class. The caller holds pricing.
func (c *topCluster) lookUp(ctx context.Context, list []model.Class) {
	for _, class := range list {
		got, err := c.catalog(ctx, c.mirror.Snapshot(), class)
		if ctx.Err() != nil {
			return
		}
		unknown := ""
		if err != nil {
			unknown = err.Error()
		}
		c.mu.Lock()
		c.said = c.said || unknown != c.unknown
		c.unknown = unknown
		c.mu.Unlock()
		if err == nil {
			c.priced[class.Ref] = class.Generation
			c.mirror.SetCatalog(got)
		}
	}
}

// catalog is what can be bought for a class: by --catalog, or by the built-in table. The caller holds pricing.
func (c *topCluster) catalog(ctx context.Context, w model.World, class model.Class) (model.Catalog, error) {
	for ref, got := range c.sold {
		if ref == class.Ref || len(c.sold) == 1 {
			got.Class = class.Ref
			return got, nil
		}
	}
	if c.azure == nil {
		site := offlineSite{location: c.flags.location, networkPlugin: c.flags.networkPlugin, networkMode: c.flags.networkMode,
			memoryOverhead: c.flags.memoryOverhead}
		for i := range w.Nodes {
			region := w.Nodes[i].Labels[model.LabelRegion]
			if c.flags.location == "" && region != "" && site.location != "" && region != site.location {
				return model.Catalog{}, errors.New("the nodes are in several regions: give --location")
			}
			if site.location == "" {
				site.location = region
			}
		}
		var err error
		if c.regions == nil {
			if c.regions, err = offlineRegions(); err != nil {
				return model.Catalog{}, err
			}
		}
		if !slices.Contains(c.regions, site.location) {
			return model.Catalog{}, fmt.Errorf("the built-in table does not know the region %q: give --location or --catalog", site.location)
		}
		if c.azure, err = newOffline(site); err != nil {
			return model.Catalog{}, err
		}
	}
	return c.azure.Offerings(ctx, class)
}
