package apikube

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// Where AKS announces when it next puts new node images to use: both values are RFC 3339. The Azure provider of Karpenter reads the same.
const (
	windowName   = "upcoming-maintenance-window"
	windowOpens  = "aksManagedNodeOSUpgradeSchedule-start"
	windowCloses = "aksManagedNodeOSUpgradeSchedule-end"
)

// MaintenanceWindow implements kube.Store. It is one request, for what is seldom asked.
func (s *Store) MaintenanceWindow(ctx context.Context) (model.MaintenanceWindow, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	var config corev1.ConfigMap
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.opt.Namespace, Name: windowName}, &config)
	if apierrors.IsNotFound(err) {
		return model.MaintenanceWindow{}, nil
	}
	if err != nil {
		return model.MaintenanceWindow{}, wrap(err, "read ConfigMap %s/%s", s.opt.Namespace, windowName)
	}
	w, err := windowOf(config.Data)
	if err != nil {
		return w, kube.Errorf(kube.Invalid, "ConfigMap %s/%s: %w", s.opt.Namespace, windowName, err)
	}
	return w, nil
}

// windowOf reads both ends. Without either there is no window.
func windowOf(data map[string]string) (out model.MaintenanceWindow, err error) {
	if data[windowOpens] == "" || data[windowCloses] == "" {
		return out, nil
	}
	opens, bad1 := moment(data, windowOpens)
	closes, bad2 := moment(data, windowCloses)
	if err := errors.Join(bad1, bad2); err != nil {
		return out, err
	}
	if !opens.Before(closes) {
		return out, fmt.Errorf("it ends at %s and begins at %s", data[windowCloses], data[windowOpens])
	}
	return model.MaintenanceWindow{Opens: opens, Closes: closes}, nil
}

func moment(data map[string]string, key string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, data[key])
	if err != nil {
		return at, fmt.Errorf("%s is %.40q, want a moment as 2006-01-02T15:04:05Z", key, data[key])
	}
	return at.UTC(), nil
}
