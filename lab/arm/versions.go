package arm

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// computeVersions are the stable api-versions of the compute provider's machines since the one that allows interfaces
// inline with If-None-Match, beside that of the SDK (folders of specification/compute in Azure's public REST API
// specifications). Providers without such a list here speak the SDK's version only.
func computeVersions() []string {
	return []string{"2022-08-01", "2022-11-01", "2023-03-01", "2023-07-01", "2023-09-01", "2024-03-01", "2024-07-01", "2024-11-01"}
}

// unlisted are versions of operations for which go.mod holds no SDK, or that no driver calls, such as Route Tables - Get: Subscriptions - List Locations, and those of
// Microsoft.ContainerService, Microsoft.ManagedIdentity and Microsoft.Authorization.
func unlisted() map[string][]string {
	return map[string][]string{
		"locations":                   {"2022-12-01"},
		"managedClusters":             {"2025-05-01"},
		"locations/nodeImageVersions": {"2025-05-01"},
		"userAssignedIdentities":      {"2023-01-31"},
		"userAssignedIdentities/federatedIdentityCredentials": {"2023-01-31"},
		"roleAssignments": {"2022-04-01"},
		"virtualNetworks": {"2025-05-01"},
		"roleDefinitions": {"2022-04-01"},
		"routeTables":     {"2025-05-01"},
	}
}

// contracts gives every operation its body and the api-versions in which it can be asked for.
func (s *schema) contracts(routes []route) {
	placeholder := regexp.MustCompile(`\{[^}]*\}`)
	poll := map[string]bool{}
	for _, k := range s.ops {
		poll[k.version] = true // an operation is followed in the version in which it began
	}
	for i := range routes {
		rt := &routes[i]
		key := rt.method + " /" + placeholder.ReplaceAllString(strings.Join(rt.segs, "/"), "{}")
		k, known := s.ops[strings.ToLower(key)]
		switch {
		case known:
			rt.body, rt.versions = k.body, []string{k.version}
			if rt.kind == typeVM || rt.kind == typeExtension || rt.kind == "locations/usages" {
				rt.versions = append(computeVersions(), k.version)
			}
		case rt.bucket == "poll":
			rt.versions = append(computeVersions(), sortedKeys(poll)...)
		default:
			rt.versions = unlisted()[rt.kind]
		}
		slices.Sort(rt.versions)
		rt.versions = slices.Compact(rt.versions)
	}
}

// dated is the form of an api-version.
var dated = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-[a-z]+)?$`)

// checkVersion demands an api-version that the type has (documentation "Resolve errors for resource provider
// registration", NoRegisteredProviderFound; "Azure REST API Reference", request URI).
func (c *Cloud) checkVersion(q *call, rt *route) *apiError {
	v := q.query.Get("api-version")
	if v == "" {
		return refuse(http.StatusBadRequest, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	}
	if slices.Contains(rt.versions, v) {
		return nil
	}
	if _, err := time.Parse(time.DateOnly, v[:min(len(v), len(time.DateOnly))]); err != nil || !dated.MatchString(v) {
		return refuse(http.StatusBadRequest, "InvalidApiVersionParameter", "The api-version '%.40s' is invalid. The supported versions are '%s'.", v, strings.Join(rt.versions, ","))
	}
	var regions []string
	for _, r := range c.table.Regions() {
		regions = append(regions, r.Name)
	}
	_, typ, _ := strings.Cut(rt.kind, "/")
	if !strings.HasPrefix(rt.kind, "Microsoft.") {
		typ = rt.kind
	}
	return refuse(http.StatusBadRequest, "NoRegisteredProviderFound",
		"No registered resource provider found for location '%s' and API version '%s' for type '%s'. The supported api-versions are '%s'. The supported locations are '%s'.",
		c.cfg.Location, v, typ, strings.Join(rt.versions, ", "), strings.Join(regions, ", "))
}

// readBody reads a body as its provider does, after what Azure Resource Manager itself looks at: tags and location.
func (c *Cloud) readBody(q *call, rt *route) *apiError {
	if e := checkTags(q.body); e != nil {
		return e
	}
	if q.Method == http.MethodPut {
		if e := c.checkLocation(q, rt); e != nil {
			return e
		}
	}
	if rt.body == "" {
		return nil
	}
	body, e := c.schema.read(rt.body, q.query.Get("api-version"), q.raw, q.body)
	q.body = body
	return e
}

// checkLocation: a tracked resource names a location in which the type is offered (documentation "Resolve errors for
// location"); what exists stays where it is.
func (c *Cloud) checkLocation(q *call, rt *route) *apiError {
	loc, isText := q.body["location"].(string)
	switch r := c.res[strings.ToLower(c.pathID(q))]; {
	case q.body["location"] != nil && !isText:
		return refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: the location is not a string.")
	case loc == "":
		return refuse(http.StatusBadRequest, "LocationRequired", "The location property is required for this definition.")
	case strings.EqualFold(strings.ReplaceAll(loc, " ", ""), c.cfg.Location):
		return nil
	case r != nil:
		return refuse(http.StatusConflict, "InvalidResourceLocation", "The resource '%s' already exists in location '%s' in resource group '%s'. A resource with the same name cannot be created in location '%s'. Please select a new resource name.", r.name, c.cfg.Location, r.group, loc)
	}
	return refuse(http.StatusBadRequest, "LocationNotAvailableForResourceType", "The provided location '%.60s' is not available for resource type '%s'. List of available regions for the resource type is '%s'.", loc, rt.kind, c.cfg.Location)
}

// checkConditions follows Virtual Machines - Create Or Update, headers If-Match and If-None-Match: the latter takes '*'
// alone, the former the etag that the machine shows.
func (c *Cloud) checkConditions(q *call, old *resource) *apiError {
	none, match := q.Header.Values("If-None-Match"), q.Header.Values("If-Match")
	failed := func(name string) *apiError {
		return refuse(http.StatusPreconditionFailed, "PreconditionFailed", "The precondition given in one or more of the request header fields evaluated to false when it was tested on the server: resource '%s'.", name)
	}
	switch {
	case len(none)+len(match) > 1:
		return refuse(http.StatusBadRequest, "BadRequest", "The request may carry one of the headers If-Match and If-None-Match, once.")
	case len(none) == 1 && none[0] != "*":
		return refuse(http.StatusBadRequest, "BadRequest", "The value '%.80s' of the header If-None-Match is not supported: only '*' is.", none[0])
	case len(none) == 1 && old != nil:
		return failed(old.name)
	case len(match) == 1 && old == nil:
		return failed(q.vars["name"])
	case len(match) == 1 && match[0] != "*" && match[0] != old.etag():
		return failed(old.name)
	}
	return nil
}
