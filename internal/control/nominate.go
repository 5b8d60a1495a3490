package control

import (
	"context"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/nomination"
	"github.com/karpenter-aks/karpenter/model"
)

const (
	// nominators bounds how many nominations of one claim are written at the same time.
	nominators = 16
	// tellLimit is how long the opening of a node waits for its pods to be told. Those left over are told behind it.
	tellLimit = 2 * time.Second
	// nominateEvery is how often is looked whether pods must be told (again), at most.
	nominateEvery = 100 * time.Millisecond
	// tellAgain is when is looked whether pods were really told: a request that failed changes nothing that would make us look.
	tellAgain = time.Second
	// leftoversEvery is how often is looked for what is left of our nominations when nobody is told of anything, at most.
	leftoversEvery = time.Second
	// muteFor is how long nobody is told anything after the API server would not have it: it may be upgraded, or given the rights.
	muteFor = 10 * time.Minute
	// nominateSince is the minor version of Kubernetes from which on others than kube-scheduler may nominate.
	nominateSince = 35
)

// nominator tells pods of the nodes that were planned for them.
type nominator struct {
	*Controller
	last     time.Time
	patience nomination.Patience
}

func (c *Controller) nominator() *nominator { return &nominator{Controller: c} }

// pass tells pods of nodes that take them, or will as soon as they open. kube-scheduler forgets a nomination when it tries the pod in vain, and some pods may be told only
// when others run. What was planned stands on the claim, what was told on the pod; that a nomination leads to nothing is found out again after a restart. Nominations that
// lead to nothing are taken back, also those that were made before the feature was switched off.
func (n *nominator) pass(ctx context.Context) time.Duration {
	now, every := n.Now(), nominateEvery
	if !n.Settings.Nominate {
		every = leftoversEvery
	}
	if age := now.Sub(n.last); age >= 0 && age < every {
		return every - age
	}
	n.last = now
	w := n.World.Snapshot()
	var back []model.Pod
	var next time.Duration
	var landings map[string]nomination.Landing
	wait, ok := n.safely(&n.promises, telling, w, func() {
		back, next = n.patience.Look(w, now)
		n.mu.Lock()
		n.spent = n.patience.Spent()
		n.mu.Unlock()
		landings = n.landings(w)
	})
	if !ok {
		return wait
	}
	if len(back) > 0 {
		next = sooner(next, n.promises.start(ctx, takeBack, func(ctx context.Context) error { return n.takeBack(ctx, back) }))
	}
	for _, l := range landings {
		if len(l.Tell) > 0 {
			next = sooner(next, tellAgain)
			next = sooner(next, n.promises.start(ctx, l.Claim, func(ctx context.Context) error { return n.tell(ctx, l.Node, l.Tell) }))
		}
	}
	return next
}

// Keys of promises that are about no single claim; no claim has a name with a slash.
const (
	takeBack = "take/back"     // the step that takes nominations back
	opening  = "land/open"     // deciding who is told of a node before it opens
	telling  = "land/nominate" // deciding who is told of a node that is open
)

// takeBack takes the nominations of the pods away, which makes kube-scheduler try them, and all that wait, again.
func (n *nominator) takeBack(ctx context.Context, pods []model.Pod) error {
	n.Log.Info("nominations that led to nothing are taken back; kube-scheduler tries the pods again", "pods", len(pods), "first", pods[0].Key().String(), "Node", pods[0].Promised)
	return n.tell(ctx, "", pods)
}

// landings says which pods to tell of which new nodes, and which nodes are kept shut for others, by claim name; nil when kube-scheduler takes no advice.
func (c *Controller) landings(w model.World) map[string]nomination.Landing {
	if !c.Settings.Nominate || c.Now().Before(c.muteUntil()) {
		return nil
	}
	out := map[string]nomination.Landing{}
	for _, l := range nomination.Decide(w, c.Now(), c.spentOn()) {
		out[l.Claim] = l
	}
	return out
}

// announce tells the pods before their node opens. Whatever goes wrong, the node opens: a pod that was not told finds it as ever.
func (c *Controller) announce(ctx context.Context, node string, pods []model.Pod) {
	if len(pods) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellLimit)
	defer cancel()
	if err := c.tell(ctx, node, pods); err != nil {
		c.Log.V(1).Info("not all pods were told of their node before it opened", "Node", node, "error", err.Error())
	}
}

// tell nominates the node for each of the pods; a node of "" takes their nominations back. One that is gone or bound meanwhile needs it no more.
func (c *Controller) tell(ctx context.Context, node string, pods []model.Pod) error {
	if !c.heeded(ctx) {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(nominators)
	for _, p := range pods {
		g.Go(c.shielded("nominate", func() error {
			err := c.Store.Nominate(ctx, kube.Nomination{Pod: p.Key(), UID: p.UID, Node: node})
			switch kube.CodeOf(err) {
			case kube.NotFound, kube.Invalid:
				return nil
			case kube.Denied:
				c.mute("the API server does not let us: " + err.Error())
			}
			return err
		}))
	}
	return g.Wait()
}

// heeded asks, once, whether the cluster is new enough to heed nominations that are not kube-scheduler's own. One that does not
// say its version is asked again.
func (c *Controller) heeded(ctx context.Context) bool {
	c.mu.Lock()
	known, until := c.nominates, c.muted
	c.mu.Unlock()
	if known {
		return !c.Now().Before(until)
	}
	cluster, err := c.Store.Cluster(ctx)
	if err != nil {
		return false
	}
	if minor, ok := minorOf(cluster.Version); ok && minor < nominateSince {
		c.mute("Kubernetes " + cluster.Version + " is older than 1." + strconv.Itoa(nominateSince))
		return false
	}
	c.mu.Lock()
	c.nominates = true
	c.mu.Unlock()
	return true
}

// minorOf returns 37 for "1.37.1".
func minorOf(version string) (int, bool) {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return 0, false
	}
	n, err := strconv.Atoi(parts[1])
	return n, err == nil && parts[0] == "1"
}

// mute keeps us from telling anybody anything for a while, and says so.
func (c *Controller) mute(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Now().Before(c.muted) {
		return
	}
	c.muted, c.nominates = c.Now().Add(muteFor), false
	c.Log.Info("kube-scheduler is not told which nodes were planned for waiting pods; it finds them, but other pods may be faster", "why", why, "for", muteFor.String())
}

func (c *Controller) muteUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.muted
}

func (c *Controller) spentOn() nomination.Spent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spent
}
