package kubelet

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/lab"
)

// TestReach asks a server for its name and its certificate, as the scripts on a machine do.
func TestReach(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	h, err := New(Config{Admin: nowhere(), Resolve: func(host string) string {
		if host == "example.com:443" || host == "other.io:443" || host == "10.1.2.3:443" {
			return server.Listener.Addr().String()
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.mu.Lock()
	log := h.newLog("n")
	h.mu.Unlock()
	r := reach{&machine{Machine: lab.Machine{Name: "n"}, host: h, log: log}}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}) // for example.com
	if err := r.Lookup(t.Context(), "example.com"); err != nil {
		t.Error(err)
	}
	if err := r.Greet(t.Context(), "example.com", ca); err != nil {
		t.Error(err)
	}
	if err := r.Dial(t.Context(), "10.1.2.3"); err != nil {
		t.Error(err)
	}
	if err := r.Greet(t.Context(), "example.com", authority(t)); err == nil || !strings.Contains(err.Error(), "KUBE_CA_CRT is not the CA") {
		t.Errorf("a server of another authority: %v", err)
	}
	if err := r.Greet(t.Context(), "other.io", ca); err == nil || !strings.Contains(err.Error(), "other.io") {
		t.Errorf("a server of another name: %v", err)
	}
}
