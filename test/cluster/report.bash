# What test/cluster/run does outside of its namespaces: tables, and a look whether anything is left.

# traces: what a cluster leaves that is not ended properly, a line each; of this machine as it is now
traces() {
    awk '$5 ~ /flagger-cluster/ {print "mount " $5}' /proc/self/mountinfo
    ip -o link | awk -F': ' '{print "interface " $2}' | sed 's/@.*//'
    find /tmp -maxdepth 1 -name 'flagger-cluster.*' -printf 'folder %p\n'
    ip netns list | sed 's/^/network namespace /'
    find /sys/fs/cgroup -maxdepth 2 -type d -name 'kubepods*' -printf 'cgroup %p\n'
    find /var/lib/cni /run/containerd /run/netns /var/log/pods /var/log/containers -mindepth 1 -maxdepth 1 -printf 'file %p\n' 2>/dev/null || true
    grep -lzE -- "${state:-/nowhere}|io.containerd.runc.v2" /proc/[0-9]*/cmdline 2>/dev/null | while read -r file; do
        { [ "$file" = "/proc/$$/cmdline" ] || tr '\0' ' ' <"$file" | sed 's/^/process /; s/$/\n/'; } 2>/dev/null || true
    done || true
}
# left_end: the namespaces have ended; their cgroups and files remain, and what was ended a moment ago may still be in them
left_end() {
    if [ -d "$state/log" ]; then
        mkdir -p build
        rm -rf --one-file-system build/cluster-log
        cp -r "$state/log" build/cluster-log
        cp "$state"/case.* "$state"/client.* "$state"/results "$state"/requests "$state"/pages build/cluster-log/ 2>/dev/null || true
        chown -R --reference=. build/cluster-log 2>/dev/null || true
    fi
    for _ in $(seq 40); do
        find /sys/fs/cgroup -mindepth 3 -depth -type d -path '*/kubepods/*' -exec rmdir {} + 2>/dev/null || true
        find /sys/fs/cgroup -mindepth 2 -maxdepth 2 -type d -name kubepods -exec rmdir {} + 2>/dev/null || true
        rm -rf --one-file-system "$state" 2>/dev/null || true
        [ -d "$state" ] || compgen -G '/sys/fs/cgroup/*/kubepods' >/dev/null || break
        sleep 0.5
    done
}
left_check() { # BEFORE
    local left deadline=$((SECONDS + 20))
    while left=$(comm -13 <(sort -u <<<"$1") <(traces | sort -u)) && [ -n "$left" ] && [ "$SECONDS" -lt "$deadline" ]; do
        sleep 0.5
    done
    if [ -z "$left" ]; then
        echo "nothing left 0 passed" >>build/cluster-log/results
    else
        printf '%s\n' "$left" >&2
        echo "nothing left 0 failed" >>build/cluster-log/results
    fi
}

summary() { # STATUS OF THE INSIDE
    local log=build/cluster-log passed failed skipped
    [ ! -s "$log/pages" ] || { echo && column -t -s '|' "$log/pages"; }
    if [ -s "$log/requests" ]; then
        echo
        { echo 'case|client|requests|failed|in a fault that was made' && sort "$log/requests"; } | column -t -s '|'
        awk -F'|' '{ sent += $3; failed += $4; fault += $5 } END { printf "%d requests, %d failed, %d of them while a fault was made\n", sent, failed, fault }' "$log/requests"
    fi
    passed=$(grep -c ' passed$' "$log/results" || true)
    failed=$(grep -c ' failed$' "$log/results" || true)
    skipped=$(grep -c ' skipped$' "$log/results" || true)
    [ "$1" -eq 0 ] || { echo "the cluster has ended with $1" && failed=$((failed + 1)); }
    [ "$failed" -eq 0 ] || echo "the logs of all parts are in build/cluster-log" >&2
    echo "$passed passed, $failed failed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# images_table: each image of the product: its size, what is in it, its start, its list of parts
images_table() { FLAGGER_IMAGES_INSIDE='' test/cluster/build-images --table; }
