# With an allow list nothing but the command itself is ever executed.

# Two messages a line and type: the text behind an allowed command, and the text everywhere.
injection_messages() {
    local size
    {
        gojq -cn '
        ["; id", "| id", "|| id", "& id", "&& id", "$(id)", "${IFS}id", "`id`", "\n id", "\r\n id", "> /tmp/x", "< /etc/passwd",
         "<(id)", "$((1))", "$HOME", "~root", "{a,b}", "*", "?", "[a]", "!!", "# id", "\\", "\\\n id", "a\\;id",
         "\u0027", "\"", "\u0027; id; \u0027", "\"; id; \"", "\u0027$(id)\u0027", "\"$(id)\"", "\"`id`\"", "\u0027\"\u0027\"\u0027; id",
         "\u0000; id", "a\u0000b", "\u0001\u0002\u001b[2J", "\u007f", "\u0085 id", "\u2028 id", "\u00a0; id", "\ufeff; id",
         "\uff1b id", "\uff5c id", "\u037e id", "\u202e; di", "\u200b; id", "\ud83d\ude00; id", "%0a id", "%3b id",
         "--help; id", "-e id", "\t; id", "\u000b; id", "\u000c; id", "$\u0027\\x3b id\u0027", "eval id", "exec id",
         "() { :; }; id", "-- ; id", "a=b id", "&>/tmp/x", "2>&1 id", "<<E\nid\nE", "case x in x) id;; esac"]
        | .[]'
        for size in 4096 131072 1000000; do
            head -c "$size" /dev/zero | tr '\0' 'a' | gojq -Rc .
            { head -c "$size" /dev/zero | tr '\0' ' ' && printf '; id'; } | gojq -Rsc .
        done
    } | gojq -c '. as $text | ("cmd", "bash", "helm", "helmv3", "kubectl")
        | {name: "a", namespace: "b", metadata: {type: ., cmd: ("echo " + $text)}}, {name: $text, namespace: $text, metadata: {type: ., cmd: $text}}'
}

# The commands of a trace, without our own program, its embedded one, which is executed once, and attempts that failed.
executed() { sed -n 's/.*execve("\([^"]*\)".*= 0$/\1/p; s/.*execveat(.*= 0$/execveat/p' "$work/trace" | grep -v 'flagger-loadtester$' |
    sed '0,\|^/proc/self/fd/[0-9]*$|{//d}' || true; }

try_injection() { # MODE DAEMON-OPTION...
    local mode=$1 posts answered others echoes good=/nothing
    shift
    rm -f "$work"/trace "$work"/message.*
    daemon_start env PATH=/usr/bin:/bin strace -f --seccomp-bpf -qq -o "$work/trace" -e trace=execve,execveat "$LOADTESTER" "$@"
    injection_messages | split -l 1 -a 4 - "$work/message."
    posts=$(ls "$work"/message.* | wc -l)
    for file in "$work"/message.*; do
        printf 'url = "%s/"\ndata-binary = "@%s"\nwrite-out = "%%{http_code}\\n"\noutput = "%s/body"\nmax-time = %d\nnext\n' "$DAEMON_URL" "$file" "$work" $((20 * ${FLAGGER_PATIENCE:-1}))
    done | sed '$d' >"$work/curl"
    curl -s --parallel --parallel-max 8 -K "$work/curl" >"$work/codes" 2>/dev/null || true
    answered=$(grep -cE '^(200|202|400|403|413|429|500)$' "$work/codes" || true)
    curl -sf -m 5 -o /dev/null "$DAEMON_URL/healthz" || answered=-1
    pkill -TERM -P "$DAEMON_PID" || true # strace's child is the load tester
    wait "$DAEMON_PID" || true
    DAEMON_PID=
    others=$(executed | grep -cv '/echo$' || true)
    echoes=$(executed | grep -c '/echo$' || true)
    [ "$others" = 0 ] || executed | grep -v '/echo$' | sort | uniq -c | sed 's/^/           executed:/'
    [ "$others" = 0 ] && [ "$echoes" -gt 0 ] && [ "$answered" = "$posts" ] && good=ok
    report "injection, $mode" "$posts messages, $answered answered, $echoes times echo, $others other commands" "$good"
}

if command -v strace >/dev/null; then
    try_injection 'allow list' --allow-command echo
    try_injection 'allow list, system calls filtered' --allow-command echo --seccomp
else
    skip injection 'there is no strace to see what is executed'
fi
