package apikube

import (
	"context"
	"errors"
	"fmt"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/karpenter-aks/karpenter/internal/kube"
)

// wrap says what failed, with a code. Nil stays nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	var known *kube.Error
	if errors.As(err, &known) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return &kube.Error{Code: codeOf(err), Err: fmt.Errorf("%s: %w", what, err)}
}

// codeOf says in our words what the API server, or the way to it, said.
func codeOf(err error) kube.Code {
	var status apierrors.APIStatus
	var network net.Error
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return kube.NotFound
	case apierrors.IsAlreadyExists(err):
		return kube.Exists
	case apierrors.IsConflict(err):
		return kube.Conflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err), apierrors.IsMethodNotSupported(err):
		return kube.Invalid
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return kube.Denied
	case apierrors.IsTooManyRequests(err), apierrors.IsTimeout(err):
		return kube.Unavailable
	case errors.As(err, &status):
		if status.Status().Code >= 500 {
			return kube.Unavailable
		}
		return kube.Unknown
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network):
		return kube.Unavailable // connection refused or reset, no name, no answer in time: all come as net.Error
	}
	return kube.Unknown
}
