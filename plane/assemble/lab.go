package assemble

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/karpenter-aks/karpenter/deploy"
	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/lab/kubelet"
	"github.com/karpenter-aks/karpenter/plane"
	"github.com/karpenter-aks/karpenter/plane/helm"
	"github.com/karpenter-aks/karpenter/plane/tunnel"
	"github.com/karpenter-aks/karpenter/plane/volumes"
)

// serverStop is how long open requests to the simulated Azure may take once the lab goes down.
const serverStop = 2 * time.Second

// Options say what kind of lab to make.
type Options struct {
	Dir string // see the package comment
	// BootTime is how long a machine takes from its creation to joining the cluster.
	BootTime time.Duration
	// BootSpread is how much longer a machine takes at most; how much is drawn for each from Seed.
	BootSpread time.Duration
	Seed       uint64
	// Gates switches features of the autoscaler on or off, by the names in the chart's values.
	Gates map[string]bool
	// Controller is the path of the autoscaler's program. It is used without an Image; "" runs none then.
	Controller string
	// Image is a directory with the autoscaler's image as an OCI layout: the program in its layer is run, and the chart names
	// its digest.
	Image string
	// Knobs are what the simulated Azure starts with.
	Knobs arm.Knobs
	// Location is the region of the cluster.
	Location string
	// Port of the API server; 0 for any free one.
	Port int
	// Say is told what people should know: one line or a few, without an end of line. It may be called concurrently.
	Say func(format string, args ...any)
}

// Lab is a running lab. Down ends it.
type Lab struct {
	opts   Options
	plane  *plane.Plane
	cloud  *arm.Cloud
	host   *kubelet.Host
	server *http.Server
	ident  *identity
	sshKey string
	// program is the controller's; "" = none is run. Written before Up returns.
	program string
	// imageEnv is what the image's configuration gives a container; the image's digest is in the chart's values.
	imageEnv []string

	// undo ends what was started, last first.
	undo []func()

	// mu guards what changes in state once the controller runs: its process, its ports, readiness. The rest is written
	// before anyone else looks.
	mu    sync.Mutex
	state State
}

// Up starts a lab and returns when people can use it: the API server serves the autoscaler's kinds and the autoscaler
// leads. When that fails, or ctx ends before, nothing is left running.
//
// A lab begins empty: what an earlier one left in the directory is removed, because the machines of its nodes are gone.
func Up(ctx context.Context, o Options) (*Lab, error) {
	l := &Lab{opts: o}
	if err := l.up(ctx); err != nil {
		l.Down()
		return nil, err
	}
	return l, nil
}

func (l *Lab) up(ctx context.Context) error {
	if err := l.claimDir(); err != nil {
		return err
	}
	l.state.Started, l.state.PID = time.Now(), os.Getpid()
	l.state.Location, l.state.ClusterHost = l.opts.Location, clusterHost(l.opts.Location)
	network, err := tunnel.Listen()
	if err != nil {
		return err
	}
	l.undo = append(l.undo, func() { _ = network.Close() }) // there is nobody to tell
	l.plane, err = plane.Start(ctx, plane.Config{Dir: filepath.Join(l.state.Dir, "plane"), ExtraSANs: []string{l.state.ClusterHost}, Port: l.opts.Port,
		Tunnel: network.Address()})
	if err != nil {
		return err
	}
	l.undo = append(l.undo, l.plane.Stop)
	l.state.PlanePID, l.state.APIServer, l.state.PlaneLog = l.plane.PID(), l.plane.Endpoint(), l.plane.Log()
	l.state.CAFile = l.plane.CAFile()
	if err := link(filepath.Join("plane", filepath.Base(l.plane.Kubeconfig())), l.state.Kubeconfig); err != nil {
		return err
	}
	cfg, err := l.plane.RESTConfig()
	if err != nil {
		return err
	}
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	l.ident = &identity{api: api, dir: filepath.Join(l.state.Dir, "controller")}
	if err := l.startAzure(cfg); err != nil {
		return err
	}
	if err := l.openNetwork(network); err != nil {
		return err
	}
	if err := l.install(ctx, cfg); err != nil {
		return err
	}
	if err := l.mount(ctx); err != nil {
		return err
	}
	if err := l.startController(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	l.state.Ready = true
	l.mu.Unlock()
	return l.save()
}

// claimDir makes the directory ours and removes what an earlier lab left there, by name: it may hold other things.
func (l *Lab) claimDir() error {
	dir, err := filepath.Abs(l.opts.Dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the lab's directory: %w", err)
	}
	f, err := lock(dir)
	if err != nil {
		return err
	}
	l.undo = append(l.undo, func() { f.Close() }, func() {
		_ = os.Remove(filepath.Join(dir, stateFile)) // one that stays is recognised by its dead process
	})
	l.state.Dir = dir
	l.state.Kubeconfig = filepath.Join(dir, "kubeconfig")
	l.state.ControllerLog = filepath.Join(dir, "controller.log")
	l.state.MachinesLog = filepath.Join(dir, "machines.log")
	for _, name := range []string{stateFile, "controller.log", "machines.log", "plane", "controller", "helm"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("remove what the last lab left: %w", err)
		}
	}
	return nil
}

// link makes path a symbolic link, replacing an earlier one but nothing else.
func link(to, path string) error {
	if st, err := os.Lstat(path); err == nil {
		if st.Mode()&os.ModeSymlink == 0 {
			return fmt.Errorf("%s is not the lab's: move it away, or choose another --dir", path)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return os.Symlink(to, path)
}

// startAzure starts the machines' host and the cloud that sells them. The host comes first and ends last, because the
// cloud calls it.
func (l *Lab) startAzure(admin *rest.Config) error {
	out, err := os.Create(l.state.MachinesLog)
	if err != nil {
		return err
	}
	l.undo = append(l.undo, func() { out.Close() })
	// What Kubernetes' libraries say of what they will try again is for this file, not for the person at the terminal.
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(out, nil)))
	l.host, err = kubelet.New(kubelet.Config{
		Admin:    admin,
		Resolve:  l.resolve,
		Disks:    attacher{l},
		Log:      slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})),
		BootTime: l.opts.BootTime, BootSpread: l.opts.BootSpread, Rand: mathrand.New(mathrand.NewPCG(l.opts.Seed, 0)),
	})
	if err != nil {
		return fmt.Errorf("start the machines' host: %w", err)
	}
	l.undo = append(l.undo, l.host.Close)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the simulated Azure: %w", err)
	}
	l.state.Azure, l.state.Token = "https://"+lis.Addr().String(), rand.Text()
	if l.sshKey, err = sshKey(); err != nil {
		lis.Close()
		return fmt.Errorf("make an ssh key: %w", err)
	}
	l.cloud, err = arm.New(arm.Config{
		Subscription: subscription, Tenant: tenant,
		ClientID: clientID, CheckAssertion: l.ident.judge, Person: PersonID, KubeletClientID: kubeletClientID, ClusterHost: l.state.ClusterHost, SSHPublicKey: l.sshKey,
		Federations: []arm.Federation{{Name: "karpenter", Issuer: plane.Issuer,
			Subject: "system:serviceaccount:" + Namespace + ":" + ServiceAccount, Audiences: []string{azureAudience}}},
		ClusterName: ClusterName, ClusterResourceGroup: ResourceGroup, NodeResourceGroup: nodeGroup(l.opts.Location),
		Location: l.opts.Location, Host: l.host, AdminToken: l.state.Token, Knobs: l.opts.Knobs,
	})
	if err != nil {
		lis.Close()
		return err
	}
	l.undo = append(l.undo, l.cloud.Close)
	l.startVolumes(slog.NewTextHandler(out, nil))
	cert, err := l.plane.ServerCert("127.0.0.1", "localhost")
	if err != nil {
		lis.Close()
		return err
	}
	l.server = &http.Server{
		Handler:           l.cloud,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{cert}},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.NewTextHandler(out, nil), slog.LevelWarn),
	}
	done := make(chan struct{})
	go func() { // ends with the server
		defer close(done)
		if err := l.server.ServeTLS(lis, "", ""); !errors.Is(err, http.ErrServerClosed) {
			l.opts.Say("the simulated Azure stopped serving: %v", err)
		}
	}()
	l.undo = append(l.undo, func() {
		ctx, cancel := context.WithTimeout(context.Background(), serverStop)
		defer cancel()
		if l.server.Shutdown(ctx) != nil {
			l.server.Close()
		}
		<-done
	})
	return nil
}

// resolve is the private DNS of the machines' network: it knows the API server and nothing else.
func (l *Lab) resolve(hostport string) string {
	if hostport == net.JoinHostPort(l.state.ClusterHost, "443") {
		return l.plane.Address()
	}
	return ""
}

// install puts the system DaemonSets into the cluster, and the charts as releases of Helm.
func (l *Lab) install(ctx context.Context, cfg *rest.Config) error {
	in, err := newInstaller(cfg)
	if err != nil {
		return err
	}
	system, err := decode(bytes.Join([][]byte{kubelet.Manifests(), volumes.Manifests()}, []byte("---\n")))
	if err != nil {
		return fmt.Errorf("read the system manifests: %w", err)
	}
	if err := in.apply(ctx, append(system, l.metricsAPI()...)); err != nil {
		return err
	}
	h, err := helm.New(l.state.Kubeconfig, Namespace, filepath.Join(l.state.Dir, "helm"))
	if err != nil {
		return err
	}
	values, err := l.values()
	if err != nil {
		return err
	}
	for _, r := range []struct {
		name   string
		values map[string]any
	}{{"karpenter-crd", nil}, {Release, values}} {
		c, err := helm.Load(deploy.Charts, "charts/"+r.name)
		if err != nil {
			return err
		}
		if _, err := h.Apply(ctx, r.name, c, r.values, helm.Options{SkipCRDs: true}); err != nil {
			return fmt.Errorf("install chart %s: %w", r.name, err)
		}
	}
	return in.established(ctx)
}

// startController starts the autoscaler as its Deployment says, and waits until it leads.
func (l *Lab) startController(ctx context.Context) error {
	running, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	l.undo = append(l.undo, wg.Wait, stop)
	wg.Go(func() { l.ident.keep(running, l.opts.Say) })
	if l.opts.Controller == "" && l.opts.Image == "" {
		l.state.ControllerLog = ""
		return nil
	}
	k := &keeper{
		path: l.opts.Controller, log: l.state.ControllerLog, say: l.opts.Say,
		changed: make(chan struct{}, 1),
		started: func(pid int) {
			l.mu.Lock()
			same := l.state.ControllerPID == pid
			l.state.ControllerPID = pid
			l.mu.Unlock()
			if same { // before the first start there was none
				return
			}
			if err := l.save(); err != nil {
				l.opts.Say("cannot write %s: %v", stateFile, err)
			}
		},
	}
	if l.opts.Image != "" {
		var err error
		k.path = filepath.Join(l.ident.dir, "karpenter")
		l.imageEnv, err = Image{l.opts.Image}.Unpack(k.path)
		if err != nil {
			return err
		}
	}
	l.program = k.path
	r := &rollout{api: l.ident.api, say: l.opts.Say, runs: l.runs, changed: k.changed}
	k.wanted = func() bool { return r.wants() != nil }
	k.env = func() ([]string, error) {
		if err := l.ident.renew(running); err != nil { // a service account that was made anew has other tokens
			return nil, err
		}
		return l.environment(r.wants())
	}
	wg.Go(func() { r.follow(running) })
	wg.Go(func() { k.run(running) })
	return l.untilLeading(ctx, k)
}

// save writes lab.json.
func (l *Lab) save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.save()
}

// State says where everything is.
func (l *Lab) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Program is the path of the controller's program, which has the other commands of karpenter, too; "" = none is run.
func (l *Lab) Program() string { return l.program }

// Done is closed when the control plane is gone, which without Down means that it crashed.
func (l *Lab) Done() <-chan struct{} { return l.plane.Done() }

// Died is the error of a control plane that is gone although nobody ended it.
func (l *Lab) Died() error {
	text := "the control plane died"
	if why := l.plane.Ended().Sentence(); why != "" {
		text += ": " + why
	}
	return fmt.Errorf("%s; its last words, in %s:\n%s", text, l.state.PlaneLog, LastLines(l.state.PlaneLog))
}

// Down ends everything, in the reverse order of Up, and returns when no process is left. Logs and etcd's data stay.
func (l *Lab) Down() {
	for i := len(l.undo) - 1; i >= 0; i-- {
		l.undo[i]()
	}
	l.undo = nil
}
