package arm_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"net/http/httptest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

// do sends one plain request and decodes the answer.
func (w *world) do(method, path, token, body string) (*http.Response, map[string]any) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.ctx, method, w.srv.URL+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if strings.HasPrefix(body, "grant_type") {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := w.srv.Client().Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	var v map[string]any
	_ = json.Unmarshal(b, &v) // some answers are no objects; the caller looks at what it needs
	return resp, v
}

func (w *world) bearer() string {
	w.Helper()
	t, err := w.cred.GetToken(w.ctx, policy.TokenRequestOptions{Scopes: []string{w.srv.URL + "/.default"}})
	if err != nil {
		w.Fatal(err)
	}
	return t.Token
}

func errorCode(v map[string]any) string {
	e, _ := v["error"].(map[string]any)
	s, _ := e["code"].(string)
	return s
}

func TestTokenEndpointRefuses(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) {
		c.CheckAssertion = func(a string) error {
			if a == "forged" {
				return errors.New("signature is wrong")
			}
			return nil
		}
	})
	good := url.Values{"grant_type": {"client_credentials"}, "client_id": {"client"}, "scope": {"x/.default"},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {"jwt"}}
	for _, c := range []struct {
		tenant, field, value, want string
		status                     int
	}{
		{w.cfg.Tenant, "", "", "", http.StatusOK},
		{"other", "", "", "AADSTS90002", http.StatusBadRequest},
		{w.cfg.Tenant, "client_id", "stranger", "AADSTS700016", http.StatusUnauthorized},
		{w.cfg.Tenant, "client_id", "", "AADSTS900144", http.StatusBadRequest},
		{w.cfg.Tenant, "client_assertion", "", "AADSTS7000216", http.StatusUnauthorized},
		{w.cfg.Tenant, "client_assertion", "forged", "AADSTS700213", http.StatusUnauthorized},
		{w.cfg.Tenant, "grant_type", "password", "AADSTS70003", http.StatusBadRequest},
		{w.cfg.Tenant, "scope", "", "AADSTS900144", http.StatusBadRequest},
	} {
		form := url.Values{"grant_type": nil}
		for k, v := range good {
			form[k] = v
		}
		if c.field != "" {
			form.Set(c.field, c.value)
		}
		resp, v := w.do("POST", "/"+c.tenant+"/oauth2/v2.0/token", "", form.Encode())
		text, _ := v["error_description"].(string)
		if resp.StatusCode != c.status || !strings.HasPrefix(text, c.want) {
			t.Errorf("%s=%q: %d %s", c.field, c.value, resp.StatusCode, text)
		}
	}
	// The token must be ours, and a real credential that the service refuses says so.
	list := "/subscriptions/" + w.cfg.Subscription + "/resourceGroups/" + w.cfg.NodeResourceGroup + "/providers/Microsoft.Compute/virtualMachines?api-version=2025-04-01"
	for token, want := range map[string]string{"": "AuthenticationFailed", "made-up": "InvalidAuthenticationToken"} {
		if resp, v := w.do("GET", list, token, ""); resp.StatusCode != http.StatusUnauthorized || errorCode(v) != want {
			t.Errorf("token %q: %d %v", token, resp.StatusCode, v)
		}
	}
	if resp, _ := w.do("GET", list, w.bearer(), ""); resp.StatusCode != http.StatusOK || resp.Header.Get("X-Ms-Request-Id") == "" {
		t.Errorf("with our token: %d", resp.StatusCode)
	}
}

func TestPathsThatARMDoesNotKnow(t *testing.T) {
	w := newWorld(t, nil)
	token := w.bearer()
	sub := "/subscriptions/" + w.cfg.Subscription
	rg := sub + "/resourceGroups/" + w.cfg.NodeResourceGroup
	for _, c := range []struct {
		method, path, want string
		status             int
	}{
		{"GET", "/subscriptions/other/providers/Microsoft.Compute/virtualMachines?api-version=2025-04-01", "SubscriptionNotFound", 404},
		{"GET", sub + "/resourceGroups/nowhere/providers/Microsoft.Compute/virtualMachines?api-version=2025-04-01", "ResourceGroupNotFound", 404},
		{"GET", rg + "/providers/Microsoft.Compute/virtualMachines", "MissingApiVersionParameter", 400},
		{"GET", rg + "/providers/Microsoft.Compute/virtualMachines?api-version=latest", "InvalidApiVersionParameter", 400},
		{"GET", rg + "/providers/Microsoft.Compute/spaceships?api-version=2025-04-01", "InvalidResourceType", 404},
		{"GET", rg + "/providers/Microsoft.Compute/virtualMachines/none?api-version=2025-04-01", "ResourceNotFound", 404},
		{"GET", rg + "/providers/Microsoft.Compute/diskEncryptionSets/none?api-version=2025-01-02", "ResourceNotFound", 404},
		{"POST", rg + "/providers/Microsoft.Compute/virtualMachines?api-version=2025-04-01", "HttpMethodNotAllowed", 405},
		{"PUT", rg + "/providers/Microsoft.Compute/virtualMachines/x?api-version=2025-04-01", "InvalidRequestContent", 400},
		{"GET", "/nonsense", "NotFound", 404},
	} {
		resp, v := w.do(c.method, c.path, token, "")
		if resp.StatusCode != c.status || errorCode(v) != c.want {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, resp.StatusCode, errorCode(v), c.status, c.want)
		}
	}
	resp, v := w.do("PUT", rg+"/providers/Microsoft.Compute/virtualMachines/x?api-version=2025-04-01", token, "{")
	if resp.StatusCode != 400 || errorCode(v) != "InvalidRequestContent" {
		t.Errorf("broken JSON: %d %v", resp.StatusCode, v)
	}
	if resp, _ := w.do("GET", rg+"/providers/Microsoft.Compute//virtualMachines?api-version=2025-04-01", token, ""); resp.StatusCode != 200 {
		t.Errorf("doubled slash: %d", resp.StatusCode)
	}
}

func TestAdminDoor(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPut("vm", spot(w.body("vm", "Standard_D2s_v5")))
	for _, c := range []struct {
		method, path, token, body string
		status                    int
	}{
		{"GET", "/lab/resources", "", "", 401},
		{"GET", "/lab/resources", w.bearer(), "", 401},
		{"GET", "/lab/resources", admin, "", 200},
		{"GET", "/lab/operations", admin, "", 200},
		{"GET", "/lab/knobs", admin, "", 200},
		{"PUT", "/lab/knobs", admin, `{"createTime":"2s","capacity":[{"size":"Standard_D2s_v5","limit":0}]}`, 204},
		{"PUT", "/lab/knobs", admin, `{"createTyme":"2s"}`, 400},
		{"PUT", "/lab/knobs", admin, `{"createTime":2}`, 400},
		{"PUT", "/lab/knobs", admin, `{"latency":"-2s"}`, 400},
		{"POST", "/lab/evict?vm=none", admin, "", 409},
		{"POST", "/lab/evict?vm=vm", admin, "", 204},
		{"POST", "/lab/deallocate?vm=vm", admin, "", 204},
		{"GET", "/lab/else", admin, "", 404},
	} {
		if resp, _ := w.do(c.method, c.path, c.token, c.body); resp.StatusCode != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, resp.StatusCode, c.status)
		}
	}
	if k := w.cloud.Knobs(); k.CreateTime.D() != 2*time.Second || len(k.Capacity) != 1 {
		t.Errorf("knobs %+v", k)
	}
	seen := false
	for _, r := range w.cloud.Requests() {
		seen = seen || r.Method == "PUT" && strings.HasSuffix(r.Path, "/virtualMachines/vm") && r.Status == http.StatusCreated
		if strings.HasPrefix(r.Path, "/lab/") {
			t.Errorf("the lab's own request is in the log: %+v", r)
		}
	}
	if !seen {
		t.Error("the PUT is not in the log")
	}
}

// On virtual time: access tokens expire, and machines keep to their times.
func TestTimesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &machines{on: nil}
		c, err := arm.New(arm.Config{Host: host, Rights: []arm.Assignment{{Scope: "/", Actions: []string{"*"}}}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ask := func(method, path, token, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+token)
			rec := httptest.NewRecorder()
			c.ServeHTTP(rec, r)
			return rec
		}
		token := tokenOf(t, c)
		path := "/subscriptions/" + c.Config().Subscription + "/locations?api-version=2022-12-01"
		time.Sleep(59 * time.Minute)
		if rec := ask("GET", path, token, ""); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "eastus-az") {
			t.Errorf("after 59 minutes: %d %s", rec.Code, rec.Body)
		}
		time.Sleep(2 * time.Minute)
		if rec := ask("GET", path, token, ""); rec.Code != http.StatusUnauthorized || !strings.Contains(rec.Body.String(), "ExpiredAuthenticationToken") {
			t.Errorf("after 61 minutes: %d %s", rec.Code, rec.Body)
		}
	})
}
