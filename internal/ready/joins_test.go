package ready_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/ready"
	"github.com/karpenter-aks/karpenter/model"
)

var (
	joinsBegan = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	joinsClass = &model.Class{Generation: 7}
)

// judged is a pool whose condition says status since the beginning.
func judged(status model.Status, reason string) model.Pool {
	return model.Pool{Name: "p", Generation: 3, ClassGeneration: 7, Conditions: []model.Condition{
		{Type: model.NodeRegistrationHealth, Status: status, Reason: reason, Since: joinsBegan,
			ObservedGeneration: 3}}}
}

// came makes of "+--+" that the first machine and the last became nodes.
func came(text string) (j ready.Joins) {
	for i, c := range text {
		x := ready.Join{Made: joinsBegan.Add(time.Duration(i) * time.Minute)}
		if c == '-' {
			x.Reason, x.Message = "RegistrationFailed", strings.Repeat("!", i)
		}
		j.Add(x)
	}
	return j
}

func TestAPoolSaysWhetherItsMachinesBecomeNodes(t *testing.T) {
	for _, tc := range []struct {
		was  model.Status
		came string
		want string
	}{
		{model.Unknown, "", "Unknown AwaitingReconciliation"},
		{model.Unknown, "+", "True NodeRegistrationHealthy"},
		{model.Unknown, "-", "Unknown AwaitingReconciliation"},
		{model.Unknown, "-+", "True NodeRegistrationHealthy"},
		{model.Unknown, "--", "False RegistrationFailed !"},
		{model.Unknown, "++++--", "False RegistrationFailed !!!!!"},
		{model.True, "", "True NodeRegistrationHealthy"}, // another process saw the node
		{model.True, "-", "True NodeRegistrationHealthy"},
		{model.True, "-+++-", "True NodeRegistrationHealthy"}, // the first is forgotten
		{model.True, "+-+-", "False RegistrationFailed !!!"},
		{model.False, "", "False LaunchFailed"}, // another process saw two fail
		{model.False, "+", "False LaunchFailed"},
		{model.False, "++", "False LaunchFailed"},
		{model.False, "+++", "True NodeRegistrationHealthy"},
		{model.False, "--++", "False RegistrationFailed !"},
		{model.False, "--+++", "True NodeRegistrationHealthy"},
	} {
		reason := map[model.Status]string{model.Unknown: "AwaitingReconciliation",
			model.True: "NodeRegistrationHealthy", model.False: "LaunchFailed"}[tc.was]
		is := ready.Registration(judged(tc.was, reason), joinsClass, came(tc.came))
		got := strings.TrimSpace(string(is.Status) + " " + is.Reason + " " + is.Message)
		if got != tc.want || is.ObservedGeneration != 3 {
			t.Errorf("it was %s, then came %q: %s, generation %d; want %s",
				tc.was, tc.came, got, is.ObservedGeneration, tc.want)
		}
	}
}

// What was written is written once.
func TestAVerdictOnMachinesStands(t *testing.T) {
	for _, text := range []string{"", "+", "-", "--", "+-+-", "--+++"} {
		p, j := judged(model.Unknown, "AwaitingReconciliation"), came(text)
		p.Conditions = []model.Condition{ready.Registration(p, joinsClass, j)}
		again := model.Changed(p.Conditions,
			[]model.Condition{ready.Registration(p, joinsClass, j)}, joinsBegan)
		if len(again) > 0 {
			t.Errorf("after %q it is written again: %v", text, again)
		}
	}
}

func TestAnotherPoolOrClassIsNotJudgedByTheOldOnesMachines(t *testing.T) {
	for name, change := range map[string]func(*model.Pool, *model.Class){
		"new pool":      func(p *model.Pool, _ *model.Class) { p.Conditions = nil },
		"edited pool":   func(p *model.Pool, _ *model.Class) { p.Generation++ },
		"edited class":  func(_ *model.Pool, c *model.Class) { c.Generation++ },
		"another class": func(p *model.Pool, _ *model.Class) { p.ClassGeneration = 1 },
	} {
		p, class := judged(model.True, "NodeRegistrationHealthy"), *joinsClass
		if ready.Changed(p, &class) {
			t.Fatal("nothing changed, and something is said to have")
		}
		change(&p, &class)
		is := ready.Registration(p, &class, came("++++"))
		if !ready.Changed(p, &class) || is.Status != model.Unknown || is.ObservedGeneration != p.Generation {
			t.Errorf("%s: %+v", name, is)
		}
	}
	p := judged(model.True, "NodeRegistrationHealthy")
	p.ClassGeneration = 0
	if ready.Changed(p, joinsClass) || ready.Changed(p, nil) {
		t.Error("a class of which nothing was written down, or that is gone, is no other one")
	}
}

// Claims of before the change end after it; they say nothing about what is now.
func TestClaimsOfBeforeAChangeDoNotCount(t *testing.T) {
	var j ready.Joins
	j.Anew(joinsBegan.Add(time.Minute + time.Millisecond))
	for _, at := range []time.Duration{0, time.Second, 59 * time.Second, time.Minute, time.Hour} {
		j.Add(ready.Join{Made: joinsBegan.Add(at), Reason: "RegistrationFailed", Message: at.String()})
	}
	is := ready.Registration(judged(model.Unknown, ""), joinsClass, j)
	if is.Status != model.False || is.Message != "1h0m0s" {
		t.Errorf("two failed since: %+v", is)
	}
	j.Anew(joinsBegan.Add(time.Minute))
	for _, at := range slices.Repeat([]time.Duration{59 * time.Second}, 4) {
		j.Add(ready.Join{Made: joinsBegan.Add(at), Reason: "RegistrationFailed"})
	}
	is = ready.Registration(judged(model.Unknown, ""), joinsClass, j)
	if is.Status != model.Unknown {
		t.Errorf("none was made since: %+v", is)
	}
}
