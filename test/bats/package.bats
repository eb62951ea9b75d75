# `cmake --install`, the Debian package and the units of systemd.

setup() {
    SOURCES=$BATS_TEST_DIRNAME/../..
    VERSION=$("$FLAGGER_BUILD/flagger-gate" --version | cut -d' ' -f2)
    PATH=$PATH:/usr/sbin:/sbin
}

programs_run() { # FOLDER
    local name
    for name in controller gate loadtester; do
        [ "$("$1/flagger-$name" --version)" = "flagger-$name $VERSION" ]
    done
    [ "$("$1/kubectl-canary" --version)" = "kubectl-canary $VERSION" ]
}

@test "cmake --install puts everything below its prefix" {
    cmake --install "$FLAGGER_BUILD" --prefix "$BATS_TEST_TMPDIR/prefix"
    programs_run "$BATS_TEST_TMPDIR/prefix/bin"
    diff -r "$SOURCES/proto/crd" "$BATS_TEST_TMPDIR/prefix/share/flagger-c/crd"
    # A man page has each option, and says nothing that a formatter does not understand.
    local name page
    for name in flagger-controller flagger-gate flagger-loadtester kubectl-canary; do
        page=$BATS_TEST_TMPDIR/prefix/share/man/man1/$name.1
        [ "$(grep -c '^\.TP' "$page")" -eq "$("$FLAGGER_BUILD/$name" --help | grep -cE '^  --[a-z]')" ]
        ! command -v groff || [ -z "$(groff -man -ww -Tascii "$page" 2>&1 >/dev/null)" ]
    done
    [ "$(sed -n 's/^## //p' "$BATS_TEST_TMPDIR/prefix/share/doc/flagger-c/deploy/CHANGELOG.md" | head -n 1)" = "$VERSION" ]
}

@test "the package is installed, names what it needs, and is removed without a trace" {
    command -v dpkg-shlibdeps && command -v cpack || skip "no dpkg-dev"
    [ "$(id -u)" -eq 0 ] || skip "only root installs packages"
    local root=$BATS_TEST_TMPDIR/root package
    (cd "$FLAGGER_BUILD" && cpack -G DEB -B "$BATS_TEST_TMPDIR/packages")
    package=$(ls "$BATS_TEST_TMPDIR"/packages/*.deb)
    [[ $package == */flagger-c_"$VERSION"_*.deb ]]
    dpkg-deb -f "$package" Depends | grep -q 'libh2o'
    mkdir -p "$root"/var/lib/dpkg/{info,updates}
    touch "$root/var/lib/dpkg/status"
    dpkg --root="$root" --force-depends --force-not-root -i "$package"
    programs_run "$root/usr/bin"
    [ "$(dpkg-query --root="$root" -W -f '${Status} ${Version}' flagger-c)" = "install ok installed $VERSION" ]
    dpkg --root="$root" -P flagger-c
    [ -z "$(find "$root" -path "$root/var" -prune -o -type f -print)" ]
}

@test "the units start programs that there are, in a small world" {
    command -v systemd-analyze || skip "no systemd-analyze"
    local unit exposure
    for unit in "$SOURCES"/deploy/systemd/*.service; do
        [ -x "$FLAGGER_BUILD/$(sed -n 's|^ExecStart=/usr/bin/\([^ ]*\).*|\1|p' "$unit")" ]
        exposure=$(systemd-analyze security --offline=true "$unit" 2>/dev/null | sed -n 's/.*exposure level for .*: \([0-9]*\)\..*/\1/p')
        [ "$exposure" -lt 5 ]
        # Unknown keys and values are warnings of the parser; that the program is not installed here is not.
        sed "s|/usr/bin/flagger|$FLAGGER_BUILD/flagger|" "$unit" >"$BATS_TEST_TMPDIR/$(basename "$unit")"
        [ -z "$(systemd-analyze verify --recursive-errors=no "$BATS_TEST_TMPDIR/$(basename "$unit")" 2>&1 | grep -F "$(basename "$unit")" || true)" ]
    done
}
