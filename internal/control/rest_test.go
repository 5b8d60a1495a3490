package control

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPausesAreInProportionToWork(t *testing.T) {
	for _, x := range []struct{ took, rest, echo time.Duration }{
		{0, settle, echo},
		{3 * time.Millisecond, settle, echo},
		{40 * time.Millisecond, 160 * time.Millisecond, echo},
		{200 * time.Millisecond, 800 * time.Millisecond, 200 * time.Millisecond},
		{2 * time.Second, time.Second, 2 * time.Second},
		{time.Minute, time.Second, 5 * time.Second},
		{-time.Second, settle, echo}, // the clock was set back
	} {
		if got := rest(x.took); got != x.rest {
			t.Errorf("a pass of %v is followed by %v, want %v", x.took, got, x.rest)
		}
		if got := echoOf(x.took); got != x.echo {
			t.Errorf("a step of %v is held back for %v, want %v", x.took, got, x.echo)
		}
	}
}

// TestASlowStepIsNotRepeatedBeforeItCanShow: where steps take two seconds, what tells of them is slow, too. A step that is asked for all the time is
// begun again no earlier than it took.
func TestASlowStepIsNotRepeatedBeforeItCanShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := tasks{name: "slow", limit: 4, now: time.Now}
		begun := 0
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			tasks.start(t.Context(), "claim", func(context.Context) error {
				begun++
				time.Sleep(2 * time.Second)
				return nil
			})
		}
		tasks.wait()
		if begun != 3 { // at 0, 4 and 8 s
			t.Errorf("begun %d times in ten seconds, want 3", begun)
		}
	})
}

// TestAStepThatDoesNotShowIsRepeatedEverLater: the mirror may lag by half a minute behind an API server that has much to do. Until it shows what a step
// did, the same step is asked for all the time. Another one goes at once.
func TestAStepThatDoesNotShowIsRepeatedEverLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := tasks{name: "lag", limit: 4, now: time.Now}
		begun := map[string]int{}
		ask := func(step string, during time.Duration) {
			for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				tasks.step(t.Context(), "claim", step, func(context.Context) error { begun[step]++; return nil })
				tasks.wait()
			}
		}
		ask("register", 40*time.Second)
		if n := begun["register"]; n < 4 || n > 9 { // after 0.5, 1, 2, 4, 8, 10, 10 s
			t.Errorf("done %d times in 40 seconds", n)
		}
		ask("initialize", time.Second)
		if n := begun["initialize"]; n != 2 {
			t.Errorf("the next step was done %d times in a second, want at once and after half of it", n)
		}
		ask("", time.Second)
		if n := begun[""]; n < 5 {
			t.Errorf("a step without a name was done %d times in a second", n)
		}
	})
}
