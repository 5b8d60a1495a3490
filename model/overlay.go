package model

// Overlay changes what we believe of offerings before anything is decided: their prices, and the extended resources that
// machines will have (users say NodeOverlay). Which overlays are in force, and where, is package internal/overlay.
type Overlay struct {
	Name       string
	UID        string
	Generation int64
	Weight     int // 0..10000; of two that touch the same thing, the heavier one counts
	// Requirements pick offerings by the labels a node would have: the offering's, its size's and its pool's.
	Requirements []Requirement
	// Price replaces the price, in dollars per hour, "1.25"; "" leaves it. At most one of Price and PriceAdjustment is set.
	Price string
	// PriceAdjustment changes it, in dollars per hour ("+0.10", "-0.02") or in per cent ("+10%", "-100%"); "" leaves it.
	PriceAdjustment string
	// Capacity holds counts of extended resources that such machines have, by name.
	Capacity map[string]int64
	// What status says now.
	Conditions []Condition
	// Unreadable names what of the object could not be read and is left out here; "" = nothing. See Aside.
	Unreadable string
}

// ObjectKey returns the name.
func (o Overlay) ObjectKey() string { return o.Name }

// Annotations on claims whose machine was chosen under an overlay; the value is "true".
const (
	AnnotationPriceOverlay    = "karpenter.sh/price-overlay-applied"
	AnnotationCapacityOverlay = "karpenter.sh/capacity-overlay-applied"
)

// Catalog returns what the cloud may sell to a pool of that class, overlays applied: the pool's own catalogue when it has
// one, else its class'. A pool that is not known sees its class'.
func (w World) Catalog(pool string, class ClassRef) Catalog {
	if c, ok := w.PoolCatalogs[pool]; ok && c.Class == class {
		return c
	}
	return w.Catalogs[class]
}
