package model

// The objects from which a pod's volumes and a node's attach limits are known. The mirror joins them when a picture is
// taken; deciders see Pod.Volumes and Node.AttachLimits only.

// VolumeClaim asks for a persistent volume (users say PersistentVolumeClaim).
type VolumeClaim struct {
	Namespace, Name string
	// Volume is the persistent volume that it names, "" = none yet. Bound is set once the binding is complete; until then
	// the name is only what someone asked for.
	Volume string
	Bound  bool
	// Class is its storage class, "" = none.
	Class string
	// SelectedNode is the node for which kube-scheduler asked to have the volume made, "" = not yet.
	SelectedNode string
	// OnePod is the access mode ReadWriteOncePod: one pod may use it at a time.
	OnePod   bool
	Lost     bool // its volume is gone for good
	Deleting bool
}

// ObjectKey returns namespace and name.
func (c VolumeClaim) ObjectKey() string { return c.Namespace + "/" + c.Name }

// PersistentVolume is storage that exists.
type PersistentVolume struct {
	Name string
	// Driver is the CSI driver that attaches it, also for volumes written in the old form that Kubernetes hands to a
	// driver; "" = nothing has to be attached. Handle is the driver's name of it.
	Driver, Handle string
	// Terms are the OR-ed alternatives of the nodes that reach it; nil = all. A term without requirements matches nothing.
	Terms []Term
	// ClaimNamespace and ClaimName name the claim that has it; "" = nobody's.
	ClaimNamespace, ClaimName string
}

// ObjectKey returns the name.
func (v PersistentVolume) ObjectKey() string { return v.Name }

// StorageClass says how volumes are made.
type StorageClass struct {
	Name string
	// Provisioner makes the volumes. It is the name of a CSI driver, or of a program of the cluster's owner.
	Provisioner string
	// Waits is set when a volume is made where its first pod goes (WaitForFirstConsumer), not as soon as it is asked for.
	Waits bool
	// Terms are the OR-ed topologies in which volumes may be made; nil = anywhere.
	Terms []Term
	// Redundant is set when its volumes are kept in several zones and reached from all.
	Redundant bool
}

// ObjectKey returns the name.
func (c StorageClass) ObjectKey() string { return c.Name }

// CSINode says which CSI drivers run on the node of that name, and what they can do there.
type CSINode struct {
	Name string
	// AttachLimits bounds, per driver, how many volumes the node can have attached; a missing driver is no bound.
	AttachLimits map[string]int64
	// TopologyKeys are, per driver, the node labels that say where a volume is reached from, in the driver's order. A driver without any is
	// there with nil.
	TopologyKeys map[string][]string
}

// ObjectKey returns the name.
func (n CSINode) ObjectKey() string { return n.Name }
