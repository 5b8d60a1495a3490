package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/kube/memkube"
)

const (
	mostApps = 4
	mostPods = 14 // of a deployment
	mostActs = 12
)

// Draw draws a story: one or two pools, some deployments, and what users, the cloud, the API server and the controller's own machine do while they
// run. The same seed is the same story.
func Draw(seed uint64) Story {
	d := &drawer{r: rand.New(rand.NewPCG(seed, 0x6368616e6365)), st: Story{Seed: seed}}
	d.begin()
	for range 2 + d.r.IntN(mostActs-1) {
		d.later()
		d.act()
	}
	d.more(seed)
	d.drawSets(seed)
	return d.st
}

// drawer is a story as it is drawn.
type drawer struct {
	r     *rand.Rand
	st    Story
	at    time.Duration
	pools []string
	apps  []string
	hash  int
}

func (d *drawer) add(verb string, words ...any) {
	a := Act{At: d.at, Verb: verb}
	for _, w := range words {
		if text := fmt.Sprint(w); text != "" {
			a.Words = append(a.Words, text)
		}
	}
	d.st.Acts = append(d.st.Acts, a)
}

func (d *drawer) chance(percent int) bool { return d.r.IntN(100) < percent }

func pick[T any](d *drawer, from ...T) T { return from[d.r.IntN(len(from))] }

// later lets time pass: most acts follow each other within moments or minutes, some after a quarter of an hour.
func (d *drawer) later() {
	gaps := []time.Duration{200 * time.Millisecond, 3 * time.Second, 12 * time.Second, 40 * time.Second, 2 * time.Minute, 6 * time.Minute, 15 * time.Minute}
	g := gaps[d.r.IntN(len(gaps))]
	d.at += (g/2 + time.Duration(d.r.Int64N(int64(g)))).Round(100 * time.Millisecond)
}

func (d *drawer) begin() {
	for i := range 1 + d.r.IntN(2) {
		d.pools = append(d.pools, string(rune('a'+i)))
		d.pool(d.pools[i])
	}
	for i := range 1 + d.r.IntN(mostApps) {
		d.apps = append(d.apps, fmt.Sprintf("app%d", i))
		d.app(d.apps[i])
	}
}

func (d *drawer) pool(name string) {
	words := []any{name, "capacity=" + pick(d, "on-demand", "on-demand", "spot", "on-demand,spot"), "after=" + pick(d, "0s", "0s", "30s", "2m"),
		"policy=" + pick(d, "under", "under", "under", "empty", "balanced"), "budget=" + pick(d, "100%", "100%", "1", "2", "20%", "50%")}
	if d.chance(15) {
		words = append(words, fmt.Sprintf("cores=%d", 8+4*d.r.IntN(8)))
	}
	if d.chance(10) {
		words = append(words, "expire="+pick(d, "20m", "45m"))
	}
	if d.chance(15) {
		words = append(words, "grace="+pick(d, "1m", "5m"))
	}
	if d.chance(30) {
		words = append(words, fmt.Sprintf("weight=%d", 10*d.r.IntN(3)))
	}
	d.add("pool", words...)
}

func (d *drawer) app(name string) {
	words := []any{name, 1 + d.r.IntN(mostPods), fmt.Sprintf("cpu=%d", pick(d, 100, 250, 500, 900, 1000, 1700, 3000)),
		fmt.Sprintf("mem=%d", pick(d, 128, 512, 1024, 2048, 4096))}
	switch d.r.IntN(10) {
	case 0, 1:
		words = append(words, "spread="+pick(d, "zone", "host"))
	case 2:
		words = append(words, "with="+pick(d, "nobody", "zone"))
	case 3:
		words = append(words, "zone=westus3-"+pick(d, "1", "2", "3"))
	}
	if d.chance(25) {
		words = append(words, pick(d, "pdb-max=1", "pdb-max=2", "pdb-max=25%", "pdb-min=1", "pdb-min=50%", "pdb-max=0"))
	}
	if d.chance(6) {
		words = append(words, "stay="+pick(d, "true", "10m"))
	}
	if d.chance(20) {
		words = append(words, "grace="+pick(d, "1", "90"))
	}
	if d.chance(10) {
		words = append(words, "priority=1000")
	}
	d.add("app", words...)
}

// act draws one thing that happens.
func (d *drawer) act() {
	app, pool, n := pick(d, d.apps...), pick(d, d.pools...), d.r.IntN(8)
	user := []func(){
		func() { d.add("scale", app, d.r.IntN(mostPods+1)) },
		func() { d.add("scale", app, d.r.IntN(mostPods+1)) },
		func() { d.add("scale", app, d.r.IntN(4)) },
		func() { d.app(app) },
		func() { d.pool(pool) },
		func() { d.hash++; d.add("pool", pool, fmt.Sprintf("hash=%d", 1+d.hash)) },
		func() { d.hash++; d.add("class", fmt.Sprintf("hash=%d", 2+d.hash)) },
		func() { d.add("pool", pool, "budget="+pick(d, "0", "1", "100%")) },
		func() {
			d.add("pdb", app, app, pick(d, "max=0", "max=1", "min=100%", "min=1"), pick(d, "", "unready=always"))
		},
		func() { d.add("pdb", "second", app, "max=1") },
		func() { d.add("unpdb", app) },
		func() { d.add("end-pod", app, n) },
		func() { d.add("delete-node", n) },
		func() { d.add("delete-claim", n) },
		func() { d.add("protect", n, pick(d, "2m", "10m")) },
		func() {
			d.add("hold", pool, pick(d, "all", "provisioning", "disruption", "drift", "observe"), pick(d, "40s", "5m", "20m"))
		},
	}
	if len(d.pools) > 1 {
		user = append(user, func() { d.add("unpool", d.pools[1]) })
	}
	fault := []func(){
		func() { d.add("throttle", pick(d, "1s", "5s", "30s"), pick(d, "10s", "1m", "5m")) },
		func() { d.add("cloud-down", pick(d, "5s", "1m", "4m")) },
		func() { d.add("sold-out", pick(d, d.types()...), pick(d, "now", "later"), pick(d, "1m", "10m")) },
		func() { d.add("lose-replies", 1+d.r.IntN(3)) },
		func() { d.add("evict", n) },
		func() { d.add("switch-off", n) },
		func() { d.add("mute", 1+d.r.IntN(2)) },
		func() { d.add("sick", n, pick(d, "30s", "3m", "20m")) },
		func() { d.add("api-down", pick(d, "3s", "40s", "3m")) },
		func() { d.add("cut-watch") },
		func() { d.add("hold-watch", pick(d, "2s", "15s", "1m")) },
		func() { d.add("fail", d.op(), pick(d, kube.Conflict, kube.Unavailable), 1+d.r.IntN(4)) },
		func() { d.add("lose-answer", d.op(), 1+d.r.IntN(3)) },
		func() { d.add("away", pick(d, "5s", "1m", "10m")) },
		func() { d.add("clock", pick(d, "-2m", "-20s", "20s", "2m")) },
	}
	kill := func() { d.add("kill", pick(d, points()...)) }
	switch k := d.r.IntN(100); {
	case k < 45:
		pick(d, user...)()
	case k < 80:
		pick(d, fault...)()
	default:
		kill()
	}
}

// points are all places at which the controller may die.
func points() []control.Point {
	return append(append(control.Points(), control.MovePoints()...), control.PointMoveUnmarked)
}

func (d *drawer) types() []string {
	return []string{"Standard_B2ms", "Standard_D2s_v5", "Standard_D4s_v5", "Standard_F2s_v2", "Standard_F4s_v2", "Standard_F8s_v2"}
}

func (d *drawer) op() memkube.Op {
	return pick(d, memkube.OpCreateClaim, memkube.OpPatchClaim, memkube.OpDeleteClaim, memkube.OpPatchNode, memkube.OpDeleteNode, memkube.OpRemovePod,
		memkube.OpNominate, memkube.OpToken)
}
