// Package lab answers: what do the lab's clouds and the lab's machines say to each other?
//
// A cloud emulator (lab/arm) tells a Host that a machine was switched on or off; the host (lab/kubelet) boots it from
// its custom data as a real machine would. Nothing here is used by the product: the lab shares no code with drivers.
package lab

import "time"

// Machine is a virtual machine as its hardware and its metadata service would describe it to the software on it.
type Machine struct {
	Name       string // host name, and the name of the node it will register
	ProviderID string // as the cloud's node manager will set it: azure:///subscriptions/…
	Size       string // Standard_D2s_v5
	CPUs       int
	MemoryMiB  int64
	GPUs       int
	Arch       string // amd64 or arm64
	OSDiskGB   int32
	DataDisks  int // how many data disks may be attached at once
	Region     string
	Zone       string // "1", "2", "3", or "" when the machine is regional
	Spot       bool
	CustomData []byte // decoded: what the image's first-boot script sees
	Image      string // image reference the machine boots from
	Address    string // private IP address
}

// Host runs machines. Calls return at once; a host does the work in the background and ends it with Halt.
type Host interface {
	// Boot switches a machine on. Booting a machine that is on changes nothing.
	Boot(m Machine)
	// Halt switches it off, at once: its kubelet stops without saying goodbye.
	Halt(name string)
	// Warn tells the machine's agent of a scheduled event, such as a spot eviction ("Preempt") at the given time.
	Warn(name, event string, at time.Time)
}
