package model

import (
	"cmp"
	"fmt"
	"time"
)

// Price is money per hour in micro-dollars: exact to add and compare.
type Price int64

// Dollars builds a Price from dollars per hour, rounded to the nearest micro-dollar.
func Dollars(d float64) Price { return Price(d*1e6 + 0.5) }

// hoursPerMonth is what price lists of clouds count with.
const hoursPerMonth = 730

// Month returns dollars per month of 730 hours.
func (p Price) Month() float64 { return p.Float() * hoursPerMonth }

// Float returns dollars per hour.
func (p Price) Float() float64 { return float64(p) / 1e6 }

// String prints "$0.0960/h".
func (p Price) String() string { return fmt.Sprintf("$%.4f/h", p.Float()) }

// InstanceType is a machine size of a cloud, for one class: what it gives and what it is labelled with.
type InstanceType struct {
	Name   string
	Family string // quota family, as the cloud names it
	// Labels holds every label that all offerings of this type share. A label the type does not have is absent.
	Labels map[string]string
	// Either holds labels for which the buyer may choose one of several values (mode: system or user). The last of those that
	// a claim allows is taken where it does not care. An offering's own label leaves no choice: see Choices.
	Either map[string][]string
	// Capacity is what the kubelet will report; Allocatable is capacity less what the system keeps.
	Capacity, Allocatable Resources
	// AttachLimits bounds, per CSI driver, how many volumes a machine of this type can have attached; a missing driver is
	// no bound.
	AttachLimits map[string]int64
	Offerings    []Offering // sorted by price, then zone, then capacity type
}

// Offering is one thing the cloud may sell: a size in a zone under a capacity type.
type Offering struct {
	Type         string
	Zone         string // value of LabelZone; clouds that sell outside zones have a value for that too
	CapacityType string
	Price        Price
	Available    bool
	// Labels holds labels that only this offering has, beside those of its type (zone and capacity type included).
	Labels map[string]string
	// Unavailable says why Available is false: a Why and words for people.
	Unavailable string
	// Supply is how many more machines the cloud keeps of it, as for capacity that was reserved; nil = no bound is known. Where a
	// cloud has several reservations of one size in one zone, it is their sum. Launches after SupplyAt are not in it; the market
	// subtracts them.
	Supply   *int64
	SupplyAt time.Time
}

// Choices are the values among which the buyer of offering o may choose for a label; nil when there is no choice.
func (t InstanceType) Choices(o Offering, key string) []string {
	if _, fixed := o.Labels[key]; fixed {
		return nil
	}
	return t.Either[key]
}

// Key names the offering: "on-demand/eastus-1/Standard_D2s_v5".
func (o Offering) Key() OfferingKey {
	return OfferingKey{Type: o.Type, Zone: o.Zone, CapacityType: o.CapacityType}
}

// OfferingKey identifies an offering.
type OfferingKey struct{ Type, Zone, CapacityType string }

// String prints "Standard_D2s_v5 in eastus-1 (on-demand)".
func (k OfferingKey) String() string {
	return fmt.Sprintf("%s in %s (%s)", k.Type, k.Zone, k.CapacityType)
}

// Compare orders keys by type, zone, capacity type.
func (k OfferingKey) Compare(o OfferingKey) int {
	return cmp.Or(cmp.Compare(k.Type, o.Type), cmp.Compare(k.Zone, o.Zone), cmp.Compare(k.CapacityType, o.CapacityType))
}

// Catalog is everything a cloud may sell for one class at one moment. It never changes once made.
type Catalog struct {
	Class ClassRef
	// Epoch grows whenever anything in the catalogue changes, availability included.
	Epoch uint64
	Types []InstanceType // sorted by name
}

// Type returns the instance type of the given name. O(types).
func (c Catalog) Type(name string) (InstanceType, bool) {
	for _, t := range c.Types {
		if t.Name == name {
			return t, true
		}
	}
	return InstanceType{}, false
}
