package main

import (
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/plane/assemble"
)

// Commands that break and mend the simulated Azure reach it, and pass on what it says.
func TestCommandsReachTheSimulatedAzure(t *testing.T) {
	const token = "open"
	cloud, err := arm.New(arm.Config{AdminToken: token})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	srv := httptest.NewTLSServer(cloud)
	defer srv.Close()
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.crt")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	state, err := json.Marshal(assemble.State{Dir: dir, PID: os.Getpid(), Ready: true, Azure: srv.URL,
		CAFile: ca, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{ca: cert, filepath.Join(dir, "lab.json"): state} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		line string
		exit int
		want string
	}{
		{"evict aks-none", 1, "evict aks-none: there is no such virtual machine"},
		{"deallocate aks-none", 1, "deallocate aks-none: there is no such running virtual machine"},
		{"deallocate", 1, "accepts 1 arg(s)"},
		{"knobs set throttle.every=3", 0, ""},
		{"knobs show", 0, "throttle:\n  every: 3\n"},
		{"knobs set throttle.evry=3", 1, "evry"},
		{"knobs set createTime=-1s", 1, "createTime"},
		{"knobs set throttle=", 0, ""},
		{"knobs show", 0, "{}\n"},
		{"resources -o json", 0, "[]"},
	} {
		var out strings.Builder
		exit := run(append([]string{"--dir", dir}, strings.Fields(c.line)...), &out, &out)
		if exit != c.exit || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit %d, want %d; said %q, want %q", c.line, exit, c.exit, out.String(), c.want)
		}
	}
}

// Every knob stands in the list with what it takes and what it does; how fast machines boot is no
// knob of Azure's but a flag.
func TestKnobsAreListed(t *testing.T) {
	var out strings.Builder
	if exit := run([]string{"knobs", "list"}, &out, &out); exit != 0 {
		t.Fatalf("exit %d: %s", exit, out.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	table := arm.KnobTable()
	if len(lines) != len(table)+1 {
		t.Fatalf("%d lines for %d knobs:\n%s", len(lines), len(table), out.String())
	}
	for i, k := range table {
		for _, w := range []string{k.Name, k.Range, k.Unset, k.Effect} {
			if !strings.Contains(lines[i+1], w) {
				t.Errorf("%q is not in %q", w, lines[i+1])
			}
		}
		if strings.Contains(strings.ToLower(k.Name), "boot") {
			t.Errorf("%s: how long machines boot is the flag --boot-time", k.Name)
		}
	}
	out.Reset()
	if exit := run([]string{"up", "--help"}, &out, &out); exit != 0 ||
		!strings.Contains(out.String(), "--boot-time") {
		t.Errorf("exit %d: up has no flag --boot-time:\n%s", exit, out.String())
	}
}
