package doctor

import "time"

// Facts are what was seen, by whoever looked. What nobody could see is empty, and the fields named Hidden or Unreached say why.
type Facts struct {
	// Now is the clock of the machine that this runs on.
	Now      time.Time
	Settings Settings
	Cluster  Cluster
	Azure    Azure
}

// Settings are what the controller is told.
type Settings struct {
	// From says where they stand: a values file, the installed controller, the environment.
	From string
	// Problems are those with which the controller would not start.
	Problems []string
	// Namespace and Account are the controller's.
	Namespace, Account string

	Endpoint       string // URL of the API server as machines reach it
	SubscriptionID string
	ClientID       string
	Location       string
	NodeGroup      string
	SubnetID       string
	// Overlay says that machines take one address each, and pods none of the subnet.
	Overlay bool
	// TokenGroups are those that machines' tokens give beside system:bootstrappers.
	TokenGroups []string
}

// Clock is a server's clock as it was read.
type Clock struct {
	At   time.Time // in whole seconds; zero = not read
	Here time.Time // ours, when the answer came
}

// Cluster is what its API server said.
type Cluster struct {
	// Unreached says why nothing could be asked.
	Unreached string
	Hidden    []string
	Version   string // v1.34.2
	Clock     Clock

	Definitions []Definition
	// Installed says that the controller's account is there.
	Installed bool
	// AccountClientID is what the account is annotated with.
	AccountClientID string
	// Access is what the controller's account may do of what it needs; Installer what the person may do of what an installation needs; Tokens what
	// the holder of a machine's token may do of what a kubelet needs to join.
	Access, Installer, Tokens []Access
	// Issuer is that of service account tokens.
	Issuer string
	// Webhook says that pods get tokens for Azure: the mutating webhook of workload identity is there.
	Webhook bool
	// Renewed is when the leading controller last said so; zero = nobody leads.
	Renewed time.Time
	Nodes   []Node
}

// Definition is one of our custom resource definitions as the cluster has it.
type Definition struct {
	Name    string
	Present bool
	// Severe are differences that lose or refuse what is written; Others the number of the rest.
	Severe []string
	Others int
}

// Access is one thing that somebody needs to do, and whether the API server would let them.
type Access struct {
	Verb, Group, Resource string
	Namespace, Name       string // "" = everywhere, all
	Allowed               bool
}

// Node is what matters of a node.
type Node struct {
	Name, Subscription, Group, Region, Subnet string
	Ready                                     bool
	// Ours says that Karpenter made it: the controller does not run there.
	Ours bool
}

// Azure is what Azure said.
type Azure struct {
	// Controller says that the controller's own identity asked; otherwise a person did.
	Controller bool
	// Unreached says why nothing could be asked; Code is Azure's name for that, such as AADSTS700213, "" when no answer came.
	Unreached, Code string
	Clock           Clock
	// Credentials are the federated credentials of the controller's identity; nil when they could not be seen.
	Credentials []Credential
	// Identity is the name of the controller's identity and Group its resource group; "" when it was not seen.
	Identity, Group string
	// Needs are the rights that the controller needs, Grants those that it has. Grants is nil when they could not be seen.
	Needs  []Grant
	Grants []Grant
	// Hidden says what else could not be seen.
	Hidden []string
	// Denied are calls that Azure refused to the controller's own identity.
	Denied []string

	Managed Managed
	Subnet  Subnet
	Usages  []Usage
	// Sizes is how many sizes the region sells to the subscription.
	Sizes int
	// Galleries are the public ones that images come from.
	Galleries []Gallery
	// Prices is how many prices were read, NoPrices why none was.
	Prices   int
	NoPrices string
	// Asked are the parts that were asked for at all, by the names of the checks.
	Asked map[string]bool
}

// Managed is the cluster as AKS has it.
type Managed struct {
	// Provisioning says that AKS runs a Karpenter of its own.
	Provisioning bool
	// Autoscaled are the pools that the cluster autoscaler works on.
	Autoscaled []string
	// Ranges are the only addresses that may talk to the API server; none means all.
	Ranges []string
	// Names are those of the API server, the public one first: its certificate has no others. Private says that it has an
	// address in a network only.
	Names   []string
	Private bool
	// Outbound says how machines get out: loadBalancer, managedNATGateway, userAssignedNATGateway, userDefinedRouting.
	Outbound string
	// Subnets are those of AKS' own pools, by id.
	Subnets []string
}

// Credential is one federated credential.
type Credential struct {
	Name, Issuer, Subject string
	Audiences             []string
}

// Grant is a list of actions at a scope. Role names it for people.
type Grant struct {
	Role, Scope         string
	Actions, NotActions []string
}

// Subnet is where machines get addresses.
type Subnet struct {
	Missing  bool
	Prefixes []string // IPv4 ranges
	Used     int      // addresses that are taken
	// Delegated names the service that the subnet is given to, where machines cannot be.
	Delegated string
	// RouteTable is set when somebody decides where traffic goes; Routes are what it says, nil when nobody could read it. Announced says that
	// routes of a network gateway count beside them.
	RouteTable string
	Routes     []Route
	Announced  bool
	// NATGateway is set when traffic leaves by addresses of its own.
	NATGateway string
	// Sealed says that Azure gives machines no way out by itself.
	Sealed bool
	// Rules are the rules of its security group, in no order.
	Rules []Rule
}

// Rule is an outbound rule of a network security group.
type Rule struct {
	Name         string
	Priority     int
	Deny         bool
	Protocol     string // Tcp, Udp, Icmp, *
	Ports        []string
	Destinations []string
}

// Route says where traffic to a range goes: Internet, VirtualAppliance, VirtualNetworkGateway, VnetLocal or None, and to which address there.
type Route struct{ Name, Prefix, Hop, Address string }

// Usage is how much of a quota is used.
type Usage struct {
	Name, Words string
	Used, Limit int
}

// Gallery is a public gallery of images and how many versions of one of its images it shows.
type Gallery struct {
	Name, Image string
	Versions    int
	Why         string // why none
}
