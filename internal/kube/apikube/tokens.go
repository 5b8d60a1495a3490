package apikube

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/internal/kube"
)

// A bootstrap token is a secret of a fixed type and name; the format is Kubernetes' own. Labels and annotation say that
// it is ours and whose it is, so that after a crash at any line it can be found and removed.
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

	// tokenNames bounds how many ids are tried when those of other claims are the same: 36^6 ids make even one rare.
	tokenNames = 4
	// tokenPage bounds one page of the list of tokens.
	tokenPage = 500
)

// Token implements kube.Store. The id follows from the claim's UID, so that two of us cannot make two; the secret is
// random. A token that is about to expire is given until Until; if that is refused, one that is still good is returned.
func (s *Store) Token(ctx context.Context, r kube.TokenRequest) (string, error) {
	if r.ClaimUID == "" {
		return "", kube.Errorf(kube.Invalid, "token for claim %q: it has no UID", r.Claim)
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	for n := range tokenNames {
		var found corev1.Secret
		id := tokenIDFor(r.ClaimUID, n)
		err := s.client.Get(ctx, client.ObjectKey{Namespace: s.opt.SystemNamespace, Name: tokenPrefix + id}, &found)
		if apierrors.IsNotFound(err) {
			var made *corev1.Secret
			if made, err = s.makeToken(ctx, id, r); err == nil {
				return text(made), nil
			}
			if apierrors.IsAlreadyExists(err) { // the other one of us was faster
				err = s.client.Get(ctx, client.ObjectKeyFromObject(made), &found)
			}
		}
		if err != nil {
			return "", wrap(err, "token for claim %s", r.Claim)
		}
		if found.Labels[labelTokenClaim] != r.ClaimUID {
			continue // someone else's id: try the next
		}
		return text(&found), wrap(s.renew(ctx, &found, r.Until), "token for claim %s", r.Claim)
	}
	return "", kube.Errorf(kube.Conflict, "token for claim %s: %d ids are taken by others", r.Claim, tokenNames)
}

func text(secret *corev1.Secret) string {
	return string(secret.Data[tokenID]) + "." + string(secret.Data[tokenSecret])
}

func (s *Store) makeToken(ctx context.Context, id string, r kube.TokenRequest) (*corev1.Secret, error) {
	secret, err := randomText(s.opt.Random, secretLength)
	if err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
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
			tokenExpiry:                      expiry(r.Until),
			"usage-bootstrap-authentication": []byte("true"),
			"description":                    []byte("Lets the machine of NodeClaim " + r.Claim + " join. Made by Karpenter."),
		},
	}
	if len(s.opt.TokenGroups) > 0 {
		out.Data["auth-extra-groups"] = []byte(strings.Join(s.opt.TokenGroups, ","))
	}
	return out, s.client.Create(ctx, out)
}

func expiry(t time.Time) []byte { return []byte(t.UTC().Format(time.RFC3339)) }

// renew moves the expiry later, never earlier.
func (s *Store) renew(ctx context.Context, secret *corev1.Secret, until time.Time) error {
	has, err := time.Parse(time.RFC3339, string(secret.Data[tokenExpiry]))
	if err == nil && !until.Truncate(time.Second).After(has) {
		return nil
	}
	base := secret.DeepCopy()
	secret.Data[tokenExpiry] = expiry(until)
	patchErr := s.client.Patch(ctx, secret, client.MergeFrom(base))
	if err == nil && codeOf(patchErr) == kube.Denied && time.Until(has) > time.Minute {
		return nil // not renewed, but good for now
	}
	return patchErr
}

// DropToken implements kube.Store.
func (s *Store) DropToken(ctx context.Context, claimUID string) error {
	if claimUID == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	for n := range tokenNames {
		key := client.ObjectKey{Namespace: s.opt.SystemNamespace, Name: tokenPrefix + tokenIDFor(claimUID, n)}
		var found corev1.Secret
		err := s.client.Get(ctx, key, &found)
		if apierrors.IsNotFound(err) {
			return nil // ids are tried in order: there is none further on either
		}
		if err != nil {
			return wrap(err, "drop token of claim uid %s", claimUID)
		}
		if found.Labels[labelTokenClaim] != claimUID {
			continue
		}
		err = s.client.Delete(ctx, &found, client.Preconditions{UID: &found.UID})
		return wrap(client.IgnoreNotFound(err), "drop token of claim uid %s", claimUID)
	}
	return nil
}

// Tokens implements kube.Store.
func (s *Store) Tokens(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	var out []string
	page := metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	for {
		err := s.client.List(ctx, &page, client.InNamespace(s.opt.SystemNamespace), client.HasLabels{labelTokenClaim},
			client.MatchingLabels{labelToken: "true"}, client.Limit(tokenPage), client.Continue(page.Continue))
		if err != nil {
			return nil, wrap(err, "list tokens")
		}
		for i := range page.Items {
			out = append(out, page.Items[i].Labels[labelTokenClaim])
		}
		if page.Continue == "" {
			slices.Sort(out)
			return slices.Compact(out), nil
		}
	}
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
