# A release with each mesh and ingress of which a release of the reference was recorded, with the CRDs as meshes publish
# them: objects that the API server takes, rights that are granted, and the phases and weights of the recording. Whether the
# objects are those of the recording too is said by test/golden/recordings_test.c, with a pretend API.
crds=()
for mesh in apisix appmesh contour gloo istio kuma skipper-routegroup traefik; do crds+=(-f "test/data/crds/$mesh.yaml"); done
kubectl apply --server-side "${crds[@]}" >>"$state/log/kubectl.log" 2>&1
# The versions of the SMI that its last CRD does not serve any more.
open='schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}'
kubectl apply -f - >>"$state/log/kubectl.log" <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trafficsplits.split.smi-spec.io}
spec:
  group: split.smi-spec.io
  scope: Namespaced
  names: {kind: TrafficSplit, listKind: TrafficSplitList, plural: trafficsplits, singular: trafficsplit}
  versions:
  - {name: v1alpha3, served: true, storage: true, $open}
  - {name: v1alpha2, served: true, storage: false, $open}
  - {name: v1alpha1, served: true, storage: false, $open}
END
kubectl wait --for=condition=established --timeout=30s crd --all >>"$state/log/kubectl.log"

known=$(sed -n 's/.*"routers":"\([^"]*\)".*/\1/p' "$state/log/controller.log" | tail -n 1 | tr -d '*,')
wanted() { # RECORDING: the phases and weights that a person sees
    gojq -r '[.statuses[] | select(.phase != null) | "\(.phase) \(.canaryWeight)"] | reduce .[] as $s ([]; if .[-1] == $s then . else . + [$s] end) | .[]' "$1"
}
written() { awk '$3 == "-" {next} {s = $3 " " $4} s != last {print s; last = s}' "$state/history/$case.canaries"; }

# The recording's release, in a namespace of its own.
release_recorded() { # NAME
    local file=test/data/recordings/$1.json case=recorded-$1
    kubectl create namespace "$case" >/dev/null
    # What was there before, and is not Flagger's.
    gojq -c '.objects[] | .[0].object | select(.metadata.ownerReferences == null and .kind != null) | del(.metadata.namespace, .status)' "$file" |
        while read -r object; do k create -f - <<<"$object" >/dev/null; done
    gojq -c '.objects | to_entries[] | select(.key | test("/(ingresses|apisixroutes)/podinfo$")) | (.key | split("/")) as $k | .value[0].object
        | del(.metadata.namespace, .status) + {apiVersion: ($k[0] + "/" + $k[1]), kind: (if $k[2] == "ingresses" then "Ingress" else "ApisixRoute" end)}' "$file" |
        while read -r object; do k apply -f - <<<"$object" >/dev/null; done
    deployment podinfo
    answer "$1" "{\"match\": [\"$case\"], \"value\": \"100\"}"
    gojq -c '{apiVersion: "flagger.app/v1beta1", kind: "Canary", metadata: {name: "podinfo"}, spec: (.canary | .analysis.interval = "1s")}' "$file" | k apply -f - >/dev/null
    comes Initialized 0 podinfo
    release 2.0.0 podinfo
    comes Succeeded 0 podinfo
    runs podinfo-primary 2.0.0
    [ "$(gojq -r .result "$file")" != reverted ] || k delete canary podinfo >/dev/null
    case $1 in
    # That a match gives the canary all the traffic it is for is a weight that ours tells, and so is a mirror's.
    *-ab | *-bg* | *-mirror | *-affinity) ;;
    *) diff -u --label recorded --label ours <(wanted "$file") <(written) ;;
    esac
    check_case
}

tried='' failed=''
declare -A releasing=()
for file in test/data/recordings/*.json; do
    name=$(basename "$file" .json)
    [[ " $known " == *" $(gojq -r .canary.provider "$file") "* ]] || continue
    [ "$name" != gloo-upstream ] || continue # its Upstream is in a namespace that the recording does not show
    tried="$tried $name"
    (release_recorded "$name") >"$state/recorded.$name" 2>&1 &
    releasing[$name]=$!
done
for name in $tried; do
    wait "${releasing[$name]}" || { failed="$failed $name" && sed "s/^/$name: /" "$state/recorded.$name" | tail -n 6; }
done
echo "released as recorded:$tried"
[ -z "$failed" ] || fail "not as recorded:$failed"
case=recorded-istio-steps # nothing was in the namespace of this case, whose history would be looked at now
