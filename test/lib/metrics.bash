# metrics: each that a daemon declares, with its labels, "NAME LABEL..."; those of the process have none
metrics() {
    find controller gate loadtester common -name '*.c' ! -name '*_test.c' -exec cat {} + | tr '\n' ' ' |
        grep -oE 'struct metrics_family [a-z_]+ = \{[^}]*(\{[^}]*\}[^}]*)*\};' |
        sed -E 's/.*\.name = "([a-z_]+)".*\.labels = \{([^}]*)\}.*/\1 \2/; s/.*\.name = "([a-z_]+)".*/\1/; s/[",]//g; s/ +/ /g; s/ $//'
    grep -hoE '"process_[a-z_]+"' common/base/metrics.c | tr -d '"'
}
