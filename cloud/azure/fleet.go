package azure

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// How long answers are believed.
const (
	skusFor    = 12 * time.Hour
	pricesFor  = 12 * time.Hour
	usagesFor  = 10 * time.Minute
	networkFor = 2 * time.Hour
	imagesFor  = 72 * time.Hour
	// usagesSoon is when quota is read again after we bought or gave back something.
	usagesSoon    = time.Minute
	refreshWithin = 5 * time.Minute
	// maxCatalogs bounds the catalogues kept, one per class; beyond it all are made anew.
	maxCatalogs = 256
)

// Fleet is Azure behind the cloud door. Make one with New; Close it when done. It may be used concurrently.
type Fleet struct {
	cfg Config
	at  place
	api clients

	skus    *known[[]SKU]
	prices  *known[priceBook]
	usages  *known[usageBook]
	network *known[nodeNetwork]

	// ctx ends with Close; background refreshes live in it and are counted in wg.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// mu guards the fields below. No call is made while it is held.
	mu         sync.Mutex
	refreshing bool
	closed     bool
	epoch      uint64
	catalogs   map[model.ClassRef]madeCatalog
	images     map[imageKey]*known[[]model.Image]
	billed     map[string]time.Time // machines whose billing extension was asked for, and when
}

// madeCatalog is a catalogue and what it was made of.
type madeCatalog struct {
	catalog  model.Catalog
	class    model.AzureClass
	versions [3]uint64
}

var _ cloud.Fleet = (*Fleet)(nil)

// New checks the configuration and makes a fleet; it calls nobody. cred may be nil: then workload identity is used
// when cfg names a token file, else the environment, the machine's own identity and the az tool are tried.
func New(cfg Config, cred azcore.TokenCredential) (*Fleet, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("azure: %w", err)
	}
	if cred == nil {
		var err error
		if cred, err = cfg.credential(); err != nil {
			return nil, fmt.Errorf("azure credential: %w", err)
		}
	}
	api, err := newClients(cfg, cred)
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		cfg: cfg, api: api,
		at: place{
			location: cfg.Location, clusterLabel: clusterLabelOf(cfg.NodeResourceGroup), net: cfg.Network,
			overhead: cfg.MemoryOverheadPercent,
		},
		skus: newKnown[[]SKU](skusFor), prices: newKnown[priceBook](pricesFor), usages: newKnown[usageBook](usagesFor),
		network:  newKnown[nodeNetwork](networkFor),
		catalogs: map[model.ClassRef]madeCatalog{}, images: map[imageKey]*known[[]model.Image]{},
		billed: map[string]time.Time{},
	}
	if ours := reservedIn(cfg.AdditionalTags); len(ours) > 0 {
		cfg.Log.Info("these tags are the controller's own; the values given for them are ignored", "tags", ours)
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f, nil
}

// Close stops background refreshes and waits for them.
func (f *Fleet) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.wg.Wait()
}

// Offerings implements cloud.Fleet. It waits for Azure only while no sizes are known at all; later a stale answer is
// given at once and refreshed behind it. Unknown prices and quota do not hold it up for long: what is not known costs
// the most, or is taken to be free.
func (f *Fleet) Offerings(ctx context.Context, class model.Class) (model.Catalog, error) {
	if class.Azure == nil {
		return model.Catalog{}, cloud.Errorf(cloud.Invalid, "%s is not a class of Azure machines", class.Ref)
	}
	if _, ok, _ := f.skus.last(); !ok {
		if err := f.Refresh(ctx); err != nil {
			if _, ok, _ := f.skus.last(); !ok {
				return model.Catalog{}, err
			}
			f.cfg.Log.Error(err, "Azure told us only part of what it sells; prices or quota are estimates until it does")
		}
	} else if now := f.cfg.Now(); f.skus.stale(now) || f.prices.stale(now) || f.usages.stale(now) {
		f.refreshBehind()
	}
	return f.catalog(class), nil
}

// Refresh asks Azure for everything the catalogue is made of that has grown old. It returns the first failure after
// having tried everything.
func (f *Fleet) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, refreshWithin)
	defer cancel()
	var skus, prices, usages error
	var wg sync.WaitGroup
	wg.Go(func() { skus = f.skus.refresh(ctx, f.cfg.Now, f.askSKUs) })
	wg.Go(func() { prices = f.prices.refresh(ctx, f.cfg.Now, f.askPrices) })
	wg.Go(func() { usages = f.usages.refresh(ctx, f.cfg.Now, f.askUsages) })
	wg.Wait()
	if skus != nil {
		skus = fmt.Errorf("list virtual machine sizes: %w", inWords(skus, tried{}))
	}
	if usages != nil {
		usages = fmt.Errorf("list compute usages: %w", inWords(usages, tried{}))
	}
	return errors.Join(skus, prices, usages)
}

// refreshBehind starts one refresh unless one runs; Close ends it.
func (f *Fleet) refreshBehind() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refreshing || f.closed {
		return
	}
	f.refreshing = true
	f.wg.Go(func() {
		if err := f.Refresh(f.ctx); err != nil && f.ctx.Err() == nil {
			f.cfg.Log.Error(err, "could not refresh what Azure sells; the last answer stands")
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.refreshing = false
	})
}

// catalog makes the catalogue from what is known, or returns the one made before when nothing changed. The epoch is
// one counter for all classes and grows only when a catalogue really differs.
func (f *Fleet) catalog(class model.Class) model.Catalog {
	var m market
	var versions [3]uint64
	m.skus, _, versions[0] = f.skus.last()
	m.prices, _, versions[1] = f.prices.last()
	m.usages, _, versions[2] = f.usages.last()
	f.mu.Lock()
	defer f.mu.Unlock()
	old, have := f.catalogs[class.Ref]
	if have && old.versions == versions && reflect.DeepEqual(old.class, *class.Azure) {
		return old.catalog
	}
	made := madeCatalog{class: *class.Azure, versions: versions}
	made.catalog = model.Catalog{Class: class.Ref, Types: catalogOf(m, class.Azure, f.at)}
	if have && reflect.DeepEqual(old.catalog.Types, made.catalog.Types) {
		made.catalog = old.catalog
	} else {
		f.epoch++
		made.catalog.Epoch = f.epoch
	}
	if len(f.catalogs) >= maxCatalogs && !have {
		clear(f.catalogs)
	}
	f.catalogs[class.Ref] = made
	return made.catalog
}

func (f *Fleet) askSKUs(ctx context.Context) ([]SKU, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	pager := f.api.skus.NewListPager(&armcompute.ResourceSKUsClientListOptions{
		Filter: to.Ptr(fmt.Sprintf("location eq '%s'", f.cfg.Location)),
	})
	var all []*armcompute.ResourceSKU
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Value...)
	}
	out := readSKUs(all, f.cfg.Location)
	if len(out) == 0 {
		return nil, fmt.Errorf("none of the %d sizes that Azure lists for %s can be a node", len(all), f.cfg.Location)
	}
	return out, nil
}

func (f *Fleet) askPrices(ctx context.Context) (priceBook, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	meters, err := fetchPrices(ctx, f.api.prices, f.cfg.Endpoints.RetailPrices, f.cfg.Location)
	if err != nil {
		return priceBook{}, err
	}
	book := readPrices(meters, f.cfg.Location, f.cfg.Now())
	if len(book.onDemand) == 0 {
		return priceBook{}, fmt.Errorf("the retail price list has no prices for %s", f.cfg.Location)
	}
	return book, nil
}

func (f *Fleet) askUsages(ctx context.Context) (usageBook, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	pager := f.api.usages.NewListPager(f.cfg.Location, nil)
	var all []*armcompute.Usage
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Value...)
	}
	return readUsages(all), nil
}
