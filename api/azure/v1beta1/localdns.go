package v1beta1

import karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

// LocalDNS runs a DNS cache on the machine. The controller accepts every field and does not act on any yet, unless mode
// is Disabled; a class that asks for more says so in its conditions.
type LocalDNS struct {
	// mode Required runs the cache, Disabled does not, Preferred runs it where the cluster allows it.
	// +required
	Mode LocalDNSMode `json:"mode"`
	// vnetDNSOverrides apply to lookups of the kubelet and of pods with dnsPolicy Default.
	// +optional
	// +listType=map
	// +listMapKey=zone
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:message="must contain the zones '.' and 'cluster.local'",rule="['.', 'cluster.local'].all(z, self.exists(x, x.zone == z))"
	// +kubebuilder:validation:XValidation:message="zone '.' must not be forwarded to ClusterCoreDNS from vnetDNSOverrides",rule="!self.exists(x, x.zone == '.' && x.forwardDestination == 'ClusterCoreDNS')"
	// +kubebuilder:validation:XValidation:message="zones outside the cluster must not be forwarded to ClusterCoreDNS from vnetDNSOverrides",rule="!self.exists(x, x.zone != '.' && !x.zone.endsWith('cluster.local') && x.forwardDestination == 'ClusterCoreDNS')"
	VnetDNSOverrides []LocalDNSZoneOverride `json:"vnetDNSOverrides,omitempty"`
	// kubeDNSOverrides apply to lookups of pods with dnsPolicy ClusterFirst.
	// +optional
	// +listType=map
	// +listMapKey=zone
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:message="must contain the zones '.' and 'cluster.local'",rule="['.', 'cluster.local'].all(z, self.exists(x, x.zone == z))"
	KubeDNSOverrides []LocalDNSZoneOverride `json:"kubeDNSOverrides,omitempty"`
}

// LocalDNSMode says whether the cache runs.
// +kubebuilder:validation:Enum:={Preferred,Required,Disabled}
type LocalDNSMode string

// The modes.
const (
	LocalDNSModePreferred LocalDNSMode = "Preferred"
	LocalDNSModeRequired  LocalDNSMode = "Required"
	LocalDNSModeDisabled  LocalDNSMode = "Disabled"
)

// LocalDNSZoneOverride says how names of one zone are looked up.
// +kubebuilder:validation:XValidation:message="'cluster.local' must not be forwarded to VnetDNS",rule="!(self.zone.endsWith('cluster.local') && self.forwardDestination == 'VnetDNS')"
// +kubebuilder:validation:XValidation:message="serveStale Verify is not available with protocol ForceTCP",rule="!(self.serveStale == 'Verify' && self.protocol == 'ForceTCP')"
type LocalDNSZoneOverride struct {
	// zone is the DNS zone, "." for everything else.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=254
	// +kubebuilder:validation:Pattern=`^(\.|[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)*\.?)$`
	Zone string `json:"zone"`
	// queryLogging says what is logged: failures, or every query.
	// +required
	QueryLogging LocalDNSQueryLogging `json:"queryLogging"`
	// protocol is how the next server is asked.
	// +required
	Protocol LocalDNSProtocol `json:"protocol"`
	// forwardDestination is the next server.
	// +required
	ForwardDestination LocalDNSForwardDestination `json:"forwardDestination"`
	// forwardPolicy is how one of several next servers is chosen.
	// +required
	ForwardPolicy LocalDNSForwardPolicy `json:"forwardPolicy"`
	// maxConcurrent is how many queries may be open at once; 0 means no limit.
	// +required
	// +kubebuilder:validation:Minimum=0
	MaxConcurrent *int32 `json:"maxConcurrent"`
	// cacheDuration is how long an answer is kept at most.
	// +required
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type="string"
	// +kubebuilder:validation:Schemaless
	CacheDuration karpv1.NillableDuration `json:"cacheDuration"`
	// serveStaleDuration is how long an answer may be served after it ran out.
	// +required
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type="string"
	// +kubebuilder:validation:Schemaless
	ServeStaleDuration karpv1.NillableDuration `json:"serveStaleDuration"`
	// serveStale says when an answer that ran out is served.
	// +required
	ServeStale LocalDNSServeStale `json:"serveStale"`
}

// LocalDNSQueryLogging says what is logged.
// +kubebuilder:validation:Enum:={Error,Log}
type LocalDNSQueryLogging string

// LocalDNSProtocol is how the next server is asked.
// +kubebuilder:validation:Enum:={PreferUDP,ForceTCP}
type LocalDNSProtocol string

// LocalDNSForwardDestination is the next server.
// +kubebuilder:validation:Enum:={ClusterCoreDNS,VnetDNS}
type LocalDNSForwardDestination string

// LocalDNSForwardPolicy is how one of several servers is chosen.
// +kubebuilder:validation:Enum:={Sequential,RoundRobin,Random}
type LocalDNSForwardPolicy string

// LocalDNSServeStale says when an answer that ran out is served.
// +kubebuilder:validation:Enum:={Verify,Immediate,Disable}
type LocalDNSServeStale string
