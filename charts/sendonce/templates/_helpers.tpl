{{/*
Names and labels that all templates share.
*/}}

{{- define "sendonce.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The release's name, with the chart's behind it unless it is in there already. Room is left for suffixes. */}}
{{- define "sendonce.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "sendonce.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "sendonce.operator.fullname" -}}
{{- printf "%s-operator" (include "sendonce.fullname" .) -}}
{{- end -}}

{{- define "sendonce.operator.serviceAccountName" -}}
{{- $account := .Values.operator.serviceAccount -}}
{{- if $account.create -}}
{{- default (include "sendonce.operator.fullname" .) $account.name -}}
{{- else -}}
{{- default "default" $account.name -}}
{{- end -}}
{{- end -}}

{{/* What objects are found by; it never changes while a release lives. */}}
{{- define "sendonce.selectorLabels" -}}
app.kubernetes.io/name: {{ include "sendonce.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sendonce.labels" -}}
{{- $own := include "sendonce.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "sendonce" -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $own "app.kubernetes.io/version" (.Chart.AppVersion | replace "+" "_" | trunc 63) -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63) -}}
{{- mergeOverwrite (deepCopy .Values.commonLabels) $own | toYaml -}}
{{- end -}}

{{/*
Metadata of an object of the release: name, namespace unless `cluster`, labels and annotations.
(dict "root" . "name" NAME "component" NAME "cluster" BOOL "labels" DICT "annotations" DICT)
*/}}
{{- define "sendonce.metadata" -}}
{{- $labels := include "sendonce.labels" .root | fromYaml -}}
{{- with .component }}{{ $_ := set $labels "app.kubernetes.io/component" . }}{{ end -}}
{{- $annotations := mergeOverwrite (deepCopy .root.Values.commonAnnotations) (default dict .annotations) -}}
name: {{ .name }}
{{- if not .cluster }}
namespace: {{ .root.Release.Namespace }}
{{- end }}
labels:
  {{- mergeOverwrite (deepCopy (default dict .labels)) $labels | toYaml | nindent 2 }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* An image by digest or tag. (dict "root" . "image" IMAGE) */}}
{{- define "sendonce.image" -}}
{{- $registry := default .root.Values.image.registry .image.registry -}}
{{- $repository := .image.repository -}}
{{- if $registry }}{{ $repository = printf "%s/%s" (trimSuffix "/" $registry) $repository }}{{ end -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .root.Chart.AppVersion .image.tag) -}}
{{- end -}}
{{- end -}}

{{/* What the restricted Pod Security Standard asks of a Pod. (dict "user" NUMBER) */}}
{{- define "sendonce.podSecurity" -}}
runAsNonRoot: true
{{- with .user | int }}
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* … and of a container. */}}
{{- define "sendonce.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Where a Pod runs: each part of it only where the values say something. */}}
{{- define "sendonce.placement" -}}
{{- range $name := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" }}
{{- with index $ $name }}
{{ $name }}:{{ if kindIs "string" . }} {{ . | quote }}{{ else }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The store's connection string as a file, the same in all Pods of the release. */}}
{{- define "sendonce.storeVolume" -}}
- name: store
  secret:
    secretName: {{ .Values.database.existingSecret }}
    optional: true
    items:
    - key: {{ .Values.database.secretKey }}
      path: dsn
{{- end -}}

{{- define "sendonce.scrapeAnnotations" -}}
{{- if .root.Values.monitoring.scrapeAnnotations }}
prometheus.io/scrape: "true"
prometheus.io/path: /metrics
prometheus.io/port: {{ .port | quote }}
{{- end }}
{{- end -}}
