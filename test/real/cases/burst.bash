# A controller that the kernel did not let run for some seconds reads what the watches have to say since then: more than a megabyte at
# once, in frames of all sizes, and then silence. It learns of every object at once, not with the next byte that comes.
objects() {
    local padding i
    padding=$(printf '%*s' 3000 '' | tr ' ' x)
    for i in $(seq "$1"); do
        printf '{"apiVersion":"flagger.app/v1beta1","kind":"Canary","metadata":{"name":"app-%d","namespace":"%s","annotations":{"padding":"%s"}},
            "spec":{"suspend":true,"provider":"kubernetes","targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"app-%d"},"service":{"port":80},"analysis":{"interval":"10s","threshold":1,"iterations":1}}}\n' \
            "$i" "$case" "${padding:0:$((i * 37 % 3000))}" "$i"
    done
}
found() { grep '"event":"canary_found"' "$state/log/controller.log" | grep -c "\"namespace\":\"$case\"" || true; }
all_found() { [ "$(found)" = 300 ]; }
pid=$(cat "$state/controller.pid")
objects 300 >"$state/burst.json"
kill -STOP "$pid"
kubectl create -f "$state/burst.json" >/dev/null || { kill -CONT "$pid" && false; }
kill -CONT "$pid"
before=$(date +%s%N)
until all_found || [ $(($(date +%s%N) - before)) -gt 20000000000 ]; do sleep 0.1; done
echo "300 Canaries of $(wc -c <"$state/burst.json") bytes: $(found) found after $((($(date +%s%N) - before) / 1000000)) ms"
all_found
[ $(($(date +%s%N) - before)) -lt 10000000000 ]
kubectl -n "$case" delete canaries --all --wait=false >/dev/null
none_left() { [ -z "$(kubectl -n "$case" get canaries -o name)" ]; }
wait_for 60 "the end of all Canaries" none_left
