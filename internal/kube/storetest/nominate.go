package storetest

import (
	"testing"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/model"
)

func nominate(t *testing.T, w World) {
	p, s := newPicture(), w.Store()
	follow(t, s, p)
	w.PutNode(t, model.Node{Name: "n", ProviderID: "azure:///vm/1"})
	selector := map[string]string{"wait": "ever"} // no node has it
	w.PutPod(t, model.Pod{Namespace: "default", Name: "waits", NodeSelector: selector})
	w.PutPod(t, model.Pod{Namespace: "default", Name: "runs", Node: "n"})
	waits := see(t, p, model.Pod{Namespace: "default", Name: "waits"}, any1)
	runs := see(t, p, model.Pod{Namespace: "default", Name: "runs"}, func(p model.Pod) bool { return p.Node == "n" })

	ask := func(pod model.Pod, uid, node string) error {
		return s.Nominate(t.Context(), kube.Nomination{Pod: pod.Key(), UID: uid, Node: node})
	}
	must(t, ask(waits, waits.UID, "n"))
	see(t, p, waits, func(p model.Pod) bool { return p.Nominated == "n" })
	must(t, ask(waits, waits.UID, "n"))
	must(t, ask(waits, waits.UID, ""))
	see(t, p, waits, func(p model.Pod) bool { return p.Nominated == "" })
	code(t, ask(waits, "00000000-0000-4000-8000-00000000dead", "n"), kube.NotFound)
	code(t, ask(model.Pod{Namespace: "default", Name: "nobody"}, "", "n"), kube.NotFound)
	code(t, ask(runs, runs.UID, "n"), kube.Invalid)
}
