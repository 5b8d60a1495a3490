// Package cloud answers: what can a cloud do for us, and what can go wrong?
//
// It is the cloud door: the Fleet interface, the order that asks for one machine, and the closed list of error codes
// on which callers act. It does not talk to any cloud (drivers do: cloud/azure, cloud/memcloud) and does not
// remember or choose anything (cloud/market does). Twin and drivers sit the exam in cloud/cloudtest.
package cloud

import (
	"context"
	"time"

	"github.com/karpenter-aks/karpenter/internal/coded"
	"github.com/karpenter-aks/karpenter/model"
)

// Fleet sells machines. Every method may be repeated safely and called concurrently; none waits for a machine.
// Errors are *Error (possibly wrapped); anything else counts as Unknown.
type Fleet interface {
	// Offerings lists everything that the cloud may sell for the class, sold out or not, sorted by name. The driver
	// answers from what it last learnt and refreshes as it sees fit; it fails only when it knows nothing at all.
	Offerings(ctx context.Context, class model.Class) (model.Catalog, error)

	// Inspect asks the cloud whether machines of this class can be built now: which images it may use, and one
	// condition per thing that must be right (subnet, images, version…). An error means the cloud could not be asked.
	Inspect(ctx context.Context, class model.Class, kubernetesVersion string) (Report, error)

	// Launch asks for one machine of one offering. A nil error means accepted, not finished: List shows what becomes
	// of it. Launching again for the same claim returns the machine that exists already, whatever its offering.
	Launch(ctx context.Context, order Order) (model.Instance, error)

	// List returns every machine that is ours, at any stage, sorted by name. A machine appears from the moment
	// Launch returned, and stays until the cloud has let go of it. For a failed machine it says why. Lists are dear (pages
	// of everything there is, and a small budget): follow single machines with Get, and list seldom.
	List(ctx context.Context) ([]model.Instance, error)

	// IDOf is the id that the machine of a claim has, or would have; "" when there can be none. It asks nobody.
	IDOf(claim string) string

	// Get looks at the machine of the id, more closely than List: only here is a machine Stopped. It costs one cheap call
	// and is never older than the question. NotFound means that the cloud has no such machine of ours (any more).
	Get(ctx context.Context, id string) (model.Instance, error)

	// Terminate asks for a machine and everything bought with it to go away; nil means asked, or asked before.
	// NotFound means nothing of it is left.
	Terminate(ctx context.Context, id string) error
}

// Stray is something that was bought with a machine and outlived it.
type Stray struct {
	ID      string
	Kind    string    // "nic", "disk"
	Created time.Time // zero when the cloud does not say
}

// Sweeper is implemented by fleets whose machines can leave something behind.
type Sweeper interface {
	// Strays lists what carries our mark and belongs to no machine any more, sorted by ID.
	Strays(ctx context.Context) ([]Stray, error)
	// RemoveStray asks for one of them to go; NotFound when it is gone.
	RemoveStray(ctx context.Context, s Stray) error
}

// Report is what Inspect found.
type Report struct {
	Images            []model.Image
	KubernetesVersion string
	Conditions        []model.Condition // Since is left zero; the caller keeps the time of transitions
}

// Order asks for one machine.
type Order struct {
	Claim    string // name of the claim; the machine's name is derived from it
	ClaimUID string
	Pool     string
	Class    model.Class
	Type     model.InstanceType
	Offering model.Offering // one of Type.Offerings
	// Labels and Taints the machine must register with, startup taints and the unregistered taint included.
	Labels map[string]string
	Taints []model.Taint
	// Token is the bootstrap token the machine joins with, "id.secret". It is a secret.
	Token   string
	Cluster model.Cluster
}

// Code says what kind of thing went wrong; callers act on codes only.
type Code string

// The codes.
const (
	NoCapacity Code = "no-capacity" // the cloud has none left; Extent.Scope says of what
	Quota      Code = "quota"       // we may not have more; Extent.Scope says of what
	Refused    Code = "refused"     // a final no for another reason; Extent.Scope says to what
	Throttled  Code = "throttled"   // too many calls; Extent.RetryAfter says when to come back
	Invalid    Code = "invalid"     // the order itself is wrong, whatever the offering; asking again won't help
	Denied     Code = "denied"      // we are not allowed to, whatever the offering
	NotFound   Code = "not-found"   // there is no such thing (any more)
	Unknown    Code = "unknown"     // no answer, or none that says whether it was done: asking again may help
)

// Scope says what a refusal (NoCapacity, Quota, Refused, Invalid or Denied) blocks. Empty fields mean "any": a Scope with only Zone set blocks the
// whole zone. The zero Scope blocks nothing.
type Scope struct {
	// Class, when set, limits the scope to orders of that class as it was in that generation: a class that was changed
	// may be right now.
	Class      model.ClassRef
	Generation int64

	Type         string
	Family       string // quota family
	Zone         string
	CapacityType string
	// Zonal, when true, limits the scope to offerings in a real zone; Regional to those outside zones.
	Zonal, Regional bool
	// MinCPU limits the scope to types with at least this many thousandths of a core; 0 = all. Larger sizes of a
	// family are blocked together with the one that failed.
	MinCPU int64
	// All blocks every offering of Class, Zone and CapacityType (or of everything).
	All bool
	// For is how long to believe it. Zero leaves the choice to the market.
	For time.Duration
}

// Extent says what a refusal reaches beside the one order.
type Extent struct {
	Scope      Scope
	RetryAfter time.Duration // for Throttled; zero = the caller's own backoff
}

// Error is a cloud's refusal in our words.
type Error = coded.Error[Code, Extent]

// CodeOf returns the code of err: "" for nil, Unknown for errors that carry none.
func CodeOf(err error) Code { return coded.Of[Code, Extent](err, Unknown) }

// Errorf builds an *Error whose text wraps like fmt.Errorf.
func Errorf(code Code, format string, args ...any) *Error {
	return coded.Errorf[Code, Extent](code, format, args...)
}
