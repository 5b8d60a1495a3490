// Package config answers: what were we told?
//
// Parse turns arguments and environment into one Config: typed, defaulted and checked as a whole, or refused with every
// problem at once. Every option that users of Karpenter on AKS have today is accepted under its name; what has no effect
// here is listed in Unused rather than dropped. The package starts nothing, logs nothing and knows no cluster and no
// cloud; beside its arguments it reads one file, the one named by AZURE_ENVIRONMENT_FILEPATH.
package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/model"
)

// Config is everything the controller was told. It does not change once parsed.
type Config struct {
	Cluster Cluster
	Azure   Azure
	Kube    Kube
	Batch   Batch
	Ports   Ports
	Metrics Metrics
	Log     Log
	// Gates holds every feature gate by name, defaults included.
	Gates map[string]bool
	// PreferencePolicy is Respect or Ignore: whether preferred affinities count before a machine is bought.
	PreferencePolicy string
	// MinValuesPolicy is Strict or BestEffort: whether a pool's minValues may be relaxed.
	MinValuesPolicy   string
	IgnoreDRARequests bool
	// Paused is what is on hold of all pools.
	Paused model.Pause
	// RefusedPlans is the directory where plans that our own audit refused are written down; "" = nowhere.
	RefusedPlans string
	// Profiling asks for profiles beside the metrics.
	Profiling bool
	// SystemNamespace is where the controller itself runs.
	SystemNamespace string
	// MemoryLimit is in bytes; 0 means none.
	MemoryLimit int64
	// CPURequests is what the controller asked for itself, in thousandths of a core.
	CPURequests int64
	// Unused lists what was set and has no effect, with the reason, in the order of the options. It is for one log line.
	Unused []string

	settings []setting
}

// Cluster names the cluster that machines join.
type Cluster struct {
	Name     string
	Endpoint string // URL of the API server as machines reach it
	// TokenGroups are the groups that bootstrap tokens give beside system:bootstrappers.
	TokenGroups []string
}

// Azure says where and how machines are bought.
type Azure struct {
	SubscriptionID, TenantID, ClientID string
	// FederatedTokenFile is the service account token of workload identity; "" means another credential.
	FederatedTokenFile string
	// Location is the region, in lower case without spaces.
	Location string
	// ResourceGroup is the cluster's own; NodeResourceGroup is where machines go.
	ResourceGroup, NodeResourceGroup string
	SubnetID, VnetGUID               string
	SSHPublicKey, AdminUsername      string
	NodeIdentities                   []string // ARM ids
	KubeletIdentityClientID          string
	NetworkPlugin                    string // azure or none
	NetworkPluginMode                string // overlay or ""
	NetworkDataplane                 string // cilium, azure or ""
	NetworkPolicy                    string
	DNSServiceIP                     string // "" means that of the cluster's DNS service
	DiskEncryptionSetID              string
	// MemoryOverheadPercent is the part of a size's memory that its host keeps, 0 to 1.
	MemoryOverheadPercent float64
	AdditionalTags        map[string]string
	// NetworkInterfaces is inline or separate, MachineCreate is if-none-match or get-first; see docs/security.md.
	NetworkInterfaces, MachineCreate string
	UseSIG                           bool
	SDKLogging                       bool
	Cloud                            Cloud
}

// Kube says how to talk to the API server.
type Kube struct {
	QPS, Burst int
	// Kubeconfig is a file; "" means the pod's own service account.
	Kubeconfig     string
	LeaderElection LeaderElection
}

// LeaderElection says how replicas agree on who acts.
type LeaderElection struct {
	Disabled        bool
	Name, Namespace string
	// Identity is the pod's name. The one container of a pod never runs twice at a time, so that one that starts again
	// after a crash may take its own lease back at once. "" means that each process has a name of its own.
	Identity string
}

// Batch says how long pending pods are gathered.
type Batch struct {
	// Idle is the pause that ends a batch, Max the time that ends it in any case.
	Idle, Max time.Duration
}

// Ports are where we listen.
type Ports struct {
	Metrics, Health int    // TCP ports; 0 means that the system chooses
	Address         string // IP address or host name; "" means all addresses
}

// Metrics says who may see the metrics.
type Metrics struct {
	// Secure asks for TLS, and for a token whose owner may get the nonResourceURL /metrics.
	Secure bool
	// CertDir holds tls.crt and tls.key; "" means a certificate that the process signs itself.
	CertDir string
	// Profile says how much is served; NoState leaves out what is about the cluster's objects as they are.
	Profile meter.Profile
	NoState bool
}

// Log says what is written where.
type Log struct {
	Level                 string // debug, info, warn or error
	Outputs, ErrorOutputs []string
}

// setting is one option as it was resolved, for printing.
type setting struct{ name, value, source string }

// String lists every option with its value and, unless it is the default, where that came from; one per line. Secrets
// are not in it: they are not kept at all.
func (c Config) String() string {
	var b strings.Builder
	for _, s := range c.settings {
		fmt.Fprintf(&b, "%s=%s", s.name, s.value)
		if s.source != "" {
			fmt.Fprintf(&b, " (%s)", s.source)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Problem is one thing that is wrong with what we were told.
type Problem struct {
	Where string // the flag and the environment name
	What  string
	Do    string // what to do about it
}

// String prints "--cluster-name (CLUSTER_NAME) is missing: set it to the name of the cluster".
func (p Problem) String() string { return p.Where + " " + p.What + ": " + p.Do }

// Invalid is the error of Parse: everything that is wrong, in the order of the options.
type Invalid struct{ Problems []Problem }

// Error prints one problem per line.
func (e *Invalid) Error() string {
	var b strings.Builder
	if len(e.Problems) == 1 {
		b.WriteString("1 problem with the configuration:")
	} else {
		fmt.Fprintf(&b, "%d problems with the configuration:", len(e.Problems))
	}
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}
