package arm

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// With the roles that the project ships, whatever is served and not in them is refused, wherever it is asked.
func TestShippedRolesAllowNothingElse(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {"any"}, "scope": {"x"}, "client_assertion": {"jwt"},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}}
	rec := httptest.NewRecorder()
	c.ServeHTTP(rec, httptest.NewRequest("POST", "/"+c.cfg.Tenant+"/oauth2/v2.0/token", strings.NewReader(form.Encode())))
	var token struct {
		Access string `json:"access_token"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &token); err != nil {
		t.Fatal(err)
	}
	var given []string
	for _, a := range c.Rights() {
		given = append(given, a.Actions...)
	}
	variable := regexp.MustCompile(`\{[a-z]+\}`)
	refused, allowed := 0, 0
	for _, rt := range c.routes {
		if rt.action == "" || len(rt.versions) == 0 {
			continue
		}
		for _, group := range []string{c.cfg.NodeResourceGroup, "somebodys"} {
			path := "/" + strings.NewReplacer("{sub}", c.cfg.Subscription, "{rg}", group, "{location}", c.cfg.Location).Replace(strings.Join(rt.segs, "/"))
			path = variable.ReplaceAllString(path, "x")
			req := httptest.NewRequest(rt.method, path+"?api-version="+rt.versions[0], strings.NewReader("{}"))
			req.Header.Set("Authorization", "Bearer "+token.Access)
			rec := httptest.NewRecorder()
			c.ServeHTTP(rec, req)
			elsewhere := group == "somebodys" && slices.Contains(rt.segs, "{rg}")
			switch {
			case rec.Code == http.StatusForbidden:
				refused++
			case elsewhere || !slices.Contains(given, rt.action):
				t.Errorf("%s %s: %d, and no role allows %s there", rt.method, path, rec.Code, rt.action)
			default:
				allowed++
			}
		}
	}
	if refused < 30 || allowed < 15 {
		t.Errorf("%d requests were refused and %d allowed: the roles are not read", refused, allowed)
	}
}
