# The programs that a search starts: programs_of PRESET TARGET... sets `build` to their folder. Under ctest they are those of its build
# (FLAGGER_BUILD); by hand they are built first.
programs_of() {
    local preset=$1 log
    shift
    build=${FLAGGER_BUILD:-}
    [ -z "$build" ] || return 0
    build=build/$preset
    log=$build.log
    test/setup
    echo "building ($preset)..." >&2
    mkdir -p build
    if ! { cmake --preset "$preset" && cmake --build --preset "$preset" --target "$@"; } >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        echo "${0#"$PWD/"}: the build failed, see $log" >&2
        exit 1
    fi
    # What root builds belongs to the owner of the source, so that this person can remove it.
    [ "$(id -u)" -ne 0 ] || chown -R --reference=. build 2>/dev/null || true
}
