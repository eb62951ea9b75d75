# For cases that edit many Canaries, one app each: a table of edits, and what becomes of a release afterwards.

declare -A edits=() reverts=() sinces=()
apps=()
# edit NAME PATCH [REVERT]: a merge patch of the app's Canary; one that is refused is taken back by the other
edit() {
    apps+=("$1")
    edits[$1]=$2
    reverts[$1]=${3:-}
}
spec() { echo "{\"spec\": {$1}}"; }
# edits_begin [FIELDS-OF-ANALYSIS]: the apps and their Canaries, initialised
edits_begin() {
    local name
    for name in "${apps[@]}"; do
        deployment "$name"
        canary "$name" gatewayapi:v1 "$STEPS, threshold: 100${1:+, $1}" "name: $name"
    done
    for name in "${apps[@]}"; do comes Initialized '*' "$name"; done
}
refused() { is canary "$1" '.status.conditions[] | select(.type == "Accepted") | .status == "False" and (.message | length > 20)'; }
# Edits all; those that have a way back must be refused, with a sentence.
edits_make() {
    local name
    for name in "${apps[@]}"; do change canary "$name" "${edits[$name]}"; done
    for name in "${apps[@]}"; do [ -z "${reverts[$name]}" ] || eventually refused "$name"; done
}
edits_take_back() {
    local name
    for name in "${apps[@]}"; do
        [ -z "${reverts[$name]}" ] || change canary "$name" "${reverts[$name]}"
        sinces[$name]=${since:-0}
    done
}
edits_release() { # VERSION
    local name
    for name in "${apps[@]}"; do
        release "$1" "$name"
        sinces[$name]=$since
    done
}
edits_end() { # VERSION: all are promoted, and nothing is refused any more
    local name
    for name in "${apps[@]}"; do
        since=${sinces[$name]}
        comes Succeeded '*' "$name"
        runs "$name-primary" "$1"
        is canary "$name" '[.status.conditions[] | select(.type == "Accepted" and .status == "False")] == []'
    done
}
