package azure

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// Config says where and as whom to buy machines. New fills in the defaults that the fields name.
type Config struct {
	SubscriptionID string
	TenantID       string
	ClientID       string // of the application or identity that buys
	// FederatedTokenFile holds the service account token that workload identity exchanges; "" = see New.
	FederatedTokenFile string

	Location          string
	NodeResourceGroup string
	ClusterName       string
	// ClusterResourceGroup is that of the cluster itself; only Survey reads it.
	ClusterResourceGroup string
	SubnetID             string // ARM id of the subnet for machines whose class names none
	VnetGUID             string
	Network              Network

	SSHPublicKey            string
	AdminUsername           string   // default azureuser
	NodeIdentities          []string // ARM ids of the identities that machines carry
	KubeletIdentityClientID string
	DiskEncryptionSetID     string // "" = none
	MemoryOverheadPercent   float64
	AdditionalTags          map[string]string
	// NetworkInterfaces says how machines get theirs, and MachineCreate how a machine of the same name is kept from being changed; see the
	// words below. Both have been proven in the lab alone: who finds that Azure does otherwise has the other way.
	NetworkInterfaces, MachineCreate string
	// BillingExtension puts AKS' billing extension on every machine, as AKS itself does in the public clouds.
	BillingExtension bool

	// Environment is Azure's name for the cloud, which machines are told; default AzurePublicCloud.
	Environment string
	Endpoints   Endpoints
	// Transport carries every call to Azure; nil = the SDK's own.
	Transport *http.Client
	Version   string // of this program, for the user agent
	// Now is the clock; nil = time.Now.
	Now func() time.Time
	Log logr.Logger
}

// Endpoints are the addresses of one Azure cloud. Empty fields are those of the public cloud. A cloud with an
// AuthorityHost of its own is trusted as it stands: its authority is not looked up at Microsoft's.
type Endpoints struct {
	ResourceManager string // "https://management.azure.com"
	AuthorityHost   string // "https://login.microsoftonline.com/"
	Audience        string // "https://management.core.windows.net/"
	RetailPrices    string // "https://prices.azure.com"
}

// Ways for Config.NetworkInterfaces and Config.MachineCreate; the first of each is the default.
const (
	InterfacesInline   = "inline"   // described in the machine's request, made with it
	InterfacesSeparate = "separate" // made before the machine, which then refers to it

	IfNoneMatch = "if-none-match" // Azure refuses the request when there is a machine of that name
	GetFirst    = "get-first"     // we look, and ask only when there is none
)

const (
	publicRetailPrices = "https://prices.azure.com"
	defaultAdmin       = "azureuser"
	defaultEnvironment = "AzurePublicCloud"
	maxAppID           = 24 // longest application id that the SDK puts into its user agent
)

func (c Config) withDefaults() Config {
	c.NetworkInterfaces = cmp.Or(c.NetworkInterfaces, InterfacesInline)
	c.MachineCreate = cmp.Or(c.MachineCreate, IfNoneMatch)
	if c.AdminUsername == "" {
		c.AdminUsername = defaultAdmin
	}
	if c.Environment == "" {
		c.Environment = defaultEnvironment
	}
	if c.Endpoints.RetailPrices == "" {
		c.Endpoints.RetailPrices = publicRetailPrices
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log.GetSink() == nil {
		c.Log = logr.Discard()
	}
	c.Location = strings.ToLower(strings.ReplaceAll(c.Location, " ", ""))
	return c
}

// validate lists everything that is missing or wrong at once.
func (c Config) validate() error {
	var errs []error
	for _, f := range []struct{ name, value string }{
		{"subscription id", c.SubscriptionID}, {"location", c.Location}, {"node resource group", c.NodeResourceGroup},
		{"cluster name", c.ClusterName}, {"ssh public key", c.SSHPublicKey},
	} {
		if f.value == "" {
			errs = append(errs, fmt.Errorf("%s is missing", f.name))
		}
	}
	if s, ok := parseSubnetID(c.SubnetID); !ok || !takesSubnet(s) {
		errs = append(errs, fmt.Errorf("vnet subnet id %q is not the id of a subnet", c.SubnetID))
	}
	if c.MemoryOverheadPercent < 0 || c.MemoryOverheadPercent >= 1 {
		errs = append(errs, fmt.Errorf("memory overhead %v is not a share from 0 up to 1", c.MemoryOverheadPercent))
	}
	if c.NetworkInterfaces != InterfacesInline && c.NetworkInterfaces != InterfacesSeparate {
		errs = append(errs, fmt.Errorf("network interfaces %q: want %s or %s", c.NetworkInterfaces, InterfacesInline, InterfacesSeparate))
	}
	if c.MachineCreate != IfNoneMatch && c.MachineCreate != GetFirst {
		errs = append(errs, fmt.Errorf("machine create %q: want %s or %s", c.MachineCreate, IfNoneMatch, GetFirst))
	}
	if c.FederatedTokenFile != "" && (c.TenantID == "" || c.ClientID == "") {
		errs = append(errs, errors.New("workload identity needs a tenant id and a client id"))
	}
	return errors.Join(errs...)
}
