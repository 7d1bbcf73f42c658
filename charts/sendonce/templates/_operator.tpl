{{/* The operator's settings (docs/operator.md), as an `env`. */}}
{{- define "sendonce.operator.environment" -}}
- name: SENDONCE_DSN_FILE
  value: /etc/sendonce-store/dsn
- name: SENDONCE_LOG_LEVEL
  value: {{ .Values.operator.logLevel }}
- name: SENDONCE_MODE
  value: {{ .Values.mode }}
{{- with include "sendonce.storeAddress" . }}
- name: SENDONCE_STORE_ADDRESS
  value: {{ . | quote }}
{{- end }}
- name: SENDONCE_STORE_SECRET
  value: {{ .Values.workers.storeSecret.name }}
- name: SENDONCE_STORE_SECRET_KEY
  value: {{ .Values.workers.storeSecret.key }}
{{- with .Values.gateway.publicUrl }}
- name: SENDONCE_GATEWAY_URL
  value: {{ . | quote }}
{{- end }}
- name: SENDONCE_MAX_WORKERS
  value: {{ .Values.workers.max | int | quote }}
- name: SENDONCE_WORKER_IMAGE
  value: {{ include "sendonce.image" (dict "root" . "image" .Values.workers.image) | quote }}
- name: SENDONCE_WORKER_PULL_POLICY
  value: {{ .Values.workers.image.pullPolicy }}
- name: SENDONCE_WORKER_USER
  value: {{ .Values.workers.user | int | quote }}
- name: SENDONCE_WORKER_LOG_LEVEL
  value: {{ .Values.workers.logLevel }}
{{- with .Values.workers.serviceAccountName }}
- name: SENDONCE_WORKER_SERVICE_ACCOUNT
  value: {{ . }}
{{- end }}
{{- with .Values.workers.caConfigMap }}
{{- if .name }}
- name: SENDONCE_WORKER_CA_CONFIGMAP
  value: {{ .name }}
- name: SENDONCE_WORKER_CA_KEY
  value: {{ .key }}
{{- end }}
{{- end }}
- name: SENDONCE_WORKER_DEFAULTS
  value: {{ include "sendonce.workerDefaults" . | quote }}
{{- with .Values.operator.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What every worker's Pod gets, as JSON; only what the values say. */}}
{{- define "sendonce.workerDefaults" -}}
{{- $found := dict -}}
{{- range $name := list "resources" "podLabels" "podAnnotations" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" "imagePullSecrets" "env" -}}
{{- with index $.Values.workers $name }}{{ $_ := set $found $name . }}{{ end -}}
{{- end -}}
{{- $scrape := include "sendonce.scrapeAnnotations" (dict "root" . "port" 8080) | fromYaml -}}
{{- with mergeOverwrite $scrape .Values.workers.podAnnotations }}{{ $_ := set $found "podAnnotations" . }}{{ end -}}
{{- toJson $found -}}
{{- end -}}

{{/* The database as Pods reach it; empty: namespaces' logins are left to people. */}}
{{- define "sendonce.storeAddress" -}}
{{- if .Values.store.address -}}
{{- .Values.store.address -}}
{{- else if .Values.postgresql.enabled -}}
postgresql://{{ include "sendonce.postgresql.host" . }}:5432/sendonce
{{- end -}}
{{- end -}}

{{- define "sendonce.postgresql.host" -}}
{{- printf "%s-postgresql.%s.svc" (include "sendonce.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* Not from the registry of our own images. */}}
{{- define "sendonce.postgresql.image" -}}
{{- $image := .Values.postgresql.image -}}
{{- $repository := ternary (printf "%s/%s" (trimSuffix "/" $image.registry) $image.repository) $image.repository (ne $image.registry "") -}}
{{- ternary (printf "%s@%s" $repository $image.digest) (printf "%s:%s" $repository $image.tag) (ne $image.digest "") -}}
{{- end -}}
