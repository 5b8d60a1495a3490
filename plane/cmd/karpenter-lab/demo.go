package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/plane/assemble"
)

//go:embed demo.yaml
var demoManifests []byte

const (
	// demoName is what everything in demo.yaml is called.
	demoName = "demo"
	// demoStep is by how many pods a key scales: enough for more than one node.
	demoStep = 5
	// demoMost bounds what keys ask for, whoever leans on them.
	demoMost = 500
)

// deed is something to try on a lab. The live view has a key for each.
type deed struct {
	verb string
	key  rune
	name string // two or three words
	help string // one line
	do   func(ctx context.Context, s assemble.State, about subject) (sentence string, err error)
}

// subject is what the cursor of the live view is on. Source of the variables: docs/top.md.
type subject struct{ kind, name string }

func deeds() []deed {
	return []deed{
		{"more", '+', "5 pods more", "ask for a place for five pods more; at first a pool and a class are made, too", scaleDemo(demoStep)},
		{"less", '-', "5 fewer", "ask for five pods fewer: nodes leave that are not needed", scaleDemo(-demoStep)},
		{"evict", 'e', "evict", "have Azure take a spot machine back, with its usual notice: the one under the cursor, or any", evictSpot},
		{"sell-out", 'o', "sell out", "sell out a size of machines: that of the node under the cursor, or of most machines", sellOut},
		{"throttle", 't', "throttle", "have Azure refuse whatever would change something, because too much was asked", throttle},
		{"mend", 'm', "mend", "make Azure whole again: nothing is sold out, refused or out of reach", mend},
		{"kill", 'x', "kill", "kill the controller; it is started again, as a Deployment would", killController},
	}
}

func demoCommand(dir *string) *cobra.Command {
	c := &cobra.Command{
		Use:   "demo",
		Short: "Try something: what the keys of the live view do",
		Long: `Try something: what the keys of the live view do. Each prints a sentence.

"more" and "less" scale a Deployment named demo, and make it with a NodePool and an AKSNodeClass of that name at first.`,
	}
	for _, d := range deeds() {
		c.AddCommand(&cobra.Command{
			Use:   d.verb,
			Short: strings.ToUpper(d.help[:1]) + d.help[1:],
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, err := assemble.Load(*dir)
				if err != nil {
					return err
				}
				said, err := d.do(cmd.Context(), s, subject{os.Getenv("KARPENTER_TOP_KIND"), os.Getenv("KARPENTER_TOP_NAME")})
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
				return err
			},
		})
	}
	return c
}

// scaleDemo changes how many pods the demo has.
func scaleDemo(by int32) func(context.Context, assemble.State, subject) (string, error) {
	return func(ctx context.Context, s assemble.State, _ subject) (string, error) {
		if err := s.Add(ctx, demoManifests); err != nil {
			return "", err
		}
		cfg, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
		if err != nil {
			return "", err
		}
		api, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return "", err
		}
		of := api.AppsV1().Deployments(metav1.NamespaceDefault)
		var was, n int32
		err = retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the controller manager writes to it, too
			scale, err := of.GetScale(ctx, demoName, metav1.GetOptions{})
			if err != nil {
				return err
			}
			was = scale.Spec.Replicas
			n = min(max(was+by, 0), demoMost)
			scale.Spec.Replicas = n
			_, err = of.UpdateScale(ctx, demoName, scale, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			return "", fmt.Errorf("scale the demo: %w", err)
		}
		switch {
		case n == 0:
			return "no pod of the demo is asked for: what is empty for five seconds leaves", nil
		case n == was:
			return fmt.Sprintf("%d pods of the demo are asked for, and no more than that", n), nil
		case by < 0:
			return fmt.Sprintf("%d pods of the demo are asked for: what is not needed for five seconds leaves", n), nil
		default:
			return fmt.Sprintf("%d pods of the demo are asked for: nodes come within seconds", n), nil
		}
	}
}

// machines are those that the simulated Azure runs or makes.
func machines(ctx context.Context, s assemble.State) ([]arm.Resource, error) {
	b, err := s.Ask(ctx, http.MethodGet, resourcesPath, nil)
	if err != nil {
		return nil, err
	}
	var list []arm.Resource
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	return slices.DeleteFunc(list, func(r arm.Resource) bool { return kind(r.Type) != "VM" }), nil
}

// evictSpot has Azure take a machine back.
func evictSpot(ctx context.Context, s assemble.State, about subject) (string, error) {
	list, err := machines(ctx, s)
	if err != nil {
		return "", err
	}
	var spot []string
	for _, m := range list {
		switch is := strings.EqualFold(m.Priority, "Spot"); {
		case about.kind == "node" && m.Name == about.name && !is:
			return "", fmt.Errorf("node %s is no spot machine: Azure keeps it", about.name)
		case is:
			spot = append(spot, m.Name)
		}
	}
	if len(spot) == 0 {
		return "", errors.New("no spot machine runs: + asks for some")
	}
	name := spot[0]
	if slices.Contains(spot, about.name) {
		name = about.name
	}
	if err := evict(ctx, s, name); err != nil {
		return "", err
	}
	return name + " goes after its notice of 30 s: its pods leave before", nil
}

// evict asks the simulated Azure to take a machine back.
func evict(ctx context.Context, s assemble.State, name string) error {
	_, err := s.Ask(ctx, http.MethodPost, "/lab/evict?vm="+url.QueryEscape(name), nil)
	return err
}

// turnKnobs changes the simulated Azure's knobs.
func turnKnobs(ctx context.Context, s assemble.State, change func(*arm.Knobs)) error {
	b, err := s.Ask(ctx, http.MethodGet, knobsPath, nil)
	if err != nil {
		return err
	}
	var k arm.Knobs
	if err := json.Unmarshal(b, &k); err != nil {
		return fmt.Errorf("read the knobs: %w", err)
	}
	change(&k)
	if b, err = json.Marshal(k); err != nil {
		return err
	}
	_, err = s.Ask(ctx, http.MethodPut, knobsPath, b)
	return err
}

// sellOut has Azure sell no more of a size.
func sellOut(ctx context.Context, s assemble.State, about subject) (string, error) {
	list, err := machines(ctx, s)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", errors.New("no machine runs whose size could be sold out: + asks for some")
	}
	count := map[string]int{}
	for _, m := range list {
		count[m.Size]++
		if m.Name == about.name {
			count[m.Size] += len(list) // more than all others
		}
	}
	size := slices.MaxFunc(list, func(a, b arm.Resource) int {
		return cmp.Or(cmp.Compare(count[a.Size], count[b.Size]), cmp.Compare(a.Size, b.Size))
	}).Size
	err = turnKnobs(ctx, s, func(k *arm.Knobs) {
		k.Capacity = append(k.Capacity, arm.Capacity{Size: size, Code: "SkuNotAvailable", Sync: true})
	})
	if err != nil {
		return "", err
	}
	return size + " is sold out everywhere: + shows what is bought instead, m mends it", nil
}

// throttle has Azure refuse requests that change something.
func throttle(ctx context.Context, s assemble.State, _ subject) (string, error) {
	err := turnKnobs(ctx, s, func(k *arm.Knobs) {
		k.Throttle.Every, k.Throttle.Kinds = 1, []string{"write", "delete"}
	})
	if err != nil {
		return "", err
	}
	return "Azure answers 429 to whatever would change something: no machine comes or goes until m mends it", nil
}

// mend takes back what other keys did, and whatever else keeps machines away. How slow Azure is, stays.
func mend(ctx context.Context, s assemble.State, _ subject) (string, error) {
	err := turnKnobs(ctx, s, func(k *arm.Knobs) {
		k.Capacity, k.Failures, k.Unreachable, k.Throttle = nil, nil, nil, arm.Throttle{}
	})
	if err != nil {
		return "", err
	}
	return "Azure is whole again; what was sold out is asked for again after some minutes", nil
}

// killController ends it as a crash would.
func killController(_ context.Context, s assemble.State, _ subject) (string, error) {
	if s.ControllerPID == 0 {
		return "", errors.New("this lab runs no controller")
	}
	if err := syscall.Kill(s.ControllerPID, syscall.SIGKILL); errors.Is(err, syscall.ESRCH) {
		return "", errors.New("the controller is dead already, and starts again within seconds")
	} else if err != nil {
		return "", fmt.Errorf("kill the controller, process %d: %w", s.ControllerPID, err)
	}
	return fmt.Sprintf("the controller, process %d, is dead; it starts again in a second and goes on where it was", s.ControllerPID), nil
}
