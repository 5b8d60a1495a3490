package provision

// Exit codes of the first-boot script. Source: cse_helpers.sh.
const (
	exitStart      = 4   // a service did not start
	exitFile       = 6   // a script never came, or containerd's configuration is no base64
	exitKubeBinary = 31  // Kubernetes could not be downloaded
	exitKubelet    = 34  // the kubelet's unit failed to start
	exitCNI        = 41  // the Azure CNI could not be downloaded
	exitOutbound   = 50  // no way out of the network
	exitConnect    = 51  // the API server could not be reached, or is not who it should be
	exitLookup     = 52  // the API server's name is not known
	exitDriver     = 84  // GPU driver, fabric manager
	exitSysctl     = 103 // sysctl could not load its files
	exitManagedGPU = 123 // two ways of managed GPUs at once
	exitTimeout    = 124 // of timeout(1): the time is over
	exitBadTimeout = 125 // of timeout(1): not a duration
	exitSwap       = 130
	exitSwapRoom   = 131
	exitTrust      = 161 // a CA to trust could not be installed
	exitInstall    = 204 // Kubernetes could not be installed
	exitProvider   = 205 // the registry credential provider could not be installed
	exitLocalDNS   = 216
	exitGridLinux  = 224 // a driver type that Azure Linux does not have
)
