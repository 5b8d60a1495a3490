package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/karpenter-aks/karpenter/internal/config"
)

// The lease's times, those that users of Karpenter know.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// lead runs fn while this process holds the lease, and returns when ctx ends or the lease is lost. The lease has a client
// of its own, so that a busy controller never loses it to its own rate limit.
func lead(ctx context.Context, cfg config.Config, rc *rest.Config, log logr.Logger, fn func(context.Context) error) error {
	if cfg.Kube.LeaderElection.Disabled {
		return fn(ctx)
	}
	own := rest.CopyConfig(rc)
	own.QPS, own.Burst, own.Timeout = 20, 40, renewDeadline/2
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		return err
	}
	id := cfg.Kube.LeaderElection.Identity
	if id == "" {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		id = fmt.Sprintf("%s_%d_%d", host, os.Getpid(), time.Now().UnixNano())
	}
	namespace := cfg.Kube.LeaderElection.Namespace
	if namespace == "" {
		namespace = cfg.SystemNamespace
	}
	done := make(chan error, 1)
	done <- nil
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: cfg.Kube.LeaderElection.Name, Namespace: namespace},
			Client:    client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: id},
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true, Name: cfg.Kube.LeaderElection.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				<-done
				log.Info("leading", "lease", namespace+"/"+cfg.Kube.LeaderElection.Name)
				done <- fn(ctx)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	e.Run(ctx)
	if err := <-done; err != nil {
		return err
	}
	if ctx.Err() == nil {
		return errors.New("lost the lease: another process leads, or the API server cannot be reached; ending so that only one acts")
	}
	return nil
}
