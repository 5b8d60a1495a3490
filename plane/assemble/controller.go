package assemble

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	environmentFile = "azure-environment.json"
	// leaderLimit bounds the wait for the controller to lead. It takes about two seconds; the rest is for busy machines.
	leaderLimit = 2 * time.Minute
	sshBits     = 2048
	// passPrefix marks variables of our own environment that the controller gets as well.
	passPrefix = "KARPENTER_"
)

// values are the chart's values as a person would write them for this cluster.
func (l *Lab) values() (map[string]any, error) {
	azure := l.cloud.Config()
	img := map[string]any{}
	if l.opts.Image != "" {
		digest, err := Image{l.opts.Image}.Digest()
		if err != nil {
			return nil, err
		}
		img["digest"] = digest
	}
	return map[string]any{
		// Nothing here runs containers: the lab runs the Deployment's program as a process, and there is no node for a pod.
		"replicas":       0,
		"controller":     map[string]any{"image": img},
		"serviceAccount": map[string]any{"create": true, "name": ServiceAccount},
		"settings": map[string]any{
			"clusterName":     ClusterName,
			"clusterEndpoint": "https://" + l.state.ClusterHost + ":443",
			"featureGates":    l.gates(),
			"azure": map[string]any{
				"subscriptionID":          azure.Subscription,
				"tenantID":                azure.Tenant,
				"clientID":                clientID,
				"location":                azure.Location,
				"resourceGroup":           azure.ClusterResourceGroup,
				"nodeResourceGroup":       azure.NodeResourceGroup,
				"vnetSubnetID":            azure.SubnetID,
				"sshPublicKey":            l.sshKey,
				"nodeIdentities":          []any{nodeIdentity(azure.Location)},
				"kubeletIdentityClientID": kubeletClientID,
			},
		},
	}, nil
}

// gates are the features of the autoscaler. A lab is for trying things: every feature that a person can switch on and that
// acts is on, unless they say otherwise.
func (l *Lab) gates() map[string]any {
	out := map[string]any{"staticCapacity": true, "nodeOverlay": true, "capacityBuffer": true, "nominatedNodes": true}
	for name, on := range l.opts.Gates {
		out[name] = on
	}
	return out
}

// sshKey is the public half of a key whose private half nobody keeps: there is nothing to log in to.
func sshKey() (string, error) {
	k, err := rsa.GenerateKey(rand.Reader, sshBits)
	if err != nil {
		return "", err
	}
	pub, err := ssh.NewPublicKey(&k.PublicKey)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(pub))) + " lab", nil
}

// mount writes what the controller would find in its pod.
func (l *Lab) mount(ctx context.Context) error {
	if err := os.MkdirAll(l.ident.dir, 0o700); err != nil {
		return err
	}
	if err := l.ident.kubeconfig(filepath.Join(l.ident.dir, "kubeconfig"), l.plane.Endpoint(), l.plane.CA()); err != nil {
		return err
	}
	env, err := json.MarshalIndent(map[string]string{
		"name":                    "KarpenterLab",
		"activeDirectoryEndpoint": l.state.Azure + "/",
		"resourceManagerEndpoint": l.state.Azure + "/",
		"tokenAudience":           l.state.Azure + "/",
		"retailPricesEndpoint":    l.state.Azure,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(l.ident.dir, environmentFile), env); err != nil {
		return err
	}
	return l.ident.renew(ctx)
}

// environment is what the controller's process gets: the chart's settings, what the workload identity webhook would
// inject, and where things are because it is a process and not a pod. There is no bootstrap token in it: the
// controller makes one for each machine.
func (l *Lab) environment(chart map[string]string) ([]string, error) {
	azure := l.cloud.Config()
	env := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": l.ident.dir, "TMPDIR": os.TempDir(),

		"KUBECONFIG":        filepath.Join(l.ident.dir, "kubeconfig"),
		"SYSTEM_NAMESPACE":  Namespace,
		"REFUSED_PLANS_DIR": filepath.Join(l.ident.dir, "refused-plans"),
		"POD_NAME":          "karpenter-lab-0", // its one process never runs twice at a time, like a pod's container
		"SSL_CERT_FILE":     l.plane.CAFile(),

		"AZURE_AUTHORITY_HOST":       l.state.Azure + "/",
		"AZURE_CLIENT_ID":            clientID,
		"AZURE_TENANT_ID":            azure.Tenant,
		"AZURE_FEDERATED_TOKEN_FILE": filepath.Join(l.ident.dir, azureTokenFile),
		"AZURE_ENVIRONMENT_FILEPATH": filepath.Join(l.ident.dir, environmentFile),
	}
	for _, kv := range l.imageEnv {
		k, v, _ := strings.Cut(kv, "=")
		if _, given := chart[k]; !given {
			chart[k] = v
		}
	}
	for k, v := range chart {
		if _, ours := env[k]; !ours {
			env[k] = v
		}
	}
	for _, kv := range os.Environ() { // so that a person or a test can say more to the controller alone
		if k, v, _ := strings.Cut(kv, "="); strings.HasPrefix(k, passPrefix) {
			env[k] = v
		}
	}
	metrics, health, err := l.ports()
	if err != nil {
		return nil, err
	}
	env["BIND_ADDRESS"] = "127.0.0.1"
	env["METRICS_PORT"], env["HEALTH_PROBE_PORT"] = strconv.Itoa(metrics), strconv.Itoa(health)
	var out []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out, nil
}

// ports returns two ports that nobody listens on: those of the last start when they are still free, so that whoever
// scrapes them can go on. Another process may take one before the controller does; then it ends, and is started again.
func (l *Lab) ports() (metrics, health int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []net.Listener // both are held until both are chosen
	defer func() {
		for _, lis := range open {
			lis.Close()
		}
	}()
	pick := func(port *int) error {
		lis, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(*port))
		if err != nil {
			lis, err = net.Listen("tcp", "127.0.0.1:0")
		}
		if err != nil {
			return fmt.Errorf("find a free port for the controller: %w", err)
		}
		open = append(open, lis)
		*port = lis.Addr().(*net.TCPAddr).Port
		return nil
	}
	if err := pick(&l.state.MetricsPort); err != nil {
		return 0, 0, err
	}
	if err := pick(&l.state.HealthPort); err != nil {
		return 0, 0, err
	}
	return l.state.MetricsPort, l.state.HealthPort, nil
}

// untilLeading waits until the controller holds its lease.
func (l *Lab) untilLeading(ctx context.Context, k *keeper) error {
	ctx, cancel := context.WithTimeout(ctx, leaderLimit)
	defer cancel()
	begin := l.state.Started
	err := until(ctx, func() bool {
		got, err := l.ident.api.CoordinationV1().Leases(Namespace).Get(ctx, lease, metav1.GetOptions{})
		if err != nil || got.Spec.HolderIdentity == nil || *got.Spec.HolderIdentity == "" {
			return false
		}
		return got.Spec.RenewTime != nil && got.Spec.RenewTime.After(begin)
	})
	if err == nil {
		return nil
	}
	why := k.lastEnd()
	if why == "" {
		why = "it runs, but does not take the lease " + lease
	}
	return fmt.Errorf("the controller does not lead: %s: %w. Its last words, in %s:\n%s", why, err, k.log, LastLines(k.log))
}
