package assemble

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenter-aks/karpenter/plane/tunnel"
	"github.com/karpenter-aks/karpenter/plane/usage"
	"github.com/karpenter-aks/karpenter/plane/volumes"
)

// What AKS runs beside a control plane, and the lab plays: storage drivers, the tunnel to the nodes, metrics-server.

// startVolumes starts what makes disks and shares. It ends before the cloud that it asks.
func (l *Lab) startVolumes(log slog.Handler) {
	running, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	l.undo = append(l.undo, wg.Wait, stop)
	wg.Go(func() {
		volumes.Run(running, volumes.Config{
			API: l.ident.api, Azure: l.cloud, Region: l.opts.Location, Group: l.cloud.Config().NodeResourceGroup, Log: log,
			Retry: time.Second, RetryMax: time.Minute, // external-provisioner begins with a second too; a person at a desk does not wait five minutes
		})
	})
}

// metricsHost is the other end of the service metrics-server, by a name that nothing but the tunnel knows.
const metricsHost = "metrics-server.lab.internal"

// openNetwork puts what the API server reaches behind the tunnel: kubelets that say that no container runs, and metrics-server.
func (l *Lab) openNetwork(t *tunnel.Tunnel) error {
	cert, err := l.plane.ServerCert("127.0.0.1", "metrics-server."+Namespace+".svc")
	if err != nil {
		return err
	}
	t.Serve(tunnel.Config{
		Cert: cert, Kubelet: tunnel.Words(), Log: slog.DiscardHandler,
		Services: map[string]http.Handler{net.JoinHostPort(metricsHost, "443"): usage.Handler(l.host, time.Now)},
	})
	return nil
}

// metricsAPI has the API server hand metrics.k8s.io on to metrics-server, as in every AKS cluster.
func (l *Lab) metricsAPI() []*unstructured.Unstructured {
	meta := func(name, namespace string) map[string]any {
		return map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{"k8s-app": "metrics-server"}}
	}
	return []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": meta("metrics-server", Namespace),
			"spec": map[string]any{"type": "ExternalName", "externalName": metricsHost}}},
		{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": meta("v1beta1.metrics.k8s.io", ""),
			"spec": map[string]any{"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
				"service":  map[string]any{"name": "metrics-server", "namespace": Namespace, "port": int64(443)},
				"caBundle": base64.StdEncoding.EncodeToString(l.plane.CA())}}},
	}
}

// attacher is the lab's cloud for the host that starts before it: no machine of this lab asks earlier.
type attacher struct{ lab *Lab }

// AttachDisk implements kubelet.Disks.
func (a attacher) AttachDisk(handle, node string) error { return a.lab.cloud.AttachDisk(handle, node) }

// DetachDisk implements kubelet.Disks.
func (a attacher) DetachDisk(handle, node string) error { return a.lab.cloud.DetachDisk(handle, node) }
