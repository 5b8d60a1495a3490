package apikube

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

func TestErrorsBecomeCodes(t *testing.T) {
	r := schema.GroupResource{Resource: "things"}
	for _, tc := range []struct {
		err  error
		want kube.Code
	}{
		{apierrors.NewNotFound(r, "x"), kube.NotFound},
		{&meta.NoKindMatchError{}, kube.NotFound},
		{apierrors.NewAlreadyExists(r, "x"), kube.Exists},
		{apierrors.NewConflict(r, "x", errors.New("changed")), kube.Conflict},
		{apierrors.NewInvalid(schema.GroupKind{}, "x", nil), kube.Invalid},
		{apierrors.NewBadRequest("no"), kube.Invalid},
		{apierrors.NewForbidden(r, "x", errors.New("rbac")), kube.Denied},
		{apierrors.NewUnauthorized("who"), kube.Denied},
		{apierrors.NewTooManyRequests("busy", 1), kube.Unavailable},
		{apierrors.NewServerTimeout(r, "get", 1), kube.Unavailable},
		{apierrors.NewTimeoutError("slow", 1), kube.Unavailable},
		{apierrors.NewServiceUnavailable("down"), kube.Unavailable},
		{apierrors.NewInternalError(errors.New("etcd")), kube.Unavailable},
		{apierrors.NewResourceExpired("old"), kube.Unknown},
		{&url.Error{Op: "Get", URL: "https://x", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}, kube.Unavailable},
		{context.DeadlineExceeded, kube.Unavailable},
		{fmt.Errorf("wrapped: %w", context.Canceled), kube.Unavailable},
		{errors.New("odd"), kube.Unknown},
	} {
		if got := kube.CodeOf(wrap(tc.err, "do")); got != tc.want {
			t.Errorf("%v: code %s, want %s", tc.err, got, tc.want)
		}
	}
	if wrap(nil, "do") != nil {
		t.Error("no error became one")
	}
	inner := kube.Errorf(kube.Blocked, "budget")
	if err := wrap(inner, "outer"); kube.CodeOf(err) != kube.Blocked || !errors.Is(err, inner) {
		t.Errorf("a known code was lost: %v", err)
	}
}

func TestOnlyBudgetsBlock(t *testing.T) {
	budget := apierrors.NewTooManyRequests("no", 0)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{budget, true},
		{apierrors.NewTooManyRequests("the server is busy", 1), false},
		{apierrors.NewInternalError(errors.New("more than one budget")), true},
		{apierrors.NewNotFound(schema.GroupResource{}, "x"), false},
		{nil, false},
	} {
		if got := blocked(tc.err); got != tc.want {
			t.Errorf("%v: blocked %v, want %v", tc.err, got, tc.want)
		}
	}
}

func TestTokenParts(t *testing.T) {
	seen := map[string]bool{}
	for i := range 1000 {
		id := tokenIDFor(fmt.Sprint("uid-", i), 0)
		if len(id) != idLength || strings.Trim(id, alphabet) != "" || seen[id] {
			t.Fatalf("id %q of uid %d is malformed or taken", id, i)
		}
		seen[id] = true
	}
	if a, b := tokenIDFor("u", 0), tokenIDFor("u", 1); a == b || a != tokenIDFor("u", 0) {
		t.Errorf("ids %s and %s: the n-th must differ and stay", a, b)
	}
	// 0xff is beyond the last whole alphabet and must not become a letter.
	got, err := randomText(bytes.NewReader(append(bytes.Repeat([]byte{0xff}, 20), bytes.Repeat([]byte{1}, 20)...)), 10)
	if err != nil || got != strings.Repeat("b", 10) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := randomText(bytes.NewReader(nil), 10); err == nil {
		t.Error("no randomness, yet a secret")
	}
	sum := sha256.Sum256([]byte("x"))
	if a, _ := randomText(bytes.NewReader(sum[:]), 16); len(a) != 16 || strings.Trim(a, alphabet) != "" {
		t.Errorf("secret %q", a)
	}
}

func TestTokenMemoryIsBounded(t *testing.T) {
	var m tokenMemory
	now := time.Unix(1e9, 0)
	for i := range 2 * tokensKept {
		m.keep(fmt.Sprint(i), madeToken{text: fmt.Sprint(i), expires: now.Add(time.Duration(i%2) * time.Hour)}, now.Add(time.Minute))
		if len(m.by) > tokensKept {
			t.Fatalf("%d tokens are remembered", len(m.by))
		}
	}
	if _, ok := m.get("0"); ok {
		t.Error("an expired token is remembered though room was short")
	}
	if got, ok := m.get("1"); !ok || got.text != "1" {
		t.Errorf("a good token is forgotten: %v, %v", got, ok)
	}
}

// sink writes down what it is told.
type sink struct{ told []string }

func (s *sink) Begin() { s.told = append(s.told, "begin") }
func (s *sink) Apply(c model.Change) {
	text := fmt.Sprintf("%T %s", c.Object, c.Object.ObjectKey())
	if c.Gone {
		text += " gone"
	}
	s.told = append(s.told, text)
}
func (s *sink) Synced() { s.told = append(s.told, "synced") }

func newFollowing(s kube.Sink, names ...string) (*following, map[string]*told) {
	f := &following{sink: s, failures: map[string]int{}}
	out := map[string]*told{}
	for _, k := range kinds() {
		for _, name := range names {
			if k.name == name {
				f.waiting++
				out[name] = newTold(f, k)
			}
		}
	}
	return f, out
}

func TestAReflectorTellsListsAndChanges(t *testing.T) {
	s := &sink{}
	f, k := newFollowing(s, "nodes", "pods")
	node := func(name string) *row {
		return f.newRow(k["nodes"].kind, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	pod := f.newRow(k["pods"].kind, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "p"}})
	for _, err := range []error{
		k["nodes"].Replace([]any{node("a"), node("b"), node("c")}, "1"),
		k["pods"].Replace(nil, "1"), // now every kind was listed
		k["nodes"].Update(node("a")),
		k["nodes"].Delete(node("c")),
		k["pods"].Add(pod),
		k["nodes"].Replace([]any{node("b"), node("d")}, "9"), // listed anew: a is gone, and it is not synced twice
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	same(t, "told", s.told, []string{
		"model.Node a", "model.Node b", "model.Node c", "synced", "model.Node a", "model.Node c gone", "model.Pod d/p",
		"model.Node b", "model.Node d", "model.Node a gone",
	})
	if k["nodes"].Add(&corev1.Node{}) == nil {
		t.Error("an object that was not decoded was taken")
	}
}

// The reflector must see versions, the end of the first list and errors; what it does not need, and the mirror does not
// know, is dropped on the way.
func TestAWatchIsDecodedOnTheWay(t *testing.T) {
	f, k := newFollowing(&sink{}, "pods")
	below := watch.NewFake()
	w := newDecodingWatch(below, f, k["pods"].kind)
	go func() {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "p", ResourceVersion: "7", Annotations: map[string]string{"a": "b"}}}
		below.Add(pod)
		below.Delete(pod)
		end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "8", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
		below.Action(watch.Bookmark, end)
		below.Error(&metav1.Status{Code: 410})
		below.Stop()
	}()
	var got []string
	for e := range w.ResultChan() {
		text := string(e.Type)
		if r, ok := e.Object.(*row); ok {
			text += fmt.Sprintf(" %s/%s@%s %v %T", r.Namespace, r.Name, r.ResourceVersion, r.Annotations, r.noun)
		} else {
			text += fmt.Sprintf(" %T", e.Object)
		}
		got = append(got, text)
	}
	w.Stop()
	same(t, "events", got, []string{
		"ADDED d/p@7 map[] *model.Pod", "DELETED d/p@7 map[] *model.Pod", "BOOKMARK /@8 map[k8s.io/initial-events-end:true] <nil>", "ERROR *v1.Status",
	})
}

func TestAStoppedWatchLeavesNobodyBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails when a goroutine stays
		f, k := newFollowing(&sink{}, "pods")
		below := watch.NewFake()
		w := newDecodingWatch(below, f, k["pods"].kind)
		below.Add(&corev1.Pod{}) // nobody takes it
		synctest.Wait()
		w.Stop()
		w.Stop()
		if _, open := <-w.ResultChan(); open {
			t.Error("an event came after the end")
		}
	})
}

func TestAFollowGivesUpWhenTryingMakesNoSense(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	denied := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("rbac"))
	for name, tc := range map[string]struct {
		results []error
		want    kube.Code
	}{
		"all is well":                 {[]error{nil, nil}, ""},
		"denied":                      {[]error{denied}, kube.Denied},
		"failures with success amid":  {[]error{refused, refused, refused, nil, refused, refused, refused}, ""},
		"too many failures in a row":  {[]error{refused, refused, refused, refused}, kube.Unavailable},
		"an expired watch, then fine": {[]error{apierrors.NewResourceExpired("old"), nil}, ""},
	} {
		ctx, end := context.WithCancelCause(t.Context())
		told := newTold(&following{end: end, failures: map[string]int{}}, kind{name: "pods"})
		for _, err := range tc.results {
			told.result(ctx, err)
		}
		if got := kube.CodeOf(context.Cause(ctx)); got != tc.want {
			t.Errorf("%s: %v, want code %q", name, context.Cause(ctx), tc.want)
		}
		end(nil)
	}
}

func TestEventsAreSaidOnceAndNeverHoldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []*corev1.Event
		a := announceWith(func(_ context.Context, e *corev1.Event) error { got = append(got, e); return nil })
		say := func(reason, message string) {
			a.announce(kube.Event{About: model.Pod{Namespace: "d", Name: "p", UID: "u"}, Type: kube.Warning, Reason: reason, Message: message}, time.Now())
		}
		for range 3 {
			say("FailedScheduling", "m")
			say("Nominated", "m")
		}
		time.Sleep(3 * time.Minute)
		say("FailedScheduling", "m") // keeps quiet for five minutes
		say("Nominated", "m")
		synctest.Wait()
		if len(got) != 3 {
			t.Fatalf("%d events, want FailedScheduling once and Nominated twice", len(got))
		}
		e := got[0]
		if e.Namespace != "d" || e.InvolvedObject.Kind != "Pod" || e.InvolvedObject.UID != "u" || e.Source.Component != "karpenter" || e.Count != 1 {
			t.Errorf("event %+v", e)
		}
		for i := range 10 * eventQueue {
			say("Many", fmt.Sprint(i))
		}
		time.Sleep(time.Hour)
		synctest.Wait() // also what orders the publisher's writes before our reads
		// The publisher may take a burst off the queue while it is being filled, and then has to wait.
		if n := len(got) - 3; n < eventQueue || n > eventQueue+eventBurst+1 {
			t.Errorf("%d of many events were published, want what the queue holds, %d, and at most a burst more", n, eventQueue)
		}
		a.close()
		a.announce(kube.Event{Reason: "Nobody"}, time.Now()) // about nothing: dropped
	})
}

// TestManyWaitingPodsFloodNobody announces every ten seconds why each of thousands of pods waits; only how many offerings are left changes.
func TestManyWaitingPodsFloodNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := map[string]int{}
		a := announceWith(func(_ context.Context, e *corev1.Event) error { told[e.InvolvedObject.Name]++; return nil })
		const pods, rounds = 10_000, 60
		for round := range rounds {
			for i := range pods {
				a.announce(kube.Event{About: model.Pod{Namespace: "d", Name: fmt.Sprint("p", i)}, Reason: "FailedScheduling", Type: kube.Warning,
					Message: fmt.Sprintf("nodepool %q: limits: spent (offerings: unavailable removed %d)", "general", round)}, time.Now())
			}
			if len(a.said) > eventMemory {
				t.Fatalf("%d events are remembered", len(a.said))
			}
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		a.close()
		all := 0
		for name, n := range told {
			all += n
			if n > 2 { // in ten minutes
				t.Errorf("pod %s was told %d times", name, n)
			}
		}
		if most := rounds*10*eventRate + eventBurst + 1; all > most || all < most/2 {
			t.Errorf("%d events were published, want at most %d and not many fewer", all, most)
		}
	})
}

func TestLongMessagesAreCutBetweenCharacters(t *testing.T) {
	for _, s := range []string{"short", strings.Repeat("a", messageLimit), strings.Repeat("a", messageLimit+1), strings.Repeat("é", messageLimit)} {
		got := shorten(s)
		if len(got) > messageLimit || !utf8.ValidString(got) || len(s) <= messageLimit && got != s || len(s) > messageLimit && !strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes became %d: …%q", len(s), len(got), got[max(0, len(got)-8):])
		}
	}
}

func TestNewSaysWhatIsWrong(t *testing.T) {
	if _, err := New(nil, Options{}); err == nil {
		t.Error("no connection, no error")
	}
	if s, err := Scheme(); err != nil || len(s.KnownTypes(schema.GroupVersion{Group: "karpenter.sh", Version: "v1"})) == 0 {
		t.Errorf("scheme: %v", err)
	}
}
