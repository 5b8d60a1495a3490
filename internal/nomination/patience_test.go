package nomination

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// moment is a change of the picture, some time after the start, and which pods' nominations are taken back then.
type moment struct {
	at     time.Duration
	change func(w *model.World)
	back   string
}

// told is the scene with both nodes open, p-1 told of the first and p-3 of the second.
func told() model.World {
	w := scene()
	register(&w, 0, 0)
	register(&w, 1, 1)
	w.Pods[0].Promised, w.Pods[2].Promised = "na", "nb"
	return w
}

func bind(pod int) func(w *model.World) {
	return func(w *model.World) {
		w.Pods[pod].Node, w.Pods[pod].Promised, w.Pods[pod].Unschedulable = w.Pods[pod].Promised, "", false
	}
}

func tellPod(pod int, node string) func(w *model.World) {
	return func(w *model.World) { w.Pods[pod].Promised = node }
}

func TestNominationsThatLeadToNothingAreTakenBack(t *testing.T) {
	shut := func(w *model.World) { w.Claims[0].Conditions = nil }
	for name, moments := range map[string][]moment{
		"after a quiet while, all of them": {
			{0, nil, ""}, {Quiet - 1, nil, ""}, {Quiet, nil, "p-1 p-3"}, {Quiet + 1, nil, ""}},
		"not while others get their places": {
			{0, nil, ""}, {4 * time.Second, bind(2), ""}, {8 * time.Second, nil, ""}, {9 * time.Second, nil, "p-1"}},
		"but after the limit in any case": {
			{0, nil, ""}, {4 * time.Second, tellPod(2, ""), ""}, {8 * time.Second, tellPod(2, "nb"), ""}, {12 * time.Second, tellPod(2, ""), ""},
			{16 * time.Second, tellPod(2, "nb"), ""}, {20 * time.Second, tellPod(2, ""), ""}, {24 * time.Second, tellPod(2, "nb"), ""},
			{28 * time.Second, tellPod(2, ""), ""}, {Limit - 1, nil, ""}, {Limit, nil, "p-1"}},
		"one that stands although it was taken back is asked for again": {
			{0, nil, ""}, {Quiet, bind(2), ""}, {2 * Quiet, nil, "p-1"}, {3 * Quiet, nil, "p-1"}},
		"the clock starts when the node takes pods": {
			{0, func(w *model.World) { bind(2)(w); shut(w) }, ""}, {20 * time.Second, func(w *model.World) { register(w, 0, 0) }, ""},
			{24 * time.Second, nil, ""}, {25 * time.Second, nil, "p-1"}},
		"a node that never takes pods keeps nobody for ever": {
			{0, func(w *model.World) { bind(2)(w); shut(w) }, ""}, {HoldLimit, nil, ""}, {HoldLimit + Quiet, nil, "p-1"}},
		"a node that is gone: at once": {
			{0, tellPod(0, "gone"), "p-1"}, {time.Second, bind(2), ""}},
		"a node on its way out: at once": {
			{0, func(w *model.World) { w.Nodes[0].DeletedAt = start }, "p-1"}},
		"a node whose claim is on its way out: at once": {
			{0, func(w *model.World) { w.Claims[1].DeletedAt = start }, "p-3"}},
		"what others nominate is theirs": {
			{0, func(w *model.World) { w.Claims[0].Annotations = nil; w.Pods[0].Promised = "gone" }, ""}, {Quiet, nil, "p-3"}, {time.Hour, bind(2), ""}},
		"told anew, it has a quiet while again": {
			{0, bind(2), ""}, {Quiet, nil, "p-1"}, {Quiet + 1, tellPod(0, ""), ""}, {Quiet + 2, tellPod(0, "na"), ""}, {2 * Quiet, nil, ""}, {2*Quiet + 2, nil, "p-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := told(), &Patience{}
			for _, m := range moments {
				if m.change != nil {
					m.change(&w)
				}
				back, next := p.Look(w, start.Add(m.at))
				if got := names(back); got != m.back {
					t.Errorf("after %v: %q are taken back, want %q", m.at, got, m.back)
				}
				if waits := w.Pods[0].Promised+w.Pods[2].Promised != ""; !waits && next != 0 {
					t.Errorf("after %v: nobody waits with a nomination, and it is looked again after %v", m.at, next)
				} else if len(back) == 0 && next > HoldLimit+Quiet {
					t.Errorf("after %v: it is looked again after %v only", m.at, next)
				}
			}
		})
	}
}

func names(pods []model.Pod) string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return strings.Join(out, " ")
}

func TestAPodIsToldOfANodeAFewTimes(t *testing.T) {
	w, p, now := told(), &Patience{}, start
	bind(2)(&w)
	for turn := range Turns {
		p.Look(w, now)
		now = now.Add(Limit)
		if back, _ := p.Look(w, now); names(back) != "p-1" {
			t.Fatalf("turn %d: %q are taken back", turn, names(back))
		}
		tellPod(0, "")(&w)
		p.Look(w, now)
		want := "a hold 0s tell p-1 p-2"
		if turn == Turns-1 {
			want = "a hold 0s tell p-2"
		}
		if got := show(Decide(w, now, p.Spent())); got != want {
			t.Errorf("after turn %d: got %s, want %s", turn, got, want)
		}
		tellPod(0, "na")(&w)
	}
	w.Pods[0].Promised, w.Pods[0].UID = "", "another pod of that name"
	p.Look(w, now)
	if got := show(Decide(w, now, p.Spent())); got != "a hold 0s tell p-1 p-2" || len(p.Spent()) != 0 {
		t.Errorf("a new pod of that name: %s, spent: %v", got, p.Spent())
	}
}

func TestFewAreTakenBackAtOnce(t *testing.T) {
	w := told()
	var list []string
	for i := range 3 * backAtOnce {
		name := fmt.Sprintf("q-%03d", i)
		list = append(list, "d/"+name)
		w.Pods = append(w.Pods, model.Pod{Namespace: "d", Name: name, UID: name, Unschedulable: true, Promised: "nb"})
	}
	w.Claims[1].Annotations["karpenter.azure.com/planned-pods"] = strings.Join(list, ",")
	p := &Patience{}
	p.Look(w, start)
	if back, next := p.Look(w, start.Add(Quiet)); len(back) != backAtOnce || next != pace {
		t.Errorf("%d are taken back at once, the next after %v", len(back), next)
	}
}

// Where hundreds of pods wait, the turn of some comes late: as long as others get their places, none loses the room that it was told of.
func TestWhereManyWaitPatienceIsLonger(t *testing.T) {
	const many = 1000
	w, p := told(), &Patience{}
	bind(0)(&w)
	var list []string
	for i := range many {
		name := fmt.Sprintf("q-%04d", i)
		list = append(list, "d/"+name)
		w.Pods = append(w.Pods, model.Pod{Namespace: "d", Name: name, UID: name, Unschedulable: true, Promised: "nb"})
	}
	w.Claims[1].Annotations["karpenter.azure.com/planned-pods"] = strings.Join(list, ",")
	first := time.Duration(0)
	for at := time.Duration(0); first == 0 && at < 2*time.Minute; at += time.Second {
		back, _ := p.Look(w, start.Add(at))
		if len(back) > 0 {
			first = at
		}
		bind(len(w.Pods) - 1 - int(at/time.Second))(&w)
	}
	if want := Limit + 9*PerHundred; first != want { // some hundred of them are bound by then
		t.Errorf("the first is taken back after %v, want %v", first, want)
	}
}
