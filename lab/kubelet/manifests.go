package kubelet

import (
	"bytes"
	_ "embed" // for the manifests below
)

//go:embed manifests/cilium.yaml
var ciliumYAML []byte

//go:embed manifests/azure-cns.yaml
var cnsYAML []byte

//go:embed manifests/kube-proxy.yaml
var proxyYAML []byte

// Manifests returns the stand-ins for the DaemonSets that AKS runs in kube-system, as a stream of YAML documents: cilium,
// azure-cns and kube-proxy. Their requests are what every node gives up before the first workload.
func Manifests() []byte {
	return bytes.Join([][]byte{ciliumYAML, cnsYAML, proxyYAML}, []byte("---\n"))
}
