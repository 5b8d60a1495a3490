package model

// Unserved is a kind of objects, of a feature that users switch on, of which the API server tells us nothing: its CRD is missing or does
// not serve the version that we read, or we may not read it. The feature waits until it does; everything else goes on.
type Unserved struct {
	Resource string // "capacitybuffers.autoscaling.x-k8s.io", as its CRD is named
	Version  string // the one that we read, "v1beta1"
	Message  string // what the API server said
}

// ObjectKey returns the resource.
func (u Unserved) ObjectKey() string { return u.Resource }
