{{/* What values of today's chart ask for that this one does without, one hint a line. */}}
{{- define "karpenter.hints" -}}
{{- $out := list -}}
{{- if .Values.webhook }}
{{- $out = append $out "webhook: there is none; the API server validates by the rules in the CRDs. Remove the key." }}
{{- end -}}
{{- if .Values.settings.clusterCABundle }}
{{- $out = append $out "settings.clusterCABundle: not read; the CA is that of the controller's own connection. Remove the key." }}
{{- end -}}
{{- if .Values.settings.featureGates.reservedCapacity }}
{{- $out = append $out "settings.featureGates.reservedCapacity: capacity reservations are not bought from. Set it to false." }}
{{- end -}}
{{- if eq (toString .Values.settings.ignoreDRARequests) "false" }}
{{- $out = append $out "settings.ignoreDRARequests: pods that claim devices are not provisioned for. Set it to true." }}
{{- end -}}
{{- $words := dict
  "KUBELET_BOOTSTRAP_TOKEN" "not read; every machine gets a short-lived token of its own. Remove it, and delete the token's Secret."
  "USE_SIG" "not read; images come from the community galleries."
  "SIG_ACCESS_TOKEN_SERVER_URL" "not read; images come from the community galleries."
  "SIG_SUBSCRIPTION_ID" "not read; images come from the community galleries."
  "NODEBOOTSTRAPPING_SERVER_URL" "not read; the controller writes the bootstrap data itself."
  "MANAGE_EXISTING_AKS_MACHINES" "not read; machines of an agent pool are not looked after."
  "AKS_MACHINES_POOL_NAME" "not read; machines of an agent pool are not looked after."
  "PROVIDER_BATCH_IDLE_DURATION" "not read; machines are made one by one as virtual machines."
  "PROVIDER_BATCH_MAX_DURATION" "not read; machines are made one by one as virtual machines."
  "PROVIDER_BATCH_MAX_SIZE" "not read; machines are made one by one as virtual machines."
  "SCHEDULER_CONFIG" "not read; pods without a topology spread of their own are spread by no default."
  "DISABLE_LEADER_ELECTION" "with more than one replica two controllers would buy machines: remove it."
-}}
{{- range .Values.controller.env }}
{{- if hasKey $words .name }}
{{- $unset := or (not .value) (eq (toString .value) "false") -}}
{{- if not $unset }}
{{- $out = append $out (printf "controller.env %s: %s" .name (get $words .name)) }}
{{- end }}
{{- end }}
{{- if and (eq .name "PROVISION_MODE") (eq (toString .value) "bootstrappingclient") }}
{{- $out = append $out "controller.env PROVISION_MODE: bootstrappingclient is not there; the controller writes the bootstrap data itself, as with aksscriptless." }}
{{- end }}
{{- $no := eq (toString .value) "false" -}}
{{- if and $no (eq .name "DISABLE_CONTROLLER_WARMUP") }}
{{- $out = append $out "controller.env DISABLE_CONTROLLER_WARMUP: not read; replicas that wait do no work." }}
{{- end }}
{{- if and $no (eq .name "IGNORE_DRA_REQUESTS") }}
{{- $out = append $out "controller.env IGNORE_DRA_REQUESTS: pods that claim devices are not provisioned for." }}
{{- end }}
{{- if and (eq .name "FEATURE_GATES") (contains "ReservedCapacity=true" (toString .value)) }}
{{- $out = append $out "controller.env FEATURE_GATES: capacity reservations are not bought from." }}
{{- end }}
{{- end }}
{{- join "\n" $out -}}
{{- end -}}

{{/* Values with which today's nodes would be lost sight of: nothing is installed. */}}
{{- define "karpenter.refuse" -}}
{{- range .Values.controller.env }}
{{- if and (eq .name "PROVISION_MODE") (hasPrefix "aksmachineapi" (toString .value)) }}
{{- fail (printf "controller.env PROVISION_MODE=%s: nodes are bought as machines of an AKS agent pool there, and this controller buys virtual machines: it would not know those nodes as its own. Let today's controller replace them first (set PROVISION_MODE=aksscriptless there and drain them), then remove PROVISION_MODE and install this one" .value) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Kinds of the Prometheus operator that are asked for in a cluster that does not serve them: nothing is installed, and it is said what to do, for Helm
alone would name the kinds and not the values. Where no cluster was asked what it serves, no kind of it is known; where one was asked by somebody who
renders for it (Argo CD), lookup finds no namespace. All is rendered then. */}}
{{- define "karpenter.operator" -}}
{{- $values := list -}}
{{- $kinds := list -}}
{{- range $value, $kind := dict "prometheusRule" "PrometheusRule" "serviceMonitor" "ServiceMonitor" }}
{{- $served := $.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" $kind) }}
{{- if and (index $.Values $value "enabled") (not $served) }}
{{- $values = append $values (printf "%s.enabled=false" $value) }}
{{- $kinds = append $kinds $kind }}
{{- end }}
{{- end -}}
{{- if and $kinds ($.Capabilities.APIVersions.Has "v1/Namespace") -}}
{{- if lookup "v1" "Namespace" "" "kube-system" -}}
{{- fail (printf "this cluster does not serve %s (monitoring.coreos.com/v1), which the Prometheus operator brings: install its CRDs first, or set %s" (join " and " $kinds) (join " and " $values)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
