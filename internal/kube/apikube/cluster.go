package apikube

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

// Cluster implements kube.Store. The CA is read anew each time, because it may be rotated.
func (s *Store) Cluster(ctx context.Context) (model.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	out := model.Cluster{Endpoint: s.opt.Endpoint, CA: s.opt.CA}
	if out.Endpoint == "" {
		out.Endpoint = s.cfg.Host
	}
	if !strings.Contains(out.Endpoint, "://") {
		out.Endpoint = "https://" + out.Endpoint
	}
	out.Endpoint = strings.TrimSuffix(out.Endpoint, "/")
	if out.CA == nil {
		out.CA = s.cfg.CAData
	}
	if len(out.CA) == 0 && s.cfg.CAFile != "" {
		ca, err := os.ReadFile(s.cfg.CAFile)
		if err != nil {
			return model.Cluster{}, kube.Errorf(kube.Unknown, "read the cluster's CA: %w", err)
		}
		out.CA = ca
	}
	v, err := s.version(ctx)
	if err != nil {
		return model.Cluster{}, err
	}
	out.Version = v
	var dns corev1.Service
	err = s.client.Get(ctx, client.ObjectKey{Namespace: s.opt.SystemNamespace, Name: "kube-dns"}, &dns)
	switch {
	case err == nil && dns.Spec.ClusterIP != corev1.ClusterIPNone:
		out.DNS = dns.Spec.ClusterIP
	case err != nil && !apierrors.IsNotFound(err):
		return model.Cluster{}, wrap(err, "read service kube-dns")
	}
	return out, nil
}

// version asks the server for its version and keeps the numbers: "v1.37.1-hotfix.1+abc" is "1.37.1".
func (s *Store) version(ctx context.Context) (string, error) {
	var v version.Info
	raw, err := s.discovery.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", wrap(err, "ask the server's version")
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", kube.Errorf(kube.Unknown, "read the server's version: %w", err)
	}
	numbers, _, _ := strings.Cut(strings.TrimPrefix(v.GitVersion, "v"), "-")
	numbers, _, _ = strings.Cut(numbers, "+")
	return numbers, nil
}
