package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-aks/karpenter/cloud/azure"
	"github.com/karpenter-aks/karpenter/cloud/market"
	"github.com/karpenter-aks/karpenter/internal/config"
	"github.com/karpenter-aks/karpenter/internal/control"
	"github.com/karpenter-aks/karpenter/internal/evidence"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/kube/guard"
	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/internal/observe"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/internal/world"
)

func controllerCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "controller [flags]",
		Short:              "Run the autoscaler (every flag is also an environment variable)",
		DisableFlagParsing: true, // internal/config parses, so that all problems are listed at once
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := config.Parse(args, os.LookupEnv)
			if errors.Is(err, config.ErrHelp) {
				_, err = fmt.Fprint(cmd.OutOrStdout(), config.Usage())
				return err
			}
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return runController(ctx, cfg)
		},
	}
}

// runController runs until ctx ends (then it returns nil, the lease given back) or until it cannot go on. A lost lease is
// an error: the process must end, because another one leads.
func runController(ctx context.Context, cfg config.Config) error {
	log, flush, err := logger(cfg.Log)
	if err != nil {
		return err
	}
	defer flush()
	if cfg.MemoryLimit > 0 {
		debug.SetMemoryLimit(cfg.MemoryLimit / 10 * 9)
	}
	log.Info("starting", "version", version, "cluster", cfg.Cluster.Name, "location", cfg.Azure.Location)
	for _, u := range cfg.Unused {
		log.Info("an option has no effect", "option", u)
	}
	p, err := assemble(cfg, log)
	if err != nil {
		return err
	}
	defer p.fleet.Close()
	defer p.evidence.Wait()

	g, ctx := errgroup.WithContext(ctx)
	metrics := server{name: "metrics", address: cfg.Ports.Address, port: cfg.Ports.Metrics, handler: metricsHandler(p.metrics, cfg.Profiling)}
	if cfg.Metrics.Secure {
		follow, err := secure(&metrics, cfg.Metrics, p.rest)
		if err != nil {
			return err
		}
		g.Go(func() error { return follow(ctx) })
	}
	for _, s := range []server{
		metrics,
		{name: "health probes", address: cfg.Ports.Address, port: cfg.Ports.Health, handler: healthHandler(p.world.IsSynced)},
	} {
		wait, err := serve(ctx, s)
		if err != nil {
			return err
		}
		g.Go(wait)
	}
	g.Go(func() error { control.Thrift(ctx, p.world); return nil })
	g.Go(func() error { return p.controller.Follow(ctx) })
	g.Go(func() error { return lead(ctx, cfg, p.rest, log, p.controller.Run) })
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return err
	} else if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	log.Info("stopped")
	return nil
}

// secure puts a server behind TLS and the API server's judgement. The returned function follows its certificate.
func secure(s *server, m config.Metrics, rc *rest.Config) (follow func(context.Context) error, err error) {
	if s.handler, err = guard.New(s.handler, rc); err != nil {
		return nil, fmt.Errorf("guard the %s: %w", s.name, err)
	}
	if s.tls, follow, err = guard.Certificate(m.CertDir); err != nil {
		return nil, fmt.Errorf("serve the %s over TLS: %w", s.name, err)
	}
	return follow, nil
}

// parts is what one controller process is made of.
type parts struct {
	rest       *rest.Config
	metrics    prometheus.Gatherer
	world      *world.World
	fleet      *azure.Fleet
	controller *control.Controller
	evidence   *evidence.Keeper
}

func assemble(cfg config.Config, log logr.Logger) (*parts, error) {
	rc, err := restConfig(cfg.Kube)
	if err != nil {
		return nil, err
	}
	registry, all := registries(cfg.Metrics)
	store, err := apikube.New(rc, apikube.Options{Namespace: cfg.SystemNamespace, Endpoint: cfg.Cluster.Endpoint,
		TokenGroups: cfg.Cluster.TokenGroups, QPS: float32(cfg.Kube.QPS), Burst: cfg.Kube.Burst,
		Extras: apikube.Extras{Overlays: cfg.Gates["NodeOverlay"], Buffers: cfg.Gates["CapacityBuffer"]}})
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to the API server: %w", err)
	}
	fleet, err := azure.New(azureConfig(cfg, log), nil)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to Azure: %w", err)
	}
	metrics, err := observe.NewMetrics(registry, meter.Options{Profile: cfg.Metrics.Profile, NoState: cfg.Metrics.NoState, Version: version})
	if err != nil {
		return nil, err
	}
	mirror := world.New()
	recorder := observe.New(store, log.WithName("controller"), metrics)
	if err := recorder.Serve(mirror.Snapshot, mirror.IsSynced, time.Now); err != nil {
		return nil, err
	}
	keeper := evidence.New(cfg.RefusedPlans, recorder.PlanKept)
	c, err := control.New(control.Parts{
		Store: store, Market: market.New(fleet, market.Config{}), World: mirror, Sweeper: fleet,
		Observe: recorder, Refused: keeper.Keep, Version: version, Log: log.WithName("controller"), Now: time.Now,
		Settings: control.Settings{BatchIdle: cfg.Batch.Idle, BatchMax: cfg.Batch.Max, StaticCapacity: cfg.Gates["StaticCapacity"],
			Preferences: place.Preferences(cfg.PreferencePolicy), MinValues: place.MinValues(cfg.MinValuesPolicy), Nominate: cfg.Gates["NominatedNodes"],
			NodeRepair: cfg.Gates["NodeRepair"], SpotToSpot: cfg.Gates["SpotToSpotConsolidation"], KubeletIdentity: cfg.Azure.KubeletIdentityClientID, Paused: cfg.Paused},
		Mark: dieAt(os.Getenv(dieEnv)),
	})
	if err != nil {
		return nil, err
	}
	return &parts{rest: rc, metrics: all, world: mirror, fleet: fleet, controller: c, evidence: keeper}, nil
}

func restConfig(k config.Kube) (*rest.Config, error) {
	var rc *rest.Config
	var err error
	if k.Kubeconfig != "" {
		rc, err = clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	} else {
		rc, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w (set KUBECONFIG when running outside a cluster)", err)
	}
	rc.QPS, rc.Burst = float32(k.QPS), k.Burst
	rc.UserAgent = "karpenter-aks/" + version
	return rc, nil
}

func azureConfig(cfg config.Config, log logr.Logger) azure.Config {
	a := cfg.Azure
	return azure.Config{
		SubscriptionID: a.SubscriptionID, TenantID: a.TenantID, ClientID: a.ClientID, FederatedTokenFile: a.FederatedTokenFile,
		Location: a.Location, NodeResourceGroup: a.NodeResourceGroup, ClusterName: cfg.Cluster.Name, SubnetID: a.SubnetID, VnetGUID: a.VnetGUID,
		Network:      azure.Network{Plugin: a.NetworkPlugin, Mode: a.NetworkPluginMode, Dataplane: a.NetworkDataplane, Policy: a.NetworkPolicy, DNSServiceIP: a.DNSServiceIP},
		SSHPublicKey: a.SSHPublicKey, AdminUsername: a.AdminUsername, NodeIdentities: a.NodeIdentities,
		KubeletIdentityClientID: a.KubeletIdentityClientID, DiskEncryptionSetID: a.DiskEncryptionSetID,
		MemoryOverheadPercent: a.MemoryOverheadPercent, AdditionalTags: a.AdditionalTags, BillingExtension: true,
		NetworkInterfaces: a.NetworkInterfaces, MachineCreate: a.MachineCreate,
		Endpoints: azure.Endpoints{ResourceManager: a.Cloud.ResourceManagerEndpoint, AuthorityHost: a.Cloud.AuthorityHost,
			Audience: a.Cloud.Audience, RetailPrices: a.Cloud.RetailPricesEndpoint},
		Environment: a.Cloud.Name, Version: version, Now: time.Now, Log: log.WithName("azure"),
	}
}
