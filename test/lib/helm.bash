# find_helm: prints where helm is, which is optional: $HELM, that of `test/setup --helm`, or of the machine; fails without one
find_helm() {
    local file
    for file in "${HELM:-}" "${XDG_CACHE_HOME:-$HOME/.cache}/flagger-c/helm" "$(command -v helm)"; do
        [ -z "$file" ] || [ ! -x "$file" ] || { echo "$file" && return; }
    done
    return 1
}

# charts_rendered: a line for each chart and each of its value sets, "CHART VALUES-FILE"
charts_rendered() {
    local chart values
    for chart in deploy/charts/*/; do
        for values in "$chart"values.yaml "$chart"values-*.yaml "$chart"ci/*-values.yaml; do
            [ ! -e "$values" ] || echo "$(basename "$chart") $values"
        done
    done
}

# render CHART [ARGUMENT...]: the chart's objects, without those of `helm test`
render() { "$(find_helm)" template "$1" "deploy/charts/$1" --namespace flagger-system --skip-tests "${@:2}"; }
