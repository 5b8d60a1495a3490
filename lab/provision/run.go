package provision

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/lab"
)

// Network answers what the scripts ask of the machine's network. Each call tries as long as the scripts would, or until
// ctx ends; a nil error is a yes.
type Network interface {
	// Lookup asks for the address of a host.
	Lookup(ctx context.Context, host string) error
	// Greet connects to port 443 of a host by TLS and trusts the certificates in ca, in PEM, alone. What the server says
	// does not matter.
	Greet(ctx context.Context, host string, ca []byte) error
	// Dial connects to port 443 of an address and trusts anybody.
	Dial(ctx context.Context, address string) error
}

// File is a file that provisioning wrote. Files with 0600 hold secrets, or may.
type File struct {
	Mode    uint32
	Content string
}

// Outcome is what a person would find on the machine.
type Outcome struct {
	// ExitCode is that of the first-boot script; meaningless while Refused is set.
	ExitCode int
	// Refused is why the custom data never called the first-boot script; nil when it did.
	Refused error
	// Failed names the step that ended provisioning, and why; "" when ExitCode is 0.
	Failed string
	// Log is what happened, without secrets, oldest first.
	Log []string
	// Warnings are what works otherwise than the sender may think, though provisioning went on. Sorted.
	Warnings []string
	// Files by path.
	Files map[string]File
	// Kubelet is the command line with which systemd starts the kubelet; nil when it does not, and NoKubelet says why.
	Kubelet   []string
	NoKubelet string
	// Version is that of the kubelet on the machine, "v1.37.1".
	Version string
	// NotReady is why the node, should it join, will never be ready; "" when nothing stands against it.
	NotReady string
	// Driver is the GPU driver that was installed, as an image with its tag or as packages; "" for none.
	Driver string
	// Services are the units that were started beside containerd and the kubelet, sorted.
	Services []string
}

// scriptLimit is after how long the scripts' retries give up, whatever CSE_TIMEOUT says (cse_helpers.sh).
const scriptLimit = 780 * time.Second

// stop ends provisioning with an exit code.
type stop struct {
	code int
	why  string
}

func exit(code int, format string, args ...any) *stop {
	return &stop{code, fmt.Sprintf(format, args...)}
}

// boot is one machine at its first boot. Its steps run one after another.
type boot struct {
	machine lab.Machine
	image   image
	env     map[string]string
	known   map[string]Variable
	net     Network
	out     *Outcome

	flags   string            // KUBELET_FLAGS, as the steps change it
	labels  string            // KUBELET_NODE_LABELS, as the steps change it
	dropIns map[string]string // Environment= lines of the kubelet's unit
	binary  bool              // there is a kubelet
}

// step is one step of the scripts.
type step struct {
	name string
	run  func(*boot, context.Context) *stop
}

// Run provisions a machine with its custom data. It returns when provisioning is over; the kubelet then runs, or never will.
func Run(ctx context.Context, script []byte, m lab.Machine, net Network) Outcome {
	out := Outcome{Files: map[string]File{}}
	c, err := environment(script)
	if err != nil {
		out.Refused = err
		return out
	}
	b := &boot{machine: m, image: imageOf(m.Image, m.Arch), env: c.env, known: map[string]Variable{}, net: net, out: &out, dropIns: map[string]string{}}
	for _, v := range Contract() {
		b.known[v.Name] = v
	}
	b.flags, b.labels = b.get("KUBELET_FLAGS"), b.get("KUBELET_NODE_LABELS")
	b.survey(c)
	b.provision(ctx)
	slices.Sort(out.Warnings)
	slices.Sort(out.Services)
	b.report()
	return out
}

// provision is provision_start.sh: the time limit, then provision.sh in its two stages.
func (b *boot) provision(ctx context.Context) {
	limit, end := b.limit()
	if end == nil {
		ctx, cancel := context.WithTimeout(ctx, min(limit, scriptLimit))
		defer cancel()
		end = b.stages(ctx)
	}
	if end != nil {
		b.out.ExitCode, b.out.Failed = end.code, end.why
		b.say("exit %d: %s", end.code, end.why)
		return
	}
	b.say("exit 0")
}

func (b *boot) stages(ctx context.Context) *stop {
	stages := [][]step{basePrep(), nodePrep()}
	if b.on("PRE_PROVISION_ONLY") {
		b.out.NoKubelet = "PRE_PROVISION_ONLY is true: the machine is prepared and joins nothing"
		stages = stages[:1]
	}
	for _, stage := range stages {
		for _, s := range stage {
			if end := s.run(b, ctx); end != nil {
				end.why = s.name + ": " + end.why
				return end
			}
		}
	}
	return nil
}

// basePrep prepares the machine. The order is that of cse_main.sh.
func basePrep() []step {
	return []step{
		{"scripts", (*boot).sourceScripts}, {"proxy", (*boot).proxy}, {"trust", (*boot).trust}, {"Azure CNI", (*boot).installCNI},
		{"kubelet binary", (*boot).installKubelet}, {"containerd", (*boot).containerd}, {"swap and huge pages", (*boot).memory},
		{"kubelet drop-ins", (*boot).kubeletDropIns}, {"sysctl", (*boot).sysctl}, {"services", (*boot).services}, {"localdns", (*boot).localDNS},
	}
}

// nodePrep makes the machine a node.
func nodePrep() []step {
	return []step{
		{"azure.json", (*boot).azureJSON}, {"cluster CA", (*boot).clusterCA}, {"serving certificate", (*boot).servingCertificate},
		{"kubelet config file", (*boot).kubeletConfigFile}, {"outbound check", (*boot).outbound}, {"GPU driver", (*boot).driver},
		{"API server check", (*boot).checkServer}, {"kubelet", (*boot).startKubelet},
	}
}

// survey looks over the variables before anything runs: those that nobody reads, or that are not in the form their
// readers take, are worth a word whatever comes of them.
func (b *boot) survey(c call) {
	for _, name := range c.unseen {
		if _, ok := b.known[name]; ok {
			b.warn("%s is set but not exported: the scripts do not see it", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		v, ok := b.known[name]
		if !ok {
			if !slices.Contains(Retired(), name) && !strings.HasPrefix(name, "CUSTOM_CA_CERT_") {
				b.warn("%s is read by nobody", name)
			}
			continue
		}
		if err := v.Format.check(c.env[name]); err != nil {
			b.warn("%s: %v", name, err)
		}
	}
}

// get returns the value of a variable of the contract.
func (b *boot) get(name string) string {
	if _, ok := b.known[name]; !ok {
		panic("provision: " + name + " is not in the contract")
	}
	return b.env[name]
}

// on reports whether a variable is the word true.
func (b *boot) on(name string) bool { return b.get(name) == "true" }

// or is the value of a variable, or def when it is empty.
func (b *boot) or(name, def string) string {
	if v := b.get(name); v != "" {
		return v
	}
	return def
}

func (b *boot) say(format string, args ...any) {
	b.out.Log = append(b.out.Log, fmt.Sprintf(format, args...))
}

func (b *boot) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	b.out.Warnings = append(b.out.Warnings, text)
	b.say("warning: %s", text)
}

func (b *boot) write(path string, mode uint32, content string) {
	b.out.Files[path] = File{mode, content}
}

func (b *boot) started(service string) { b.out.Services = append(b.out.Services, service) }

// decode is what `base64 -d` writes: everything up to what it cannot read. ok says whether it could read all.
func decode(v string) (out string, ok bool) {
	v = strings.NewReplacer("\n", "").Replace(v)
	data, err := base64.StdEncoding.DecodeString(v)
	if err == nil {
		return string(data), true
	}
	whole := 0
	for whole+4 <= len(v) {
		if _, err := base64.StdEncoding.DecodeString(v[whole : whole+4]); err != nil {
			break
		}
		whole += 4
	}
	data, _ = base64.StdEncoding.DecodeString(v[:whole])
	return string(data), false
}

// limit reads CSE_TIMEOUT as timeout(1) does: a number with an optional s, m, h or d; 0 is no limit.
func (b *boot) limit() (time.Duration, *stop) {
	v := b.or("CSE_TIMEOUT", "15m")
	unit := time.Second
	if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[v[len(v)-1]]; ok {
		unit, v = u, v[:len(v)-1]
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= 0) {
		return 0, exit(exitBadTimeout, "CSE_TIMEOUT: %q is no duration of timeout(1)", b.get("CSE_TIMEOUT"))
	}
	if n == 0 || n > scriptLimit.Seconds() {
		return scriptLimit, nil
	}
	return time.Duration(n * float64(unit)), nil
}

// report writes provision.json, which the image leaves for its owner whether or not provisioning went well.
func (b *boot) report() {
	data, err := json.Marshal(map[string]string{"ExitCode": strconv.Itoa(b.out.ExitCode), "Output": strings.Join(b.out.Log, "\n"), "Error": b.out.Failed})
	if err != nil {
		panic(err) // three strings
	}
	b.write("/var/log/azure/aks/provision.json", 0o644, string(data))
	b.write("/opt/azure/containers/provision.complete", 0o644, "")
}
