package doctor

// Gates are the parts of the controller that need rights only while they are on.
type Gates struct{ NominatedNodes, SecureMetrics, Policies bool }

// Needs are the things that the controller does in a cluster, in its namespace and in kube-system; the chart's roles allow these and no others.
func Needs(namespace string, on Gates) []Access {
	var out []Access
	add := func(group string, resources []string, verbs ...string) {
		for _, r := range resources {
			for _, v := range verbs {
				out = append(out, Access{Verb: v, Group: group, Resource: r})
			}
		}
	}
	see := []string{"get", "list", "watch"}
	add("", []string{"pods", "nodes", "namespaces", "persistentvolumes", "persistentvolumeclaims",
		"podtemplates"}, see...)
	add("apps", []string{"daemonsets", "deployments", "statefulsets", "replicasets"}, see...)
	add("policy", []string{"poddisruptionbudgets"}, see...)
	add("storage.k8s.io", []string{"storageclasses", "csinodes", "volumeattachments"}, see...)
	add("", []string{"nodes"}, "patch", "delete")
	add("", []string{"pods/eviction", "events"}, "create")
	add("", []string{"pods"}, "delete")
	if on.NominatedNodes {
		add("", []string{"pods/status"}, "patch")
	}
	add("karpenter.sh", []string{"nodeclaims"}, append(see, "create", "delete", "patch")...)
	add("karpenter.sh", []string{"nodepools"}, append(see, "patch")...)
	add("karpenter.sh", []string{"nodeoverlays"}, see...)
	add("karpenter.sh", []string{"nodeclaims/status", "nodepools/status",
		"nodeoverlays/status"}, "patch")
	add("autoscaling.x-k8s.io", []string{"capacitybuffers"}, see...)
	add("autoscaling.x-k8s.io", []string{"capacitybuffers/status"}, "patch")
	add("karpenter.azure.com", []string{"aksnodeclasses"}, append(see, "patch")...)
	add("karpenter.azure.com", []string{"aksnodeclasses/status"}, "patch")
	if on.SecureMetrics {
		add("authentication.k8s.io", []string{"tokenreviews"}, "create")
		add("authorization.k8s.io", []string{"subjectaccessreviews"}, "create")
	}
	return append(out, namespaced(namespace, on)...)
}

func namespaced(namespace string, on Gates) []Access {
	const lease, system = "karpenter-leader-election", "kube-system"
	leases := Access{Group: "coordination.k8s.io", Resource: "leases", Namespace: namespace}
	var out []Access
	for _, x := range []struct{ verb, name string }{{"create", ""}, {"get", lease}, {"update",
		lease}} {
		a := leases
		a.Verb, a.Name = x.verb, x.name
		out = append(out, a)
	}
	out = append(out, Access{Verb: "get", Resource: "configmaps", Namespace: namespace,
		Name: "upcoming-maintenance-window"})
	out = append(out, Access{Verb: "create", Resource: "secrets", Namespace: system})
	if on.Policies {
		out = append(out, Access{Verb: "delete", Resource: "secrets", Namespace: system})
	}
	return append(out, Access{Verb: "get", Resource: "services", Namespace: system,
		Name: "kube-dns"})
}

// InstallerNeeds are the things that an installation does beside those in the release's namespace.
func InstallerNeeds(namespace string) []Access {
	const rbac, admission = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
	return []Access{
		{Verb: "create", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Verb: "create", Group: rbac, Resource: "clusterroles"},
		{Verb: "create", Group: rbac, Resource: "clusterrolebindings"},
		{Verb: "create", Group: rbac, Resource: "roles", Namespace: "kube-system"},
		{Verb: "create", Group: admission, Resource: "validatingadmissionpolicies"},
		{Verb: "create", Group: "apps", Resource: "deployments", Namespace: namespace},
		{Verb: "create", Resource: "serviceaccounts", Namespace: namespace},
	}
}

// TokenNeeds are the things that a machine does with its bootstrap token: it asks for a certificate, and waits for it.
func TokenNeeds() []Access {
	const group, resource = "certificates.k8s.io", "certificatesigningrequests"
	return []Access{
		{Verb: "create", Group: group, Resource: resource},
		{Verb: "get", Group: group, Resource: resource},
		{Verb: "create", Group: group, Resource: resource + "/nodeclient"},
	}
}
