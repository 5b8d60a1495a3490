package arm

import (
	"crypto/subtle"
	"net/http"
	"strings"
)

// Federation is a federated credential of the controller's identity.
type Federation struct {
	Name, Issuer, Subject string
	Audiences             []string
}

// controllerIdentity is the name of the identity that the controller is, in the cluster's resource group.
const controllerIdentity = "karpentermsi"

// personTakes reports whether a client is the person at the lab: the application Config.Person with the lab's admin token for a secret. A person
// is a Reader of the subscription (documentation "Azure built-in roles"), and no more.
func (c *Cloud) personTakes(client, given string) bool {
	return c.cfg.Person != "" && c.cfg.AdminToken != "" && strings.EqualFold(client, c.cfg.Person) &&
		subtle.ConstantTimeCompare([]byte(given), []byte(c.cfg.AdminToken)) == 1
}

// asksAsPerson reports whether a request carries a person's token. The caller holds mu.
func (c *Cloud) asksAsPerson(r *http.Request) bool {
	t, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return c.persons[t]
}

func (c *Cloud) identityID() string {
	return c.idOf(c.cfg.ClusterResourceGroup, "Microsoft.ManagedIdentity/userAssignedIdentities", controllerIdentity)
}

// listIdentities is User Assigned Identities - List By Subscription: the kubelets' and the controller's.
func (c *Cloud) listIdentities(*call) (*reply, *apiError) {
	list := []any{}
	for _, i := range c.identities() {
		list = append(list, i)
	}
	return ok(object{"value": list})
}

// getIdentity is User Assigned Identities - Get.
func (c *Cloud) getIdentity(q *call) (*reply, *apiError) {
	const typ = "Microsoft.ManagedIdentity/userAssignedIdentities"
	for _, i := range c.identities() {
		if strings.EqualFold(digString(i, "id"), c.idOf(q.vars["rg"], typ, q.vars["name"])) {
			return ok(i)
		}
	}
	return nil, notFound(typ, q.vars["name"], q.vars["rg"])
}

func (c *Cloud) identities() []object {
	out := []object{c.identityDoc(c.identityID(), c.cfg.ClientID, c.principal())}
	for i, id := range c.cfg.Identities {
		out = append(out, c.identityDoc(id, c.clientOf(i), guid("principal", id)))
	}
	return out
}

// clientOf is the client id of one of the identities that exist; the first is the kubelets'.
func (c *Cloud) clientOf(i int) string {
	if i == 0 && c.cfg.KubeletClientID != "" {
		return c.cfg.KubeletClientID
	}
	return guid("client", c.cfg.Identities[i])
}

func (c *Cloud) identityDoc(id, client, principal string) object {
	return object{"id": id, "name": lastSegment(id), "type": "Microsoft.ManagedIdentity/userAssignedIdentities", "location": c.cfg.Location,
		"properties": object{"clientId": client, "principalId": principal, "tenantId": c.cfg.Tenant}}
}

// listFederations is Federated Identity Credentials - List.
func (c *Cloud) listFederations(q *call) (*reply, *apiError) {
	id := c.idOf(q.vars["rg"], "Microsoft.ManagedIdentity/userAssignedIdentities", q.vars["name"])
	list := []any{}
	if strings.EqualFold(id, c.identityID()) {
		for _, f := range c.cfg.Federations {
			list = append(list, object{"id": id + "/federatedIdentityCredentials/" + f.Name, "name": f.Name,
				"type":       "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials",
				"properties": object{"issuer": f.Issuer, "subject": f.Subject, "audiences": f.Audiences}})
		}
	}
	return ok(object{"value": list})
}

// listAssignments is Role Assignments - List For Subscription with the filter assignedTo. Each of the rights is a role of its own.
func (c *Cloud) listAssignments(q *call) (*reply, *apiError) {
	list := []any{}
	if strings.EqualFold(q.query.Get("$filter"), "assignedTo('"+c.principal()+"')") {
		for i, a := range c.rights {
			list = append(list, object{"id": a.Scope + "/providers/Microsoft.Authorization/roleAssignments/" + guid("assignment", a.Scope),
				"type": "Microsoft.Authorization/roleAssignments", "properties": object{"scope": a.Scope, "principalId": c.principal(), "roleDefinitionId": c.roleID(i)}})
		}
	}
	return ok(object{"value": list})
}

func (c *Cloud) roleID(i int) string {
	return "/subscriptions/" + c.cfg.Subscription + "/providers/Microsoft.Authorization/roleDefinitions/" + guid("role", c.rights[i].Scope, string(rune('a'+i)))
}

// getRole is Role Definitions - Get. What a knob denies is not in it.
func (c *Cloud) getRole(q *call) (*reply, *apiError) {
	for i, a := range c.rights {
		if id := c.roleID(i); strings.EqualFold(lastSegment(id), q.vars["name"]) {
			actions := []any{}
			for _, x := range a.Actions {
				if !c.denied(x) {
					actions = append(actions, x)
				}
			}
			return ok(object{"id": id, "name": lastSegment(id), "type": "Microsoft.Authorization/roleDefinitions",
				"properties": object{"roleName": lastSegment(id), "type": "CustomRole", "permissions": []any{object{"actions": actions, "notActions": []any{}}}}})
		}
	}
	return nil, refuse(http.StatusNotFound, "RoleDefinitionDoesNotExist", "The specified role definition with ID '%s' does not exist.", q.vars["name"])
}

// denied reports whether a knob takes an action away. The caller holds mu.
func (c *Cloud) denied(action string) bool {
	for _, p := range c.knobs.Deny {
		if wildcard(strings.ToLower(p), strings.ToLower(action)) {
			return true
		}
	}
	return false
}

// listVNets is Virtual Networks - List.
func (c *Cloud) listVNets(q *call) (*reply, *apiError) {
	list := []any{}
	for _, id := range c.networks() {
		parts := strings.Split(id, "/")
		if !strings.EqualFold(parts[4], q.vars["rg"]) {
			continue
		}
		one := *q
		one.vars = map[string]string{"rg": parts[4], "name": parts[8]}
		r, e := c.getVNet(&one)
		if e != nil {
			return nil, e
		}
		list = append(list, r.body)
	}
	return ok(object{"value": list})
}

// kubeletIdentity is the first of the identities that exist, as Managed Clusters - Get shows it.
func (c *Cloud) kubeletIdentity() object {
	if len(c.cfg.Identities) == 0 {
		return object{}
	}
	id := c.cfg.Identities[0]
	return object{"resourceId": id, "clientId": c.clientOf(0), "objectId": guid("principal", id)}
}

// linuxProfile is the account on the cluster's own machines, as Managed Clusters - Get shows it.
func (c *Cloud) linuxProfile() object {
	if c.cfg.SSHPublicKey == "" {
		return object{}
	}
	return object{"adminUsername": "azureuser", "ssh": object{"publicKeys": []any{object{"keyData": c.cfg.SSHPublicKey}}}}
}
