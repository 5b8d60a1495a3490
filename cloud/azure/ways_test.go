package azure_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/cloud/azure"
	"github.com/karpenter-aks/karpenter/lab/arm"
)

// tapped sees every request before it is sent, and answers it itself when stop returns an error.
type tapped struct {
	http.RoundTripper
	mu   sync.Mutex // guards the fields below
	puts []put
	stop func(*http.Request) error
}

type put struct{ path, noneMatch, body string }

func (l *tapped) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	stop := l.stop
	if r.Method == http.MethodPut {
		b, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(b)))
		l.puts = append(l.puts, put{strings.ToLower(r.URL.Path), r.Header.Get("If-None-Match"), string(b)})
	}
	l.mu.Unlock()
	if stop != nil {
		if err := stop(r); err != nil {
			return nil, err
		}
	}
	return l.RoundTripper.RoundTrip(r)
}

func (l *tapped) breaks(f func(*http.Request) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop = f
}

func tappedSite(t *testing.T, w way, k arm.Knobs) (*site, *tapped) {
	var l *tapped
	s := newSiteOf(t, w, k, func(r http.RoundTripper) http.RoundTripper {
		l = &tapped{RoundTripper: r}
		return l
	})
	return s, l
}

const (
	pathOfVM  = "/virtualmachines/aks-one"
	pathOfNIC = "/networkinterfaces/aks-one"
)

// What the switches say is what Azure is asked, and nothing beside it.
func TestMachinesAreAskedForAsTheSwitchesSay(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.String(), func(t *testing.T) {
			s, l := tappedSite(t, w, arm.Knobs{})
			s.launch(t, s.order(t, "one"))
			var got []string
			for _, p := range l.puts {
				switch {
				case strings.HasSuffix(p.path, pathOfNIC):
					got = append(got, "interface")
				case strings.Contains(p.body, "networkInterfaceConfigurations"):
					got = append(got, "machine with interface "+p.noneMatch)
				default:
					got = append(got, "machine "+p.noneMatch)
				}
			}
			want := map[string]string{
				"inline/if-none-match": "machine with interface *", "inline/get-first": "machine with interface ",
				"separate/if-none-match": "interface, machine *", "separate/get-first": "interface, machine ",
			}[w.String()]
			if strings.Join(got, ", ") != want {
				t.Errorf("asked for %q, want %q", got, want)
			}
			looked := s.count(http.MethodGet, pathOfVM)
			if w.create == azure.GetFirst && looked != 1 || w.create == azure.IfNoneMatch && looked != 0 {
				t.Errorf("looked %d times for the machine", looked)
			}
			if n := len(deniedFor(s.cloud)); n != 0 {
				t.Errorf("%d requests were refused for lack of rights", n)
			}
			for _, r := range s.cloud.Resources() {
				if r.Type == "Microsoft.Network/networkInterfaces" && (r.Tags[azure.TagClaim] != "one" || !strings.HasSuffix(r.Owner, "/aks-one")) {
					t.Errorf("interface %+v", r)
				}
			}
		})
	}
}

// An answer that is lost buys no second machine, whichever answer it is.
func TestAnyAnswerMayBeLost(t *testing.T) {
	for _, w := range ways() {
		for _, what := range []string{pathOfVM, pathOfNIC} {
			t.Run(w.String()+what, func(t *testing.T) {
				var lost atomic.Int32
				s := newSiteOf(t, w, arm.Knobs{CreateTime: arm.Duration(time.Minute)}, func(r http.RoundTripper) http.RoundTripper {
					return after(func(q *http.Request) error {
						if q.Method == http.MethodPut && strings.HasSuffix(strings.ToLower(q.URL.Path), what) && lost.Add(1) == 1 {
							return errors.New("connection reset by peer")
						}
						return nil
					}, r)
				})
				o := s.order(t, "one")
				if i := s.launch(t, o); i.Claim != "one" || i.Offering != o.Offering.Key() {
					t.Errorf("got %+v", i)
				}
				if again := s.launch(t, o); again.Name != "aks-one" || len(s.list(t)) != 1 {
					t.Errorf("again: %+v, %d machines", again, len(s.list(t)))
				}
			})
		}
	}
}

// after lets a request through and then loses its answer when f says so.
func after(f func(*http.Request) error, next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if lost := f(r); err == nil && lost != nil {
			resp.Body.Close()
			return nil, lost
		}
		return resp, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The process dies after the interface and before the machine: whoever comes next takes it over, or takes it away.
func TestAnInterfaceWithoutItsMachineIsNotLost(t *testing.T) {
	died := errors.New("the process died")
	for _, next := range []string{"the claim is launched again", "the claim is terminated", "the claim is gone", "it was swept meanwhile"} {
		t.Run(next, func(t *testing.T) {
			s, l := tappedSite(t, way{interfaces: azure.InterfacesSeparate}, arm.Knobs{})
			o := s.order(t, "one")
			l.breaks(func(r *http.Request) error {
				if r.Method == http.MethodPut && strings.HasSuffix(strings.ToLower(r.URL.Path), pathOfVM) {
					return died
				}
				return nil
			})
			if _, err := s.fleet.Launch(t.Context(), o); cloud.CodeOf(err) != cloud.Unknown {
				t.Fatalf("launch: %v", err)
			}
			if left := s.left(); len(left) != 1 {
				t.Fatalf("left after the first half: %v", left)
			}
			l.breaks(nil)
			switch next {
			case "the claim is launched again":
				s.launch(t, o)
				if got := s.list(t); len(got) != 1 {
					t.Errorf("%d machines", len(got))
				}
			case "the claim is terminated":
				if err := s.fleet.Terminate(t.Context(), s.fleet.IDOf("one")); err != nil {
					t.Errorf("terminate: %v, want it asked for", err)
				}
				s.settle(t, func() bool { return len(s.left()) == 0 })
			case "the claim is gone":
				strays, err := s.fleet.Strays(t.Context())
				if err != nil || len(strays) != 1 {
					t.Fatalf("strays %v, %v", strays, err)
				}
				if err := s.fleet.RemoveStray(t.Context(), strays[0]); err != nil {
					t.Error(err)
				}
				s.settle(t, func() bool { return len(s.left()) == 0 })
			case "it was swept meanwhile":
				var once sync.Once
				l.breaks(func(r *http.Request) error {
					if r.Method == http.MethodPut && strings.HasSuffix(strings.ToLower(r.URL.Path), pathOfVM) {
						once.Do(func() {
							_, _ = s.fleet.NICs().BeginDelete(t.Context(), s.cloud.Config().NodeResourceGroup, "aks-one", nil)
						})
					}
					return nil
				})
				s.launch(t, o)
			}
		})
	}
}

// What Azure says of the interface concerns the class, not the size; and no machine is asked for.
func TestARefusedInterfaceClosesTheClass(t *testing.T) {
	s := newSiteOf(t, way{interfaces: azure.InterfacesSeparate}, arm.Knobs{SubnetAddresses: 1}, func(r http.RoundTripper) http.RoundTripper { return r })
	s.launch(t, s.order(t, "one"))
	_, err := s.fleet.Launch(t.Context(), s.order(t, "two"))
	var e *cloud.Error
	if !errors.As(err, &e) || e.Code != cloud.Quota || !e.More.Scope.All || e.More.Scope.Class != s.class.Ref {
		t.Errorf("a full subnet: %v, %+v", err, e)
	}
	if n := s.count(http.MethodPut, "/virtualmachines/aks-two"); n != 0 {
		t.Errorf("the machine was asked for %d times", n)
	}
}

// An interface of our name that is not ours stays as it is.
func TestAForeignInterfaceIsLeftAlone(t *testing.T) {
	s := newSiteOf(t, way{interfaces: azure.InterfacesSeparate}, arm.Knobs{}, func(r http.RoundTripper) http.RoundTripper { return r })
	s.stray(t, "aks-one", map[string]*string{"team": to.Ptr("network")})
	if _, err := s.fleet.Launch(t.Context(), s.order(t, "one")); cloud.CodeOf(err) != cloud.Invalid || !strings.Contains(err.Error(), "remove or rename") {
		t.Errorf("launch: %v", err)
	}
	if left := s.left(); len(left) != 1 || !strings.Contains(left[0], "team:network") {
		t.Errorf("left %v", left)
	}
}

// Interfaces take their time to come and to go, in Azure.
func TestInterfacesTakeTheirTime(t *testing.T) {
	s, _ := tappedSite(t, way{interfaces: azure.InterfacesSeparate}, arm.Knobs{})
	s.turn(t, func(k *arm.Knobs) { k.ChildTime = arm.Duration(time.Second) })
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				s.clock.pass(100 * time.Millisecond)
			}
		}
	})
	defer wg.Wait()
	defer close(done)
	o := s.order(t, "one")
	s.turn(t, func(k *arm.Knobs) {
		k.Failures = []arm.Failure{{Count: 1, Code: "NobodyListedThis", Status: http.StatusConflict}}
	})
	if _, err := s.fleet.Launch(t.Context(), o); cloud.CodeOf(err) != cloud.Refused {
		t.Fatalf("launch: %v", err)
	}
	s.launch(t, o) // at once, while the interface is still on its way out
	if got := s.list(t); len(got) != 1 {
		t.Errorf("%d machines", len(got))
	}
}
