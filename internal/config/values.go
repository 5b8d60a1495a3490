package config

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/model"
)

// setter parses a value into a Config. Its error completes a sentence that starts with the option's name.
type setter = func(c *Config, v string) error

func text(at func(*Config) *string) setter {
	return func(c *Config, v string) error { *at(c) = v; return nil }
}

// word takes names and ids: no spaces, no slashes.
func word(at func(*Config) *string) setter {
	return func(c *Config, v string) error {
		if strings.ContainsAny(v, " \t\r\n/") {
			return fmt.Errorf("is %q, which holds a space or a slash", v)
		}
		*at(c) = v
		return nil
	}
}

func oneOf(at func(*Config) *string, allowed ...string) setter {
	return func(c *Config, v string) error {
		if !slices.Contains(allowed, v) {
			return fmt.Errorf("is %q", v)
		}
		*at(c) = v
		return nil
	}
}

// profile takes the words of package meter.
func profile(c *Config, v string) error {
	p, ok := meter.ParseProfile(v)
	if !ok {
		return fmt.Errorf("is %q", v)
	}
	c.Metrics.Profile = p
	return nil
}

func boolean(at func(*Config) *bool) setter {
	return func(c *Config, v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return fmt.Errorf("is %q, which is neither true nor false", v)
		}
		*at(c) = b
		return nil
	}
}

func integer(at func(*Config) *int, low, high int) setter {
	return func(c *Config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil {
			return fmt.Errorf("is %q, which is not a whole number", v)
		}
		if n < low || n > high {
			return fmt.Errorf("is %d, which is not between %d and %d", n, low, high)
		}
		*at(c) = n
		return nil
	}
}

func long(at func(*Config) *int64, low int64) setter {
	return func(c *Config, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return fmt.Errorf("is %q, which is not a whole number", v)
		}
		if n < low {
			return fmt.Errorf("is %d, which is below %d", n, low)
		}
		*at(c) = n
		return nil
	}
}

func memoryLimit(c *Config, v string) error {
	if err := long(func(c *Config) *int64 { return &c.MemoryLimit }, -1)(c, v); err != nil {
		return err
	}
	c.MemoryLimit = max(c.MemoryLimit, 0)
	return nil
}

func span(at func(*Config) *time.Duration) setter {
	return func(c *Config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil {
			return fmt.Errorf("is %q, which is not a duration such as 1s or 500ms", v)
		}
		if d <= 0 {
			return fmt.Errorf("is %s, which is not above zero", d)
		}
		*at(c) = d
		return nil
	}
}

func list(at func(*Config) *[]string) setter {
	return func(c *Config, v string) error {
		*at(c) = nil
		for s := range strings.SplitSeq(v, ",") {
			if s = strings.TrimSpace(s); s != "" {
				*at(c) = append(*at(c), s)
			}
		}
		return nil
	}
}

// endpoint takes absolute URLs of the given schemes.
func endpoint(at func(*Config) *string, schemes ...string) setter {
	return func(c *Config, v string) error {
		if err := checkURL(v, schemes...); err != nil {
			return err
		}
		*at(c) = v
		return nil
	}
}

func checkURL(v string, schemes ...string) error {
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		return fmt.Errorf("is %q, which is not a URL that starts with %s://", v, strings.Join(schemes, ":// or "))
	}
	if u.User != nil {
		return errors.New("holds a user name or a password")
	}
	return nil
}

func uuid(at func(*Config) *string) setter {
	re := regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	return func(c *Config, v string) error {
		if !re.MatchString(v) {
			return fmt.Errorf("is %q, which is not a UUID", v)
		}
		*at(c) = v
		return nil
	}
}

func ip(at func(*Config) *string) setter {
	return func(c *Config, v string) error {
		if _, err := netip.ParseAddr(v); err != nil {
			return fmt.Errorf("is %q, which is not an IP address", v)
		}
		*at(c) = v
		return nil
	}
}

// location takes a region in any notation: "East US" is eastus.
func location(c *Config, v string) error {
	return word(func(c *Config) *string { return &c.Azure.Location })(c, strings.ToLower(strings.ReplaceAll(v, " ", "")))
}

func adminName(c *Config, v string) error {
	if !regexp.MustCompile(`^[A-Za-z][-A-Za-z0-9_]{0,31}$`).MatchString(v) {
		return fmt.Errorf("is %q, which is not a letter followed by at most 31 letters, digits, - or _", v)
	}
	c.Azure.AdminUsername = v
	return nil
}

// leastRSA is the size of the smallest RSA keys that Azure takes, in bits.
const leastRSA = 2048

// sshKey refuses what Azure would refuse on every machine: it takes RSA keys of at least 2048 bits and Ed25519 keys
// (documentation "Create and use an SSH public-private key pair for Linux VMs in Azure", supported SSH key formats).
func sshKey(c *Config, v string) error {
	v = strings.TrimSpace(v)
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(v))
	if err != nil || len(options) > 0 || strings.Contains(v, "\n") {
		return errors.New("is not one line of a type and a key, such as ssh-ed25519 AAAA…")
	}
	bits := 0
	if k, ok := key.(ssh.CryptoPublicKey); ok {
		if k, ok := k.CryptoPublicKey().(*rsa.PublicKey); ok {
			bits = k.N.BitLen()
		}
	}
	switch {
	case key.Type() == ssh.KeyAlgoRSA && bits < leastRSA:
		return fmt.Errorf("is an RSA key of %d bits; Azure takes %d and more", bits, leastRSA)
	case key.Type() != ssh.KeyAlgoRSA && key.Type() != ssh.KeyAlgoED25519:
		return fmt.Errorf("is a key of type %s; Azure takes %s and %s", key.Type(), ssh.KeyAlgoRSA, ssh.KeyAlgoED25519)
	}
	c.Azure.SSHPublicKey = v
	return nil
}

func subnet(c *Config, v string) error {
	re := regexp.MustCompile(`^(?i)/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+$`)
	if !re.MatchString(v) {
		return fmt.Errorf("is %q, which is not /subscriptions/…/resourceGroups/…/providers/Microsoft.Network/virtualNetworks/…/subnets/…", v)
	}
	c.Azure.SubnetID = v
	return nil
}

func identities(c *Config, v string) error {
	re := regexp.MustCompile(`^(?i)/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.ManagedIdentity/userAssignedIdentities/[^/]+$`)
	if err := list(func(c *Config) *[]string { return &c.Azure.NodeIdentities })(c, v); err != nil {
		return err
	}
	for _, id := range c.Azure.NodeIdentities {
		if !re.MatchString(id) {
			return fmt.Errorf("holds %q, which is not /subscriptions/…/resourceGroups/…/providers/Microsoft.ManagedIdentity/userAssignedIdentities/…", id)
		}
	}
	return nil
}

func memoryOverhead(c *Config, v string) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return fmt.Errorf("is %q, which is not a number", v)
	}
	if !(f >= 0 && f < 1) { // written so that NaN fails
		return fmt.Errorf("is %v, which is not at least 0 and below 1", f)
	}
	c.Azure.MemoryOverheadPercent = f
	return nil
}

// Limits of Azure on tags. Keys with a slash are refused here because Azure would refuse the machine.
const (
	maxTagKey   = 512
	maxTagValue = 256
)

func tags(c *Config, v string) error {
	out, lower := map[string]string{}, map[string]bool{}
	for pair := range strings.SplitSeq(v, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		k, val, ok := strings.Cut(pair, "=")
		switch {
		case !ok || k == "":
			return fmt.Errorf("holds %q, which is not key=value", pair)
		case strings.ContainsAny(k, `<>%&\?/`):
			return fmt.Errorf("holds the key %q, which has one of the characters < > %% & \\ ? /", k)
		case len(k) > maxTagKey || len(val) > maxTagValue:
			return fmt.Errorf("holds the key %q, which or whose value is too long (%d and %d characters)", k, maxTagKey, maxTagValue)
		case lower[strings.ToLower(k)]:
			return fmt.Errorf("holds the key %q twice; Azure does not tell upper from lower case", k)
		}
		out[k], lower[strings.ToLower(k)] = val, true
	}
	c.Azure.AdditionalTags = out
	return nil
}

// pause refuses words that nobody knows: a start can be mended at once, unlike an annotation.
func pause(c *Config, v string) error {
	p := model.ParsePause(v)
	if len(p.Unreadable) > 0 {
		return fmt.Errorf("is %q", v)
	}
	p.Observe = c.Paused.Observe
	c.Paused = p
	return nil
}

func disruptionMode(c *Config, v string) error {
	mode := ""
	err := oneOf(func(*Config) *string { return &mode }, model.DisruptionAct, model.DisruptionObserve)(c, v)
	c.Paused.Observe = mode == model.DisruptionObserve
	return err
}

// Feature gates with their defaults.
func defaultGates() map[string]bool {
	return map[string]bool{
		"CapacityBuffer":          false,
		"NodeOverlay":             false,
		"NodeRepair":              false,
		"NominatedNodes":          true,
		"ReservedCapacity":        true,
		"SpotToSpotConsolidation": false,
		"StaticCapacity":          false,
	}
}

// Gates reads a list such as "NodeRepair=true" on top of the defaults, as the flag feature-gates is read. The error names what is wrong.
func Gates(list string) (map[string]bool, error) {
	c := Config{Gates: defaultGates()}
	if list == "" {
		return c.Gates, nil
	}
	err := gates(&c, list)
	return c.Gates, err
}

// acting names the gates that change what the controller does.
var acting = []string{"CapacityBuffer", "NodeOverlay", "NodeRepair", "NominatedNodes", "SpotToSpotConsolidation", "StaticCapacity"}

func gates(c *Config, v string) error {
	c.Gates = defaultGates()
	for pair := range strings.SplitSeq(v, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, val, _ := strings.Cut(pair, "=")
		on, err := strconv.ParseBool(val)
		if err != nil {
			return fmt.Errorf("holds %q, which is not Name=true or Name=false", pair)
		}
		if _, known := c.Gates[name]; !known {
			return fmt.Errorf("holds %q, which is not a feature; did you mean %s?", name, nearest(name, gateNames()))
		}
		c.Gates[name] = on
		if on && !slices.Contains(acting, name) {
			c.Unused = append(c.Unused, "feature gate "+name+": the feature is not available")
		}
	}
	return nil
}

func gateNames() []string {
	var out []string
	for name := range defaultGates() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func provisionMode(_ *Config, v string) error {
	if !slices.Contains([]string{"aksscriptless", "bootstrappingclient", "aksmachineapi", "aksmachineapiheaderbatch"}, v) {
		return fmt.Errorf("is %q", v)
	}
	return nil
}

// The rest check values that are not kept.
func anything(*Config, string) error { return nil }

func anyBool(_ *Config, v string) error {
	return boolean(func(*Config) *bool { return new(bool) })(nil, v)
}

func anySpan(_ *Config, v string) error {
	return span(func(*Config) *time.Duration { return new(time.Duration) })(nil, v)
}

func batchSize(_ *Config, v string) error {
	return integer(func(*Config) *int { return new(int) }, 1, 50)(nil, v)
}

// bootstrapGroup is what Kubernetes asks of a group in a bootstrap token: system:bootstrappers: and a name of a-z, 0-9, : and -
// that ends in a letter or digit. A token with any other group authenticates nobody.
var bootstrapGroup = regexp.MustCompile(`^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$`)

func tokenGroups(c *Config, v string) error {
	if err := list(func(c *Config) *[]string { return &c.Cluster.TokenGroups })(c, v); err != nil {
		return err
	}
	for _, g := range c.Cluster.TokenGroups {
		if !bootstrapGroup.MatchString(g) {
			return fmt.Errorf("holds %q, which is not system:bootstrappers: followed by letters a-z, digits, colons and dashes", g)
		}
	}
	return nil
}
