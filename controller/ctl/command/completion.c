/* completion: the script for a shell, which calls `__complete` for each word; its answers are
 * below. */
#include <stdlib.h>
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

/*
 * --- __complete WORD...: possible values of the last word, for completion scripts and for kubectl,
 * which asks its plugins in this way (kubectl_complete-canary). One candidate per line, followed by
 * a tab and its description; the last line is ":4", or ":0" if file names are possible as well.
 */

enum { MOST_WORDS = 256 };

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void offer(const struct ctl *ctl, const char *word, const char *text, const char *what)
{
    if (begins(text, word))
        fprintf(ctl->out, "%s%s%s\n", text, what ? "\t" : "", what ? what : "");
}

static void offer_commands(const struct ctl *ctl, const char *word)
{
    for (const struct ctl_command *const *at = ctl_table; *at; at++)
        if ((*at)->summary)
            offer(ctl, word, (*at)->name, (*at)->summary);
    offer(ctl, word, "help", "Says more of a command.");
}

static void offer_flags(const struct ctl *ctl, const struct option_row *rows, const char *word)
{
    for (const struct option_row *row = rows; row->name; row++)
        offer(ctl, word, arena_printf(ctl->arena, "--%s", row->name), row->help);
    offer(ctl, word, "--help", "show this text");
}

static const struct option_row *row_of(const struct option_row *rows, const char *word)
{
    for (const struct option_row *row = rows; row->name; row++) {
        char letter = flags_letter(row->name);
        if (begins(word, "--") ? strcmp(row->name, word + 2) == 0
                               : word[0] == '-' && letter && word[1] == letter && !word[2])
            return row;
    }
    return NULL;
}

/* The row of the flag whose value the last word is; NULL if the word is not a value. */
static const struct option_row *awaited(const struct ctl *ctl, const struct option_row *rows)
{
    const char *before = ctl->n_args > 1 ? ctl->args[ctl->n_args - 2] : "";
    const struct option_row *row = row_of(rows, before);

    return row && row->type != OPTION_BOOL ? row : NULL;
}

/* --- Canaries */

/* Collects kubectl's flags and their values, which determine where to look. */
static int collect_flags(const struct ctl *ctl, const struct option_row *rows, char **argv,
                         int argc)
{
    for (int i = 0; i < ctl->n_args - 1 && argc < MOST_WORDS - 1; i++) {
        const char *word = ctl->args[i];
        size_t len = strcspn(word, "=");
        const struct option_row *row = row_of(rows, arena_strndup(ctl->arena, word, len));
        if (!row || strcmp(row->name, "output") == 0 || strcmp(row->name, "watch") == 0)
            continue;
        argv[argc++] = arena_strdup(ctl->arena, word);
        if (row->type != OPTION_BOOL && !word[len] && i + 1 < ctl->n_args - 1)
            argv[argc++] = arena_strdup(ctl->arena, ctl->args[++i]);
    }
    return argc;
}

static void offer_canaries(const struct ctl *ctl, const char *word)
{
    char *argv[MOST_WORDS] = {arena_strdup(ctl->arena, ctl->program), "get", "-oname",
                              "--request-timeout=3s"};
    int argc = collect_flags(ctl, flags_rows(ctl->arena, ctl_find("get")), argv, 4);
    struct ctl quiet = *ctl;
    char *text = NULL, *rest = NULL;
    size_t len = 0;

    quiet.out = open_memstream(&text, &len);
    quiet.err = fopen("/dev/null", "w");
    if (quiet.err)
        ctl_run(&quiet, argc, argv);
    fclose(quiet.out);
    if (quiet.err)
        fclose(quiet.err);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *slash = strchr(line, '/');
        offer(ctl, word, slash ? slash + 1 : line, NULL);
    }
    free(text);
}

static void offer_words(const struct ctl *ctl, const char *words, const char *word)
{
    const char *const *list = option_split(ctl->arena, words);

    for (; *list; list++)
        offer(ctl, word, *list, NULL);
}

/* True if file names are possible as well. */
static bool offer_arguments(const struct ctl *ctl, const struct ctl_command *command,
                            const char *word)
{
    const char *what = command->completes;

    if (what && strcmp(what, "canary") == 0)
        offer_canaries(ctl, word);
    else if (what && strcmp(what, "file") == 0)
        return true;
    else if (what)
        offer_words(ctl, what, word);
    return false;
}

static bool complete(const struct ctl *ctl, const char *word)
{
    static const struct ctl_command none = {.name = ""};
    char **argv = arena_array(ctl->arena, (size_t)ctl->n_args + 1, sizeof(*argv));
    argv[0] = arena_strdup(ctl->arena, ctl->program);
    for (int i = 0; i < ctl->n_args - 1; i++)
        argv[i + 1] = arena_strdup(ctl->arena, ctl->args[i]);
    int at = flags_command_at(ctl->n_args, argv);
    const struct ctl_command *command = at < ctl->n_args ? ctl_find(argv[at]) : NULL;
    const struct option_row *rows = flags_rows(ctl->arena, command ? command : &none);
    const struct option_row *value = awaited(ctl, rows);

    if (value) {
        for (const char *const *choice = value->choices; choice && *choice; choice++)
            offer(ctl, word, *choice, NULL);
        return value->arg && (strcmp(value->arg, "FILE") == 0 || strcmp(value->arg, "PATHS") == 0);
    }
    if (word[0] == '-')
        offer_flags(ctl, rows, word);
    else if (command)
        return offer_arguments(ctl, command, word);
    else
        offer_commands(ctl, word);
    return false;
}

static int run_complete(struct ctl *ctl)
{
    const char *word = ctl->n_args > 0 ? ctl->args[ctl->n_args - 1] : "";
    bool files = ctl->n_args < MOST_WORDS && complete(ctl, word);

    fputs(files ? ":0\n" : ":4\n", ctl->out);
    return CTL_DONE;
}

const struct ctl_command ctl_complete = {
    .name = "__complete",
    .usage = "WORD...",
    .accepts = CTL_OFFLINE | CTL_RAW,
    .max_args = -1,
    .run = run_complete,
};
