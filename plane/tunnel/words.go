package tunnel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Words answers for every kubelet what a machine without containers can answer: a log of one line,
// and to all else a refusal that kubectl prints. Paths are those of the kubelet's API, as the API
// server asks for them: /containerLogs/NAMESPACE/POD/CONTAINER, /exec/…, /attach/…, /portForward/….
func Words() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}",
		func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintf(w, "The lab runs no containers: %s of pod %s/%s has no log. What became "+
				"of the pod is in its events and its status.\n",
				r.PathValue("container"), r.PathValue("namespace"), r.PathValue("pod"))
		})
	for verb, what := range map[string]string{"exec": "run in", "attach": "attached to",
		"portForward": "reached in"} {
		refuse := func(w http.ResponseWriter, r *http.Request) {
			none(w, fmt.Sprintf("nothing can be %s pod %s/%s", what, r.PathValue("namespace"),
				r.PathValue("pod")))
		}
		mux.HandleFunc("/"+verb+"/{namespace}/{pod}", refuse)
		mux.HandleFunc("/"+verb+"/{namespace}/{pod}/{rest...}", refuse)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		none(w, "its kubelets have nothing at "+strings.TrimSuffix(r.URL.Path, "/"))
	})
	return mux
}

// none refuses, in the form that kubectl prints as a sentence.
func none(w http.ResponseWriter, what string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(metav1.Status{ // the client may be gone; there is nobody to tell
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
		Message: "the lab runs no containers: " + what})
}
