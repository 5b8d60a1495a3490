package config

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// Cloud is where Azure's services are.
type Cloud struct {
	Name                    string
	ResourceManagerEndpoint string // URL
	AuthorityHost           string // URL of the token endpoint
	Audience                string // what tokens are asked for
	// RetailPricesEndpoint is the base URL of the price list; "" where there is none.
	RetailPricesEndpoint string

	// authority is AZURE_AUTHORITY_HOST, which the workload identity webhook sets to the right one for its cluster.
	authority string
	fromFile  bool
}

// clouds are the public clouds. Source: the endpoints Azure publishes for them; only the first has a price list.
func clouds() []Cloud {
	return []Cloud{
		{
			Name: "AzurePublicCloud", ResourceManagerEndpoint: "https://management.azure.com",
			AuthorityHost: "https://login.microsoftonline.com/", Audience: "https://management.core.windows.net/",
			RetailPricesEndpoint: "https://prices.azure.com",
		},
		{
			Name: "AzureUSGovernmentCloud", ResourceManagerEndpoint: "https://management.usgovcloudapi.net",
			AuthorityHost: "https://login.microsoftonline.us/", Audience: "https://management.core.usgovcloudapi.net/",
		},
		{
			Name: "AzureChinaCloud", ResourceManagerEndpoint: "https://management.chinacloudapi.cn",
			AuthorityHost: "https://login.chinacloudapi.cn/", Audience: "https://management.core.chinacloudapi.cn/",
		},
	}
}

func namedCloud(c *Config, v string) error {
	short := func(s string) string { return strings.TrimSuffix(strings.ToLower(s), "cloud") }
	for _, known := range clouds() {
		if short(known.Name) == short(v) {
			known.authority = c.Azure.Cloud.authority
			c.Azure.Cloud = known
			return nil
		}
	}
	return fmt.Errorf("is %q", v)
}

// maxCloudFile bounds how much of an environment file is read; real ones have about 2 KB.
const maxCloudFile = 1 << 20

// cloudFile reads the description of a cloud. Keys that are not needed are ignored: such files carry many.
func cloudFile(c *Config, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("names a file that cannot be opened: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxCloudFile))
	if err != nil {
		return fmt.Errorf("names %s, which cannot be read: %w", path, err)
	}
	var in struct {
		Name                    string `json:"name"`
		ResourceManagerEndpoint string `json:"resourceManagerEndpoint"`
		ActiveDirectoryEndpoint string `json:"activeDirectoryEndpoint"`
		TokenAudience           string `json:"tokenAudience"`
		RetailPricesEndpoint    string `json:"retailPricesEndpoint"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return fmt.Errorf("names %s, which is not JSON: %w", path, err)
	}
	for _, e := range []struct {
		key, value string
		required   bool
	}{
		{"resourceManagerEndpoint", in.ResourceManagerEndpoint, true},
		{"activeDirectoryEndpoint", in.ActiveDirectoryEndpoint, true},
		{"retailPricesEndpoint", in.RetailPricesEndpoint, false},
	} {
		if e.value == "" && !e.required {
			continue
		}
		if err := checkURL(e.value, "https"); err != nil {
			return fmt.Errorf("names %s, whose %s %w", path, e.key, err)
		}
	}
	if in.TokenAudience == "" {
		in.TokenAudience = in.ResourceManagerEndpoint
	}
	c.Azure.Cloud = Cloud{
		Name: in.Name, ResourceManagerEndpoint: in.ResourceManagerEndpoint, AuthorityHost: in.ActiveDirectoryEndpoint,
		Audience: in.TokenAudience, RetailPricesEndpoint: in.RetailPricesEndpoint,
		authority: c.Azure.Cloud.authority, fromFile: true,
	}
	return nil
}

// settle applies what depends on several of the options above.
func (c *Cloud) settle() {
	if c.ResourceManagerEndpoint == "" {
		public := clouds()[0]
		public.authority = c.authority
		*c = public
	}
	if c.authority != "" && !c.fromFile {
		c.AuthorityHost = c.authority
	}
}
