// Package guard answers: who may see what this process serves?
//
// It lets requests pass whose owner the cluster lets pass, and finds the certificate to serve them with. What is served is
// not its business.
package guard

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	authzv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// Limits of the guard.
const (
	// verdictLife is how long an answer of the API server is believed: a scraper comes about every half minute, and a right that
	// is taken away must end soon.
	verdictLife = time.Minute
	// verdictsKept bounds how many answers are remembered; strangers could fill a larger memory with made-up tokens.
	verdictsKept = 256
	// reviewWithin bounds the two questions to the API server.
	reviewWithin = 10 * time.Second
)

// A verdict is the HTTP status that a token gets for a path; 0 lets it pass.
type verdict struct {
	status int
	until  time.Time
}

// guard lets requests pass whose bearer token the API server knows, and whose owner may do this to the path as a
// non-resource URL: get on /metrics, as with any other component of Kubernetes that serves metrics.
type guard struct {
	next   http.Handler
	review func(ctx context.Context, token, verb, path string) (status int, err error)
	now    func() time.Time

	mu    sync.Mutex // guards the field below
	known map[[sha256.Size]byte]verdict
}

// New returns a handler that lets through to next what the API server of rc lets through. It costs two questions to the API
// server per token and minute.
func New(next http.Handler, rc *rest.Config) (http.Handler, error) {
	api, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, err
	}
	return &guard{next: next, review: reviewer(api), now: time.Now}, nil
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "send a bearer token of this cluster, such as that of a service account", http.StatusUnauthorized)
		return
	}
	verb := strings.ToLower(r.Method)
	status, err := g.ask(r.Context(), token, verb, r.URL.Path)
	switch {
	case err != nil:
		http.Error(w, "the API server could not be asked about the token, try again", http.StatusServiceUnavailable)
	case status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the API server does not know the token", status)
	case status != 0:
		http.Error(w, fmt.Sprintf("the token's owner may not %s the nonResourceURL %s: bind a ClusterRole that lets it", verb, r.URL.Path), status)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// ask remembers answers, never failures to get one.
func (g *guard) ask(ctx context.Context, token, verb, path string) (int, error) {
	key := sha256.Sum256([]byte(token + "\x00" + verb + "\x00" + path))
	now := g.now()
	g.mu.Lock()
	v, ok := g.known[key]
	g.mu.Unlock()
	if ok && now.Before(v.until) {
		return v.status, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewWithin)
	defer cancel()
	status, err := g.review(ctx, token, verb, path)
	if err != nil {
		return 0, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil || len(g.known) >= verdictsKept {
		g.known = map[[sha256.Size]byte]verdict{}
	}
	g.known[key] = verdict{status: status, until: now.Add(verdictLife)}
	return status, nil
}

// reviewer asks the API server who a token is, and whether that one may.
func reviewer(api kubernetes.Interface) func(ctx context.Context, token, verb, path string) (int, error) {
	return func(ctx context.Context, token, verb, path string) (int, error) {
		who, err := api.AuthenticationV1().TokenReviews().Create(ctx, &authv1.TokenReview{Spec: authv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		if err != nil {
			return 0, err
		}
		if !who.Status.Authenticated {
			return http.StatusUnauthorized, nil
		}
		u := who.Status.User
		extra := map[string]authzv1.ExtraValue{}
		for k, v := range u.Extra {
			extra[k] = authzv1.ExtraValue(v)
		}
		may, err := api.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authzv1.SubjectAccessReview{Spec: authzv1.SubjectAccessReviewSpec{
			User: u.Username, UID: u.UID, Groups: u.Groups, Extra: extra,
			NonResourceAttributes: &authzv1.NonResourceAttributes{Path: path, Verb: verb},
		}}, metav1.CreateOptions{})
		if err != nil {
			return 0, err
		}
		if !may.Status.Allowed {
			return http.StatusForbidden, nil
		}
		return 0, nil
	}
}

// Certificate returns how to serve TLS with tls.crt and tls.key of a directory, read again when they change, and a function
// that follows them until its context ends. Without a directory the certificate is one that this process signs itself, which
// keeps listeners out but proves nothing to the client.
func Certificate(dir string) (*tls.Config, func(context.Context) error, error) {
	if dir == "" {
		crt, key, err := cert.GenerateSelfSignedCertKey("karpenter", nil, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("make a certificate: %w", err)
		}
		pair, err := tls.X509KeyPair(crt, key)
		if err != nil {
			return nil, nil, fmt.Errorf("make a certificate: %w", err)
		}
		follow := func(ctx context.Context) error { <-ctx.Done(); return nil }
		return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, follow, nil
	}
	files, err := certwatcher.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		return nil, nil, fmt.Errorf("read tls.crt and tls.key in %s: %w", dir, err)
	}
	follow := func(ctx context.Context) error {
		if err := files.Start(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("follow tls.crt and tls.key in %s: %w", dir, err)
		}
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: files.GetCertificate}, follow, nil
}
