package arm

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// graphPage is how many rows an answer of Resource Graph holds when the caller does not say (documentation "Working
// with large Azure resource data sets": 1000, also the most).
const graphPage = 1000

// graphResources is Resources - Resources of Azure Resource Graph: a query over what is indexed, in pages that
// $skipToken joins.
func (c *Cloud) graphResources(q *call) (*reply, *apiError) {
	text := digString(q.body, "query")
	bad := func(msg string) (*reply, *apiError) {
		e := refuse(http.StatusBadRequest, "BadRequest", "Please provide below info when asking for support: query is invalid.")
		e.Details = []apiError{{Code: "InvalidQuery", Message: "Query is invalid. Please refer to the documentation for the Azure Resource Graph service and fix the error before retrying."}, {Code: "ParserFailure", Message: msg}}
		return nil, e
	}
	if f := digString(q.body, "options", "resultFormat"); f != "" && !strings.EqualFold(f, "objectArray") {
		return bad("the lab answers with resultFormat objectArray only, not " + f)
	}
	subs := stringsOf(digList(q.body, "subscriptions"))
	k, err := parseKQL(text)
	if err != nil {
		return bad(err.Error())
	}
	var rows []object
	if len(subs) == 0 || slices.ContainsFunc(subs, func(s string) bool { return strings.EqualFold(s, c.cfg.Subscription) }) {
		for _, key := range sortedKeys(c.graph) {
			if r := c.graph[key]; !c.may(r.typ+"/read", r.id) {
				continue // Resource Graph shows what the caller may read ("Permissions in Azure Resource Graph")
			}
			rows = append(rows, c.row(c.graph[key]))
		}
	}
	rows = k.run(rows)
	size := int(digInt(q.body, "options", "$top"))
	if size <= 0 || size > graphPage {
		size = graphPage
	}
	skip := int(digInt(q.body, "options", "$skip"))
	if t := digString(q.body, "options", "$skipToken"); t != "" {
		b, err := base64.StdEncoding.DecodeString(t)
		n, err2 := strconv.Atoi(string(b))
		if err != nil || err2 != nil || n < 0 {
			return bad("the skip token is not one of ours")
		}
		skip = n
	}
	total := len(rows)
	rows = rows[min(skip, total):]
	out := object{"totalRecords": total, "resultTruncated": "false", "facets": []any{}}
	if len(rows) > size {
		rows = rows[:size]
		out["$skipToken"] = base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(skip + size)))
	}
	out["count"], out["data"] = len(rows), anyList(rows)
	return ok(out)
}

// row is a resource as the table "resources" has it: type and resourceGroup in lower case, a machine's power state and
// statuses under properties.extended.instanceView (documentation "Azure Resource Graph table and resource type
// reference").
func (c *Cloud) row(r *resource) object {
	d := r.show()
	props := digObject(d, "properties")
	if r.vm != nil {
		view := c.instanceView(r)
		if r.vm.power != "" {
			view["powerState"] = object{"code": "PowerState/" + r.vm.power, "displayStatus": "VM " + r.vm.power, "level": "Info"}
		}
		props["extended"] = object{"instanceView": view}
	}
	tags := d["tags"]
	if tags == nil {
		tags = object{}
	}
	return object{"id": r.id, "name": r.name, "type": strings.ToLower(r.typ), "tenantId": c.cfg.Tenant, "kind": "", "location": c.cfg.Location,
		"resourceGroup": strings.ToLower(r.group), "subscriptionId": c.cfg.Subscription, "managedBy": digString(d, "managedBy"),
		"sku": d["sku"], "plan": nil, "properties": props, "tags": tags, "identity": d["identity"], "zones": d["zones"], "extendedLocation": nil}
}
