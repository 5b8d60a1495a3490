package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// apiServer is as much of an API server as those need who look: what there is, lists, watches that say nothing new, and refusals. It counts.
type apiServer struct {
	kinds []servedKind

	mu    sync.Mutex // guards the field below
	asked map[string]int
}

// servedKind is a kind that is served: its name in paths, and the items of its list.
type servedKind struct {
	group, version, resource, kind string
	items                          string
	denied                         bool // the person may not read it
}

func (k servedKind) root() string {
	if k.group == "" {
		return "/api/" + k.version
	}
	return "/apis/" + k.group + "/" + k.version
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	what := r.Method + " " + r.URL.Path
	if q.Get("watch") != "" {
		what += " watch"
	}
	s.mu.Lock()
	s.asked[what]++
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if s.discovery(w, r.URL.Path) {
		return
	}
	at := slices.IndexFunc(s.kinds, func(k servedKind) bool { return r.URL.Path == k.root()+"/"+k.resource })
	switch {
	case at < 0:
		refuse(w, http.StatusNotFound, "NotFound")
	case s.kinds[at].denied:
		refuse(w, http.StatusForbidden, "Forbidden")
	case q.Get("watch") == "":
		fmt.Fprintf(w, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"1"},"items":[%s]}`, s.kinds[at].kind,
			strings.TrimPrefix(s.kinds[at].group+"/"+s.kinds[at].version, "/"), s.kinds[at].items)
	case q.Get("sendInitialEvents") == "true":
		refuse(w, http.StatusUnprocessableEntity, "Invalid") // as servers do that cannot: the client lists then
	default:
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// discovery says what is served.
func (s *apiServer) discovery(w http.ResponseWriter, path string) bool {
	var groups, resources []map[string]any
	for _, k := range s.kinds {
		if path == k.root() {
			resources = append(resources, map[string]any{"name": k.resource, "kind": k.kind, "namespaced": false, "verbs": []string{"list", "watch"}})
		}
		version := map[string]any{"groupVersion": k.group + "/" + k.version, "version": k.version}
		group := map[string]any{"kind": "APIGroup", "apiVersion": "v1", "name": k.group, "versions": []any{version}, "preferredVersion": version}
		if path == "/apis/"+k.group {
			_ = json.NewEncoder(w).Encode(group)
			return true
		}
		if k.group != "" && !slices.ContainsFunc(groups, func(g map[string]any) bool { return g["name"] == k.group }) {
			groups = append(groups, group)
		}
	}
	var said map[string]any
	switch {
	case path == "/api":
		said = map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}
	case path == "/apis":
		said = map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
	case resources != nil:
		said = map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/"), "resources": resources}
	default:
		return false
	}
	_ = json.NewEncoder(w).Encode(said)
	return true
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": reason})
}

// A cluster of another make, of which the person may not read everything, is seen as far as it can be, by one list and one watch per kind.
func TestTopOfAnyClusterAsksForNoMoreThanItNeeds(t *testing.T) {
	const node = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"ip-10-0-0-1","resourceVersion":"1","labels":{"karpenter.sh/nodepool":"default",
		"node.kubernetes.io/instance-type":"m5.large","karpenter.sh/capacity-type":"spot"}},"spec":{"providerID":"aws:///i-1"},
		"status":{"allocatable":{"cpu":"2","memory":"8Gi","pods":"29"},"conditions":[{"type":"Ready","status":"True"}]}}`
	const pod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"shop","resourceVersion":"1"},"spec":{"nodeName":"ip-10-0-0-1",
		"containers":[{"name":"main","resources":{"requests":{"cpu":"500m","memory":"2Gi"}}}]},"status":{"phase":"Running"}}`
	const pool = `{"kind":"NodePool","apiVersion":"karpenter.sh/v1","metadata":{"name":"default","resourceVersion":"1"},"spec":{"template":{"spec":{
		"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"}}}},
		"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
	const claim = `{"kind":"NodeClaim","apiVersion":"karpenter.sh/v1","metadata":{"name":"default-abc","resourceVersion":"1",
		"labels":{"karpenter.sh/nodepool":"default"}},"status":{"providerID":"aws:///i-1","nodeName":"ip-10-0-0-1",
		"conditions":[{"type":"Initialized","status":"True"}]}}`
	const event = `{"kind":"Event","apiVersion":"v1","metadata":{"name":"e1","namespace":"default","resourceVersion":"1"},"type":"Warning",
		"involvedObject":{"kind":"NodeClaim","name":"default-abc"},"reason":"DisruptionBlocked","message":"pdb shop/web","source":{"component":"karpenter"}}`
	s := &apiServer{asked: map[string]int{}, kinds: []servedKind{
		{"", "v1", "nodes", "Node", node, false}, {"", "v1", "pods", "Pod", pod, false}, {"", "v1", "namespaces", "Namespace", "", false},
		{"", "v1", "events", "Event", event, false}, {"", "v1", "persistentvolumes", "PersistentVolume", "", false},
		{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "", false}, {"apps", "v1", "daemonsets", "DaemonSet", "", false},
		{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "", true},
		{"storage.k8s.io", "v1", "storageclasses", "StorageClass", "", false}, {"storage.k8s.io", "v1", "csinodes", "CSINode", "", false},
		{"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", "", false},
		{"karpenter.sh", "v1", "nodepools", "NodePool", pool, false}, {"karpenter.sh", "v1", "nodeclaims", "NodeClaim", claim, false},
	}}
	server := httptest.NewServer(s)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {}}]\n", server.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := run([]string{"top", "--once", "--kubeconfig", file}, &out, &errs); code != 0 {
		t.Fatalf("%d: %s", code, errs.String())
	}
	line := regexp.MustCompile(`(?m)^  ip-10-0-0-1 +default m5\.large +spot +25% \S+ +25% \S+ +1 +\? +ready`)
	if !line.MatchString(out.String()) || !strings.Contains(out.String(), "1 node of unknown price") {
		t.Errorf("the node is not shown as it is:\n%s", out.String())
	}
	var decisions bytes.Buffer
	if code := run([]string{"top", "--view", "decisions", "--kubeconfig", file}, &decisions, &errs); code != 0 {
		t.Fatalf("%d: %s", code, errs.String())
	}
	if !regexp.MustCompile(`NodeClaim default-abc +! DisruptionBlocked +pdb shop/web`).MatchString(decisions.String()) {
		t.Errorf("the decision is not shown:\n%s", decisions.String())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for what, n := range s.asked {
		if !strings.HasPrefix(what, "GET ") {
			t.Errorf("%s: top only reads", what)
		}
		path := strings.Fields(what)[1]
		if slices.ContainsFunc(s.kinds, func(k servedKind) bool { return path == k.root()+"/"+k.resource }) && n > 6 { // two runs; a watch is asked for twice, and what is refused may be asked for again
			t.Errorf("%s was asked %d times by two runs", what, n)
		}
	}
	if len(s.asked) < 20 {
		t.Errorf("only %d kinds of requests: %v", len(s.asked), s.asked)
	}
}
