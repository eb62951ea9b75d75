# Mutation `number` of a list (see mutations), applied to the file `source` and written to `out`. Lines are compared
# without the spaces at either end. Fails unless the lines stand there just once.
function trim(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}
/^## / { at++ }
at == number && /^-/ { old[++n_old] = trim(substr($0, 2)) }
at == number && /^\+/ { new[++n_new] = substr($0, 2) }
END {
    while ((getline line < source) > 0)
        lines[++n] = line
    for (i = 1; i <= n - n_old + 1; i++) {
        same = n_old > 0
        for (j = 1; same && j <= n_old; j++)
            same = trim(lines[i + j - 1]) == old[j]
        if (same) {
            found = i
            times++
        }
    }
    if (times != 1) {
        printf "mutation %d: its lines stand %d times in %s, not once\n", number, times, source > "/dev/stderr"
        exit 1
    }
    for (i = 1; i < found; i++)
        print lines[i] > out
    for (j = 1; j <= n_new; j++)
        print new[j] > out
    for (i = found + n_old; i <= n; i++)
        print lines[i] > out
}
