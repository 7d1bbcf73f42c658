{{/*
A Pod of the image `sendonce-cli`: what its spec is, for Jobs and tests.
(dict "root" . "name" NAME "args" LIST "env" LIST "account" NAME "resources" DICT "scratch" BOOL "login" SECRET)
*/}}
{{- define "sendonce.cliPod" -}}
{{- $cli := .root.Values.cli -}}
restartPolicy: Never
enableServiceLinks: false
{{- with .account }}
serviceAccountName: {{ . }}
{{- else }}
automountServiceAccountToken: false
{{- end }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "sendonce.podSecurity" $cli | nindent 2 }}
{{- with include "sendonce.placement" $cli | trim }}
{{ . }}
{{- end }}
containers:
- name: {{ .name }}
  image: {{ include "sendonce.image" (dict "root" .root "image" $cli.image) | quote }}
  imagePullPolicy: {{ $cli.image.pullPolicy }}
  args: {{ toJson .args }}
  env:
  - name: SENDONCE_DSN_FILE
    value: /etc/sendonce-store/dsn
  {{- with .env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with $cli.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  resources:
    {{- toYaml .resources | nindent 4 }}
  securityContext:
    {{- include "sendonce.containerSecurity" . | nindent 4 }}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
  {{- if .scratch }}
  - name: scratch
    mountPath: /tmp
  {{- else }}
  - name: store
    mountPath: /etc/sendonce-store
    readOnly: true
  {{- end }}
  {{- if .login }}
  - name: login
    mountPath: /etc/sendonce-login
    readOnly: true
  {{- end }}
volumes:
{{- if .scratch }}
- name: scratch
  emptyDir: {sizeLimit: 64Mi}
{{- else }}
{{ include "sendonce.storeVolume" .root }}
{{- end }}
{{- with .login }}
- name: login
  secret:
    secretName: {{ . }}
    items: [{key: password, path: password}]
{{- end }}
{{- end -}}

{{/* Metadata of such a Pod. (dict "root" . "component" NAME) */}}
{{- define "sendonce.cliPodMetadata" -}}
{{- $labels := include "sendonce.labels" .root | fromYaml -}}
{{- $_ := set $labels "app.kubernetes.io/component" .component -}}
labels:
  {{- mergeOverwrite (deepCopy .root.Values.cli.podLabels) $labels | toYaml | nindent 2 }}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) .root.Values.cli.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Annotations of a hook. What it prints is shown by `helm`. (dict "on" EVENTS "weight" NUMBER "keep" BOOL) */}}
{{- define "sendonce.hook" -}}
helm.sh/hook: {{ .on }}
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded{{ if not .keep }},hook-failed{{ end }}
helm.sh/hook-output-log-policy: hook-succeeded,hook-failed
{{- end -}}
