# What a test asks again and again of the API server of $KUBECONFIG, or tells it, over HTTP: to start kubectl takes a tenth of a second
# of processor time, which the other tests want. Files are kept in the folder of the bats file, or in $work.

# Sets API_HOW, a file with curl's options for all requests; API_HOW.server is the URL of the API server.
api_how() {
    API_HOW=${BATS_FILE_TMPDIR:-$work}/look${KUBECONFIG//\//-}
    if [ ! "$API_HOW" -nt "$KUBECONFIG" ]; then
        kubectl config view --raw --flatten --minify -o json >"$API_HOW.json"
        gojq -r '.clusters[0].cluster["certificate-authority-data"]' "$API_HOW.json" | base64 -d >"$API_HOW.ca"
        gojq -r '.clusters[0].cluster.server' "$API_HOW.json" >"$API_HOW.server"
        gojq -r --arg ca "$API_HOW.ca" '"cacert = \($ca)", "header = \"Authorization: Bearer \(.users[0].user.token)\""' "$API_HOW.json" >"$API_HOW.new"
        mv "$API_HOW.new" "$API_HOW"
    fi
}

# api_get PATH...: what the API server answers, one after the other; fails for anything but a 200
api_get() {
    local API_HOW server
    api_how
    server=$(<"$API_HOW.server")
    curl -sS --fail -m 30 -K "$API_HOW" "${@/#/$server/}"
}

# api_send METHOD PATH [CURL-ARGUMENT...]
api_send() {
    local API_HOW method=$1 path=$2
    shift 2
    api_how
    curl -sS --fail -m 30 -K "$API_HOW" -o /dev/null -X "$method" "$@" "$(<"$API_HOW.server")/$path"
}

# api_post PATH FILE...: makes the object of each file, by one curl
api_post() {
    local API_HOW path=$1 file
    shift
    api_how
    for file in "$@"; do
        [ "$file" = "$1" ] || echo next
        cat "$API_HOW"
        printf 'url = "%s/%s"\ndata-binary = "@%s"\nheader = "Content-Type: application/json"\nheader = "Expect:"\n' "$(<"$API_HOW.server")" "$path" "$file"
        printf 'silent\nshow-error\nfail\nmax-time = 30\noutput = /dev/null\n'
    done | curl -K -
}

# api_path NAMESPACE RESOURCE [NAME]: sets API_PATH; of all namespaces if it is ''
api_path() {
    case $2 in
    canaries | metrictemplates | alertproviders) API_PATH=apis/flagger.app/v1beta1 ;;
    deployments | daemonsets | statefulsets | replicasets) API_PATH=apis/apps/v1 ;;
    httproutes) API_PATH=apis/gateway.networking.k8s.io/v1 ;;
    horizontalpodautoscalers) API_PATH=apis/autoscaling/v2 ;;
    */*) API_PATH=apis/${2%/*} ;;
    *) API_PATH=api/v1 ;;
    esac
    API_PATH+=${1:+/namespaces/$1}/${2##*/}${3:+/$3}
}

# api_look NAMESPACE RESOURCE [NAME]: an object or a list as JSON, as `kubectl get -o json` prints it. RESOURCE is a plural, with GROUP/VERSION/
# before it where api_path does not know it.
api_look() {
    local API_PATH
    api_path "$@"
    api_get "$API_PATH"
}

# api_merge NAMESPACE RESOURCE NAME PATCH [KIND]: a merge patch, or one of another kind: strategic-merge-patch, json-patch
api_merge() {
    local API_PATH
    api_path "$1" "$2" "$3"
    api_send PATCH "$API_PATH" -H "Content-Type: application/${5:-merge-patch}+json" --data-binary "$4"
}

# set_image NAMESPACE DEPLOYMENT CONTAINER IMAGE
set_image() {
    api_merge "$1" deployments "$2" "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"$3\",\"image\":\"$4\"}]}}}}" strategic-merge-patch
}

# of_canary NAMESPACE NAME JQ: a field of a Canary, nothing where it has none
of_canary() { api_get "apis/flagger.app/v1beta1/namespaces/$1/canaries/$2" | gojq -r "$3 // \"\""; }
