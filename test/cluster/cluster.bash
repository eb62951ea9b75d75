# The cluster of test/cluster/run: one node with real containers. Everything runs in the network, mount and process namespaces of the
# process that sources this, below $state: with that process it is gone.

# part NAME COMMAND...: starts it, and again whenever it ends, unless part_hold says otherwise; its log is $state/log/NAME.log
part() {
    local name=$1
    shift
    (
        trap - EXIT INT TERM
        while :; do
            while [ -e "/run/$name.hold" ]; do sleep 0.2; done
            "$@" >>"$state/log/$name.log" 2>&1 </dev/null &
            echo $! >"/run/$name.pid"
            wait $! || true
            sleep 1
        done
    ) 2>/dev/null & # where bash would tell of its end
}
part_hold() { touch "/run/$1.hold" && kill -KILL "$(cat "/run/$1.pid")"; } # NAME: ended, and not started
part_go() { rm "/run/$1.hold"; }                                            # NAME

# What containerd and the kubelet want of a machine, seen by them alone.
cluster_ground() {
    local pair file
    ip link set lo up
    ip link add eth0 type veth peer name outside
    ip addr add "$NODE_IP/24" dev eth0
    ip link set eth0 up
    ip link set outside up
    ip route add default via 10.199.0.1 # leads nowhere; kube-proxy wants one
    mount --make-rshared /
    mount -t tmpfs tmpfs /run
    mkdir -p /run/containerd /run/netns /run/lock /run/values "$state"/{pki,log,etcd,containerd,cni,kubelet,pods,certs.d/_default,volumes}
    mkdir -p /var/lib/cni && mount -t tmpfs tmpfs /var/lib/cni
    mount --bind "$state/pods" /var/log
    # The kubelet wants these; they are the whole machine's, so it is shown what it wants and nothing is written.
    for pair in kernel/panic=10 kernel/panic_on_oops=1 vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
        file=/run/values/${pair//\//_}
        file=${file%%=*}
        echo "${pair#*=}" >"$file"
        mount --bind "$file" "/proc/sys/${pair%%=*}"
    done
    # These are of the network namespace.
    for pair in net/ipv4/ip_forward=1 net/bridge/bridge-nf-call-iptables=1 net/ipv4/conf/all/route_localnet=1; do
        { echo "${pair#*=}" >"/proc/sys/${pair%=*}"; } 2>/dev/null || true
    done
}

# aged COMMAND...: what it dates is a day old, so that it holds for a daemon whose clock a case sets back
aged() {
    if [ -e "$FAKETIME_LIBRARY" ]; then LD_PRELOAD=$FAKETIME_LIBRARY FAKETIME=-1d "$@"; else "$@"; fi
}
certificate() { # NAME SUBJECT [NAMES]
    openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
    aged openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out "$1.crt" \
        -extfile <(printf 'extendedKeyUsage=serverAuth,clientAuth\n%s' "${3:+subjectAltName=$3}") 2>/dev/null
}
cluster_keys() {
    local who
    cd "$state/pki"
    aged openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 30 -subj /CN=cluster-ca 2>/dev/null
    openssl genrsa -out sa.key 2048 2>/dev/null
    openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
    certificate apiserver /CN=kube-apiserver "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,DNS:localhost,IP:127.0.0.1,IP:10.96.0.1,IP:$NODE_IP"
    certificate kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client
    certificate admin /O=system:masters/CN=admin
    certificate controller-manager /CN=system:kube-controller-manager
    certificate scheduler /CN=system:kube-scheduler
    certificate kubelet "/O=system:nodes/CN=system:node:$NODE" "DNS:$NODE,IP:$NODE_IP"
    certificate proxy /CN=system:kube-proxy
    for who in admin controller-manager scheduler kubelet proxy; do
        cat >"$state/$who.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://$NODE_IP:6443", certificate-authority-data: $(base64 -w0 ca.crt)}}]
users: [{name: u, user: {client-certificate-data: $(base64 -w0 "$who.crt"), client-key-data: $(base64 -w0 "$who.key")}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
YAML
    done
    cd - >/dev/null
}

cluster_configuration() {
    cat >"$state/containerd.toml" <<TOML
version = 2
root = "$state/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/pause:local"
  restrict_oom_score_adj = true      # without CAP_SYS_RESOURCE runc ends with "can't get final child's PID from pipe: EOF"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$state/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$state/certs.d"
TOML
    printf 'server = "http://%s"\n[host."http://%s"]\n  capabilities = ["pull", "resolve"]\n' "$REGISTRY" "$REGISTRY" >"$state/certs.d/_default/hosts.toml"
    printf 'version: 0.1\nlog: {level: warn}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: "0.0.0.0:5000"}\n' "$CLUSTER_CACHE/registry" >"$state/registry.yaml"
    cat >"$state/cni/10-ptp.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipMasq": true, "mtu": 1500,
   "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
    cat >"$state/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
resolvConf: $state/resolv.conf
tlsCertFile: $state/pki/kubelet.crt
tlsPrivateKeyFile: $state/pki/kubelet.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $state/pki/ca.crt}}
authorization: {mode: Webhook}
failSwapOn: false
maxPods: 200
evictionHard: {memory.available: 200Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
podLogsDir: /var/log/pods
YAML
    echo "nameserver 127.0.0.254" >"$state/resolv.conf"
    cat >"$state/proxy.yaml" <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: $state/proxy.kubeconfig}
clusterCIDR: 10.244.0.0/16
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
hostnameOverride: $NODE
YAML
}

cluster_parts() {
    local pki=$state/pki a=$CLUSTER_ASSETS
    part registry docker-registry serve "$state/registry.yaml"
    part etcd "$a/etcd" --data-dir "$state/etcd" --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
        --listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync --log-level warn
    part containerd containerd --config "$state/containerd.toml"
    part apiserver "$a/kube-apiserver" --etcd-servers http://127.0.0.1:2379 --secure-port 6443 --bind-address 0.0.0.0 --advertise-address "$NODE_IP" \
        --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" --client-ca-file "$pki/ca.crt" \
        --kubelet-client-certificate "$pki/kubelet-client.crt" --kubelet-client-key "$pki/kubelet-client.key" --kubelet-preferred-address-types InternalIP \
        --service-account-key-file "$pki/sa.pub" --service-account-signing-key-file "$pki/sa.key" \
        --service-account-issuer https://kubernetes.default.svc.cluster.local --requestheader-client-ca-file "$pki/ca.crt" \
        --proxy-client-cert-file "$pki/kubelet-client.crt" --proxy-client-key-file "$pki/kubelet-client.key" --requestheader-allowed-names kube-apiserver-kubelet-client --requestheader-username-headers X-Remote-User \
        --requestheader-group-headers X-Remote-Group --requestheader-extra-headers-prefix X-Remote-Extra- \
        --service-cluster-ip-range 10.96.0.0/16 --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged
    within 60 sh -c 'curl -sk https://127.0.0.1:6443/readyz | grep -q ok'
    part controller-manager "$a/kube-controller-manager" --kubeconfig "$state/controller-manager.kubeconfig" --leader-elect=false \
        --service-account-private-key-file "$pki/sa.key" --root-ca-file "$pki/ca.crt" --cluster-signing-cert-file "$pki/ca.crt" \
        --cluster-signing-key-file "$pki/ca.key" --use-service-account-credentials --cluster-cidr 10.244.0.0/16 \
        --node-monitor-grace-period 20s
    part scheduler "$a/kube-scheduler" --kubeconfig "$state/scheduler.kubeconfig" --leader-elect=false
    within 60 sh -c '[ -S /run/containerd/containerd.sock ] && ctr -a /run/containerd/containerd.sock version >/dev/null 2>&1'
    ctr -n k8s.io images import "$CLUSTER_CACHE/pause.tar" >/dev/null
    part kubelet "$a/kubelet" --config "$state/kubelet.yaml" --kubeconfig "$state/kubelet.kubeconfig" --root-dir "$state/kubelet" \
        --hostname-override "$NODE" --node-ip "$NODE_IP"
    part proxy "$a/kube-proxy" --config "$state/proxy.yaml"
}

node_ready() { [ "$(kubectl get node "$NODE" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2>/dev/null)" = True ]; }

volume() { # NUMBER
    mkdir -p "$state/volumes/$1" && mount -t tmpfs -o size=200m tmpfs "$state/volumes/$1" # which can be full
    kubectl apply -f - >/dev/null <<YAML
apiVersion: v1
kind: PersistentVolume
metadata: {name: volume-$1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  local: {path: $state/volumes/$1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [$NODE]}]}]}}
YAML
}

# cluster_begin: until its node is ready, with names (CoreDNS), volumes and what watches Services
cluster_begin() {
    local n
    cluster_ground
    cluster_keys
    cluster_configuration
    export KUBECONFIG=$state/admin.kubeconfig
    cluster_parts
    within 120 node_ready
    kubectl apply -f test/cluster/parts/coredns.yaml >/dev/null
    # There is no StorageClass: a claim gets one of these.
    for n in 1 2 3 4; do volume "$n"; done
    kubectl -n kube-system rollout status deployment/coredns --timeout 90s >/dev/null
}

# What cases ask for; each is there once.
gateway_begin() {
    kubectl get namespace traefik >/dev/null 2>&1 && return
    kubectl apply --server-side -f "$CLUSTER_CACHE/crds/gateway-api" -f "$CLUSTER_CACHE/crds/traefik/kubernetes-crd-definition-v1.yml" \
        -f "$CLUSTER_CACHE/crds/traefik/kubernetes-crd-rbac.yml" -f "$CLUSTER_CACHE/crds/traefik/kubernetes-gateway-rbac.yml" >/dev/null
    kubectl apply -f test/cluster/parts/traefik.yaml >/dev/null
    kubectl -n traefik rollout status deployment/traefik --timeout 90s >/dev/null
}
contour_begin() {
    kubectl apply --server-side -f "$CLUSTER_CACHE/crds/gateway-api" >/dev/null
    # The definitions of the Gateway API that it comes with are there.
    gojq --yaml-input 'select(.spec.group == "projectcontour.io")' "$CLUSTER_CACHE/contour-crd.yaml" | kubectl apply --server-side -f - >/dev/null
    kubectl wait --for=condition=established --timeout=30s crd --all >/dev/null
    kubectl apply -f test/cluster/parts/contour.yaml >/dev/null
    kubectl -n projectcontour rollout status deployment/contour deployment/envoy --timeout 120s >/dev/null
}
