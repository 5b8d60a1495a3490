package worldtext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-aks/karpenter/model"
)

const sample = `
class big not-ready
type D2 family=Dsv5 cpu=2 memory=8Gi alloc.cpu=1900m zones=1,2 price=0.1 spot=0.02 price.2/spot=0.03 sold-out=2/on-demand label.karpenter.azure.com/sku-family=D
type NC4 cpu=4 memory=28Gi nvidia.com/gpu=1 zones=1 price=0.5 price.1/reserved=0.00001 supply.1/reserved=3 either.mode=system,user olabel.1/on-demand.ultra=true
pool general weight=10 limit.cpu=100 limit.nodes=3 req=karpenter.azure.com/sku-family:In:D,E:2 label.team=a taint=gpu=true:NoSchedule startup-taint=cilium:NoExecute expire=1h
node n1 pool=general type=D2 zone=1 cpu=2 memory=8Gi initialized taint=x:NoSchedule created=5m
claim c1 pool=general requests.cpu=1 is=Launched,Registered req=a:Exists
claim c2 pool=general node=n1 cpu=2 memory=8Gi deleting
pod web x2 cpu=1500m memory=1Gi select.a/b=c affinity=k:In:a,b;k2:Exists affinity= tolerate=gpu=true:NoSchedule tolerate=* needs=volumes
namespace prod label.env=prod
node n2 cpu=1 attach.disk.csi.azure.com=4
type L2 cpu=2 zones=1 price=1 attach.disk.csi.azure.com=8
pod ruled cpu=1 label.app=x spread=zone:2:app=x;tier!=a|b:min=3,soft spread=host:1:-:any-affinity,honor-taints near=rack:*:prod|dev:env=prod;!x apart=host:app prefer-node=5:k:In:a;b:Exists prefer-near=7:zone:app=x prefer-apart=9:host:app=x port=80 port=53/UDP@10.0.0.1 volume=v2 volume=v1:disk:z:In:1|z:In:2;q:Exists
pod bound stateful cpu=1 node=n1 example.com/x=2
daemon cilium cpu=100m tolerate=* revision=cilium/3
pdb web allowed=1 pods=default/web-0
`

func TestPrintedWorldReadsBackTheSame(t *testing.T) {
	w, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	text := Print(w)
	again, err := Parse(text)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if d := cmp.Diff(w, again); d != "" {
		t.Fatalf("printed:\n%s\ndiffers: %s", text, d)
	}
}

// TestAwkwardWorldReadsBackTheSame has what a cluster may hold and a person would hardly write.
func TestAwkwardWorldReadsBackTheSame(t *testing.T) {
	w, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	awkward := "50% of “a, b”; #1 | c:d=e!\n"
	n, p := &w.Nodes[0], &w.Pods[0]
	n.Annotations = map[string]string{"example.com/note": awkward, "example.com/empty": ""}
	n.Labels[model.LabelHostname] = "n1.internal.example.com"
	n.Capacity.Pods, n.Allocatable = 0, model.Resources{}
	p.Affinity = []model.Term{{{Key: "k", Op: model.In, Values: []string{awkward, "", "%e", "%41"}}}}
	p.Tolerations = []model.Toleration{{Op: "Exists", Effect: model.NoExecute}, {Key: "a", Op: "Gt", Value: "5", Effect: model.NoSchedule}, {Key: "b", Op: "Equal"}}
	p.Volumes = []model.Volume{{ID: "/disks/a:b#c", Driver: "disk.csi.azure.com", Terms: []model.Term{{{Key: "z", Op: model.In, Values: []string{"a|b"}}}}}}
	p.Unschedulable, p.Nominated, p.Promised = false, "n1", "n2"
	w.Pods[1].Virtual, w.Pods[1].Priority = true, -1<<31
	special := w.Catalogs[Ref("default")]
	special.Types = special.Types[:1]
	w.PoolCatalogs = map[string]model.Catalog{"general": special}
	text := Print(w)
	again, err := Parse(text)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if d := cmp.Diff(w, again); d != "" {
		t.Fatalf("printed:\n%s\ndiffers: %s", text, d)
	}
}

func TestParsedFieldsMeanWhatTheySay(t *testing.T) {
	w, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	cat := w.Catalogs[Ref("default")]
	if len(cat.Types) != 3 || cat.Types[0].Allocatable.CPU != 1900 || cat.Types[0].Capacity.CPU != 2000 {
		t.Errorf("types: %+v", cat.Types)
	}
	if got := len(cat.Types[0].Offerings); got != 4 {
		t.Errorf("D2 has %d offerings, want 4", got)
	}
	if got := cat.Types[2].Capacity.Get("nvidia.com/gpu"); got != 1 {
		t.Errorf("gpus = %d, want 1", got)
	}
	if len(w.Pods) != 4 || !w.Pods[2].Provisionable() || w.Pods[0].Provisionable() {
		t.Errorf("pods: %+v", w.Pods)
	}
	p := w.Pods[2]
	if p.Requests.CPU != 1500 || p.Requests.Memory != 1<<30 || p.Requests.Pods != 1 || p.NodeSelector["a/b"] != "c" {
		t.Errorf("pod: %+v", p)
	}
	if len(p.Affinity) != 2 || len(p.Affinity[0]) != 2 || len(p.Affinity[1]) != 0 {
		t.Errorf("affinity: %+v", p.Affinity)
	}
	if r := w.Pools[0].Requirements[0]; r.MinValues != 2 || r.Op != model.In || len(r.Values) != 2 {
		t.Errorf("requirement: %+v", r)
	}
	if w.Pools[0].Limits["cpu"] != 100_000 || w.Pools[0].Limits["nodes"] != 3 {
		t.Errorf("limits: %+v", w.Pools[0].Limits)
	}
}

func TestMistakesAreNamedWithTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"pool a\nrocket b":           "line 2: rocket b: unknown noun",
		"pool":                       "line 1: want a noun and a name",
		"pool a color=red":           `unknown field "color"`,
		"pod a cpu=lots":             "bad quantity",
		"pool a taint=x":             "want key[=value]:Effect",
		"pool a req=x":               "want key:Operator",
		"pdb a pods=x":               "want namespace/name",
		"pod a x900000":              "is more than",
		"type a zones=1 price=x":     "price",
		"pod a spread=zone:1":        "want key:skew:selector",
		"pod a spread=zone:x:*":      "skew",
		"pod a spread=zone:1:*:hard": `unknown option "hard"`,
		"pod a near=zone":            "want key:selector",
		"pod a apart=zone:=x":        "selector",
		"pod a port=http":            "port",
		"pod a prefer-node=k:In:a":   "want weight",
		"node a attach.d=many":       "attach.d",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
