package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/kube"
)

func askToken(t *testing.T, s kube.Store, uid string, life time.Duration) string {
	t.Helper()
	token, err := s.Token(t.Context(), kube.TokenRequest{Claim: "c-" + uid, ClaimUID: uid, Until: time.Now().Add(life)})
	must(t, err)
	return token
}

// wantTokens checks what the cluster takes, by claim.
func wantTokens(t *testing.T, w World, want map[string][]string) {
	t.Helper()
	got := w.Tokens(t)
	for _, all := range got {
		slices.Sort(all)
	}
	for _, all := range want {
		slices.Sort(all)
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the cluster takes %v, want %v", got, want)
	}
}

func tokens(t *testing.T, w World) {
	s := w.Store()
	const uid, until = "uid-1", 20 * time.Minute
	token := askToken(t, s, uid, until)
	id, secret, ok := strings.Cut(token, ".")
	if !ok || len(id) != 6 || len(secret) != 16 || strings.Trim(id+secret, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		t.Errorf("%d characters are no bootstrap token", len(token))
	}
	if askToken(t, s, uid, until-time.Second) != token || askToken(t, s, uid, time.Minute) != token {
		t.Error("asked again, the token is another")
	}
	wantTokens(t, w, map[string][]string{uid: {token}})
	for range 2 { // nothing to drop is fine
		must(t, s.DropToken(t.Context(), uid))
	}
	wantTokens(t, w, map[string][]string{})
}

func tokenLife(t *testing.T, w World) {
	s := w.Store()
	token := askToken(t, s, "uid-1", 10*kube.TokenLife)
	wantTokens(t, w, map[string][]string{"uid-1": {token}})
	if again := askToken(t, s, "uid-2", -time.Hour); again == token {
		t.Error("two claims share a token")
	}
	wantTokens(t, w, map[string][]string{"uid-1": {token}}) // the other has expired before it was made
}

func tokenAnew(t *testing.T, w World) {
	const uid, until = "uid-1", 20 * time.Minute
	first := askToken(t, w.Store(), uid, until)
	after := w.Another(t)
	second := askToken(t, after, uid, until)
	if first == second {
		t.Error("a process that remembers nothing knows the secret of an earlier one")
	}
	wantTokens(t, w, map[string][]string{uid: {first, second}})
	must(t, after.DropToken(t.Context(), uid))
	wantTokens(t, w, map[string][]string{})

	askToken(t, after, uid, until)
	must(t, w.Another(t).DropToken(t.Context(), uid)) // one that made none removes it all the same
	wantTokens(t, w, map[string][]string{})
}

func tokensDiffer(t *testing.T, w World) {
	s := w.Store()
	seen, want := map[string]bool{}, map[string][]string{}
	for i := range 5 {
		uid := fmt.Sprintf("uid-%d", i)
		token := askToken(t, s, uid, 20*time.Minute)
		seen[token], want[uid] = true, []string{token}
	}
	wantTokens(t, w, want)
	if len(seen) != 5 {
		t.Errorf("%d different tokens, want 5", len(seen))
	}
	_, err := s.Token(t.Context(), kube.TokenRequest{Claim: "c", Until: time.Now().Add(time.Minute)})
	code(t, err, kube.Invalid)
}
