package exam

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/internal/kube/guard"
)

// metricsAreGuarded scrapes a guarded page over TLS as nobody, as somebody and as the one who may.
func metricsAreGuarded(t *testing.T, cfg *rest.Config, api client.Client) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "metrics") })
	handler, err := guard.New(page, cfg)
	must(t, err)
	s := httptest.NewUnstartedServer(handler)
	s.TLS, _, err = guard.Certificate("")
	must(t, err)
	s.StartTLS()
	defer s.Close()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer web.CloseIdleConnections()
	scrape := func(path, token string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		must(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := web.Do(r)
		must(t, err)
		must(t, resp.Body.Close())
		return resp.StatusCode
	}
	clients, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	account := func(name string) string {
		must(t, api.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}))
		got, err := clients.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), name, &authv1.TokenRequest{}, metav1.CreateOptions{})
		must(t, err)
		return got.Status.Token
	}
	stranger, scraper := account("stranger"), account("scraper")
	rbac := clients.RbacV1()
	_, err = rbac.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "metrics-reader"},
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}, metav1.CreateOptions{})
	must(t, err)
	_, err = rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "metrics-reader"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "metrics-reader"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "scraper"}}}, metav1.CreateOptions{})
	must(t, err)
	await(t, "the right to scrape", func(context.Context) bool { return askAnew(t, cfg, scraper) == http.StatusOK })
	for _, tc := range []struct {
		path, token string
		want        int
	}{
		{"/metrics", "", 401}, {"/metrics", "abcdef.0123456789abcdef", 401}, {"/metrics", stranger, 403},
		{"/metrics", scraper, 200}, {"/debug/pprof/heap", scraper, 403},
	} {
		if got := scrape(tc.path, tc.token); got != tc.want {
			t.Errorf("GET %s: %d, want %d", tc.path, got, tc.want)
		}
	}
}

// askAnew asks a guard that remembers nothing.
func askAnew(t *testing.T, cfg *rest.Config, token string) int {
	t.Helper()
	g, err := guard.New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), cfg)
	must(t, err)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w.Code
}
