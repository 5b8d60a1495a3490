// Package model answers: what do we talk about?
//
// It holds the nouns that every room of the house shares: pools, classes, claims, nodes, pods, offerings,
// instances, the picture of the world, and the closed list of reasons. It imports the standard library only,
// knows nothing of Kubernetes' or any cloud's own types, and decides nothing.
//
// Units everywhere: cpu in thousandths of a core, memory and storage in bytes, money in micro-dollars per hour,
// time as time.Time in UTC. A nil *time.Duration means "never" or "for ever" as the field says.
package model
