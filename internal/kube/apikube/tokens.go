package apikube

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-aks/karpenter/internal/kube"
)

// A bootstrap token is a secret of a fixed type and name; the format is Kubernetes' own. Labels and annotation say that
// it is ours and whose it is; the chart's admission policy goes by type, name and label. We create such secrets and delete
// them, and never read one: whoever can read secrets in kube-system is the cluster's administrator.
const (
	labelToken      = "karpenter.azure.com/bootstrap-token" // "true"
	labelTokenClaim = "karpenter.azure.com/nodeclaim-uid"
	annotationClaim = "karpenter.azure.com/nodeclaim"

	tokenPrefix = "bootstrap-token-"
	tokenID     = "token-id"
	tokenSecret = "token-secret"
	tokenExpiry = "expiration"

	idLength, secretLength = 6, 16
	alphabet               = "abcdefghijklmnopqrstuvwxyz0123456789"

	// tokenNames bounds how many ids are tried for one claim. Ids of other claims are rarely the same (36^6); what uses them up
	// is a process that dies again and again between making a token and launching, within the five minutes that a launch has.
	tokenNames = 8
	// tokenMargin is how much less than the policy's limit we ask for, because our clock may be ahead of the API server's.
	tokenMargin = time.Minute
	// tokenSlack is how much earlier than asked for a remembered token may end and still be given.
	tokenSlack = 5 * time.Minute
	// tokensKept bounds how many tokens are remembered: more machines than can be joining at a time.
	tokensKept = 20_000
)

// A madeToken is what this process remembers of a token.
type madeToken struct {
	n       int // which of the claim's ids it has
	text    string
	expires time.Time
}

// tokenMemory is where the secret halves live: here and in the machine's custom data. It may be lost at any time: then the
// claim gets another token beside the first, which stays good until it expires.
type tokenMemory struct {
	mu sync.Mutex // guards the field below
	by map[string]madeToken
}

func (m *tokenMemory) get(uid string) (madeToken, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.by[uid]
	return t, ok
}

func (m *tokenMemory) drop(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, uid)
}

// keep remembers t. Expired ones go when there are too many; if that is not enough, nothing more is remembered.
func (m *tokenMemory) keep(uid string, t madeToken, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[string]madeToken{}
	}
	if len(m.by) >= tokensKept {
		for k, old := range m.by {
			if old.expires.Before(now) {
				delete(m.by, k)
			}
		}
	}
	if _, known := m.by[uid]; known || len(m.by) < tokensKept {
		m.by[uid] = t
	}
}

// Token implements kube.Store. Ids follow from the claim's UID, so that a process that remembers nothing can delete what an
// earlier one made; secrets are random. An id that is taken is passed over, whoever made it: its secret cannot be known.
func (s *Store) Token(ctx context.Context, r kube.TokenRequest) (string, error) {
	if r.ClaimUID == "" {
		return "", kube.Errorf(kube.Invalid, "token for claim %q: it has no UID", r.Claim)
	}
	now := time.Now()
	if last := now.Add(kube.TokenLife - tokenMargin); r.Until.After(last) {
		r.Until = last
	}
	if t, ok := s.tokens.get(r.ClaimUID); ok && !t.expires.Before(r.Until.Add(-tokenSlack)) {
		return t.text, nil
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	for n := range tokenNames {
		text, err := s.makeToken(ctx, tokenIDFor(r.ClaimUID, n), r)
		if apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return "", wrap(err, "token for claim %s", r.Claim)
		}
		s.tokens.keep(r.ClaimUID, madeToken{n: n, text: text, expires: r.Until}, now)
		return text, nil
	}
	return "", kube.Errorf(kube.Conflict, "token for claim %s: all %d ids that it may have are taken; the first frees within %s",
		r.Claim, tokenNames, kube.TokenLife)
}

func (s *Store) makeToken(ctx context.Context, id string, r kube.TokenRequest) (string, error) {
	secret, err := randomText(s.opt.Random, secretLength)
	if err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	out := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.opt.SystemNamespace, Name: tokenPrefix + id,
			Labels:      map[string]string{labelToken: "true", labelTokenClaim: r.ClaimUID},
			Annotations: map[string]string{annotationClaim: r.Claim},
		},
		Type: corev1.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			tokenID: []byte(id), tokenSecret: []byte(secret),
			tokenExpiry:                      []byte(r.Until.UTC().Format(time.RFC3339)),
			"usage-bootstrap-authentication": []byte("true"),
			"description":                    []byte("Lets the machine of NodeClaim " + r.Claim + " join. Made by Karpenter."),
		},
	}
	if len(s.opt.TokenGroups) > 0 {
		out.Data["auth-extra-groups"] = []byte(strings.Join(s.opt.TokenGroups, ","))
	}
	return id + "." + secret, s.client.Create(ctx, out)
}

// DropToken implements kube.Store. It deletes by name and cannot look first, so it relies on the policy to refuse what is
// not ours. A process that did not make the token goes through the claim's ids until one is free. Without the right to
// delete, which the chart gives only together with the policy, tokens are left to expire.
func (s *Store) DropToken(ctx context.Context, claimUID string) error {
	if claimUID == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	made, known := s.tokens.get(claimUID)
	for n := range tokenNames {
		if known && n > made.n {
			break
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.opt.SystemNamespace, Name: tokenPrefix + tokenIDFor(claimUID, n)}}
		err := s.client.Delete(ctx, secret)
		switch code := codeOf(err); {
		case err == nil, code == kube.NotFound && known, code == kube.Invalid: // the policy says Invalid: someone else's
			continue
		case code == kube.NotFound, code == kube.Denied:
		default:
			return wrap(err, "drop token of claim uid %s", claimUID)
		}
		break
	}
	s.tokens.drop(claimUID)
	return nil
}

// tokenIDFor derives the n-th id to try from the claim's UID.
func tokenIDFor(uid string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", uid, n))
	out := make([]byte, idLength)
	for i := range out {
		out[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(out)
}

// randomText draws n characters, all equally likely: bytes beyond the last whole alphabet are thrown away.
func randomText(source io.Reader, n int) (string, error) {
	const fair = 256 / len(alphabet) * len(alphabet)
	out, buf := make([]byte, 0, n), make([]byte, 2*n)
	for len(out) < n {
		if _, err := io.ReadFull(source, buf); err != nil {
			return "", err
		}
		for _, b := range buf {
			if int(b) < fair && len(out) < n {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out), nil
}
