# Where the three programs of a real control plane are.

# find_assets: prints their folder; fails when they are in none
find_assets() {
    local dir
    for dir in "${KUBEBUILDER_ASSETS:-}" "${XDG_CACHE_HOME:-$HOME/.cache}/flagger-c/envtest" /usr/local/kubebuilder/bin; do
        [ -n "$dir" ] && [ -x "$dir/kube-apiserver" ] && [ -x "$dir/etcd" ] && [ -x "$dir/kube-controller-manager" ] || continue
        echo "$dir"
        return
    done
    return 1
}
