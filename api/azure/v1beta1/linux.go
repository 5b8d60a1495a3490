package v1beta1

// LinuxOSConfiguration sets kernel and swap settings of a machine. The controller accepts every field and does not act
// on any yet; a class that sets one says so in its conditions.
type LinuxOSConfiguration struct {
	// swapFileSize is the size of the swap file, such as "1500Mi" or "2Gi". It needs kubelet.failSwapOn to be false.
	// +kubebuilder:validation:Pattern=`^\d+(E|P|T|G|M|K|Ei|Pi|Ti|Gi|Mi|Ki)$`
	// +optional
	SwapFileSize *string `json:"swapFileSize,omitempty"`
	// sysctls are kernel settings.
	// +optional
	Sysctls *SysctlConfiguration `json:"sysctls,omitempty"`
	// transparentHugePageDefrag says how hard the kernel works to make huge pages.
	// +optional
	TransparentHugePageDefrag *TransparentHugePageDefrag `json:"transparentHugePageDefrag,omitempty"`
	// transparentHugePageEnabled says who gets huge pages without asking.
	// +optional
	TransparentHugePageEnabled *TransparentHugePageEnabled `json:"transparentHugePageEnabled,omitempty"`
}

// TransparentHugePageDefrag is a mode of /sys/kernel/mm/transparent_hugepage/defrag.
// +kubebuilder:validation:Enum:={always,defer,"defer+madvise",madvise,never}
type TransparentHugePageDefrag string

// TransparentHugePageEnabled is a mode of /sys/kernel/mm/transparent_hugepage/enabled.
// +kubebuilder:validation:Enum:={always,madvise,never}
type TransparentHugePageEnabled string

// SysctlConfiguration holds kernel settings. Ranges are those that AKS accepts for its custom node configuration.
// +kubebuilder:validation:XValidation:message="netCoreRmemDefault must not be above netCoreRmemMax",rule="!has(self.netCoreRmemDefault) || !has(self.netCoreRmemMax) || self.netCoreRmemDefault <= self.netCoreRmemMax"
// +kubebuilder:validation:XValidation:message="netCoreWmemDefault must not be above netCoreWmemMax",rule="!has(self.netCoreWmemDefault) || !has(self.netCoreWmemMax) || self.netCoreWmemDefault <= self.netCoreWmemMax"
// +kubebuilder:validation:XValidation:message="netIPv4NeighDefaultGcThresh1 must not be above netIPv4NeighDefaultGcThresh2",rule="!has(self.netIPv4NeighDefaultGcThresh1) || !has(self.netIPv4NeighDefaultGcThresh2) || self.netIPv4NeighDefaultGcThresh1 <= self.netIPv4NeighDefaultGcThresh2"
// +kubebuilder:validation:XValidation:message="netIPv4NeighDefaultGcThresh2 must not be above netIPv4NeighDefaultGcThresh3",rule="!has(self.netIPv4NeighDefaultGcThresh2) || !has(self.netIPv4NeighDefaultGcThresh3) || self.netIPv4NeighDefaultGcThresh2 <= self.netIPv4NeighDefaultGcThresh3"
// +kubebuilder:validation:XValidation:message="netIPv4IPLocalPortRange must start between 1024 and 60999",rule="!has(self.netIPv4IPLocalPortRange) || (int(self.netIPv4IPLocalPortRange.split(' ')[0]) >= 1024 && int(self.netIPv4IPLocalPortRange.split(' ')[0]) <= 60999)"
// +kubebuilder:validation:XValidation:message="netIPv4IPLocalPortRange must end between 32768 and 65535",rule="!has(self.netIPv4IPLocalPortRange) || (int(self.netIPv4IPLocalPortRange.split(' ')[1]) >= 32768 && int(self.netIPv4IPLocalPortRange.split(' ')[1]) <= 65535)"
// +kubebuilder:validation:XValidation:message="netIPv4IPLocalPortRange must not start above its end",rule="!has(self.netIPv4IPLocalPortRange) || int(self.netIPv4IPLocalPortRange.split(' ')[0]) <= int(self.netIPv4IPLocalPortRange.split(' ')[1])"
type SysctlConfiguration struct {
	// fsAioMaxNr is how many asynchronous I/O requests may be open at once (fs.aio-max-nr).
	// +kubebuilder:validation:Minimum=65536
	// +kubebuilder:validation:Maximum=6553500
	// +optional
	FsAioMaxNr *int32 `json:"fsAioMaxNr,omitempty"`
	// fsFileMax is how many file handles the kernel hands out (fs.file-max).
	// +kubebuilder:validation:Minimum=8192
	// +kubebuilder:validation:Maximum=12000500
	// +optional
	FsFileMax *int32 `json:"fsFileMax,omitempty"`
	// fsInotifyMaxUserWatches is how many inotify watches one user may hold (fs.inotify.max_user_watches).
	// +kubebuilder:validation:Minimum=781250
	// +kubebuilder:validation:Maximum=2097152
	// +optional
	FsInotifyMaxUserWatches *int32 `json:"fsInotifyMaxUserWatches,omitempty"`
	// fsNrOpen is how many file handles one process may hold (fs.nr_open).
	// +kubebuilder:validation:Minimum=8192
	// +kubebuilder:validation:Maximum=20000500
	// +optional
	FsNrOpen *int32 `json:"fsNrOpen,omitempty"`
	// kernelThreadsMax is how many threads may exist (kernel.threads-max).
	// +kubebuilder:validation:Minimum=20
	// +kubebuilder:validation:Maximum=513785
	// +optional
	KernelThreadsMax *int32 `json:"kernelThreadsMax,omitempty"`
	// netCoreNetdevMaxBacklog is how many received packets may wait for the kernel (net.core.netdev_max_backlog).
	// +kubebuilder:validation:Minimum=1000
	// +kubebuilder:validation:Maximum=3240000
	// +optional
	NetCoreNetdevMaxBacklog *int32 `json:"netCoreNetdevMaxBacklog,omitempty"`
	// netCoreOptmemMax is the largest ancillary buffer of a socket, in bytes (net.core.optmem_max).
	// +kubebuilder:validation:Minimum=20480
	// +kubebuilder:validation:Maximum=4194304
	// +optional
	NetCoreOptmemMax *int32 `json:"netCoreOptmemMax,omitempty"`
	// netCoreRmemDefault is the usual receive buffer of a socket, in bytes (net.core.rmem_default).
	// +kubebuilder:validation:Minimum=212992
	// +kubebuilder:validation:Maximum=134217728
	// +optional
	NetCoreRmemDefault *int32 `json:"netCoreRmemDefault,omitempty"`
	// netCoreRmemMax is the largest receive buffer of a socket, in bytes (net.core.rmem_max).
	// +kubebuilder:validation:Minimum=212992
	// +kubebuilder:validation:Maximum=134217728
	// +optional
	NetCoreRmemMax *int32 `json:"netCoreRmemMax,omitempty"`
	// netCoreSomaxconn is how many connections may wait at a listening socket (net.core.somaxconn).
	// +kubebuilder:validation:Minimum=4096
	// +kubebuilder:validation:Maximum=3240000
	// +optional
	NetCoreSomaxconn *int32 `json:"netCoreSomaxconn,omitempty"`
	// netCoreWmemDefault is the usual send buffer of a socket, in bytes (net.core.wmem_default).
	// +kubebuilder:validation:Minimum=212992
	// +kubebuilder:validation:Maximum=134217728
	// +optional
	NetCoreWmemDefault *int32 `json:"netCoreWmemDefault,omitempty"`
	// netCoreWmemMax is the largest send buffer of a socket, in bytes (net.core.wmem_max).
	// +kubebuilder:validation:Minimum=212992
	// +kubebuilder:validation:Maximum=134217728
	// +optional
	NetCoreWmemMax *int32 `json:"netCoreWmemMax,omitempty"`
	// netIPv4IPLocalPortRange is the first and last port for outgoing connections, as "first last"; first is 1024-60999, last is 32768-65535 (net.ipv4.ip_local_port_range).
	// +kubebuilder:validation:Pattern=`^\d{1,5} \d{1,5}$`
	// +kubebuilder:validation:MaxLength=11
	// +optional
	NetIPv4IPLocalPortRange *string `json:"netIPv4IPLocalPortRange,omitempty"`
	// netIPv4NeighDefaultGcThresh1 is how many ARP entries are kept before any is collected (net.ipv4.neigh.default.gc_thresh1).
	// +kubebuilder:validation:Minimum=128
	// +kubebuilder:validation:Maximum=80000
	// +optional
	NetIPv4NeighDefaultGcThresh1 *int32 `json:"netIPv4NeighDefaultGcThresh1,omitempty"`
	// netIPv4NeighDefaultGcThresh2 is how many ARP entries are kept for more than a few seconds (net.ipv4.neigh.default.gc_thresh2).
	// +kubebuilder:validation:Minimum=512
	// +kubebuilder:validation:Maximum=90000
	// +optional
	NetIPv4NeighDefaultGcThresh2 *int32 `json:"netIPv4NeighDefaultGcThresh2,omitempty"`
	// netIPv4NeighDefaultGcThresh3 is how many ARP entries there may be at all (net.ipv4.neigh.default.gc_thresh3).
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=100000
	// +optional
	NetIPv4NeighDefaultGcThresh3 *int32 `json:"netIPv4NeighDefaultGcThresh3,omitempty"`
	// netIPv4TCPFinTimeout is how long an orphaned connection stays in FIN-WAIT-2, in seconds (net.ipv4.tcp_fin_timeout).
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=120
	// +optional
	NetIPv4TCPFinTimeout *int32 `json:"netIPv4TCPFinTimeout,omitempty"`
	// netIPv4TCPKeepaliveProbes is how many unanswered probes end a connection (net.ipv4.tcp_keepalive_probes).
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=15
	// +optional
	NetIPv4TCPKeepaliveProbes *int32 `json:"netIPv4TCPKeepaliveProbes,omitempty"`
	// netIPv4TCPKeepaliveTime is how long a connection may be idle before it is probed, in seconds (net.ipv4.tcp_keepalive_time).
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=432000
	// +optional
	NetIPv4TCPKeepaliveTime *int32 `json:"netIPv4TCPKeepaliveTime,omitempty"`
	// netIPv4TCPMaxSynBacklog is how many half-open connections are remembered (net.ipv4.tcp_max_syn_backlog).
	// +kubebuilder:validation:Minimum=128
	// +kubebuilder:validation:Maximum=3240000
	// +optional
	NetIPv4TCPMaxSynBacklog *int32 `json:"netIPv4TCPMaxSynBacklog,omitempty"`
	// netIPv4TCPMaxTwBuckets is how many sockets may be in TIME-WAIT (net.ipv4.tcp_max_tw_buckets).
	// +kubebuilder:validation:Minimum=8000
	// +kubebuilder:validation:Maximum=1440000
	// +optional
	NetIPv4TCPMaxTwBuckets *int32 `json:"netIPv4TCPMaxTwBuckets,omitempty"`
	// netIPv4TCPTwReuse is whether a socket in TIME-WAIT may serve a new connection (net.ipv4.tcp_tw_reuse).
	// +optional
	NetIPv4TCPTwReuse *bool `json:"netIPv4TCPTwReuse,omitempty"`
	// netIPv4TCPKeepaliveIntvl is the pause between probes, in seconds (net.ipv4.tcp_keepalive_intvl).
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=90
	// +optional
	NetIPv4TCPKeepaliveIntvl *int32 `json:"netIPv4TCPKeepaliveIntvl,omitempty"`
	// netNetfilterNfConntrackBuckets is the size of the connection tracking table (net.netfilter.nf_conntrack_buckets).
	// +kubebuilder:validation:Minimum=65536
	// +kubebuilder:validation:Maximum=524288
	// +optional
	NetNetfilterNfConntrackBuckets *int32 `json:"netNetfilterNfConntrackBuckets,omitempty"`
	// netNetfilterNfConntrackMax is how many connections are tracked (net.netfilter.nf_conntrack_max).
	// +kubebuilder:validation:Minimum=131072
	// +kubebuilder:validation:Maximum=2097152
	// +optional
	NetNetfilterNfConntrackMax *int32 `json:"netNetfilterNfConntrackMax,omitempty"`
	// vmMaxMapCount is how many memory map areas a process may have (vm.max_map_count).
	// +kubebuilder:validation:Minimum=65530
	// +kubebuilder:validation:Maximum=262144
	// +optional
	VMMaxMapCount *int32 `json:"vmMaxMapCount,omitempty"`
	// vmSwappiness is how willingly the kernel swaps (vm.swappiness).
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	VMSwappiness *int32 `json:"vmSwappiness,omitempty"`
	// vmVfsCachePressure is how willingly the kernel gives back its directory and inode caches (vm.vfs_cache_pressure).
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	VMVfsCachePressure *int32 `json:"vmVfsCachePressure,omitempty"`
}
