package guard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
)

func page() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "metrics") })
}

func get(t *testing.T, g http.Handler, path string, header ...string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for _, h := range header {
		r.Header.Add("Authorization", h)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if w.Code != http.StatusOK && w.Body.String() == "metrics" {
		t.Errorf("%s %v: status %d with the page", path, header, w.Code)
	}
	return w.Code
}

func TestOnlyWhoMaySees(t *testing.T) {
	asked, now := 0, time.Unix(0, 0)
	var down error
	g := &guard{next: page(), now: func() time.Time { return now }, review: func(_ context.Context, token, verb, path string) (int, error) {
		asked++
		switch {
		case down != nil:
			return 0, down
		case token != "good" && token != "weak":
			return http.StatusUnauthorized, nil
		case token == "good" && verb == "get" && path == "/metrics":
			return 0, nil
		}
		return http.StatusForbidden, nil
	}}
	for _, tc := range []struct {
		path   string
		header []string
		want   int
	}{
		{"/metrics", nil, 401},
		{"/metrics", []string{"good"}, 401},
		{"/metrics", []string{"Basic good"}, 401},
		{"/metrics", []string{"Bearer "}, 401},
		{"/metrics", []string{"Bearer bad"}, 401},
		{"/metrics", []string{"Bearer weak"}, 403},
		{"/debug/pprof/", []string{"Bearer good"}, 403}, // a right to one page is no right to another
		{"/metrics", []string{"Bearer good"}, 200},
		{"/metrics", []string{"bearer good"}, 200},
	} {
		if got := get(t, g, tc.path, tc.header...); got != tc.want {
			t.Errorf("%s %q: %d, want %d", tc.path, tc.header, got, tc.want)
		}
	}
	if asked != 4 { // bad, weak, good twice: the last was remembered, what is no token was not asked about
		t.Errorf("asked %d times, want 4", asked)
	}
	down = errors.New("no API server")
	if got := get(t, g, "/metrics", "Bearer good"); got != 200 {
		t.Errorf("within a minute of a yes: %d", got)
	}
	now = now.Add(verdictLife)
	if got := get(t, g, "/metrics", "Bearer good"); got != 503 {
		t.Errorf("nobody could be asked: %d, want 503", got)
	}
	down = nil
	if got := get(t, g, "/metrics", "Bearer good"); got != 200 {
		t.Errorf("a failure was remembered: %d", got)
	}
	for i := range 10 * verdictsKept {
		get(t, g, "/metrics", fmt.Sprint("Bearer ", i))
	}
	if n := len(g.known); n > verdictsKept {
		t.Errorf("%d verdicts are remembered", n)
	}
}

// scrape reads the page over TLS from a server with this configuration, trusting roots only; nil roots trust anybody.
func scrape(t *testing.T, c *tls.Config, roots *x509.CertPool) error {
	t.Helper()
	s := httptest.NewUnstartedServer(page())
	s.TLS = c
	s.StartTLS()
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "karpenter",
		InsecureSkipVerify: roots == nil}}}
	resp, err := client.Get(s.URL)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func TestCertificates(t *testing.T) {
	own, _, err := Certificate("")
	if err != nil {
		t.Fatal(err)
	}
	if err := scrape(t, own, nil); err != nil {
		t.Errorf("with a certificate of its own: %v", err)
	}
	if err := scrape(t, own, x509.NewCertPool()); err == nil {
		t.Error("a certificate that nobody vouches for was trusted")
	}

	dir := t.TempDir()
	if _, _, err := Certificate(dir); err == nil {
		t.Error("an empty directory was taken for a certificate")
	}
	write := func() *x509.CertPool {
		crt, key, err := cert.GenerateSelfSignedCertKey("karpenter", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{"tls.key": key, "tls.crt": crt} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(crt)
		return roots
	}
	first := write()
	c, follow, err := Certificate(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- follow(ctx) }()
	if err := scrape(t, c, first); err != nil {
		t.Errorf("with the given certificate: %v", err)
	}
	second := write()
	for end := time.Now().Add(time.Minute); scrape(t, c, second) != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the new certificate is not served")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("following ended with %v", err)
	}
}
