# alone: last
# The controller is cut off from all, as by a policy of the network, for longer than its lease, in the middle of a release: nobody notices, and the
# release ends. The pods' network enforces no NetworkPolicy, so that the rules are the node's own.
needs controller
podinfo 6.0.0
canary "interval: 5s, iterations: 4, threshold: 3"
comes Initialized
clients_at_service
podinfo 6.0.1
comes Progressing
address=$(kubectl -n "$SYSTEM" get pod -l app.kubernetes.io/name=flagger -o jsonpath='{.items[0].status.podIP}')
for chain in INPUT FORWARD; do
    iptables -I "$chain" -s "$address" -j DROP
    iptables -I "$chain" -d "$address" -j DROP
done
sleep 45
[ "$(phase)" != Succeeded ] || fail 'a release ended without its controller'
for chain in INPUT FORWARD; do
    iptables -D "$chain" -s "$address" -j DROP
    iptables -D "$chain" -d "$address" -j DROP
done
comes Succeeded
primary_runs 6.0.1
