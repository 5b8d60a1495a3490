package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

const (
	// childArg is the first argument of the child; the second is its Config as JSON.
	childArg = "plane-child"
	// reportFD is where the child reports: the first of exec.Cmd.ExtraFiles.
	reportFD = 3
	// childStopLimit is how long the child may take to stop in order before it just exits.
	childStopLimit = 8 * time.Second

	kubeconfigFile = "kubeconfig"
	portFile       = "port"
)

// MaybeRunChild does nothing in a normal run. In the child that Start executed, it runs the plane and never returns. It
// must be the first thing that main or TestMain does: before flags, before servers.
func MaybeRunChild() {
	if len(os.Args) != 3 || os.Args[1] != childArg {
		return
	}
	SetVersion()
	// SIGINT is for the parent, which may live in the same terminal.
	signal.Ignore(syscall.SIGINT)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	go func() { // the parent holds the other end: when it goes away, so do we. Ends with the process.
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	out := os.NewFile(reportFD, "report")
	c := &child{stopped: ctx, ready: func(r report) {
		_ = json.NewEncoder(out).Encode(r) // a parent that is gone needs no report
		out.Close()
	}}
	if err := c.run(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "plane:", err)
		c.ready(report{Error: err.Error()})
		os.Exit(1)
	}
	os.Exit(0)
}

// child is the process that runs the four components.
//
//	etcd ─▶ kube-apiserver ─▶ kube-scheduler          start, left to right
//	                       └▶ kube-controller-manager
//
// They stop the other way round: etcd last, or the API server complains at length about its absence.
type child struct {
	cfg     Config
	keys    *pki
	stopped context.Context // ends when the parent wants us to stop
	ready   func(report)
	ended   chan error // gets one error from each component that ends
}

func (c *child) run(order string) error {
	if err := json.Unmarshal([]byte(order), &c.cfg); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	var err error
	if c.keys, err = openPKI(filepath.Join(c.cfg.Dir, "pki")); err != nil {
		return err
	}
	c.ended = make(chan error, 3)
	lis, err := c.listen()
	if err != nil {
		return err
	}
	endpoint := "https://" + lis.Addr().String()
	if err := c.writeKubeconfigs(endpoint); err != nil {
		return err
	}
	store, err := startEtcd(c.cfg.Dir)
	if err != nil {
		return err
	}
	defer store.Close()
	server, stopServer := context.WithCancel(context.Background())
	clients, stopClients := context.WithCancel(server)
	defer stopServer()
	defer stopClients()
	if err := c.startAll(server, clients, lis); err != nil {
		return err
	}
	c.ready(report{Endpoint: endpoint})
	select {
	case err := <-c.ended:
		return fmt.Errorf("a component ended on its own: %w", err)
	case <-c.stopped.Done():
	}
	return c.shutdown(stopServer, stopClients, store)
}

// shutdown stops everything in order, within childStopLimit.
func (c *child) shutdown(stopServer, stopClients context.CancelFunc, store *embed.Etcd) error {
	time.AfterFunc(childStopLimit, func() {
		fmt.Fprintln(os.Stderr, "plane: stopping took too long")
		os.Exit(0) // whatever is still busy holds nothing that a kill would lose
	})
	stopClients()
	stopServer()
	for range cap(c.ended) {
		<-c.ended
	}
	store.Close()
	return nil
}

// listen opens the API server's port before anyone is told its number, so that several planes can start at once. It
// prefers the port of the last start, because kubeconfigs and machines remember it.
func (c *child) listen() (net.Listener, error) {
	file := filepath.Join(c.cfg.Dir, portFile)
	port := c.cfg.Port
	if b, err := os.ReadFile(file); err == nil && port == 0 {
		port, _ = strconv.Atoi(string(b))
	}
	lis, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil && c.cfg.Port == 0 {
		lis, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is in use by another program: choose another port, or none for any free one (%w)", port, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen for the API server: %w", err)
	}
	port = lis.Addr().(*net.TCPAddr).Port
	return lis, os.WriteFile(file, []byte(strconv.Itoa(port)), 0o600)
}

// writeKubeconfigs writes one kubeconfig per identity: the administrator's and those of the two components.
func (c *child) writeKubeconfigs(endpoint string) error {
	for _, k := range []struct{ file, user, group string }{
		{kubeconfigFile, "lab-admin", "system:masters"},
		{schedulerKubeconfig, "system:kube-scheduler", ""},
		{managerKubeconfig, "system:kube-controller-manager", ""},
	} {
		var groups []string
		if k.group != "" {
			groups = []string{k.group}
		}
		if err := c.keys.kubeconfig(filepath.Join(c.cfg.Dir, k.file), endpoint, k.user, groups...); err != nil {
			return fmt.Errorf("write kubeconfig of %s: %w", k.user, err)
		}
	}
	return nil
}
