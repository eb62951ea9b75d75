# deploy/manual, the README and the other pages say what the programs do: options, metrics, events, lines of the log, fields; and their links lead
# somewhere.

setup() {
    load ../lib/metrics
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    OPERATIONS=deploy/manual/operations.md
}

sources() { find controller gate loadtester common -name '*.c' ! -name '*_test.c' "$@"; }
# patterns: of the tables of events, as regular expressions for whole texts
patterns() {
    sed -n '/^| Normal event/,/^## The log/s/^| \(`.*`\) | .* |$/\1/p' "$OPERATIONS" | grep -oE '`[^`]+`' | tr -d '`' |
        sed 's/[][().*+?{}|^$\\]/\\&/g; s/…/.*/g'
}
# texts: of events, as the rules write them and as golden cases show them; formats of
# hardly more than variables say nothing
texts() {
    sources -path 'controller/*' -exec cat {} + | tr '\n' ' ' | grep -oE '(event_normal|event_warning|plan_event)\([^";]*("([^"\\]|\\.)*" *)+' |
        sed -E 's/^[^"]*//; s/" *"//g; s/%[a-zA-Z]+/X/g; s/^"|" *$//g' | grep -E '[a-z]{3}.* ' | grep -vx 'Halt X advancement X X X X'
    grep -rhE '^ *(- )?event (Normal|Warning) ' test/golden/cases | sed -E "s/^.*event (Normal|Warning) ?[A-Za-z]*: //; s/[\"']*\$//; /^[$]/d"
}

@test "the pages that are made say what the programs say" {
    deploy/manual/make "$BATS_TEST_TMPDIR" "$FLAGGER_BUILD"
    diff deploy/manual/fields.md "$BATS_TEST_TMPDIR/fields.md" || { echo 'deploy/manual/make deploy/manual makes them anew' && false; }
    diff deploy/manual/flags.md "$BATS_TEST_TMPDIR/flags.md"
    diff deploy/manual/argo.md "$BATS_TEST_TMPDIR/argo.md"
}

@test "each option that a page names is there" {
    grep -hoE -- '--[a-z][a-z-]+' deploy/manual/flags.md | sort -u >"$BATS_TEST_TMPDIR/options"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/options")" -gt 60 ]
    # Those of the programs alone stand between backquotes, or behind the name of one.
    grep -hoE '(`|flagger-(controller|gate|loadtester) )--[a-z][a-z-]+' README.md deploy/README.md deploy/*/*.md controller/*/*.md | grep -oE -- '--.*' | sort -u |
        grep -vxE -- '--(cascade|create-namespace|from-file|keep|install|set|skip-crds|wait)' | comm -23 - "$BATS_TEST_TMPDIR/options" >"$BATS_TEST_TMPDIR/unknown"
    [ ! -s "$BATS_TEST_TMPDIR/unknown" ] || { echo "no program has these:" && cat "$BATS_TEST_TMPDIR/unknown" && false; }
}

@test "operations.md has each metric with its labels, and no other" {
    metrics | sort >"$BATS_TEST_TMPDIR/there"
    sed -n '/^## Metrics/,/^## Events/s/^| \(`[^|]*\)| \([^|]*\)|.*/\1|\2/p' "$OPERATIONS" |
        awk -F'|' '{ n = split($1, names, /[` ,]+/); gsub(/,/, "", $2); for (i = 1; i <= n; i++) if (names[i]) print names[i], $2 }' |
        sed 's/ *$//' | sort >"$BATS_TEST_TMPDIR/told"
    diff "$BATS_TEST_TMPDIR/there" "$BATS_TEST_TMPDIR/told"
}

@test "operations.md has each event, and no other" {
    patterns >"$BATS_TEST_TMPDIR/patterns"
    texts | sort -u >"$BATS_TEST_TMPDIR/texts"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/texts")" -gt 150 ]
    grep -vxEf "$BATS_TEST_TMPDIR/patterns" "$BATS_TEST_TMPDIR/texts" >"$BATS_TEST_TMPDIR/untold" || true
    [ ! -s "$BATS_TEST_TMPDIR/untold" ] || { echo "$OPERATIONS says nothing of:" && cat "$BATS_TEST_TMPDIR/untold" && false; }
    # A sentence may also be put together elsewhere: then a program has its longest words.
    sources -exec cat {} + | tr '\n' ' ' | sed -E 's/" +"//g' >"$BATS_TEST_TMPDIR/sources"
    local pattern words
    while read -r pattern; do
        grep -qxE "$pattern" "$BATS_TEST_TMPDIR/texts" && continue
        words=$(sed 's/\.\*/\n/g; s/\\//g' <<<"$pattern" | awk 'length > length(best) { best = $0 } END { print best }')
        grep -qF -- "$words" "$BATS_TEST_TMPDIR/sources" || { echo "no program says: $pattern" && false; }
    done <"$BATS_TEST_TMPDIR/patterns"
}

@test "operations.md has each line of the log that warns, and no other" {
    sources -exec cat {} + | tr '\n' ' ' | grep -oE 'log_(warn|error)\( *"[a-z_]+"' | grep -oE '"[a-z_]+"' | tr -d '"' | sort -u >"$BATS_TEST_TMPDIR/there"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/there")" -gt 40 ]
    sed -n '/^## The log/,/^## Security/s/^| \(`[^|]*\) |.*/\1/p' "$OPERATIONS" | grep -oE '`[a-z_]+`' | tr -d '`' | sort -u | diff "$BATS_TEST_TMPDIR/there" -
}

@test "links lead to pages and headings that there are" {
    local page link file anchor wrong=0
    while read -r page; do
        while read -r link; do
            file=${link%%#*} anchor=''
            [[ $link != *'#'* ]] || anchor=${link#*#}
            file=${file:+$(dirname "$page")/$file}
            file=${file:-$page}
            [ -e "$file" ] || { echo "$page: $link leads nowhere" && wrong=1 && continue; }
            [ -z "$anchor" ] || sed -n 's/^##* //p' "$file" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g' | grep -qxF -- "$anchor" ||
                { echo "$page: $link: no such heading" && wrong=1; }
        done < <(grep -oE '\]\([^)]+\)' "$page" | sed 's/^](//; s/)$//' | grep -v '^https\?:')
    done < <(find . -path ./build -prune -o -name '*.md' -print)
    [ "$wrong" -eq 0 ]
}

@test "each case that SCRIPTS.md names is there" {
    local named file name count=0 wrong=0
    while IFS= read -r named; do
        file=test/${named%%: *} name=${named#*: }
        count=$((count + 1))
        case $file in
        *.bats) grep -qF "@test \"$name" "$file" ;;
        *) grep -qxF "case: $name" "$file" ;;
        esac || { echo "test/SCRIPTS.md: there is no $named" && wrong=1; }
    done < <(grep -oE '`[a-z0-9]+/[a-z0-9_/]+\.(yaml|bats): [^`]+`' test/SCRIPTS.md | tr -d '`')
    [ "$count" -gt 50 ]
    [ "$wrong" -eq 0 ]
}
