# What a test asks again and again of the API server of $KUBECONFIG, over HTTP: to start kubectl takes a tenth of a second of
# processor time, which the other tests want. Files are kept in the folder of the bats file, or in $work.

# api_get PATH: what the API server answers; fails for anything but a 200
api_get() {
    local how=${BATS_FILE_TMPDIR:-$work}/look${KUBECONFIG//\//-}
    if [ ! "$how" -nt "$KUBECONFIG" ]; then
        kubectl config view --raw --flatten --minify -o json >"$how.json"
        gojq -r '.clusters[0].cluster["certificate-authority-data"]' "$how.json" | base64 -d >"$how.ca"
        gojq -r '.clusters[0].cluster.server' "$how.json" >"$how.server"
        gojq -r --arg ca "$how.ca" '"cacert = \($ca)", "header = \"Authorization: Bearer \(.users[0].user.token)\""' "$how.json" >"$how.new"
        mv "$how.new" "$how"
    fi
    curl -sS --fail -m 30 -K "$how" "$(<"$how.server")/$1"
}

# of_canary NAMESPACE NAME JQ: a field of a Canary, nothing where it has none
of_canary() { api_get "apis/flagger.app/v1beta1/namespaces/$1/canaries/$2" | gojq -r "$3 // \"\""; }
