/* completion: the script for a shell, which asks `__complete` for each word. */
#include <string.h>

#include "ctl/ctl.h"

static const char bash[] =
    "# bash completion of kubectl-canary: source <(kubectl-canary completion bash)\n"
    "_kubectl_canary() {\n"
    "    local lines directive line word=${COMP_WORDS[COMP_CWORD]}\n"
    "    mapfile -t lines < <(kubectl-canary __complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
    "2>/dev/null)\n"
    "    COMPREPLY=()\n"
    "    [ ${#lines[@]} -gt 0 ] || return 0\n"
    "    directive=${lines[-1]}\n"
    "    unset 'lines[-1]'\n"
    "    for line in \"${lines[@]}\"; do COMPREPLY+=(\"${line%%$'\\t'*}\"); done\n"
    "    [ \"$directive\" != :0 ] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "
    "\"$word\")\n"
    "}\n"
    "complete -F _kubectl_canary kubectl-canary\n";

static const char zsh[] =
    "#compdef kubectl-canary\n"
    "# zsh completion of kubectl-canary: source <(kubectl-canary completion zsh)\n"
    "_kubectl_canary() {\n"
    "    local -a lines\n"
    "    lines=(\"${(@f)$(kubectl-canary __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    local directive=$lines[-1] line\n"
    "    lines[-1]=()\n"
    "    local -a names\n"
    "    for line in $lines; do names+=(\"${line%%$'\\t'*}\"); done\n"
    "    (( ! $#names )) || compadd -- $names\n"
    "    [[ $directive != :0 ]] || _files\n"
    "}\n"
    "compdef _kubectl_canary kubectl-canary\n";

static const char fish[] =
    "# fish completion of kubectl-canary: kubectl-canary completion fish | source\n"
    "function __kubectl_canary_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l lines (kubectl-canary __complete $words[2..-1] 2>/dev/null)\n"
    "    string match -v -r '^:[0-9]+$' -- $lines\n"
    "    if contains -- :0 $lines\n"
    "        __fish_complete_path (commandline -ct)\n"
    "    end\n"
    "end\n"
    "complete -c kubectl-canary -f -a '(__kubectl_canary_complete)'\n";

static int run(struct ctl *ctl)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        if (strcmp(scripts[i].shell, ctl->args[0]) != 0)
            continue;
        fputs(scripts[i].script, ctl->out);
        return CTL_DONE;
    }
    return ctl_fail(ctl, CTL_USAGE, "completion: expected bash, zsh or fish, found \"%.60s\"",
                    ctl->args[0]);
}

const struct ctl_command ctl_completion = {
    .name = "completion",
    .summary = "Prints the completion of commands, flags and names for a shell.",
    .usage = "bash|zsh|fish",
    .help = "Examples:\n"
            "    source <(kubectl-canary completion bash)\n"
            "    kubectl-canary completion fish > ~/.config/fish/completions/kubectl-canary.fish\n"
            "\n"
            "kubectl itself completes `kubectl canary` where kubectl_complete-canary, which is "
            "installed beside this program, is in the PATH.\n",
    .accepts = CTL_OFFLINE,
    .min_args = 1,
    .max_args = 1,
    .completes = "bash,zsh,fish",
    .run = run,
};
