{{- define "flagger.serviceAccountName" -}}
{{- with .Values.serviceAccount -}}
{{ default (ternary (include "flagger.fullname" $) "default" .create) .name }}
{{- end -}}
{{- end }}

{{- define "flagger.match" -}}
app.kubernetes.io/name: {{ include "flagger.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The rules of rbac.yaml, which is deploy/controller/rbac.yaml; as {ClusterRole: [...], Role: [...]} */}}
{{- define "flagger.rules" -}}
{{- $rules := dict }}
{{- range regexSplit "(?m)^---$" (.Files.Get "rbac.yaml") -1 }}
{{- $object := fromYaml . }}
{{- if $object.rules }}{{ $_ := set $rules $object.kind $object.rules }}{{ end }}
{{- end }}
{{- toYaml $rules }}
{{- end }}
