// Package plane answers: how do I get a real Kubernetes control plane, now, on this machine?
//
// It runs etcd, kube-apiserver, kube-scheduler and kube-controller-manager in one child process: the program that calls
// Start, executed again. One process, because the four share most of their code (half the memory, a third of the start
// time); a child, because each of them may be started only once per process and because killing it must not kill us.
// A program that calls Start calls MaybeRunChild as the first thing in main (or in TestMain, through planetest.Main).
//
// It has no nodes, no cloud and no opinion on either. It is for the lab and for tests: data is not synced to disk, so
// that it survives the death of the process but not of the machine.
package plane

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-aks/karpenter/plane/leash"
)

const (
	// startLimit bounds a start that was given no deadline. A start takes 3 to 5 s on an idle machine with two cores;
	// the rest is for machines that also build and test.
	startLimit = 3 * time.Minute
	// stopLimit is how long a stopping child may take before it is killed. The child gives itself childStopLimit, which is less.
	stopLimit = 12 * time.Second
	// logTail is how many bytes of the child's log an error shows.
	logTail = 4 << 10
)

// Config says where a plane lives and what it is called. The zero value of every field but Dir is useful.
type Config struct {
	// Dir holds everything: etcd's data, keys, kubeconfig, log. It is made when missing. A plane started again in the
	// same directory has the same objects, the same CA and, if it is still free, the same port. One plane per directory.
	Dir string
	// ExtraSANs are more names and IP addresses that the API server's certificate covers.
	ExtraSANs []string
	// Log is the file that receives what the components say; Dir/plane.log when empty. It is written anew by each start.
	Log string
	// Port of the API server on 127.0.0.1; 0 for the one it had before, or else any free one.
	Port int
	// Tunnel is the host:port of an HTTP CONNECT proxy on loopback with a ServerCert of the plane, by which the API server reaches
	// kubelets and the services behind aggregated APIs; "" = it dials them, and nothing answers.
	Tunnel string
}

// Plane is a running control plane. Its methods may be called concurrently.
type Plane struct {
	cfg      Config
	endpoint string
	pki      *pki
	child    *leash.Child
	stdin    io.Closer // closing it asks the child to stop
	stop     sync.Once
}

// Start starts a plane and returns when the API server is ready and scheduler and controller manager are at work. When
// ctx ends before that, nothing is left running; when it ends later, nothing happens.
func Start(ctx context.Context, cfg Config) (*Plane, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cfg, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("start plane: %w", err)
	}
	keys, err := openPKI(filepath.Join(cfg.Dir, "pki"))
	if err != nil {
		return nil, fmt.Errorf("start plane: %w", err)
	}
	p := &Plane{cfg: cfg, pki: keys}
	said, err := p.spawn()
	if err != nil {
		return nil, fmt.Errorf("start plane: %w", err)
	}
	select {
	case r := <-said:
		if r.Error != "" {
			return nil, p.failed(r.Error)
		}
		p.endpoint = r.Endpoint
		return p, nil
	case <-ctx.Done():
		p.Kill()
		return nil, fmt.Errorf("start plane: not ready in time: %w\n%s", ctx.Err(), tail(cfg.Log))
	}
}

// failed is the error of a start that the child reported, or died in.
func (p *Plane) failed(said string) error {
	select { // how it ended is worth waiting for; one that hangs is killed, which says nothing
	case <-p.child.Done():
	case <-time.After(childStopLimit):
	}
	end := p.Ended()
	p.Kill()
	end.Said = said + "\n" + end.Said
	if why := end.Sentence(); why != "" {
		said = why + "\n" + said
	}
	return fmt.Errorf("start plane: %s\n%s", said, tail(p.cfg.Log))
}

func (c Config) complete() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("no directory given")
	}
	var err error
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return c, err
	}
	if c.Log == "" {
		c.Log = filepath.Join(c.Dir, "plane.log")
	}
	if c.Log, err = filepath.Abs(c.Log); err != nil {
		return c, err
	}
	// 0700: the directory holds the keys of the cluster and etcd's socket, which asks for no password.
	return c, os.MkdirAll(c.Dir, 0o700)
}

// report is the one line that the child writes when it is ready or has failed.
type report struct {
	Endpoint string `json:"endpoint,omitempty"`
	Error    string `json:"error,omitempty"`
}

// spawn executes this program again as the child. The channel gets exactly one report, also when the child dies.
func (p *Plane) spawn() (<-chan report, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(p.cfg.Log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	order, err := json.Marshal(p.cfg)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	cmd := exec.Command(exe, childArg, string(order))
	cmd.Dir = p.cfg.Dir // etcd's sockets are named relative to it: a socket's path may have 108 bytes at most
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{w}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		r.Close()
		return nil, err
	}
	p.stdin = stdin
	if p.child, err = leash.Start(cmd); err != nil {
		r.Close()
		return nil, err
	}
	said := make(chan report, 1)
	go func() { // ends when the child has spoken or died: either closes the pipe
		defer r.Close()
		var v report
		if err := json.NewDecoder(r).Decode(&v); err != nil {
			v.Error = "the child died before it was ready"
		}
		said <- v
	}()
	return said, nil
}

// Stop ends the plane: API server first, etcd last. It returns when no process is left. Stopping twice is fine.
func (p *Plane) Stop() {
	p.stop.Do(func() { p.stdin.Close() })
	p.child.Signal(syscall.SIGTERM)
	t := time.NewTimer(stopLimit)
	defer t.Stop()
	select {
	case <-p.child.Done():
	case <-t.C:
		p.Kill()
	}
}

// Kill ends the plane at once, as a crash would, and returns when it is gone. Start in the same directory brings it back.
func (p *Plane) Kill() {
	p.child.Signal(syscall.SIGKILL)
	<-p.child.Done()
	p.stop.Do(func() { p.stdin.Close() })
}

// Done is closed when the plane's process is gone, for whatever reason.
func (p *Plane) Done() <-chan struct{} { return p.child.Done() }

// PID of the plane's process.
func (p *Plane) PID() int { return p.child.PID() }

// Endpoint of the API server: https://127.0.0.1:<port>.
func (p *Plane) Endpoint() string { return p.endpoint }

// Address of the API server: 127.0.0.1:<port>. Machines resolve the cluster's public name to it.
func (p *Plane) Address() string { return strings.TrimPrefix(p.endpoint, "https://") }

// Kubeconfig is the path of the administrator's kubeconfig. It does not change while the directory lives.
func (p *Plane) Kubeconfig() string { return filepath.Join(p.cfg.Dir, kubeconfigFile) }

// Log is the path of the file that the components write to.
func (p *Plane) Log() string { return p.cfg.Log }

// CA is the PEM certificate that signed the API server's and every client's certificate.
func (p *Plane) CA() []byte { return p.pki.caPEM }

// CAFile is the path of a file with the same bytes as CA.
func (p *Plane) CAFile() string { return p.pki.path("ca.crt") }

// ServerCert makes a certificate for another server of the same little world, signed by CA and good for servers only.
func (p *Plane) ServerCert(names ...string) (tls.Certificate, error) {
	cert, key, err := p.pki.server("lab", names)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("server certificate: %w", err)
	}
	return tls.X509KeyPair(cert, key)
}

// RESTConfig is an administrator's client configuration without client-side rate limits.
func (p *Plane) RESTConfig() (*rest.Config, error) {
	c, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("plane's kubeconfig: %w", err)
	}
	c.QPS = -1
	return c, nil
}

// tail returns the last lines of a file, for an error message.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > logTail {
		_, _ = f.Seek(-logTail, io.SeekEnd)
	}
	b, _ := io.ReadAll(io.LimitReader(f, logTail))
	return fmt.Sprintf("last words in %s:\n%s", path, b)
}
