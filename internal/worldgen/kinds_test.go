package worldgen

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/model"
)

// TestKindsHaveWhatTheyAreFor counts, over many worlds of each kind, what the kind was made for, and that a seed draws one world.
func TestKindsHaveWhatTheyAreFor(t *testing.T) {
	seen := map[string]int{}
	note := func(yes bool, word string) {
		if yes {
			seen[word]++
		}
	}
	for seed := range uint64(300) {
		if !reflect.DeepEqual(Ports(seed), Ports(seed)) || !reflect.DeepEqual(Chains(seed), Chains(seed)) || !reflect.DeepEqual(Exclusive(seed), Exclusive(seed)) {
			t.Fatalf("seed %d draws two worlds", seed)
		}
		for _, p := range Ports(seed).Pods {
			for _, h := range p.HostPorts {
				seen[fmt.Sprintf("port of %q", h.IP)]++
				seen["port by "+h.Protocol]++
			}
		}
		for _, p := range Chains(seed).Pods {
			for _, x := range p.PodAffinity {
				note(p.Labels["link"] != "", "link by "+x.Key)
			}
			note(p.Labels["link"] != "" && p.Node != "", "link that runs")
			note(p.Labels["link"] != "" && len(p.PodAffinity) > 1, "link near two others")
		}
		for _, p := range Exclusive(seed).Pods {
			for _, x := range p.PodAntiAffinity {
				seen["apart by "+x.Key]++
				note(x.NamespaceSelector != nil, "apart in namespaces by label")
				note(len(x.Namespaces) > 1, "apart in named namespaces")
				note(x.Selector != nil && len(x.Selector.Requirements) == 1 && x.Selector.Requirements[0].Op == model.NotIn, "apart from all others")
			}
			note(p.Node != "" && len(p.PodAntiAffinity) > 0, "running pod that refuses")
			note(len(p.Affinity) > 2, "three alternatives")
		}
		w, s := Stored(seed)
		states(w, s, note)
	}
	for _, word := range []string{`port of ""`, `port of "::"`, `port of "0.0.0.0"`, `port of "127.0.0.1"`, `port of "fd00::4"`, "port by TCP", "port by UDP", "port by SCTP",
		"link by " + model.LabelHostname, "link by " + model.LabelZone, "link that runs", "link near two others", "apart by " + model.LabelHostname,
		"apart by " + model.LabelZone, "apart in namespaces by label", "apart in named namespaces", "apart from all others", "running pod that refuses", "three alternatives",
		"claim bound", "claim to be made", "claim to be made in topologies", "claim being made", "claim named beforehand", "claim that its volume names", "claim made at once",
		"claim by hand", "claim lost", "claim going", "claim of no class", "no claim", "claim shared", "claim shared that one pod may use", "claim shared that one node will reach", "volume of one node"} {
		if seen[word] < 10 {
			t.Errorf("%s occurs %d times in 300 worlds", word, seen[word])
		}
	}
}

// states notes in which states the claims of pods that wait are.
func states(w model.World, s Storage, note func(bool, string)) {
	class := map[string]model.StorageClass{}
	for _, c := range s.Classes {
		class[c.Name] = c
	}
	named := map[string]bool{}
	for _, v := range s.Volumes {
		named[v.ClaimNamespace+"/"+v.ClaimName] = v.ClaimName != ""
		note(v.Terms != nil && v.Terms[0][0].Key == model.LabelHostname, "volume of one node")
	}
	users := map[string]int{}
	for _, p := range w.Pods {
		for _, name := range p.VolumeClaims {
			key := p.Namespace + "/" + name
			users[key]++
			at := slices.IndexFunc(s.Claims, func(c model.VolumeClaim) bool { return c.ObjectKey() == key })
			note(at < 0, "no claim")
			note(users[key] == 2, "claim shared")
			if at < 0 || p.Node != "" {
				continue
			}
			c := s.Claims[at]
			k, known := class[c.Class]
			note(users[key] == 2 && c.OnePod, "claim shared that one pod may use")
			note(users[key] == 2 && c.Volume == "" && (k.Provisioner == HostDriver || k.Provisioner == OwnDriver), "claim shared that one node will reach")
			open := c.Volume == "" && c.SelectedNode == ""
			note(c.Bound && !c.Lost && !c.Deleting, "claim bound")
			note(open && k.Waits && !named[key], "claim to be made")
			note(open && k.Waits && len(k.Terms) > 0, "claim to be made in topologies")
			note(c.SelectedNode != "", "claim being made")
			note(c.Volume != "" && !c.Bound, "claim named beforehand")
			note(open && named[key], "claim that its volume names")
			note(open && known && !k.Waits, "claim made at once")
			note(open && strings.Contains(k.Provisioner, "no-provisioner"), "claim by hand")
			note(c.Lost, "claim lost")
			note(c.Deleting, "claim going")
			note(!known, "claim of no class")
		}
	}
}
