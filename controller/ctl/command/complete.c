/*
 * __complete WORD...: what the last word may become, for completion scripts and for kubectl, which
 * asks its plugins so (kubectl_complete-canary). A candidate a line, behind a tab what it is; the
 * last line is ":4", or ":0" where names of files are wanted as well.
 */
#include <stdlib.h>
#include <string.h>

#include "ctl/flags.h"

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

/* The row that the last word is a value of; NULL if it is no value. */
static const struct option_row *awaited(const struct ctl *ctl, const struct option_row *rows)
{
    const char *before = ctl->n_args > 1 ? ctl->args[ctl->n_args - 2] : "";
    const struct option_row *row = row_of(rows, before);

    return row && row->type != OPTION_BOOL ? row : NULL;
}

/* --- Canaries */

/* Collects kubectl's flags and their values, which say where to look. */
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

/* True if names of files are wanted as well. */
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

static int run(struct ctl *ctl)
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
    .run = run,
};
