{{/* What the three charts have in common; each has it as templates/_helpers.tpl. Names and selectors are those of Flagger's
charts, so that `helm upgrade` takes over what those have installed. */}}

{{- define "flagger.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "flagger.fullname" -}}
{{- $name := include "flagger.name" . -}}
{{- $given := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{ default $given .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "flagger.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
app.kubernetes.io/name: {{ include "flagger.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* A map whose values become text: 1 and true as labels would be refused. */}}
{{- define "flagger.texts" -}}
{{- range $key, $value := . }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* Arguments from a list of (flag, value); one without a value stays away. */}}
{{- define "flagger.arguments" -}}
{{- range $pair := . }}
{{- with index $pair 1 }}
- {{ printf "--%s=%v" (index $pair 0) . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* image.repository, of this project, with its digest or its tag. A values file may still name Flagger's image, which would start Flagger itself. */}}
{{- define "flagger.image" -}}
{{- $image := .Values.image -}}
{{- if regexMatch "(^|/)fluxcd/flagger(-loadtester)?$" $image.repository -}}
{{- fail (printf "image.repository is %s, the image of Flagger: leave image.repository and image.tag out, or name yours of this chart's program" $image.repository) -}}
{{- end -}}
{{ include "flagger.reference" (dict "image" $image "version" .Chart.AppVersion) | quote }}
{{- end }}

{{/* REPOSITORY@DIGEST, or REPOSITORY:TAG; (dict "image" IMAGE "version" TAG) */}}
{{- define "flagger.reference" -}}
{{- with .image -}}
{{ ternary (printf "%s@%s" .repository (default "" .digest)) (printf "%s:%v" .repository (default $.version .tag)) (not (empty .digest)) }}
{{- end -}}
{{- end }}

{{/* The pod of `helm test`: it asks a URL in the image of the load tester, beside the image of the chart unless test.image names it; (dict "root" . "url" URL) */}}
{{- define "flagger.test" -}}
{{- $root := .root -}}
{{- $image := $root.Values.image -}}
apiVersion: v1
kind: Pod
metadata:
  name: {{ include "flagger.fullname" $root }}-test
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "flagger.labels" $root | nindent 4 }}
  annotations:
    helm.sh/hook: test
    helm.sh/hook-weight: "1"
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with $image.pullSecret }}
  imagePullSecrets:
    - name: {{ . }}
  {{- end }}
  containers:
    - name: test
      image: {{ default (printf "%s:%s" (regexReplaceAll "flagger-[a-z]+(-slim)?$" $image.repository "flagger-loadtester") $root.Chart.AppVersion) $root.Values.test.image | quote }}
      imagePullPolicy: {{ $image.pullPolicy }}
      command: [curl, --fail, --silent, --show-error, --insecure, --retry, "10", --retry-all-errors, --retry-delay, "2", --max-time, "10", {{ .url | quote }}]
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities: {drop: [ALL]}
        seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* Where pods may run. */}}
{{- define "flagger.placement" -}}
{{- with .Values.podPriorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.image.pullSecret }}
imagePullSecrets:
  - name: {{ . }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- tpl (toYaml .) $ | nindent 2 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- tpl (toYaml .) $ | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Why an old values file may not do what it did. Printed after installing. */}}
{{- define "flagger.unheard" -}}
{{- range . }}
{{- if index . 0 }}
NOTE: {{ index . 1 }}
{{- end }}
{{- end }}
{{- end }}

{{/* A PodMonitor of Prometheus' operator; (dict "root" . "match" LABELS "port" NAME "scheme" NAME), http both
unless given. The name in a certificate is not that of a pod, so it is not compared. */}}
{{- define "flagger.podMonitor" -}}
{{- $root := .root -}}
{{- with $root.Values.podMonitor -}}
{{- if .enabled -}}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: {{ include "flagger.fullname" $root }}
  namespace: {{ default $root.Release.Namespace .namespace }}
  labels:
    {{- include "flagger.labels" $root | nindent 4 }}
    {{- include "flagger.texts" .additionalLabels | indent 4 }}
spec:
  namespaceSelector: {matchNames: [{{ $root.Release.Namespace }}]}
  selector:
    matchLabels:
      {{- toYaml $.match | nindent 6 }}
  podMetricsEndpoints:
    - {port: {{ default "http" $.port }}, path: /metrics, interval: {{ .interval }}, honorLabels: {{ .honorLabels }}
       {{- if eq (default "" $.scheme) "HTTPS" }}, scheme: https, tlsConfig: {insecureSkipVerify: true}{{ end }}}
{{- end }}
{{- end }}
{{- end }}

{{/* A PodDisruptionBudget; (dict "root" . "match" LABELS) */}}
{{- define "flagger.budget" -}}
{{- $root := .root -}}
{{- if $root.Values.podDisruptionBudget.enabled -}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "flagger.fullname" $root }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "flagger.labels" $root | nindent 4 }}
spec:
  minAvailable: {{ $root.Values.podDisruptionBudget.minAvailable }}
  selector:
    matchLabels:
      {{- toYaml .match | nindent 6 }}
{{- end }}
{{- end }}

{{/* Who may reach the pods; (dict "root" . "match" LABELS), with "port" a second one. What they reach themselves stays open: it is what Canaries name. */}}
{{- define "flagger.wall" -}}
{{- $root := .root -}}
{{- if $root.Values.networkPolicy.enabled -}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "flagger.fullname" $root }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "flagger.labels" $root | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- toYaml .match | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    - ports:
        - port: http
        {{- with .port }}
        - port: {{ . }}
        {{- end }}
      {{- with $root.Values.networkPolicy.from }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
{{- end }}
