# Calls of gRPC, by a GRPCRoute: each version has its share of them, and when the Canary goes, its target has all.
provider=gatewayapi:v1:grpc path=/status/200 TARGET_PORT=$calls_port
service+="${service:+, }appProtocol: kubernetes.io/h2c"
printf '\0\0\0\0\0' >"$state/message.$case"
# (curl 7.88 cannot use a connection of HTTP/2 twice: the plane makes HTTP/2 of what it is asked.)
call=(--data-binary "@$state/message.$case" -H "Content-Type: application/grpc" -H "TE: trailers")
field+="${field:+
  }revertOnDeletion: true"
stage "interval: 3s, stepWeight: 30, maxWeight: 60, threshold: 3, webhooks: [$(hook hold confirm-traffic-increase)]"
[ "$(k get grpcroutes,httproutes -o name)" = "grpcroute.gateway.networking.k8s.io/$case" ] || fail "it is not a GRPCRoute alone"
release 2.0.0 "$case"
for weight in 30 60; do
    comes Progressing "$weight" "$case"
    refuses hold
    share_is "$weight" 2.0.0
    allows hold
done
comes Succeeded 0 "$case"
eventually answers_with 2.0.0
release 3.0.0 "$case"
comes Progressing 30 "$case"
refuses hold
k delete canary "$case" --timeout="${LIMIT}s" >/dev/null
eventually answers_with 3.0.0
client_end
