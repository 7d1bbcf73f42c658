{{- define "sendonce.console.fullname" -}}
{{- include "sendonce.login.fullname" (dict "root" . "program" "console") -}}
{{- end -}}

{{- define "sendonce.console.serviceAccountName" -}}
{{- $account := .Values.console.serviceAccount -}}
{{- if $account.create -}}
{{- default (include "sendonce.console.fullname" .) $account.name -}}
{{- else -}}
{{- default "default" $account.name -}}
{{- end -}}
{{- end -}}

{{/* The console's settings (docs/console.md), as an `env`. */}}
{{- define "sendonce.console.environment" -}}
{{- $console := .Values.console -}}
{{ include "sendonce.login.environment" (dict "root" . "program" "console") }}
- name: SENDONCE_CONSOLE_KEY_FILE
  value: /etc/sendonce-console-key/key
- name: SENDONCE_CONSOLE_AUDIENCE
  value: {{ $console.audience | quote }}
- name: SENDONCE_CONSOLE_ANY_AUDIENCE
  value: {{ $console.anyAudience | quote }}
- name: SENDONCE_CONSOLE_SESSION_SECONDS
  value: {{ $console.sessionSeconds | int | quote }}
- name: SENDONCE_CONSOLE_PROXY_HOPS
  value: {{ $console.proxyHops | int | quote }}
- name: SENDONCE_CONSOLE_CONNECTIONS
  value: {{ $console.connections | int | quote }}
{{- with .Values.gateway.publicUrl }}
- name: SENDONCE_GATEWAY_URL
  value: {{ . | quote }}
{{- end }}
- name: SENDONCE_CONSOLE_LEVERS
  value: {{ $console.levers | quote }}
- name: SENDONCE_OPS_PORT
  value: "9090"
- name: SENDONCE_LOG_LEVEL
  value: {{ $console.logLevel }}
{{- with $console.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The login and the key of sessions, as volumes; which Secret has them is a matter of the values. */}}
{{- define "sendonce.console.volumes" -}}
{{- $console := .Values.console -}}
{{- $own := include "sendonce.console.fullname" . -}}
{{ include "sendonce.login.volume" (dict "root" . "program" "console") }}
- name: key
  secret:
    secretName: {{ default $own $console.key.existingSecret }}
    items:
    - key: {{ ternary $console.key.secretKey "key" (ne $console.key.existingSecret "") }}
      path: key
{{- end -}}
