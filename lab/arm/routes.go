package arm

import (
	"net/http"
	"strings"
)

// route is one operation. Paths are compared without regard to case, as ARM does; {x} captures a segment.
type route struct {
	method string
	segs   []string
	kind   string // resource type, for messages
	public bool   // needs no bearer token
	bucket string // kind of request, for throttling: read, list, write, delete, poll or graph
	do     handler
	// Filled in from the schema when the cloud is made.
	body     string   // type of the body; "" = not checked
	versions []string // api-versions that are served, in order
	action   string   // what a role must allow
	policy   string   // compute's own throttling policy; "" = none
}

const (
	sub     = "/subscriptions/{sub}"
	group   = sub + "/resourceGroups/{rg}"
	compute = "/providers/Microsoft.Compute"
	network = "/providers/Microsoft.Network"
	aks     = "/providers/Microsoft.ContainerService"

	identity      = "/providers/Microsoft.ManagedIdentity"
	authorization = "/providers/Microsoft.Authorization"
)

// routes is the whole surface. A new operation needs a line here and a handler that names its source.
func routes() []route {
	var list []route
	add := func(method, path, kind, bucket string, h handler) {
		list = append(list, route{method: method, segs: strings.Split(path, "/")[1:], kind: kind, bucket: bucket, do: h})
	}
	open := func(method, path string, h handler) {
		list = append(list, route{method: method, segs: strings.Split(path, "/")[1:], public: true, do: h})
	}
	open("POST", "/{tenant}/oauth2/v2.0/token", (*Cloud).token)
	open("GET", "/{tenant}/v2.0/.well-known/openid-configuration", (*Cloud).openID)
	open("GET", "/common/discovery/instance", (*Cloud).discovery)
	open("GET", "/api/retail/prices", (*Cloud).retailPrices)

	add("GET", sub+"/locations", "locations", "read", (*Cloud).locations)
	add("GET", sub+compute+"/skus", "skus", "read", (*Cloud).listSKUs)
	add("GET", sub+compute+"/locations/{location}/usages", "locations/usages", "read", (*Cloud).usages)
	add("GET", sub+compute+"/locations/{location}/operations/{op}", "locations/operations", "poll", (*Cloud).getOperation)
	add("GET", sub+network+"/locations/{location}/operations/{op}", "locations/operations", "poll", (*Cloud).getOperation)
	gallery := sub + compute + "/locations/{location}/communityGalleries/{gallery}/images/{image}"
	add("GET", gallery, "locations/communityGalleries/images", "read", (*Cloud).galleryImage)
	add("GET", gallery+"/versions", "locations/communityGalleries/images/versions", "read", (*Cloud).galleryVersions)
	add("GET", group+compute+"/diskEncryptionSets/{name}", "diskEncryptionSets", "read", (*Cloud).noSuchResource)

	vms := group + compute + "/virtualMachines"
	add("GET", sub+compute+"/virtualMachines", typeVM, "list", (*Cloud).listVMs)
	add("GET", vms, typeVM, "list", (*Cloud).listVMs)
	add("PUT", vms+"/{name}", typeVM, "write", (*Cloud).putVM)
	add("GET", vms+"/{name}", typeVM, "read", (*Cloud).getVM)
	add("PATCH", vms+"/{name}", typeVM, "write", (*Cloud).patchVM)
	add("DELETE", vms+"/{name}", typeVM, "delete", (*Cloud).deleteVM)
	add("GET", vms+"/{name}/instanceView", typeVM, "read", (*Cloud).getInstanceView)
	add("POST", vms+"/{name}/deallocate", typeVM, "write", (*Cloud).postDeallocate)
	add("POST", vms+"/{name}/start", typeVM, "write", (*Cloud).postStart)
	add("POST", vms+"/{name}/simulateEviction", typeVM, "write", (*Cloud).postSimulateEviction)
	ext := vms + "/{vm}/extensions"
	add("GET", ext, typeExtension, "read", (*Cloud).listExtensions)
	add("PUT", ext+"/{name}", typeExtension, "write", (*Cloud).putExtension)
	add("GET", ext+"/{name}", typeExtension, "read", (*Cloud).getResource)
	add("PATCH", ext+"/{name}", typeExtension, "write", (*Cloud).patchTags)
	add("DELETE", ext+"/{name}", typeExtension, "delete", (*Cloud).deletePlain)
	for _, scope := range []string{sub, group} {
		add("GET", scope+compute+"/disks", typeDisk, "list", (*Cloud).listResources)
		add("GET", scope+network+"/networkInterfaces", typeNIC, "list", (*Cloud).listResources)
	}
	add("GET", group+compute+"/disks/{name}", typeDisk, "read", (*Cloud).getResource)
	add("DELETE", group+compute+"/disks/{name}", typeDisk, "delete", (*Cloud).deletePlain)

	nics := group + network + "/networkInterfaces/{name}"
	add("PUT", nics, typeNIC, "write", (*Cloud).putNIC)
	add("GET", nics, typeNIC, "read", (*Cloud).getResource)
	add("PATCH", nics, typeNIC, "write", (*Cloud).patchTags)
	add("DELETE", nics, typeNIC, "delete", (*Cloud).deletePlain)
	add("GET", group+network+"/virtualNetworks", "virtualNetworks", "read", (*Cloud).listVNets)
	add("GET", group+network+"/virtualNetworks/{name}", "virtualNetworks", "read", (*Cloud).getVNet)
	add("GET", group+network+"/virtualNetworks/{vnet}/subnets/{name}", "virtualNetworks/subnets", "read", (*Cloud).getSubnet)
	add("GET", group+network+"/loadBalancers", "loadBalancers", "read", (*Cloud).listLoadBalancers)
	add("GET", group+network+"/loadBalancers/{name}", "loadBalancers", "read", (*Cloud).getLoadBalancer)
	add("GET", group+network+"/networkSecurityGroups", "networkSecurityGroups", "read", (*Cloud).listSecurityGroups)
	add("GET", group+network+"/routeTables/{name}", "routeTables", "read", (*Cloud).getRouteTable)

	add("GET", sub+identity+"/userAssignedIdentities", "userAssignedIdentities", "read", (*Cloud).listIdentities)
	add("GET", group+identity+"/userAssignedIdentities/{name}", "userAssignedIdentities", "read", (*Cloud).getIdentity)
	add("GET", group+identity+"/userAssignedIdentities/{name}/federatedIdentityCredentials", "userAssignedIdentities/federatedIdentityCredentials", "read", (*Cloud).listFederations)
	add("GET", sub+authorization+"/roleAssignments", "roleAssignments", "read", (*Cloud).listAssignments)
	add("GET", sub+authorization+"/roleDefinitions/{name}", "roleDefinitions", "read", (*Cloud).getRole)

	add("POST", "/providers/Microsoft.ResourceGraph/resources", "resources", "graph", (*Cloud).graphResources)
	add("GET", group+aks+"/managedClusters/{name}", "managedClusters", "read", (*Cloud).getCluster)
	add("GET", sub+aks+"/locations/{location}/nodeImageVersions", "locations/nodeImageVersions", "read", (*Cloud).nodeImageVersions)
	return list
}

// find picks the route of a request. A path that exists with another method gets 405.
func (c *Cloud) find(r *http.Request) (*route, map[string]string, *apiError) {
	// Clients join endpoint and path in their own ways: doubled slashes are one.
	segs := strings.FieldsFunc(r.URL.Path, func(x rune) bool { return x == '/' })
	other := false
	for i := range c.routes {
		rt := &c.routes[i]
		vars, hit := match(rt.segs, segs)
		if !hit {
			continue
		}
		if rt.method == r.Method {
			return rt, vars, nil
		}
		other = true
	}
	if other {
		return nil, nil, refuse(http.StatusMethodNotAllowed, "HttpMethodNotAllowed", "The HTTP method '%s' is not supported at scope '%s'.", r.Method, r.URL.Path)
	}
	for i, s := range segs {
		if strings.EqualFold(s, "providers") && i+2 < len(segs) {
			return nil, nil, refuse(http.StatusNotFound, "InvalidResourceType",
				"The resource type '%s' could not be found in the namespace '%s' for api version '%s'.", segs[i+2], segs[i+1], r.URL.Query().Get("api-version"))
		}
	}
	return nil, nil, refuse(http.StatusNotFound, "NotFound", "The request path '%s' is not served here.", r.URL.Path)
}

// public reports whether strangers may learn that the path does not exist.
func (c *Cloud) public(r *http.Request) bool {
	return !strings.HasPrefix(strings.ToLower(r.URL.Path), "/subscriptions")
}

func match(pattern, segs []string) (map[string]string, bool) {
	if len(pattern) != len(segs) {
		return nil, false
	}
	var vars map[string]string
	for i, p := range pattern {
		if strings.HasPrefix(p, "{") {
			if vars == nil {
				vars = map[string]string{}
			}
			vars[strings.Trim(p, "{}")] = segs[i]
		} else if !strings.EqualFold(p, segs[i]) {
			return nil, false
		}
	}
	return vars, true
}
