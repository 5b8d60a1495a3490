package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Lookup finds an environment value and whether it is set at all, like os.LookupEnv. The difference matters: for some
// options, empty is a choice.
type Lookup func(name string) (string, bool)

// ErrHelp is returned by Parse when the arguments ask for help; Usage is the answer.
var ErrHelp = errors.New("help requested")

// Parse reads arguments (without the program's name) and environment. A flag wins over the environment, which wins over
// the default. The error is *Invalid with everything that is wrong, or ErrHelp when help was asked for.
func Parse(args []string, env Lookup) (Config, error) {
	opts := options()
	given, problems, err := parseFlags(opts, args)
	if err != nil {
		return Config{}, err
	}
	c := Config{Gates: defaultGates()}
	for i := range opts {
		problems = append(problems, c.apply(&opts[i], given, env)...)
	}
	c.Azure.Cloud.settle()
	if c.Kube.LeaderElection.Namespace == "" {
		c.Kube.LeaderElection.Namespace = c.SystemNamespace
	}
	problems = append(problems, c.check(problems)...)
	if len(problems) > 0 {
		return Config{}, &Invalid{Problems: problems}
	}
	return c, nil
}

// apply resolves one option and stores it.
func (c *Config) apply(o *option, given map[string]string, env Lookup) []Problem {
	value, source, problem := resolve(o, given, env)
	if problem != nil {
		return []Problem{*problem}
	}
	if value == "" && o.need != "" {
		return []Problem{{o.where(), "is missing", "set it to " + o.need}}
	}
	shown := value
	if o.secret && value != "" {
		shown = "[redacted]"
	}
	c.settings = append(c.settings, setting{o.name(), shown, source})
	if value == "" && !o.emptyCounts {
		return nil
	}
	if err := o.set(c, value); err != nil {
		do := "want " + o.usage
		if o.need != "" {
			do = "set it to " + o.need
		}
		return []Problem{{o.where(), err.Error(), do}}
	}
	if o.unused != "" && source != "" && !same(value, o) {
		c.Unused = append(c.Unused, o.where()+": "+o.unused)
	}
	return nil
}

// same reports whether a value says the same as the default.
func same(value string, o *option) bool {
	if !o.boolean {
		return value == o.def
	}
	a, errA := strconv.ParseBool(value)
	b, errB := strconv.ParseBool(o.def)
	return errA == nil && errB == nil && a == b
}

// resolve returns the value of an option and where it came from; source is "" for the default.
func resolve(o *option, given map[string]string, env Lookup) (value, source string, _ *Problem) {
	if v, ok := given[o.flag]; ok && o.flag != "" {
		if v == "" && !o.emptyCounts {
			v = o.def
		}
		return v, "--" + o.flag, nil
	}
	for _, name := range o.env {
		v, ok := env(name)
		if !ok || (v == "" && !o.emptyCounts) {
			continue
		}
		if source != "" && v != value {
			return "", "", &Problem{o.where(), "contradict each other", "set one of them, or both to the same"}
		}
		if source == "" {
			value, source = v, name
		}
	}
	if source == "" {
		value = o.def
	}
	return value, source, nil
}

// parseFlags returns the values of flags by name. Everything that is not a known flag is a problem, so that all of it can
// be said at once. One dash counts like two, as it does for users of Go's own flags.
func parseFlags(opts []option, args []string) (given map[string]string, problems []Problem, err error) {
	given = map[string]string{}
	var names []string
	known := map[string]*option{}
	for i := range opts {
		if o := &opts[i]; o.flag != "" {
			names = append(names, o.flag)
			known[o.flag] = o
		}
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !strings.HasPrefix(a, "-") || strings.Trim(a, "-") == "" {
			problems = append(problems, Problem{fmt.Sprintf("argument %q", a), "is not expected", "remove it, or write --name=value"})
			continue
		}
		name, value, inline := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if name == "h" || name == "help" {
			return nil, nil, ErrHelp
		}
		o := known[name]
		next := !inline && i+1 < len(args) && !isFlag(args[i+1], known)
		switch {
		case o == nil:
			problems = append(problems, Problem{"--" + name, "is not a flag", "did you mean --" + nearest(name, names) + "?"})
			if next && !strings.HasPrefix(args[i+1], "-") {
				i++ // its value, most likely
			}
		case inline:
			given[name] = value
		case o.boolean:
			given[name] = "true"
		case next:
			i++
			given[name] = args[i]
		default:
			problems = append(problems, Problem{o.where(), "has no value", "want " + o.usage})
			given[name] = ""
		}
	}
	return given, problems, nil
}

// isFlag reports whether an argument names a flag, so that it cannot be the value of the one before. A value may start
// with a dash: -1 is one.
func isFlag(arg string, known map[string]*option) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return strings.HasPrefix(arg, "--") || (strings.HasPrefix(arg, "-") && known[name] != nil)
}

// check finds what is wrong between options. Options that are wrong by themselves are left alone.
func (c *Config) check(before []Problem) []Problem {
	var out []Problem
	add := func(where, what, do string) {
		bad := slices.ContainsFunc(before, func(p Problem) bool { return strings.Contains(p.Where, where) || strings.Contains(where, p.Where) })
		if !bad {
			out = append(out, Problem{where, what, do})
		}
	}
	if c.Batch.Max > 0 && c.Batch.Idle > c.Batch.Max {
		add("--batch-idle-duration (BATCH_IDLE_DURATION)", fmt.Sprintf("is %s, longer than --batch-max-duration with %s", c.Batch.Idle, c.Batch.Max),
			"make it shorter, or the other longer")
	}
	if c.Ports.Metrics == c.Ports.Health && c.Ports.Metrics != 0 {
		add("--health-probe-port (HEALTH_PROBE_PORT)", fmt.Sprintf("is %d, like --metrics-port", c.Ports.Health), "choose another port")
	}
	if c.Metrics.CertDir != "" && !c.Metrics.Secure {
		add("--metrics-cert-path (METRICS_CERT_PATH)", "is set, but the metrics are served in the clear",
			"set --metrics-secure (METRICS_SECURE) to true, or leave the path out")
	}
	given := func(name string) bool {
		return slices.ContainsFunc(c.settings, func(s setting) bool { return s.name == name && s.source != "" })
	}
	if given("ARM_CLOUD") && given("AZURE_ENVIRONMENT_FILEPATH") {
		add("ARM_CLOUD, AZURE_ENVIRONMENT_FILEPATH", "are both set", "set only one of them")
	}
	if c.Azure.FederatedTokenFile != "" {
		if c.Azure.TenantID == "" {
			add("AZURE_TENANT_ID, ARM_TENANT_ID", "is missing", "set it to the tenant of the workload identity")
		}
		if c.Azure.ClientID == "" {
			add("AZURE_CLIENT_ID", "is missing", "set it to the client id of the workload identity")
		}
	}
	return out
}
