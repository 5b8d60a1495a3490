// Command resident answers: how much memory does the controller take in a large cluster?
//
// It is an API server with a made-up cluster, and starts the controller's mirror and loops in a
// process of their own, which reads that cluster as it would any: with the client, the decoders and
// the pages that it always uses. The cloud is one in memory. It prints what the system says of that
// process, a while after it has read everything. It measures no change: nothing happens there.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/karpenter-aks/karpenter/bench"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/internal/workload"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

func main() {
	nodes := flag.Int("nodes", 5_000, "how many nodes there are, with 30 pods each")
	wait := flag.Duration("for", time.Minute, "how long after the start is looked")
	follow := flag.String("follow", "", "be the controller of the API server at this address")
	flag.Parse()
	var err error
	if *follow != "" {
		err = be(*follow, *nodes)
	} else {
		err = measure(*nodes, *wait)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "resident:", err)
		os.Exit(1)
	}
}

// measure starts the controller, and prints what it takes.
func measure(nodes int, wait time.Duration) error {
	w := workload.Cluster(nodes, 30*nodes, true, 1)
	s, err := newServer(w)
	if err != nil {
		return err
	}
	api := httptest.NewServer(s)
	defer api.CloseClientConnections()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self, "-follow", api.URL, "-nodes", fmt.Sprint(nodes))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the controller ended: %w", err)
	}
	fmt.Printf("%d nodes, %d pods; the mirror holds %s", len(w.Nodes), len(w.Pods), line)
	time.Sleep(wait)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", child.Process.Pid))
	if err != nil {
		return err
	}
	for l := range strings.Lines(string(status)) {
		if strings.HasPrefix(l, "VmHWM:") || strings.HasPrefix(l, "VmRSS:") {
			fmt.Print(l)
		}
	}
	return nil
}

// be runs the mirror and the loops until it is killed. It says how many pods there are once it has read everything.
func be(address string, nodes int) error {
	store, err := apikube.New(&rest.Config{Host: address}, apikube.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	metrics, err := observe.NewMetrics(prometheus.NewRegistry(), meter.Options{Version: "bench"})
	if err != nil {
		return err
	}
	mirror := world.New()
	c, err := control.New(control.Parts{Store: store,
		Market:  market.New(bench.OwnedBy(workload.Cluster(nodes, 0, true, 1)), market.Config{}),
		World:   mirror,
		Observe: observe.New(store, logr.Discard(), metrics), Log: logr.Discard(), Now: time.Now})
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(context.Background())
	g.Go(func() error { control.Thrift(ctx, mirror); return nil })
	g.Go(func() error { return c.Follow(ctx) })
	g.Go(func() error { return c.Run(ctx) })
	for !mirror.IsSynced() {
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Println(held(mirror.Snapshot()))
	return g.Wait()
}

// held says what a picture shows.
func held(w model.World) string {
	return fmt.Sprintf("%d pods, %d nodes and %d claims", w.Index.All().Len(), len(w.Nodes),
		len(w.Claims))
}
