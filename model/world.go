package model

import "time"

// World is an immutable picture of everything a decider may look at. Every list is sorted by name (pods by
// namespace, then name), so that ranging over it is deterministic. Deciders must not change what they find here.
type World struct {
	Pools   []Pool
	Classes []Class
	Claims  []Claim
	Nodes   []Node
	// Pods holds the pods of a world that somebody wrote down. Pictures of the mirror, of which the next shares all that did not change,
	// have them in their Index alone. Who reads pods asks Indexed().Index. Beside the cluster's own there are those that stand for the
	// room that Buffers keep (Pod.Virtual).
	Pods []Pod
	// Index finds pods, nodes and claims; nil until Indexed makes one.
	Index       *Index
	Daemons     []Daemon
	PDBs        []PDB
	Attachments []Attachment
	Namespaces  []Namespace
	Overlays    []Overlay
	Buffers     []Buffer
	Templates   []Template // sorted by kind, namespace, name
	Unserved    []Unserved // sorted by resource
	// Catalogs has one entry per class that the cloud answered for, with the overlays applied that look only at offerings.
	Catalogs map[ClassRef]Catalog
	// PoolCatalogs has, by pool name, the catalogues of pools for which overlays say something else than for the rest of
	// their class. Ask Catalog instead of the two maps. Class and Epoch are as in Catalogs although the content is not:
	// who remembers something by catalogue must tell pools apart.
	PoolCatalogs map[string]Catalog
	// Instances is the cloud's last list; InstancesSeen is false until the first list arrived.
	Instances     []Instance
	InstancesSeen bool
	// Paused is what is on hold of all pools, because the controller was told so. Ask PauseOf.
	Paused Pause
}

// Object is anything the cluster tells us about.
type Object interface {
	// ObjectKey is unique among objects of the same Go type.
	ObjectKey() string
}

// ObjectKey implementations: cluster-scoped objects by name, the others by namespace and name.
func (p Pool) ObjectKey() string       { return p.Name }
func (c Class) ObjectKey() string      { return c.Ref.Group + "/" + c.Ref.Kind + "/" + c.Ref.Name }
func (c Claim) ObjectKey() string      { return c.Name }
func (n Node) ObjectKey() string       { return n.Name }
func (p Pod) ObjectKey() string        { return p.Namespace + "/" + p.Name }
func (d Daemon) ObjectKey() string     { return d.Namespace + "/" + d.Name }
func (b PDB) ObjectKey() string        { return b.Namespace + "/" + b.Name }
func (a Attachment) ObjectKey() string { return a.Name }

// Change is one fact the cluster told us: an object as it is now, or that it is gone (then only the fields that
// make its key are set).
type Change struct {
	Object Object
	Gone   bool
}

// Cluster is what a new machine must know to join, and what the controller asks of the API server once in a while.
type Cluster struct {
	Endpoint string // https://host[:port]
	CA       []byte // PEM
	Version  string // "1.37.1", without a leading v
	DNS      string // cluster IP of the DNS service; "" when there is none
}

// MaintenanceWindow is when AKS next means to put new node images to use, as it announces. The zero value is that it announces nothing.
type MaintenanceWindow struct {
	Opens, Closes time.Time
}
