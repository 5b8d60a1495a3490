package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// clusterFlags say which cluster a command is about.
type clusterFlags struct{ kubeconfig, context string }

func (f *clusterFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig of the cluster (default: as kubectl finds it)")
	fl.StringVar(&f.context, "context", "", "the context of the kubeconfig")
}

func (f *clusterFlags) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
}

// rest is the way to the API server: that of kubectl, or of the pod that this runs in.
func (f *clusterFlags) rest() (*rest.Config, error) {
	rc, err := f.connection()
	if err != nil {
		return nil, fmt.Errorf("there is no cluster to ask: %w (name one with --kubeconfig or KUBECONFIG)", err)
	}
	return rc, nil
}

// connection is rest for those who have words of their own for a cluster that is not there.
func (f *clusterFlags) connection() (*rest.Config, error) {
	rc, err := f.loader().ClientConfig()
	if err != nil {
		return nil, err
	}
	rc.UserAgent, rc.QPS, rc.Burst = "karpenter-aks/"+version, 50, 100
	return rc, nil
}

// entry is what the kubeconfig calls the cluster and who asks it; both "" inside a pod.
func (f *clusterFlags) entry() (cluster, user string) {
	raw, err := f.loader().RawConfig()
	if err != nil {
		return "", ""
	}
	name := raw.CurrentContext
	if f.context != "" {
		name = f.context
	}
	c := raw.Contexts[name]
	if c == nil {
		c = clientcmdapi.NewContext()
	}
	return c.Cluster, c.AuthInfo
}
