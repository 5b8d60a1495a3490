package values

import (
	"cmp"
	"fmt"
	"strings"
)

// choice is a setting that depends on what people want and not on the cluster. Nobody can find it, so
// that a file for an upgrade says which of them an installed Karpenter has.
type choice struct {
	// path is where it stands in a values file; "" = in controller.env. usual is what most have.
	path, env, usual string
}

func choices() []choice {
	const s, m = "settings.", "controller.metrics."
	return []choice{
		{s + "tags", "ADDITIONAL_TAGS", ""},
		{s + "featureGates", "FEATURE_GATES", ""},
		{s + "bootstrapTokenExtraGroups", "BOOTSTRAP_TOKEN_EXTRA_GROUPS", ""},
		{s + "vmMemoryOverheadPercent", "VM_MEMORY_OVERHEAD_PERCENT", "0.075"},
		{s + "batchMaxDuration", "BATCH_MAX_DURATION", "10s"},
		{s + "batchIdleDuration", "BATCH_IDLE_DURATION", "1s"},
		{s + "preferencePolicy", "PREFERENCE_POLICY", "Respect"},
		{s + "minValuesPolicy", "MIN_VALUES_POLICY", "Strict"},
		{s + "ignoreDRARequests", "IGNORE_DRA_REQUESTS", "true"},
		{s + "pause", "PAUSE", ""},
		{s + "disruptionMode", "DISRUPTION_MODE", "act"},
		{s + "disableClusterStateObservability", "DISABLE_CLUSTER_STATE_OBSERVABILITY", "false"},
		{s + "azure.networkInterfaces", "NETWORK_INTERFACES", "inline"},
		{s + "azure.machineCreate", "MACHINE_CREATE", "if-none-match"},
		{m + "profile", "METRICS_PROFILE", "standard"},
		{m + "secure", "METRICS_SECURE", "false"},
		{m + "port", "METRICS_PORT", "8080"},
		{"controller.healthProbe.port", "HEALTH_PROBE_PORT", "8081"},
		{"logLevel", "LOG_LEVEL", "info"},
		{"logOutputPaths", "LOG_OUTPUT_PATHS", "stdout"},
		{"logErrorOutputPaths", "LOG_ERROR_OUTPUT_PATHS", "stderr"},
		{"", "ARM_CLOUD", "AzurePublicCloud"},
		{"", "AZURE_ENVIRONMENT_FILEPATH", ""},
		{"", "KUBE_CLIENT_QPS", "200"},
		{"", "KUBE_CLIENT_BURST", "300"},
	}
}

// chosen notes what people chose for an installed Karpenter and this file leaves out.
func (b *book) chosen(env map[string]string) {
	for _, c := range choices() {
		v := env[c.env]
		if c.env == "FEATURE_GATES" {
			v = unusualGates(v)
		}
		if v == "" || strings.EqualFold(v, c.usual) {
			continue
		}
		b.notes = append(b.notes, fmt.Sprintf("the installed Karpenter is told %s=%s, a choice of "+
			"people's that is not in this file: add it to %s to keep it", c.env, v,
			cmp.Or(c.path, "controller.env")))
	}
}

// unusualGates are the feature gates that differ from what the chart says by itself: all are off but
// NominatedNodes.
func unusualGates(all string) string {
	var out []string
	for _, g := range strings.Split(all, ",") {
		name, v, _ := strings.Cut(strings.TrimSpace(g), "=")
		on := strings.EqualFold(name, "NominatedNodes")
		if name != "" && strings.EqualFold(v, "true") != on {
			out = append(out, name+"="+v)
		}
	}
	return strings.Join(out, ",")
}
