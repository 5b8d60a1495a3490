package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/karpenter-aks/karpenter/internal/mutated"
)

// FuzzFlagAndEnvironmentMeanTheSame says one option as a flag and by its environment name.
func FuzzFlagAndEnvironmentMeanTheSame(f *testing.F) {
	for i, o := range options() {
		f.Add(uint8(i), o.def)
		f.Add(uint8(i), "1s")
	}
	for _, v := range []string{"-1", "true", "a=b,c=d", "NodeRepair=true,x=y", "1e9", "0.1", "https://x:1/", "9999999h", "-x", "--", "a/b"} {
		for i := range options() {
			f.Add(uint8(i), v)
		}
	}
	for i, v := range mutated.Texts(2000, "1s", "-1", "true", "a=b,c=d", "NodeRepair=true,x=y", "1e9", "https://x:1/", "9999999h", "a/b") {
		f.Add(uint8(i), v)
	}
	f.Fuzz(func(t *testing.T, n uint8, value string) {
		o := options()[int(n)%len(options())]
		if o.flag == "" || len(o.env) == 0 || value == "" {
			return
		}
		by := map[string]Config{}
		said := map[string]string{}
		for how, parse := range map[string]func() (Config, error){
			"flag":        func() (Config, error) { return Parse([]string{"--" + o.flag + "=" + value}, lookup(minimal())) },
			"environment": func() (Config, error) { return Parse(nil, lookup(with(minimal(), o.env[0]+"="+value))) },
		} {
			c, err := parse()
			by[how] = c
			if err != nil {
				said[how] = err.Error()
			}
			if o.secret && len(value) > 8 && strings.Contains(c.String()+said[how], value) {
				t.Errorf("%s: the secret %q is shown", o.where(), value)
			}
			if err != nil && !strings.Contains(err.Error(), o.where()) {
				t.Errorf("%s=%q: the error names something else: %v", o.where(), value, err)
			}
		}
		if said["flag"] != said["environment"] {
			t.Errorf("%s=%q: as a flag %q, in the environment %q", o.where(), value, said["flag"], said["environment"])
		}
		if d := cmp.Diff(by["flag"], by["environment"], cmpopts.IgnoreUnexported(Config{}, Cloud{}), cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%s=%q: a flag and the environment differ: %s", o.where(), value, d)
		}
	})
}

// FuzzArguments gives any arguments: each that is wrong is told with what to do, once, and there are no more problems than things to
// be wrong.
func FuzzArguments(f *testing.F) {
	seeds := []string{"", "--help", "-metrics-port\n9090", "--log-level", "--log-leve=info", "x\ny", "--=1", "-", "--memory-limit\n-1", "--batch-idle-duration=1h"}
	mutated.Add(f, 1000, seeds...)
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		c, err := Parse(args, lookup(minimal()))
		again, errAgain := Parse(args, lookup(minimal()))
		if c.String() != again.String() || (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
			t.Errorf("%q is read in two ways: %v, %v", args, err, errAgain)
		}
		if err == nil || errors.Is(err, ErrHelp) {
			return
		}
		bad, ok := errors.AsType[*Invalid](err)
		if !ok || len(bad.Problems) == 0 || len(bad.Problems) > 2*len(args)+5 {
			t.Fatalf("%q: %v", args, err)
		}
		for _, p := range bad.Problems {
			if p.Where == "" || p.What == "" || p.Do == "" {
				t.Errorf("%q: a problem that does not help: %+v", args, p)
			}
		}
	})
}
