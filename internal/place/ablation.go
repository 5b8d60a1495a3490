package place

import "slices"

// Mechanism names one part of the search. None is needed for a sound plan: each can be left out, to measure what it
// earns (make ablate).
type Mechanism string

// The mechanisms of packing.
const (
	exactSearch   Mechanism = "exact search"
	severalGuides Mechanism = "several guides"
	lpMix         Mechanism = "LP mix"
	localSearch   Mechanism = "local search"
	columnPacking Mechanism = "column generation"
	packingApart  Mechanism = "packing apart"
	byPriority    Mechanism = "packing by priority"
	separateZones Mechanism = "exchange between machines"
)

// The mechanisms of seating pods, and of deciding again.
const (
	lessonsCaps    Mechanism = "attempts: what failed"
	lessonsAhead   Mechanism = "attempts: who was left goes first"
	lessonsGuests  Mechanism = "attempts: guests of who they look for"
	lessonsManner  Mechanism = "attempts: other orders of planned pods"
	lessonsOutside Mechanism = "attempts: outside zones"
	lessonsGather  Mechanism = "attempts: gather on minDomains"
	orderSearch    Mechanism = "search for an order"
	yieldRoom      Mechanism = "ties choose first"
	varyOne        Mechanism = "vary one thing"
	foreseeRoom    Mechanism = "foresee who follows"
	wideCells      Mechanism = "cells of several domains"
	strictFirst    Mechanism = "best effort, then strict"
	placeWishOnly  Mechanism = "wishes without hosts"
)

// Mechanisms lists all, those of packing first.
func Mechanisms() []Mechanism {
	return []Mechanism{exactSearch, severalGuides, lpMix, localSearch, columnPacking, packingApart, byPriority,
		separateZones, lessonsCaps, lessonsAhead, lessonsGuests, lessonsManner, lessonsOutside, lessonsGather,
		orderSearch, yieldRoom, varyOne, foreseeRoom, wideCells, strictFirst, placeWishOnly}
}

// uses reports whether the mechanism is used.
func (in *Input) uses(m Mechanism) bool { return !slices.Contains(in.Without, m) }
