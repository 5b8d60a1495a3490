package nomination

import (
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/plan/planned"
	"github.com/karpenter-aks/karpenter/model"
)

// lost is p-1, which finds no room any more on the machine that was bought for it, and a stranger that nothing was bought for.
func lost() []model.PodKey {
	return []model.PodKey{{Namespace: "d", Name: "p-1"}, {Namespace: "d", Name: "stranger"}}
}

func waitsFor(t *testing.T, s *Settling, w model.World, after time.Duration) bool {
	t.Helper()
	wait, next := s.Look(w, lost(), start.Add(after))
	if wait[lost()[1]] {
		t.Errorf("after %v a pod that nothing was bought for has to wait", after)
	}
	if got := wait[lost()[0]]; got != (next > 0) {
		t.Errorf("after %v: waits %v, but is looked at again in %v", after, got, next)
	}
	return wait[lost()[0]]
}

func TestNoSecondMachineWhileThePlanLands(t *testing.T) {
	w, s := scene(), &Settling{}
	if !waitsFor(t, s, w, 0) {
		t.Error("another machine is bought at once")
	}
	w.Pods[2].Node = "nb"
	if !waitsFor(t, s, w, settleQuiet-time.Second) {
		t.Error("another machine is bought before it was quiet for long enough")
	}
	if !waitsFor(t, s, w, settleQuiet+time.Second) {
		t.Error("another machine is bought although a pod of the plan found its place 2 s ago")
	}
	if waitsFor(t, s, w, 2*settleQuiet-time.Second) {
		t.Error("it waits still, although nothing has happened for long enough")
	}
}

func TestItDoesNotWaitForEver(t *testing.T) {
	w, s := scene(), &Settling{}
	for at := time.Duration(0); at < SettleLimit; at += time.Second {
		w.Pods[2].UID = at.String() // there is always another one
		if !waitsFor(t, s, w, at) {
			t.Fatalf("another machine is bought after %v", at)
		}
	}
	w.Pods[2].UID = "the last"
	if waitsFor(t, s, w, SettleLimit) {
		t.Error("it waits beyond the limit")
	}
}

func TestWhatLandedLongAgoKeepsNobodyWaiting(t *testing.T) {
	w := scene()
	register(&w, 0, 0)
	w.Claims[0].Conditions[0].Since = start
	if waitsFor(t, &Settling{}, w, landed+time.Second) {
		t.Error("a pod waits for a place on a machine that has been there for long")
	}
	w.Claims[0].Conditions, w.Claims[0].DeletedAt = nil, start
	if waitsFor(t, &Settling{}, w, 0) {
		t.Error("a pod waits for a place on a machine that is on its way out")
	}
	w.Claims[0].Annotations = map[string]string{planned.Annotation: ""}
	if waitsFor(t, &Settling{}, w, 0) {
		t.Error("a pod waits although nothing was bought for it")
	}
}
