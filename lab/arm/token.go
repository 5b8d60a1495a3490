package arm

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// tokenLife is how long access tokens live. Entra's live 60 to 90 minutes (documentation "Access token lifetime").
const tokenLife = time.Hour

// maxTokens bounds the tokens remembered; the oldest expire first, and a client holds one or two.
const maxTokens = 10_000

// token is the client credentials grant with a federated token (documentation "Microsoft identity platform and the
// OAuth 2.0 client credentials flow", third case: access token request with a federated credential).
func (c *Cloud) token(q *call) (*reply, *apiError) {
	form, err := url.ParseQuery(string(q.raw))
	if err != nil {
		return nil, oauthRefuse(http.StatusBadRequest, "invalid_request", "AADSTS900144", "The request body could not be read.")
	}
	tenant, client := q.vars["tenant"], form.Get("client_id")
	person := c.personTakes(client, form.Get("client_secret"))
	switch {
	case !strings.EqualFold(tenant, c.cfg.Tenant):
		return nil, oauthRefuse(http.StatusBadRequest, "invalid_request", "AADSTS90002", "Tenant '"+tenant+"' not found. Check to make sure you have the correct tenant ID and are signing into the correct cloud.")
	case form.Get("grant_type") != "client_credentials":
		return nil, oauthRefuse(http.StatusBadRequest, "unsupported_grant_type", "AADSTS70003", "The app requested an unsupported grant type '"+form.Get("grant_type")+"'.")
	case client == "":
		return nil, oauthRefuse(http.StatusBadRequest, "invalid_request", "AADSTS900144", "The request body must contain the following parameter: 'client_id'.")
	case c.cfg.ClientID != "" && client != c.cfg.ClientID && !person:
		return nil, oauthRefuse(http.StatusUnauthorized, "unauthorized_client", "AADSTS700016", "Application with identifier '"+client+"' was not found in the directory '"+c.cfg.Tenant+"'.")
	case form.Get("scope") == "":
		return nil, oauthRefuse(http.StatusBadRequest, "invalid_request", "AADSTS900144", "The request body must contain the following parameter: 'scope'.")
	case person:
	case form.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" || form.Get("client_assertion") == "":
		return nil, oauthRefuse(http.StatusUnauthorized, "invalid_client", "AADSTS7000216", "'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' grant type.")
	}
	if c.cfg.CheckAssertion != nil && !person {
		if err := c.cfg.CheckAssertion(form.Get("client_assertion")); err != nil {
			return nil, oauthRefuse(http.StatusUnauthorized, "invalid_client", "AADSTS700213", "No matching federated identity record found for presented assertion: "+err.Error())
		}
	}
	now := c.cfg.Now()
	for t, until := range c.tokens {
		if now.After(until) || len(c.tokens) >= maxTokens {
			delete(c.tokens, t)
			delete(c.persons, t)
		}
	}
	t := secret()
	if person {
		c.persons[t] = true
	}
	c.tokens[t] = now.Add(tokenLife)
	return ok(object{"token_type": "Bearer", "access_token": t, "expires_in": int(tokenLife / time.Second), "ext_expires_in": int(tokenLife / time.Second)})
}

// oauthRefuse is an error as the token endpoint prints it (documentation "Microsoft Entra authentication and
// authorization error codes").
func oauthRefuse(status int, kind, code, text string) *apiError {
	body, _ := json.Marshal(object{"error": kind, "error_description": code + ": " + text,
		"error_codes": []string{strings.TrimPrefix(code, "AADSTS")}}) // strings only: cannot fail
	return &apiError{Status: status, Code: code, Message: text, body: body}
}

// openID is the discovery document that identity libraries read first (documentation "OpenID Connect on the Microsoft
// identity platform", fetch the OpenID configuration document).
func (c *Cloud) openID(q *call) (*reply, *apiError) {
	t := q.base + "/" + q.vars["tenant"]
	return ok(object{
		"issuer": t + "/v2.0", "authorization_endpoint": t + "/oauth2/v2.0/authorize", "token_endpoint": t + "/oauth2/v2.0/token",
		"jwks_uri": t + "/discovery/v2.0/keys", "token_endpoint_auth_methods_supported": []string{"private_key_jwt"},
		"response_types_supported": []string{"code", "id_token"}, "subject_types_supported": []string{"pairwise"},
		"id_token_signing_alg_values_supported": []string{"RS256"}, "scopes_supported": []string{"openid"},
	})
}

// discovery tells an identity library which hosts are one authority (API "instance discovery", as used by MSAL).
func (c *Cloud) discovery(q *call) (*reply, *apiError) {
	host := strings.TrimPrefix(q.base, "https://")
	return ok(object{
		"tenant_discovery_endpoint": q.base + "/" + c.cfg.Tenant + "/v2.0/.well-known/openid-configuration",
		"api-version":               "1.1",
		"metadata":                  []any{object{"preferred_network": host, "preferred_cache": host, "aliases": []string{host}}},
	})
}

// authorize wants a bearer token that we issued. The caller holds mu.
func (c *Cloud) authorize(r *http.Request) *apiError {
	t, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return refuse(http.StatusUnauthorized, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
	}
	until, known := c.tokens[t]
	if !known {
		return refuse(http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid.")
	}
	if c.cfg.Now().After(until) {
		delete(c.tokens, t)
		return refuse(http.StatusUnauthorized, "ExpiredAuthenticationToken", "The access token expiry UTC time '%s' is earlier than current UTC time.", until.UTC().Format(time.RFC3339))
	}
	return nil
}
