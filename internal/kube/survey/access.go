package survey

import (
	"context"
	"fmt"
	"strings"
	"time"

	authnv1 "k8s.io/api/authentication/v1"
	authv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Subject is whose rights are asked for: a service account, a group of bootstrap tokens, or, empty, whoever asks.
type Subject struct {
	User   string
	Groups []string
}

// ServiceAccount is a service account as the API server sees it.
func ServiceAccount(namespace, name string) Subject {
	return Subject{User: "system:serviceaccount:" + namespace + ":" + name, Groups: []string{
		"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}}
}

// BootstrapToken is the holder of a bootstrap token with further groups.
func BootstrapToken(groups []string) Subject {
	return Subject{User: "system:bootstrap:survey", Groups: append(
		[]string{"system:bootstrappers", "system:authenticated"}, groups...)}
}

// Question is one thing that a subject may or may not do. A resource may have a subresource, after a slash.
type Question struct{ Verb, Group, Resource, Namespace, Name string }

// May asks the API server's authorizers; it answers in the order of the questions. Admission policies are not asked. ok is false when the asker
// may not ask that about others.
func (c *Cluster) May(ctx context.Context, who Subject, all []Question) (out []bool, ok bool,
	err error) {
	for _, q := range all {
		resource, sub, _ := strings.Cut(q.Resource, "/")
		at := &authv1.ResourceAttributes{Verb: q.Verb, Group: q.Group, Resource: resource,
			Subresource: sub, Namespace: q.Namespace, Name: q.Name}
		allowed, err := c.may(ctx, who, at)
		if apierrors.IsForbidden(err) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("ask whether %s may %s %s: %w",
				who.User, q.Verb, q.Resource, err)
		}
		out = append(out, allowed)
	}
	return out, true, nil
}

func (c *Cluster) may(ctx context.Context, who Subject, at *authv1.ResourceAttributes) (bool,
	error) {
	if who.User == "" {
		r := &authv1.SelfSubjectAccessReview{
			Spec: authv1.SelfSubjectAccessReviewSpec{ResourceAttributes: at}}
		got, err := c.api.AuthorizationV1().SelfSubjectAccessReviews().
			Create(ctx, r, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return got.Status.Allowed, nil
	}
	r := &authv1.SubjectAccessReview{Spec: authv1.SubjectAccessReviewSpec{
		ResourceAttributes: at, User: who.User, Groups: who.Groups}}
	got, err := c.api.AuthorizationV1().SubjectAccessReviews().Create(ctx, r,
		metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return got.Status.Allowed, nil
}

// Self is who asks, as the API server sees it; "" when it does not say.
func (c *Cluster) Self(ctx context.Context) string {
	got, err := c.api.AuthenticationV1().SelfSubjectReviews().
		Create(ctx, &authnv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return got.Status.UserInfo.Username
}

// Version is that of the API server: v1.34.2.
func (c *Cluster) Version() (string, error) {
	v, err := c.api.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return v.GitVersion, nil
}

// Account looks for a service account: whether it is there, and the client id on it. ok is false when that may not be seen.
func (c *Cluster) Account(ctx context.Context, namespace, name string) (there bool,
	clientID string, ok bool, err error) {
	sa, err := c.api.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, "", true, nil
	case apierrors.IsForbidden(err):
		return false, "", false, nil
	case err != nil:
		return false, "", false, err
	}
	return true, sa.Annotations[clientIDAnnotation], true, nil
}

// Renewed is when the holder of a lease last said that it leads; zero when nobody does. ok is false when that may not be seen.
func (c *Cluster) Renewed(ctx context.Context, namespace, name string) (at time.Time, ok bool,
	err error) {
	l, err := c.api.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return time.Time{}, true, nil
	case apierrors.IsForbidden(err):
		return time.Time{}, false, nil
	case err != nil:
		return time.Time{}, false, err
	}
	held := l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != ""
	if !held || l.Spec.RenewTime == nil {
		return time.Time{}, true, nil
	}
	return l.Spec.RenewTime.Time, true, nil
}

// Webhook reports whether pods with the label of workload identity get tokens: whether a mutating webhook selects them. ok is false when that
// may not be seen.
func (c *Cluster) Webhook(ctx context.Context) (there, ok bool, err error) {
	all, err := c.api.AdmissionregistrationV1().MutatingWebhookConfigurations().
		List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	for _, w := range all.Items {
		for _, h := range w.Webhooks {
			if h.ObjectSelector != nil &&
				h.ObjectSelector.MatchLabels["azure.workload.identity/use"] == "true" {
				return true, true, nil
			}
		}
	}
	return false, true, nil
}
