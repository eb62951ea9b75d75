# What the cluster is made of, and where it lies. Sourced by build-programs, build-images and run.
readonly KUBERNETES=v1.36.3 LIBRARIES=v0.36.3 COREDNS=v1.12.4 PROMETHEUS=v0.53.4 PODINFO=v1.8.1-0.20250910200901-e86405a8674e
readonly GATEWAY_API=v1.3.0 METRICS_SERVER=v0.8.0 FLAGGER=1.44.0 CLOUDNATIVE_PG=1.27.0 KEDA=2.16.1
readonly KUBE_ROUTER=2.1.0 PROMETHEUS_OPERATOR=0.85.0 ISTIO=v0.0.0-20260827124520-eed52ebb66ad K6_OPERATOR=0.0.19 K6=0.52.0
readonly PODINFO_VERSIONS='6.0.0 6.0.1 6.0.2 6.1.0 6.7.0 6.7.1'
# The programs of the control plane and the node, beside those of test/real; and all else: programs, storage of buildah, registry.
CLUSTER_ASSETS=${KUBEBUILDER_ASSETS:-${XDG_CACHE_HOME:-$HOME/.cache}/flagger-c/envtest}
CLUSTER_CACHE=${FLAGGER_CLUSTER:-${XDG_CACHE_HOME:-$HOME/.cache}/flagger-c/cluster}
# The registry that stands for all registries of the world while the cluster runs, and that pages name as registry.example.com.
readonly NODE=node1 NODE_IP=10.199.0.2 REGISTRY=10.199.0.2:5000

# Steps the clock of a process (Debian's faketime).
FAKETIME_LIBRARY=$(compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' | head -n 1 || true)

# client_of: the source that the client is built from, by its digest: the times of a clone's files say nothing
client_of() { sha256sum <"$(dirname "${BASH_SOURCE[0]}")/client/main.go"; }
client_there() { [ -x "$1/client" ] && [ "$(cat "$1/client.of" 2>/dev/null)" = "$(client_of)" ]; } # CACHE
# missing_programs: prints what the cluster lacks on this machine, a line each; nothing when it is whole
missing_programs() {
    local name
    for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy; do
        [ -x "$CLUSTER_ASSETS/$name" ] || echo "$name"
    done
    client_there "$CLUSTER_CACHE" || echo client
    for name in coredns prometheus traefik pause podinfo-6.7.1; do [ -x "$CLUSTER_CACHE/$name" ] || echo "$name"; done
    for name in containerd runc buildah mmdebstrap docker-registry iptables conntrack kubectl gojq openssl; do
        command -v "$name" >/dev/null || echo "$name"
    done
    [ -x /usr/lib/cni/ptp ] || echo containernetworking-plugins
}
# module NAME VERSION: prints the folder of its source; from any folder, also one that is gone
module() { (cd / && go mod download -json "$1@$2") | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'; }
