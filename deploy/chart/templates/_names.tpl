{{/* The image of every program. */}}
{{- define "podgang.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Labels of every object. */}}
{{- define "podgang.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.extraLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The instances of a kind of backend by name, as JSON: of a list with the kind and its values. */}}
{{- define "podgang.instances" -}}
{{- $own := omit (index . 1) "instances" }}
{{- $all := dict (index . 0) $own }}
{{- range $name, $given := (index . 1).instances }}
{{- $_ := set $all $name (mergeOverwrite (deepCopy $own) (dict "enabled" true) (deepCopy $given)) }}
{{- end }}
{{- toJson $all }}
{{- end }}

{{/* Volumes of Secrets, and where they are mounted: of a mapping of their names to directories. */}}
{{- define "podgang.volumes" -}}
{{- range $name, $directory := . }}
- name: secret-{{ $name | replace "." "-" | trunc 56 }}
  secret:
    secretName: {{ $name }}
{{- end }}
{{- end }}
{{- define "podgang.mounts" -}}
{{- range $name, $directory := . }}
- name: secret-{{ $name | replace "." "-" | trunc 56 }}
  mountPath: {{ $directory | quote }}
  readOnly: true
{{- end }}
{{- end }}
