package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/model"
)

// served is a kind that the server knows.
type served struct{ group, version, kind string }

var kinds = map[string]served{
	"pods": {"", "v1", "Pod"}, "nodes": {"", "v1", "Node"}, "namespaces": {"", "v1", "Namespace"},
	"persistentvolumes": {"", "v1", "PersistentVolume"}, "persistentvolumeclaims": {"", "v1",
		"PersistentVolumeClaim"},
	"daemonsets": {"apps", "v1", "DaemonSet"}, "poddisruptionbudgets": {"policy", "v1",
		"PodDisruptionBudget"},
	"volumeattachments": {"storage.k8s.io", "v1", "VolumeAttachment"},
	"storageclasses":    {"storage.k8s.io", "v1", "StorageClass"},
	"csinodes":          {"storage.k8s.io", "v1", "CSINode"}, "nodepools": {"karpenter.sh", "v1",
		"NodePool"}, "nodeclaims": {"karpenter.sh", "v1", "NodeClaim"},
	"aksnodeclasses": {"karpenter.azure.com", "v1beta1", "AKSNodeClass"},
}

func (s served) groupVersion() string { return strings.TrimPrefix(s.group+"/"+s.version, "/") }

// server is an API server that lists what it was given, in pages and in the format that the client asks for, and never tells of a change. It refuses streamed
// lists, as older ones do: pages are what takes most memory to read.
type server struct {
	world model.World
	proto *protobuf.Serializer
}

func newServer(w model.World) (*server, error) {
	scheme, err := apikube.Scheme()
	if err != nil {
		return nil, err
	}
	return &server{w, protobuf.NewSerializer(scheme, scheme)}, nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, q := path.Base(r.URL.Path), r.URL.Query()
	_, known := kinds[resource]
	switch {
	case r.Method != http.MethodGet:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case !known:
		s.discover(w, r.URL.Path)
	case q.Get("sendInitialEvents") == "true":
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case q.Get("watch") != "":
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		s.list(w, resource, q.Get("limit"), q.Get("continue"))
	}
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	say(w, code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status: metav1.StatusFailure, Reason: reason, Code: int32(code)})
}

func say(w http.ResponseWriter, code int, what any) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(what) // a client that is gone hears nothing
}

// discover says which kinds there are.
func (s *server) discover(w http.ResponseWriter, where string) {
	groups, resources := map[string]metav1.APIGroup{}, []metav1.APIResource{}
	for name, k := range kinds {
		if k.group != "" {
			v := metav1.GroupVersionForDiscovery{GroupVersion: k.groupVersion(),
				Version: k.version}
			groups[k.group] = metav1.APIGroup{Name: k.group,
				Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
		}
		if where == "/apis/"+k.groupVersion() || where == "/api/"+k.groupVersion() {
			spaced := name == "pods" || name == "daemonsets" ||
				name == "poddisruptionbudgets" || name == "persistentvolumeclaims"
			resources = append(resources, metav1.APIResource{Name: name, Kind: k.kind,
				Namespaced: spaced, Verbs: metav1.Verbs{"get", "list", "watch", "patch"}})
		}
	}
	switch where {
	case "/api":
		say(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
			Versions: []string{"v1"}})
	case "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList",
			APIVersion: "v1"}}
		for _, g := range groups {
			list.Groups = append(list.Groups, g)
		}
		say(w, http.StatusOK, list)
	default:
		if len(resources) == 0 {
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		gv := strings.TrimPrefix(strings.TrimPrefix(where, "/apis/"), "/api/")
		say(w, http.StatusOK,
			metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList",
				APIVersion: "v1"}, GroupVersion: gv, APIResources: resources})
	}
}

// list writes one page.
func (s *server) list(w http.ResponseWriter, resource, limit, from string) {
	at, _ := strconv.Atoi(from) // "" is the start
	most, _ := strconv.Atoi(limit)
	total := map[string]int{"pods": len(s.world.Pods), "nodes": len(s.world.Nodes)}[resource]
	end := total
	if most > 0 {
		end = min(total, at+most)
	}
	meta := metav1.ListMeta{ResourceVersion: "1000"}
	if end < total {
		meta.Continue = strconv.Itoa(end)
	}
	var list runtime.Object
	switch resource {
	case "pods":
		l := &corev1.PodList{ListMeta: meta}
		for i := at; i < end; i++ {
			l.Items = append(l.Items, pod(&s.world.Pods[i]))
		}
		list = l
	case "nodes":
		l := &corev1.NodeList{ListMeta: meta}
		for i := at; i < end; i++ {
			l.Items = append(l.Items, node(&s.world.Nodes[i]))
		}
		list = l
	default:
		k := kinds[resource]
		say(w, http.StatusOK, map[string]any{"kind": k.kind + "List",
			"apiVersion": k.groupVersion(), "metadata": meta, "items": s.custom(resource)})
		return
	}
	kind := corev1.SchemeGroupVersion.WithKind(kinds[resource].kind + "List")
	list.GetObjectKind().SetGroupVersionKind(kind)
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	if err := s.proto.Encode(list, w); err != nil {
		panic(fmt.Sprintf("encode %s: %v", resource, err))
	}
}
