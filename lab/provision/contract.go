package provision

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Variable is one variable of the contract: what a sender of custom data must know of it.
type Variable struct {
	Name   string
	Format Format
	// Needed says when a machine cannot become a working node without it; "" means never.
	Needed string
	// Unset says what happens without it, or with "".
	Unset string
	// Reader is the script that reads it.
	Reader string
}

// Format is the form in which the scripts take a value.
type Format string

// The forms. Each has a check; text has none.
const (
	Text    Format = "text"
	Flag    Format = "true, or anything else for no" // compared with the literal, lower-case word
	Base64  Format = "base64 on one line"
	Number  Format = "whole number"
	JSON    Format = "JSON, written without quotes" // a number, true or false that goes into azure.json as it is
	Path    Format = "absolute path"
	Host    Format = "host name, no scheme, port or path"
	Version Format = "version such as 1.37.1, without v"
	Line    Format = "one line"
	Address Format = "URL"
)

// check reports what is wrong with a value; "" is never wrong: what it does is said in Unset.
func (f Format) check(v string) error {
	var err error
	switch f {
	case Flag:
		if v != "true" && v != "false" && v != "" {
			err = fmt.Errorf("%q counts as false: only the word true is true", v)
		}
	case Base64:
		_, err = base64.StdEncoding.DecodeString(v)
	case Number:
		if v != "" {
			_, err = strconv.ParseUint(v, 10, 32)
		}
	case JSON:
		if v != "" && !regexp.MustCompile(`^(true|false|-?[0-9]+(\.[0-9]+)?)$`).MatchString(v) {
			err = fmt.Errorf("%q is neither a number nor true or false", v)
		}
	case Path:
		if v != "" && !strings.HasPrefix(v, "/") {
			err = fmt.Errorf("%q is no absolute path", v)
		}
	case Host:
		if v != "" && net.ParseIP(v) == nil && !regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`).MatchString(v) {
			err = fmt.Errorf("%q is no host name: no scheme, no port, no path", v)
		}
	case Version:
		if v != "" && !versionForm.MatchString(v) {
			err = fmt.Errorf("%q is no version such as 1.37.1", v)
		}
	case Line:
		if strings.ContainsAny(v, "\n\r") {
			err = errors.New("it has several lines, and only the first one is read as part of it")
		}
	case Address:
		if v != "" && !regexp.MustCompile(`^https?://[^\s/"']+/\S*$`).MatchString(v) {
			err = fmt.Errorf("%q is no URL", v)
		}
	}
	return err
}

var versionForm = regexp.MustCompile(`^1\.(\d{1,4})\.(\d{1,4})$`)

// Contract lists the variables that the scripts read, sorted by name. Those that only a custom or sovereign cloud, a
// network-isolated cluster or an older image knows are in it; those of nobody any more are in Retired.
func Contract() []Variable {
	all := slices.Concat(joinVariables(), kubeletVariables(), containerdVariables(), networkVariables(), proxyVariables(),
		identityVariables(), gpuVariables(), osVariables(), localDNSVariables())
	slices.SortFunc(all, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Retired lists variables that current images read no more and that senders still send. They do no harm.
func Retired() []string {
	return []string{"AZURE_PRIVATE_REGISTRY_SERVER", "BLOCK_OUTBOUND_NETWORK", "CNI_PLUGINS_URL", "CONTAINERD_DOWNLOAD_URL_BASE",
		"CONTAINERD_VERSION", "CONTAINER_RUNTIME", "DHCPV6_CONFIG_FILEPATH", "DHCPV6_SERVICE_FILEPATH", "ENABLE_GPU_DEVICE_PLUGIN_IF_NEEDED",
		"ENABLE_TLS_BOOTSTRAPPING", "HYPERKUBE_URL", "IS_KRUSTLET", "KUBEPROXY_URL", "MOBY_VERSION", "NEEDS_CONTAINERD",
		"NEEDS_DOCKER_LOGIN", "RUNC_VERSION", "SGX_NODE", "TELEPORTD_PLUGIN_DOWNLOAD_URL", "TELEPORT_ENABLED"}
}

// like makes variables that differ in nothing but their name.
func like(v Variable, names string) []Variable {
	var out []Variable
	for _, name := range strings.Fields(names) {
		v.Name = name
		out = append(out, v)
	}
	return out
}

// names of scripts, as in the repository.
const (
	inMain    = "cse_main.sh"
	inStart   = "cse_start.sh"
	inHelpers = "cse_helpers.sh"
	inInstall = "cse_install.sh"
	inConfig  = "cse_config.sh"
)
