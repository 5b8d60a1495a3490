package apikube

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/internal/kube"
)

// RemovePod implements kube.Store.
func (s *Store) RemovePod(ctx context.Context, r kube.Removal) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.Pod.Namespace, Name: r.Pod.Name}}
	opts := metav1.DeleteOptions{GracePeriodSeconds: r.GraceSeconds}
	if r.UID != "" {
		uid := types.UID(r.UID)
		opts.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	var err error
	if r.Force {
		err = s.client.Delete(ctx, pod, &client.DeleteOptions{GracePeriodSeconds: opts.GracePeriodSeconds, Preconditions: opts.Preconditions})
	} else {
		err = s.client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.Pod.Namespace, Name: r.Pod.Name}, DeleteOptions: &opts,
		})
		if blocked(err) {
			return &kube.Error{Code: kube.Blocked, Err: err}
		}
	}
	if apierrors.IsConflict(err) && r.UID != "" && s.replaced(ctx, r) {
		return kube.Errorf(kube.NotFound, "remove pod %s: it is another pod of that name", r.Pod)
	}
	return wrap(err, "remove pod %s", r.Pod)
}

// Nominate implements kube.Store. The patch names the UID, so that it never reaches another pod of that name.
func (s *Store) Nominate(ctx context.Context, n kube.Nomination) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	var node *string // null takes the field away
	if n.Node != "" {
		node = &n.Node
	}
	change := map[string]any{"status": map[string]any{"nominatedNodeName": node}}
	if n.UID != "" {
		change["metadata"] = map[string]any{"uid": n.UID}
	}
	data, err := json.Marshal(change)
	if err != nil {
		return wrap(err, "nominate a node for pod %s", n.Pod)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: n.Pod.Namespace, Name: n.Pod.Name}}
	err = s.client.Status().Patch(ctx, pod, client.RawPatch(types.MergePatchType, data))
	if n.UID != "" && err != nil && !apierrors.IsNotFound(err) && s.replaced(ctx, kube.Removal{Pod: n.Pod, UID: n.UID}) {
		return kube.Errorf(kube.NotFound, "nominate a node for pod %s: it is another pod of that name", n.Pod)
	}
	return wrap(err, "nominate a node for pod %s", n.Pod)
}

// blocked reports whether a disruption budget is why. A plain "too many requests" is the server's own load; an internal
// error is how the eviction API says that more than one budget covers the pod.
func blocked(err error) bool {
	return apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) || apierrors.IsInternalError(err)
}

// replaced tells a conflict over the UID, which will not go away, from one over the version.
func (s *Store) replaced(ctx context.Context, r kube.Removal) bool {
	var now metav1.PartialObjectMetadata
	now.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	err := s.client.Get(ctx, client.ObjectKey{Namespace: r.Pod.Namespace, Name: r.Pod.Name}, &now)
	return apierrors.IsNotFound(err) || err == nil && string(now.UID) != r.UID
}
