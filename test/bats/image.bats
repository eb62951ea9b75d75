# deploy/image: the root folder of an image has what the daemon needs and nothing else. Each daemon is started in it as a pod would
# be: another root, read-only, user 10001, no capability, new namespaces.

setup() {
    load ../lib/daemon
    [ "$(id -u)" -eq 0 ] || skip "only root may change the root folder"
    unshare --mount --pid --fork true || skip "namespaces may not be made here"
    ROOT=$BATS_TEST_TMPDIR/root
    IMAGE="$BATS_TEST_DIRNAME/../../deploy/image"
}

# in_root DAEMON ARGUMENT...
in_root() {
    # shellcheck disable=SC2016
    exec unshare --mount --pid --fork --kill-child=TERM sh -ec 'root=$1 && shift
        mount --bind "$root" "$root" && mount -o remount,bind,ro "$root" && mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev"
        exec setpriv --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid chroot --userspec=10001:10001 --groups= "$root" "$@"' \
        sh "$ROOT" "$@"
}
# holds DAEMON [ARGUMENT...]: builds the root, looks at what is in it, and starts the daemon in it
holds() {
    local daemon=$1 pid name
    shift
    "$IMAGE" "$daemon" --root "$ROOT" --build "$FLAGGER_BUILD" >"$BATS_TEST_TMPDIR/list"
    [ "$(find "$ROOT" -type f -perm /111 ! -path '*/usr/lib/*' -printf '%f ')" = "flagger-$daemon " ]
    [ -z "$(find "$ROOT" ! -type l \( -perm /6000 -o -perm /022 \))" ]
    [ -z "$(find "$ROOT" -xtype l)" ]
    grep -qx 'others than root may write: 0, set-user-id or set-group-id: 0' "$BATS_TEST_TMPDIR/list"
    # The list inside names the same packages, each with its licence beside it; and every library is of one of them.
    sed -n '/^[a-z0-9.+-]* [^ ]*$/p' "$BATS_TEST_TMPDIR/list" >"$BATS_TEST_TMPDIR/packages"
    grep -q '^libc6 ' "$BATS_TEST_TMPDIR/packages"
    gojq -r '.components[] | .name + " " + .version' "$ROOT/usr/share/sbom/flagger-$daemon.cdx.json" | diff - "$BATS_TEST_TMPDIR/packages"
    gojq -e --arg name "flagger-$daemon" --arg version "$("$FLAGGER_BUILD/flagger-$daemon" --version | cut -d' ' -f2)" '.bomFormat == "CycloneDX"
        and .metadata.component.name == $name and .metadata.component.version == $version
        and (.components | all(.purl | test("^pkg:deb/debian/[a-z0-9.%B-]+@[^ +:]+[?]arch="))) and ([.components[]["bom-ref"]] | length == (unique | length))' \
        "$ROOT/usr/share/sbom/flagger-$daemon.cdx.json"
    while read -r name _; do [ -s "$ROOT/usr/share/doc/$name/copyright" ]; done <"$BATS_TEST_TMPDIR/packages"
    # A sanitizer's library alone is larger.
    ldd "$FLAGGER_BUILD/flagger-$daemon" | grep -q libasan || [ "$(du -sk --apparent-size "$ROOT" | cut -f1)" -lt $((25 * 1024)) ]
    # Mounted, in a pod.
    [ ! -e "$BATS_TEST_TMPDIR/kubeconfig" ] || install -m 644 "$BATS_TEST_TMPDIR/kubeconfig" "$ROOT/etc/kubeconfig"
    in_root "flagger-$daemon" --address 127.0.0.1 --port 0 "$@" 2>"$BATS_TEST_TMPDIR/log" >/dev/null </dev/null 3>&- &
    DAEMON_PID=$!
    eventually 20 grep -q '"event":"started"' "$BATS_TEST_TMPDIR/log" || { cat "$BATS_TEST_TMPDIR/log" && return 1; }
    pid=$(pgrep -P "$DAEMON_PID")
    [ "$(readlink "/proc/$pid/root")" = "$ROOT" ]
    [ "$(awk '/^(Uid|Gid):/ {print $2, $3} /^Cap(Eff|Prm|Bnd):/ {print $1, $2} /^NoNewPrivs/ {print $2}' "/proc/$pid/status" | xargs)" = \
        '10001 10001 10001 10001 CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 00000000000400c0 1' ]
    DAEMON_URL=http://127.0.0.1:$(gojq -r 'select(.event == "started").port' "$BATS_TEST_TMPDIR/log")
    eventually 10 answers 200 GET /healthz
    answers 200 GET /metrics
    kill -TERM "$pid"
    eventually 20 daemon_gone
}

@test "the controller" {
    "$FLAGGER_BUILD/flagger-sandbox" --no-gateway --no-services --kubeconfig "$BATS_TEST_TMPDIR/kubeconfig" \
        --crds "$BATS_TEST_DIRNAME/../../proto/crd" >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null 3>&- &
    local sandbox=$! status=0
    eventually 60 grep -q '^ready' "$BATS_TEST_TMPDIR/out"
    holds controller --kubeconfig /etc/kubeconfig || status=$?
    kill -TERM "$sandbox"
    return "$status"
}

# Their database and tasks are other tests' matter.
@test "the gate" { holds gate --database postgresql://gate@127.0.0.1:1/gates --anybody; }
@test "the load tester" { holds loadtester --allow-command true; }

# stage NAME: its lines of deploy/Dockerfile, a command a line
stage() { sed -n "/^FROM .* AS $1\$/,/^FROM /p" "$BATS_TEST_DIRNAME/../../deploy/Dockerfile" | sed -e ':a; /\\$/{N; s/\\\n//; ba}'; }

@test "each image starts its daemon once while it is built, and none lists libraries" {
    local daemon
    # Those that are the root folder alone: there, as the user that the image has; where it is cross-compiled nothing can be started.
    stage build | grep -qF 'chroot --userspec=10001:10001 "/roots/$daemon" "/usr/local/bin/flagger-$daemon" --version'
    for daemon in controller gate; do
        stage "$daemon" | grep -qx "COPY --from=build /roots/$daemon /"
        stage "$daemon" | grep -qx 'USER 10001:10001'
        refute grep -qE '^(RUN|ADD)' <(stage "$daemon")
    done
    # Those with tools: as the last step.
    for daemon in loadtester loadtester-slim; do
        stage "$daemon" | awk '/^USER/ {user = 1} /^RUN .*flagger-loadtester --version/ {started = user} END {exit !started}'
    done
    for daemon in controller gate slim full loadtester; do refute grep -qE '[ /]lib[a-z0-9.+-]+ ' <(stage "$daemon"); done
    # Those of the one that is a Debian come from its program.
    grep -q 'deploy/image loadtester --packages >/out/packages' "$BATS_TEST_DIRNAME/../../deploy/Dockerfile"
    stage slim | grep -qE 'xargs apt-get install .*</tmp/packages'
}

# wrk, too, which is started where nothing answers: it must get as far as that.
@test "each tool that the load tester's page names is started while its image is built" {
    local tool tools
    tools=$(sed -n '/what load tests call:/,/^`health/p' "$BATS_TEST_DIRNAME/../../deploy/loadtester/README.md" | grep -oE '\b(bash|bats|curl|git|hey|jq|kubectl|wget|wrk|ghz|helm|grpc_health_probe)\b' | sort -u)
    [ "$(wc -l <<<"$tools")" -eq 12 ]
    for tool in $tools; do
        stage loadtester | grep '^RUN .*--version' | grep -qw "$tool" || { echo "$tool is never started" && return 1; }
    done
    stage loadtester | grep -q 'getent services http'
}

# A cross-compiled daemon cannot be asked what it loads: the same is read from its file.
@test "what a program of another architecture loads is found as the loader finds it" {
    # shellcheck disable=SC1090
    source <(sed -n '/^needed() {/,/^}/p' "$IMAGE")
    local daemon triplet
    triplet=$(gcc -print-multiarch)
    for daemon in controller gate loadtester; do
        ldd "$FLAGGER_BUILD/flagger-$daemon" | awk '$3 ~ /^\// {print $3} $1 ~ /^\// {print $1}' | xargs -n 1 basename | sort >"$BATS_TEST_TMPDIR/asked"
        needed "$FLAGGER_BUILD/flagger-$daemon" | xargs -n 1 basename | sort | diff "$BATS_TEST_TMPDIR/asked" -
    done
}

@test "the packages of a daemon's libraries are those that it loads" {
    local library package
    "$IMAGE" loadtester --packages --build "$FLAGGER_BUILD" >"$BATS_TEST_TMPDIR/packages"
    grep -qx libyaml-0-2 "$BATS_TEST_TMPDIR/packages"
    for library in $(ldd "$FLAGGER_BUILD/flagger-loadtester" | awk '$3 ~ /^\// {print $3}'); do
        package=$(dpkg-query -S "$library" "/usr$library" "${library#/usr}" 2>/dev/null | sed -n '1s/:.*//p')
        grep -qx "$package" "$BATS_TEST_TMPDIR/packages" || { echo "$library of $package" && return 1; }
    done
}

@test "a mistake is a sentence" {
    local arguments
    for arguments in '' 'controller' 'gate --parts --root' 'other --root /tmp/x' "gate --root $BATS_TEST_TMPDIR" "gate --root /tmp/x --build $ROOT"; do
        # shellcheck disable=SC2086
        run "$IMAGE" $arguments
        [ "$status" -eq 2 ] && [[ $output == "deploy/image: "* ]]
    done
}
