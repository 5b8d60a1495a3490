package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/plane"
	"github.com/karpenter-aks/karpenter/plane/assemble"
)

// noController is the value of --controller that runs none.
const noController = "none"

// upFlags are the flags of "up" as given.
type upFlags struct {
	bootTime   time.Duration
	bootSpread time.Duration
	seed       uint64
	gates      map[string]string
	controller string
	image      string
	knobs      string
	location   string
	port       int
	plain      bool
}

func upCommand(dir *string) *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:   "up",
		Short: "Start a lab and run it until Ctrl-C or SIGTERM",
		Long: `Start a lab and run it until Ctrl-C or SIGTERM.

On a terminal the live view of "karpenter top" is shown once everything is ready, with keys to try things; q leaves it, and the lab
goes on. Without a terminal, one line is printed on standard output, once everything is ready: KUBECONFIG=<path>. A lab begins
empty; what an earlier lab left in the directory is removed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(*dir)
			if err != nil {
				return err
			}
			return up(cmd, o, f.plain)
		},
	}
	fs := c.Flags()
	fs.DurationVar(&f.bootTime, "boot-time", 3*time.Second, "how long a machine takes to boot")
	fs.DurationVar(&f.bootSpread, "boot-spread", 0, "how much longer some machines take to boot than others, at most")
	fs.Uint64Var(&f.seed, "seed", 1, "what the differences between machines are drawn from")
	fs.StringToStringVar(&f.gates, "feature-gates", nil, "features of the autoscaler to switch on or off, as in the chart's values: nominatedNodes=false")
	fs.StringVar(&f.controller, "controller", "", `program of the autoscaler; "none" runs none (default: karpenter, beside this program)`)
	fs.StringVar(&f.image, "image", "", "directory with the autoscaler's image as an OCI layout, which is run instead of a program (make image)")
	fs.StringVar(&f.knobs, "knobs", "", "YAML file with what the simulated Azure lacks, refuses and delays; see \"knobs show\"")
	fs.StringVar(&f.location, "location", "westus3", "region of the cluster")
	fs.IntVar(&f.port, "port", 0, "port of the API server on 127.0.0.1 (default: any free one)")
	fs.BoolVar(&f.plain, "plain", false, "on a terminal, say where everything is, and show no live view")
	return c
}

// options checks the flags; every mistake is in the error.
func (f upFlags) options(dir string) (assemble.Options, error) {
	o := assemble.Options{Dir: dir, BootTime: f.bootTime, BootSpread: f.bootSpread, Seed: f.seed, Location: f.location, Port: f.port, Gates: map[string]bool{}}
	var errs []error
	if f.bootTime < 0 {
		errs = append(errs, fmt.Errorf("--boot-time: %v is less than nothing", f.bootTime))
	}
	if f.bootSpread < 0 {
		errs = append(errs, fmt.Errorf("--boot-spread: %v is less than nothing", f.bootSpread))
	}
	for name, v := range f.gates {
		on, err := strconv.ParseBool(v)
		if err != nil {
			errs = append(errs, fmt.Errorf("--feature-gates: %s is %q, neither true nor false", name, v))
		}
		o.Gates[name] = on
	}
	if f.port < 0 || f.port > 65535 {
		errs = append(errs, fmt.Errorf("--port: %d is not a port", f.port))
	}
	if f.knobs != "" {
		b, err := os.ReadFile(f.knobs)
		if err == nil {
			err = yaml.UnmarshalStrict(b, &o.Knobs)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--knobs: %w", err))
		}
	}
	if f.image != "" && f.controller != "" {
		errs = append(errs, errors.New("--image and --controller: say which of them runs"))
	}
	o.Image = f.image
	if f.image == "" && f.controller != noController {
		path, err := findController(f.controller)
		if err != nil {
			errs = append(errs, fmt.Errorf("--controller: %w", err))
		}
		o.Controller = path
	}
	return o, errors.Join(errs...)
}

// findController returns the program's absolute path; the one beside this program when none is named.
func findController(path string) (string, error) {
	if path == "" {
		exe, err := os.Executable()
		if err != nil {
			return "", err
		}
		if exe, err = filepath.EvalSymlinks(exe); err != nil {
			return "", err
		}
		path = filepath.Join(filepath.Dir(exe), "karpenter")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%w (build it first, name another program, or run none with --controller=%s)", err, noController)
	}
	if st.IsDir() || st.Mode()&0o111 == 0 {
		return "", fmt.Errorf("%s is not a program", path)
	}
	return path, nil
}

// up runs a lab until a signal; plain: without the live view.
func up(cmd *cobra.Command, o assemble.Options, plain bool) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	said := &voice{to: cmd.ErrOrStderr()}
	o.Say = said.say
	o.Say("starting a lab in %s", o.Dir)
	lab, err := assemble.Up(ctx, o)
	if err != nil && ctx.Err() != nil {
		return nil // told to stop while starting: that is what was asked
	}
	if err != nil {
		if why := (plane.End{Err: err, Dir: o.Dir, Free: plane.FreeBytes(o.Dir)}).Sentence(); why != "" && !strings.Contains(err.Error(), why) {
			err = fmt.Errorf("%s\n%w", why, err)
		}
		return err
	}
	if watchLab(ctx, cmd, lab, said, plain) {
		stop()
	} else {
		welcome(cmd.OutOrStdout(), cmd.ErrOrStderr(), lab.State())
	}
	select {
	case <-ctx.Done():
	case <-lab.Done():
	}
	select {
	case <-lab.Done():
		err = lab.Died()
	default:
	}
	stop() // a second signal ends us at once; the kernel then ends our children
	o.Say("taking everything down")
	lab.Down()
	return err
}

// watchLab shows the live view where it can be shown. over: the lab is to end, or has.
func watchLab(ctx context.Context, cmd *cobra.Command, lab *assemble.Lab, said *voice, plain bool) (over bool) {
	v := newView(lab.Program(), cmd.InOrStdin(), cmd.OutOrStdout(), lab.State())
	if v == nil || plain {
		return false
	}
	said.quiet()
	over, err := v.show(ctx, lab.Done())
	said.speak()
	if err != nil { // the lab is of use without it
		said.say("%v", err)
	}
	return over
}

// welcome says that all is ready: a page to a person, one line to a program.
func welcome(stdout, stderr io.Writer, s assemble.State) {
	if f, ok := stdout.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(stderr, "ready: API server %s, Azure %s, logs in %s; SIGTERM ends it\n", s.APIServer, s.Azure, s.Dir)
		fmt.Fprintf(stdout, "KUBECONFIG=%s\n", s.Kubeconfig)
		return
	}
	fmt.Fprintf(stdout, `
Your cluster is ready, on a simulated Azure in %[1]s.

  Kubernetes API   %[2]s
  Azure            %[3]s
%[4]s
In another terminal:

  export KUBECONFIG=%[5]s
  kubectl get nodepools    # without kubectl: %[6]s kubectl get nodepools
  %[6]s resources    # what Azure would bill
  %[6]s logs -f      # what the autoscaler says

Create a NodePool, scale a deployment up, and watch nodes arrive. Ctrl-C here takes everything down.
`, s.Location, s.APIServer, s.Azure, autoscaler(s), s.Kubeconfig, called(s))
}

// called is how a person asks this lab from another terminal in the same directory: by the program as it was called, and by the lab's
// directory where that is not the usual one.
func called(s assemble.State) string {
	if s.Dir == absolute(ourDir()) {
		return os.Args[0]
	}
	return os.Args[0] + " --dir " + s.Dir
}

func autoscaler(s assemble.State) string {
	if s.ControllerPID == 0 {
		return "  Autoscaler       none: --controller=none\n"
	}
	return fmt.Sprintf("  Autoscaler       process %d, metrics http://127.0.0.1:%d/metrics, log %s\n", s.ControllerPID, s.MetricsPort, s.ControllerLog)
}

// absolute is for comparing only: a path that cannot be made absolute equals none.
func absolute(path string) string {
	p, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	return p
}
