{{/*
The database's login of a program that has one of its own, console or gateway: either somebody made it, and a Secret has its
connection string, or helm makes a password, and a Job a login with it. All of these take
(dict "root" . "program" NAME): values, objects and variables go by that name.
*/}}

{{- define "sendonce.login.fullname" -}}
{{- printf "%s-%s" (include "sendonce.fullname" .root) .program -}}
{{- end -}}

{{- define "sendonce.login.command" -}}
{{- get (dict "console" "tenant console" "gateway" "gateway login") .program -}}
{{- end -}}

{{/* Something where the chart makes the login, nothing where a Secret has it; fails where neither can be. */}}
{{- define "sendonce.login.isMade" -}}
{{- if not (index .root.Values .program).database.existingSecret -}}
{{- if not (include "sendonce.storeAddress" .root) -}}
{{- fail (printf "\n\n%s.database.existingSecret: make the %s's login with `sendonce %s` and name its Secret here, or set store.address, and the chart makes the login" .program .program (include "sendonce.login.command" .)) -}}
{{- end -}}
yes
{{- end -}}
{{- end -}}

{{/* A value of the program's Secret: what it has been stays, for another password would lock out the Pods that run. (dict … "key" KEY "length" NUMBER) */}}
{{- define "sendonce.login.kept" -}}
{{- $before := dig "data" dict (default dict (lookup "v1" "Secret" .root.Release.Namespace (include "sendonce.login.fullname" .))) -}}
{{- get $before .key | b64dec | default (randAlphaNum .length) | quote -}}
{{- end -}}

{{/* The program's variables for it, … */}}
{{- define "sendonce.login.environment" -}}
{{- if include "sendonce.login.isMade" . -}}
- name: SENDONCE_{{ upper .program }}_PASSWORD_FILE
  value: /etc/sendonce-{{ .program }}-store/password
- name: SENDONCE_STORE_ADDRESS
  value: {{ include "sendonce.storeAddress" .root | quote }}
{{- else -}}
- name: SENDONCE_DSN_FILE
  value: /etc/sendonce-{{ .program }}-store/dsn
{{- end -}}
{{- end -}}

{{/* … where that is mounted, … */}}
{{- define "sendonce.login.mount" -}}
- name: store
  mountPath: /etc/sendonce-{{ .program }}-store
  readOnly: true
{{- end -}}

{{/* … and what is mounted there. */}}
{{- define "sendonce.login.volume" -}}
{{- $database := (index .root.Values .program).database -}}
{{- $made := include "sendonce.login.isMade" . -}}
- name: store
  secret:
    secretName: {{ ternary (include "sendonce.login.fullname" .) $database.existingSecret (ne $made "") }}
    items:
    - key: {{ ternary "password" $database.secretKey (ne $made "") }}
      path: {{ ternary "password" "dsn" (ne $made "") }}
{{- end -}}

{{/* The Job that makes it. It is tried again until the schema is there, whoever brings that. (dict … "name" NAME "annotations" DICT) */}}
{{- define "sendonce.login.job" -}}
{{- $component := printf "%s-login" .program -}}
{{- $args := splitList " " (include "sendonce.login.command" .) -}}
{{- $args = concat $args (list "--password-file" "/etc/sendonce-login/password") -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "sendonce.metadata" (dict "root" .root "name" .name "component" $component "annotations" .annotations) | nindent 2 }}
spec:
  backoffLimit: 8
  activeDeadlineSeconds: 600
  template:
    metadata:
      {{- include "sendonce.cliPodMetadata" (dict "root" .root "component" $component) | nindent 6 }}
    spec:
      {{- include "sendonce.cliPod" (dict "root" .root "name" "login" "args" $args "resources" .root.Values.migrations.resources "login" (include "sendonce.login.fullname" .)) | nindent 6 }}
{{- end -}}
