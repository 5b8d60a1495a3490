package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// kubeletVariables: its flags, labels and files.
func kubeletVariables() []Variable {
	return []Variable{
		{"KUBELET_FLAGS", Line, "always", "the kubelet's defaults: no cloud provider, so the cluster never learns which machine the node is", inConfig},
		{"KUBELET_NODE_LABELS", Line, "", "no labels", inConfig},
		{"KUBELET_CONFIG_FILE_ENABLED", Flag, "", "flags only", inConfig},
		{"KUBELET_CONFIG_FILE_CONTENT", Base64, "with KUBELET_CONFIG_FILE_ENABLED", "an empty file, which the kubelet refuses: no node", inConfig},
		{"KUBELET_CLIENT_CONTENT", Base64, "", "no client key", inConfig},
		{"KUBELET_CLIENT_CERT_CONTENT", Base64, "", "no client certificate", inConfig},
		{"KUBELET_IMAGE", Text, "", "nothing", inConfig},
		{"ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION", Flag, "", "a self-signed serving certificate", inConfig},
		{"NEEDS_CGROUPV2", Flag, "always, in effect", "the kubelet's own choice of a cgroup driver, beside containerd's", inMain},
		{"HAS_KUBELET_DISK_TYPE", Flag, "", "the kubelet's data is on the OS disk", inMain},
		{"CREDENTIAL_PROVIDER_DOWNLOAD_URL", Address, "Kubernetes before 1.33, and Azure Linux 2, when the provider's flags are set", "exit 205", inInstall},
		{"SERVICE_ACCOUNT_IMAGE_PULL_ENABLED", Flag, "", "pulls use the kubelet's identity", inConfig},
		{"SERVICE_ACCOUNT_IMAGE_PULL_DEFAULT_CLIENT_ID", Text, "", "no default", inConfig},
		{"SERVICE_ACCOUNT_IMAGE_PULL_DEFAULT_TENANT_ID", Text, "", "no default", inConfig},
		{"IDENTITY_BINDINGS_LOCAL_AUTHORITY_SNI", Text, "", "nothing", inConfig},
		{"AZURE_ENVIRONMENT_FILEPATH", Path, "", "the public cloud", inConfig},
	}
}

// Files of the kubelet.
const (
	defaultsFile     = "/etc/default/kubelet"
	configFile       = "/etc/default/kubeletconfig.json"
	servingCert      = "/etc/kubernetes/certs/kubeletserver.crt"
	servingKey       = "/etc/kubernetes/certs/kubeletserver.key"
	kubeconfig       = "/var/lib/kubelet/kubeconfig"
	bootstrapConfig  = "/var/lib/kubelet/bootstrap-kubeconfig"
	providerConfig   = "/var/lib/kubelet/credential-provider-config.yaml"
	providerBinaries = "/var/lib/kubelet/credential-provider"
	onTheMachine     = "(made on the machine)"
)

// kubeletDropIns are the parts of the unit that do not depend on the cluster.
func (b *boot) kubeletDropIns(context.Context) *stop {
	b.dropIns["KUBELET_CONTAINERD_FLAGS"] = "--runtime-request-timeout=15m --container-runtime-endpoint=unix:///run/containerd/containerd.sock --runtime-cgroups=/system.slice/containerd.service"
	if b.minor() < 27 {
		b.dropIns["KUBELET_CONTAINER_RUNTIME_FLAG"] = "--container-runtime=remote"
	}
	if b.on("NEEDS_CGROUPV2") {
		b.dropIns["KUBELET_CGROUP_FLAGS"] = "--cgroup-driver=systemd"
	} else {
		b.warn("NEEDS_CGROUPV2 is not true: the kubelet is not told of containerd's cgroup driver")
	}
	if b.on("HAS_KUBELET_DISK_TYPE") {
		b.warn("HAS_KUBELET_DISK_TYPE is true: the kubelet starts only on sizes with a temporary disk")
	}
	return nil
}

// servingCertificate makes a self-signed pair, or takes the flags of one away so that the kubelet asks for its own.
func (b *boot) servingCertificate(context.Context) *stop {
	if !b.on("ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION") {
		b.write(servingCert, 0o644, onTheMachine)
		b.write(servingKey, 0o600, onTheMachine)
		return nil
	}
	b.dropFlag("--tls-cert-file=" + servingCert)
	b.dropFlag("--tls-private-key-file=" + servingKey)
	b.addLabel("kubernetes.azure.com/kubelet-serving-ca=cluster")
	if !strings.Contains(b.flags, "--rotate-server-certificates=true") && !b.on("KUBELET_CONFIG_FILE_ENABLED") {
		b.warn("ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION is true, and no --rotate-server-certificates=true among the flags: nothing asks for a certificate")
	}
	return nil
}

// dropFlag takes a flag away, as it is written.
func (b *boot) dropFlag(flag string) {
	b.flags = strings.Join(slices.DeleteFunc(strings.Split(b.flags, " "), func(f string) bool { return f == flag }), " ")
}

// addLabel appends a label unless it is there in any case.
func (b *boot) addLabel(label string) {
	switch {
	case strings.Contains(strings.ToLower(b.labels), strings.ToLower(label)):
	case b.labels == "":
		b.labels = label
	default:
		b.labels += "," + label
	}
}

// kubeletConfigFile writes the configuration file, when it is on (configureK8s).
func (b *boot) kubeletConfigFile(context.Context) *stop {
	if b.on("KUBELET_CONFIG_FILE_ENABLED") {
		content, _ := decode(b.get("KUBELET_CONFIG_FILE_CONTENT"))
		b.write(configFile, 0o600, content)
		b.dropIns["KUBELET_CONFIG_FILE_FLAGS"] = "--config " + configFile
	}
	if b.get("ENABLE_SECURE_TLS_BOOTSTRAPPING") == "false" && b.get("TLS_BOOTSTRAP_TOKEN") == "" {
		for name, path := range map[string]string{"KUBELET_CLIENT_CONTENT": "/etc/kubernetes/certs/client.key", "KUBELET_CLIENT_CERT_CONTENT": "/etc/kubernetes/certs/client.crt"} {
			if v := b.get(name); v != "" {
				content, _ := decode(v)
				b.write(path, 0o600, content)
			}
		}
	}
	return nil
}

// startKubelet writes what the kubelet's unit reads, and starts it (ensureKubelet). The script does not wait for it to
// work: a kubelet that exits again and again is not seen here.
func (b *boot) startKubelet(context.Context) *stop {
	if b.minor() >= 29 && b.machine.Address != "" {
		b.flags += " --node-ip=" + b.machine.Address
	}
	b.write(defaultsFile, 0o600, b.defaults())
	b.writeKubeconfig()
	if end := b.credentialProvider(); end != nil {
		return end
	}
	env, err := unitEnvironment(b.dropIns, b.out.Files[defaultsFile].Content)
	switch {
	case err != nil:
		return exit(exitKubelet, "%s: %v", defaultsFile, err)
	case b.out.NoKubelet != "":
	case !b.binary:
		b.out.NoKubelet = "there is no kubelet on the machine, and its unit is passed over"
	default:
		b.out.Kubelet = commandLine(kubeletUnit(), env)
		b.compareReaders(env)
	}
	return nil
}

// kubeletUnit is the command line of the unit, word by word: a later flag wins over an earlier one.
func kubeletUnit() []string {
	return []string{"--enable-server", "--node-labels=${KUBELET_NODE_LABELS}", "--v=2", "--volume-plugin-dir=/etc/kubernetes/volumeplugins",
		"$KUBELET_TLS_BOOTSTRAP_FLAGS", "$KUBELET_CONFIG_FILE_FLAGS", "$KUBELET_CONTAINERD_FLAGS", "$KUBELET_CONTAINER_RUNTIME_FLAG",
		"$KUBELET_CGROUP_FLAGS", "$KUBELET_FLAGS"}
}

// defaults is the file that the unit takes as EnvironmentFile=: values go in as they are, without quotes.
func (b *boot) defaults() string {
	lines := []string{"KUBELET_FLAGS=" + b.flags, "KUBELET_REGISTER_SCHEDULABLE=true", "NETWORK_POLICY=" + b.get("NETWORK_POLICY"),
		"KUBELET_IMAGE=" + b.get("KUBELET_IMAGE"), "KUBELET_NODE_LABELS=" + b.labels}
	if v := b.get("AZURE_ENVIRONMENT_FILEPATH"); v != "" {
		lines = append(lines, "AZURE_ENVIRONMENT_FILEPATH="+v)
	}
	return strings.Join(lines, "\n") + "\n"
}

// compareReaders warns of flags that mean one thing to systemd and another to whoever reads them elsewhere: some images
// start the kubelet from a shell script, which splits at blanks and knows no quotes.
func (b *boot) compareReaders(env map[string]string) {
	if env["KUBELET_FLAGS"] != strings.TrimSpace(b.flags) {
		b.warn("KUBELET_FLAGS: systemd reads other flags out of %s than were meant", defaultsFile)
	}
	if env["KUBELET_NODE_LABELS"] != b.labels {
		b.warn("KUBELET_NODE_LABELS: systemd reads other labels out of %s than were meant", defaultsFile)
	}
	if !slices.Equal(splitUnquoted(env["KUBELET_FLAGS"]), strings.Fields(env["KUBELET_FLAGS"])) {
		b.warn("KUBELET_FLAGS: quotes or backslashes in it mean something to systemd and nothing to images that start the kubelet from a shell script")
	}
}

// writeKubeconfig writes how to reach the API server: with the bootstrap token, or with a client certificate.
func (b *boot) writeKubeconfig() {
	cluster := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters:\n- name: localcluster\n  cluster:\n    certificate-authority: %s\n    server: https://%s:443\n", caFile, b.get("API_SERVER_NAME"))
	context := func(user string) string {
		return fmt.Sprintf("contexts:\n- name: local\n  context:\n    cluster: localcluster\n    user: %s\ncurrent-context: local\n", user)
	}
	if token := b.get("TLS_BOOTSTRAP_TOKEN"); token != "" {
		b.write(bootstrapConfig, 0o644, cluster+"users:\n- name: kubelet-bootstrap\n  user:\n    token: \""+token+"\"\n"+context("kubelet-bootstrap"))
		b.dropIns["KUBELET_TLS_BOOTSTRAP_FLAGS"] = "--kubeconfig " + kubeconfig + " --bootstrap-kubeconfig " + bootstrapConfig
		return
	}
	b.write(kubeconfig, 0o644, cluster+"users:\n- name: client\n  user:\n    client-certificate: /etc/kubernetes/certs/client.crt\n    client-key: /etc/kubernetes/certs/client.key\n"+context("client"))
	b.warn("TLS_BOOTSTRAP_TOKEN is empty: the kubelet is told to use a client certificate")
}

// credentialProvider sets up image pulls from Azure's registries, when both of its flags are there, as text.
func (b *boot) credentialProvider() *stop {
	if !strings.Contains(b.flags, "image-credential-provider-config") || !strings.Contains(b.flags, "image-credential-provider-bin-dir") {
		return nil
	}
	args := []string{"/etc/kubernetes/azure.json"}
	if b.on("SERVICE_ACCOUNT_IMAGE_PULL_ENABLED") {
		args = append(args, "--ib-sni-name="+b.get("IDENTITY_BINDINGS_LOCAL_AUTHORITY_SNI"))
		for flag, name := range map[string]string{"--ib-default-client-id=": "SERVICE_ACCOUNT_IMAGE_PULL_DEFAULT_CLIENT_ID", "--ib-default-tenant-id=": "SERVICE_ACCOUNT_IMAGE_PULL_DEFAULT_TENANT_ID"} {
			if v := b.get(name); v != "" {
				args = append(args, flag+v)
			}
		}
		slices.Sort(args[2:])
	}
	images := []string{"*.azurecr.io", "*.azurecr.cn", "*.azurecr.de", "*.azurecr.us", "*.*.geo.azurecr.io", "*.*.geo.azurecr.cn", "*.*.geo.azurecr.de", "*.*.geo.azurecr.us"}
	b.write(providerConfig, 0o644, "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n- name: acr-credential-provider\n"+
		"  apiVersion: credentialprovider.kubelet.k8s.io/v1\n  defaultCacheDuration: 10m\n  matchImages: [\""+strings.Join(images, `", "`)+"\"]\n  args: [\""+strings.Join(args, `", "`)+"\"]\n")
	if url := b.get("CREDENTIAL_PROVIDER_DOWNLOAD_URL"); b.minor() < 33 || b.image.azure2 {
		if url == "" || !strings.Contains(url, "azure-acr-credential-provider-linux-") {
			return exit(exitProvider, "CREDENTIAL_PROVIDER_DOWNLOAD_URL: %q is no credential provider, and Kubernetes %s on %s takes it from there", url, b.get("KUBERNETES_VERSION"), b.image.name)
		}
	}
	b.write(providerBinaries+"/acr-credential-provider", 0o755, onTheMachine)
	return nil
}
