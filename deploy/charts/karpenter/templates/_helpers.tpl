{{/* Name of the chart, and of the installation. */}}
{{- define "karpenter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "karpenter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "karpenter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "karpenter.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "karpenter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "karpenter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "karpenter.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "karpenter.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* metadata of an object: pass root, name and, unless it is cluster-scoped, namespace; labels and annotations add. */}}
{{- define "karpenter.metadata" -}}
name: {{ .name }}
{{- with .namespace }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "karpenter.labels" .root | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (deepCopy (default dict .annotations)) .root.Values.additionalAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "karpenter.image" -}}
{{- $i := .Values.controller.image -}}
{{- if $i.digest -}}
{{- printf "%s:%s@%s" $i.repository (default .Chart.AppVersion $i.tag) $i.digest -}}
{{- else -}}
{{- printf "%s:%s" $i.repository (default .Chart.AppVersion $i.tag) -}}
{{- end -}}
{{- end -}}

{{/* The settings as environment names and values, as JSON. Empty values are left out. */}}
{{- define "karpenter.settings" -}}
{{- $s := .Values.settings -}}
{{- $a := $s.azure -}}
{{- $tags := list -}}
{{- range $k, $v := $s.tags }}{{- $tags = append $tags (printf "%s=%s" $k (toString $v)) }}{{- end -}}
{{- $gates := list -}}
{{- range $k, $v := $s.featureGates }}
{{- $gates = append $gates (printf "%s%s=%t" (substr 0 1 $k | upper) (substr 1 -1 $k) $v) }}
{{- end -}}
{{- $all := dict
  "LOG_LEVEL" .Values.logLevel
  "LOG_OUTPUT_PATHS" (join "," .Values.logOutputPaths)
  "LOG_ERROR_OUTPUT_PATHS" (join "," .Values.logErrorOutputPaths)
  "METRICS_PORT" (toString .Values.controller.metrics.port)
  "METRICS_PROFILE" .Values.controller.metrics.profile
  "METRICS_SECURE" (ternary "true" "" .Values.controller.metrics.secure)
  "METRICS_CERT_PATH" (ternary "/var/run/karpenter/metrics-cert" "" (and .Values.controller.metrics.secure (ne .Values.controller.metrics.certSecretName "")))
  "HEALTH_PROBE_PORT" (toString .Values.controller.healthProbe.port)
  "KARPENTER_SERVICE" (include "karpenter.fullname" .)
  "BATCH_MAX_DURATION" $s.batchMaxDuration
  "BATCH_IDLE_DURATION" $s.batchIdleDuration
  "CLUSTER_NAME" $s.clusterName
  "CLUSTER_ENDPOINT" $s.clusterEndpoint
  "VM_MEMORY_OVERHEAD_PERCENT" (toString $s.vmMemoryOverheadPercent)
  "ADDITIONAL_TAGS" (join "," $tags)
  "PREFERENCE_POLICY" $s.preferencePolicy
  "MIN_VALUES_POLICY" $s.minValuesPolicy
  "PAUSE" (join "," $s.pause)
  "DISRUPTION_MODE" $s.disruptionMode
  "IGNORE_DRA_REQUESTS" (toString $s.ignoreDRARequests)
  "DISABLE_CLUSTER_STATE_OBSERVABILITY" (ternary "true" "" $s.disableClusterStateObservability)
  "FEATURE_GATES" (join "," $gates)
  "BOOTSTRAP_TOKEN_EXTRA_GROUPS" (join "," $s.bootstrapTokenExtraGroups)
  "NETWORK_INTERFACES" $a.networkInterfaces
  "MACHINE_CREATE" $a.machineCreate
  "AZURE_SUBSCRIPTION_ID" $a.subscriptionID
  "LOCATION" $a.location
  "AZURE_NODE_RESOURCE_GROUP" $a.nodeResourceGroup
  "VNET_SUBNET_ID" $a.vnetSubnetID
  "SSH_PUBLIC_KEY" $a.sshPublicKey
  "AZURE_TENANT_ID" $a.tenantID
  "AZURE_CLIENT_ID" $a.clientID
  "ARM_RESOURCE_GROUP" $a.resourceGroup
  "VNET_GUID" $a.vnetGUID
  "LINUX_ADMIN_USERNAME" $a.linuxAdminUsername
  "NODE_IDENTITIES" (join "," $a.nodeIdentities)
  "KUBELET_IDENTITY_CLIENT_ID" $a.kubeletIdentityClientID
  "NETWORK_PLUGIN" $a.networkPlugin
  "NETWORK_POLICY" $a.networkPolicy
  "DNS_SERVICE_IP" $a.dnsServiceIP
  "NODE_OSDISK_DISKENCRYPTIONSET_ID" $a.nodeOSDiskDiskEncryptionSetID
-}}
{{- $out := dict -}}
{{- range $k, $v := $all }}{{- if $v }}{{- $_ := set $out $k $v }}{{- end }}{{- end -}}
{{- /* For these, empty is a choice and not an absence. */ -}}
{{- $_ := set $out "NETWORK_PLUGIN_MODE" $a.networkPluginMode -}}
{{- $_ := set $out "NETWORK_DATAPLANE" $a.networkDataplane -}}
{{- toJson $out -}}
{{- end -}}

{{/* The value of a setting that may also come from controller.env, which wins: pass root and the environment's name. */}}
{{- define "karpenter.setting" -}}
{{- $all := include "karpenter.settings" .root | fromJson -}}
{{- $name := .name -}}
{{- range .root.Values.controller.env }}{{- if eq .name $name }}{{- $_ := set $all $name (default "" .value) }}{{- end }}{{- end -}}
{{- default "" (get $all $name) -}}
{{- end -}}

{{/* The groups that bootstrap tokens give beside system:bootstrappers, as the controller writes them. */}}
{{- define "karpenter.tokenGroups" -}}
{{- $out := list -}}
{{- range splitList "," (include "karpenter.setting" (dict "root" . "name" "BOOTSTRAP_TOKEN_EXTRA_GROUPS")) }}
{{- with trim . }}{{- $out = append $out . }}{{- end }}
{{- end -}}
{{- join "," $out -}}
{{- end -}}

{{/* "true" unless the feature gate NominatedNodes, which is on by default, is switched off. */}}
{{- define "karpenter.nominates" -}}
{{- $gates := include "karpenter.setting" (dict "root" . "name" "FEATURE_GATES") | nospace | lower -}}
{{- if not (has "nominatednodes=false" (splitList "," $gates)) }}true{{- end -}}
{{- end -}}

{{/* Fails with everything that is missing. A value may come from settings or from controller.env; what comes from
controller.envFrom cannot be seen here, so nothing is checked then. */}}
{{- define "karpenter.require" -}}
{{- $have := include "karpenter.settings" . | fromJson -}}
{{- range .Values.controller.env }}{{- $_ := set $have .name true }}{{- end -}}
{{- $missing := list -}}
{{- range list
  (list "settings.clusterName" "CLUSTER_NAME")
  (list "settings.clusterEndpoint" "CLUSTER_ENDPOINT")
  (list "settings.azure.subscriptionID" "AZURE_SUBSCRIPTION_ID" "ARM_SUBSCRIPTION_ID")
  (list "settings.azure.location" "LOCATION")
  (list "settings.azure.nodeResourceGroup" "AZURE_NODE_RESOURCE_GROUP")
  (list "settings.azure.vnetSubnetID" "VNET_SUBNET_ID")
  (list "settings.azure.sshPublicKey" "SSH_PUBLIC_KEY")
}}
{{- $found := false -}}
{{- range rest . }}{{- if hasKey $have . }}{{- $found = true }}{{- end }}{{- end -}}
{{- if not $found }}
{{- $missing = append $missing (printf "%s (or %s in controller.env)" (first .) (index . 1)) }}
{{- end }}
{{- end -}}
{{- if and $missing (not .Values.controller.envFrom) -}}
{{- fail (printf "values are missing, please set:\n  - %s" (join "\n  - " $missing)) -}}
{{- end -}}
{{- end -}}
