package plane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	server "k8s.io/kubernetes/cmd/kube-apiserver/app"
	serveropts "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	manageropts "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleropts "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

const (
	schedulerKubeconfig = "scheduler.kubeconfig"
	managerKubeconfig   = "controller-manager.kubeconfig"

	// Names of sockets in the plane's directory, which is the child's working directory. etcd asks for host:port.
	etcdClientURL = "unix://client.etcd:0"
	etcdPeerURL   = "unix://peer.etcd:0"
	etcdStart     = 30 * time.Second

	// clusterDNS and serviceRange are those of an AKS cluster with default settings.
	serviceRange = "10.0.0.0/16"
	clusterDNS   = "10.0.0.10"

	// Issuer of service account tokens. Nobody fetches its keys: the emulated cloud reads claims, the API server has the key.
	Issuer = "https://kubernetes.default.svc.cluster.local"

	// pollEvery is the pause between two looks at whether something has started.
	pollEvery = 50 * time.Millisecond
)

// anonymous allows requests without credentials where, and only where, probes knock.
const anonymous = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous:
  enabled: true
  conditions:
  - path: /healthz
  - path: /livez
  - path: /readyz
`

// egress sends what goes to nodes and services through the tunnel (documentation "Set up Konnectivity service"). It
// takes a client's certificate for granted, which the tunnel does not ask for: the API server's own does.
const egress = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      tcp:
        url: https://%s
        tlsConfig:
          caBundle: %s
          clientCert: %s
          clientKey: %s
`

// startEtcd starts a single etcd member on unix sockets in dir: no ports, and no client but those who may read dir.
func startEtcd(dir string) (*embed.Etcd, error) {
	e := embed.NewConfig()
	e.Dir = filepath.Join(dir, "etcd")
	client, err := url.Parse(etcdClientURL)
	if err != nil {
		return nil, err
	}
	peer, err := url.Parse(etcdPeerURL)
	if err != nil {
		return nil, err
	}
	for _, u := range []*url.URL{client, peer} { // a killed process leaves its sockets behind
		if err := os.Remove(filepath.Join(dir, u.Host)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	e.ListenClientUrls, e.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	e.ListenPeerUrls, e.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	e.InitialCluster = e.InitialClusterFromName(e.Name)
	e.LogLevel = "error"
	// The lab's data need not outlive the machine; an fsync per write is most of the time a small disk takes to boot a cluster.
	e.UnsafeNoFsync = true
	// One member has nobody to wait for: a short election makes a restart fast. At least 5 heartbeats, says etcd.
	e.TickMs, e.ElectionMs = 20, 100
	store, err := embed.StartEtcd(e)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	t := time.NewTimer(etcdStart)
	defer t.Stop()
	select {
	case <-store.Server.ReadyNotify():
		return store, nil
	case err := <-store.Err():
		store.Close()
		return nil, fmt.Errorf("start etcd: %w", err)
	case <-t.C:
		store.Close()
		return nil, fmt.Errorf("start etcd: not ready within %v", etcdStart)
	}
}

// startAll starts the API server under ctx serving, then its two clients under ctx working, and waits until all work.
func (c *child) startAll(serving, working context.Context, lis net.Listener) error {
	if err := c.startServer(serving, lis); err != nil {
		return fmt.Errorf("start kube-apiserver: %w", err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.cfg.Dir, kubeconfigFile))
	if err != nil {
		return err
	}
	cfg.QPS = -1
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	if err := c.until("the API server is ready", func(ctx context.Context) (bool, error) {
		b, err := api.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil && string(b) == "ok", nil // refused until it serves, 403 until it has its roles
	}); err != nil {
		return err
	}
	synced, err := c.startScheduler(working)
	if err != nil {
		return fmt.Errorf("start kube-scheduler: %w", err)
	}
	if err := c.startManager(working); err != nil {
		return fmt.Errorf("start kube-controller-manager: %w", err)
	}
	if err := welcome(c.stopped, api); err != nil {
		return err
	}
	if err := c.until("kube-scheduler watches", func(context.Context) (bool, error) { return synced(), nil }); err != nil {
		return err
	}
	return c.untilManaged(api)
}

// until asks often until the answer is yes, an error, or the parent or a component gives up. The parent sets the time limit.
func (c *child) until(what string, ask func(context.Context) (bool, error)) error {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for {
		ok, err := ask(c.stopped)
		if err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case err := <-c.ended:
			return fmt.Errorf("wait until %s: a component ended: %w", what, err)
		case <-c.stopped.Done():
			return fmt.Errorf("wait until %s: told to stop", what)
		case <-t.C:
		}
	}
}

// begin runs a component and hands on how it ended.
func (c *child) begin(name string, run func() error) {
	go func() {
		err := run()
		if err == nil {
			err = errors.New("no error")
		}
		c.ended <- fmt.Errorf("%s: %w", name, err)
	}()
}

// The components are started from their options and not from their cobra commands, because each command installs a
// signal handler and the second handler in a process panics.

func (c *child) startServer(ctx context.Context, lis net.Listener) error {
	authn := filepath.Join(c.cfg.Dir, "authentication.yaml")
	if err := os.WriteFile(authn, []byte(anonymous), 0o600); err != nil {
		return err
	}
	cert, key, err := c.keys.server("kube-apiserver", append([]string{
		"127.0.0.1", "10.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}, c.cfg.ExtraSANs...))
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"apiserver.crt": cert, "apiserver.key": key} {
		if err := os.WriteFile(c.keys.path(name), data, 0o600); err != nil {
			return err
		}
	}
	o := serveropts.NewServerRunOptions()
	o.SecureServing.Listener = lis
	flags := []string{
		"--etcd-servers=" + etcdClientURL,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", lis.Addr().(*net.TCPAddr).Port),
		"--cert-dir=" + c.keys.dir,
		"--tls-cert-file=" + c.keys.path("apiserver.crt"),
		"--tls-private-key-file=" + c.keys.path("apiserver.key"),
		"--client-ca-file=" + c.keys.path("ca.crt"),
		"--authentication-config=" + authn,
		"--enable-bootstrap-token-auth=true",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true", // the CNI's and kube-proxy's stand-ins ask for it
		"--service-account-issuer=" + Issuer,
		"--service-account-key-file=" + c.keys.path("sa.pub"),
		"--service-account-signing-key-file=" + c.keys.path("sa.key"),
		"--service-cluster-ip-range=" + serviceRange,
		"--shutdown-delay-duration=0",
	}
	if c.cfg.Tunnel != "" {
		file := filepath.Join(c.cfg.Dir, "egress.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, egress, c.cfg.Tunnel, c.keys.path("ca.crt"), c.keys.path("apiserver.crt"), c.keys.path("apiserver.key")), 0o600); err != nil {
			return err
		}
		flags = append(flags, "--egress-selector-config-file="+file)
	}
	if err := parse(o.Flags(), flags); err != nil {
		return err
	}
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	completed, err := o.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return errors.Join(errs...)
	}
	c.begin("kube-apiserver", func() error { return server.Run(ctx, completed) })
	return nil
}

// startScheduler also returns a function that says whether the scheduler has seen the cluster.
func (c *child) startScheduler(ctx context.Context) (func() bool, error) {
	kubeconfig := filepath.Join(c.cfg.Dir, schedulerKubeconfig)
	o := scheduleropts.NewOptions()
	err := parse(*o.Flags, []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=1000", "--kube-api-burst=2000", // with the defaults, 2 000 pods take 100 s
	})
	if err != nil {
		return nil, err
	}
	if err := o.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	cfg, sched, err := scheduler.Setup(ctx, o)
	if err != nil {
		return nil, err
	}
	c.begin("kube-scheduler", func() error { return scheduler.Run(ctx, cfg, sched) })
	synced := make(chan struct{})
	go func() { // ends with the scheduler's context at the latest
		if sched.WaitForHandlersSync(ctx) == nil {
			close(synced)
		}
	}()
	return func() bool {
		select {
		case <-synced:
			return true
		default:
			return false
		}
	}, nil
}

func (c *child) startManager(ctx context.Context) error {
	kubeconfig := filepath.Join(c.cfg.Dir, managerKubeconfig)
	o, err := manageropts.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	known, off, aliases := manager.KnownControllers(), manager.ControllersDisabledByDefault(), manager.ControllerAliases()
	err = parse(o.Flags(known, off, aliases), []string{
		"--kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=1000", "--kube-api-burst=2000",
		"--concurrent-deployment-syncs=20", "--concurrent-replicaset-syncs=20",
		"--controllers=*,bootstrapsigner,tokencleaner",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + c.keys.path("sa.key"),
		"--root-ca-file=" + c.keys.path("ca.crt"),
		"--cluster-signing-cert-file=" + c.keys.path("ca.crt"),
		"--cluster-signing-key-file=" + c.keys.path("ca.key"),
		"--allocate-node-cidrs=false", "--configure-cloud-routes=false",
		"--controller-shutdown-timeout=3s",
	})
	if err != nil {
		return err
	}
	if err := o.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	cfg, err := o.Config(ctx, known, off, aliases)
	if err != nil {
		return err
	}
	c.begin("kube-controller-manager", func() error { return manager.Run(ctx, cfg.Complete()) })
	return nil
}

// parse sets a component's flags as its command line would.
func parse(named cliflag.NamedFlagSets, args []string) error {
	fs := pflag.NewFlagSet("plane", pflag.ContinueOnError)
	for _, f := range named.FlagSets {
		fs.AddFlagSet(f)
	}
	return fs.Parse(args)
}
