#include "ctl/flags.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { MAX_WORDS = 4096 };

static struct {
    const char *namespace_, *context, *kubeconfig, *cluster, *user, *token, *server, *selector,
        *output;
    int64_t timeout_ms;
    bool all, watch;
} opt;

#define KUBECTL "Flags of kubectl"

static const struct option_row always[] = {
    OPTION(STRING, "namespace", &opt.namespace_, .arg = "NAME", .group = KUBECTL,
           .help = "(-n) namespace of the Canaries; default that of the context"),
    OPTION(STRING, "kubeconfig", &opt.kubeconfig, .arg = "PATHS", .group = KUBECTL,
           .help = "kubeconfig files; default $KUBECONFIG, then ~/.kube/config, then the pod's "
                   "service account"),
    OPTION(STRING, "context", &opt.context, .arg = "NAME", .group = KUBECTL,
           .help = "context of the kubeconfig; default its current one"),
    OPTION(STRING, "cluster", &opt.cluster, .arg = "NAME", .group = KUBECTL,
           .help = "cluster of the kubeconfig, instead of the context's"),
    OPTION(STRING, "user", &opt.user, .arg = "NAME", .group = KUBECTL,
           .help = "user of the kubeconfig, instead of the context's"),
    OPTION(STRING, "token", &opt.token, .arg = "TOKEN", .group = KUBECTL, .secret = true,
           .help = "bearer token, instead of what the user has"),
    OPTION(STRING, "server", &opt.server, .arg = "URL", .group = KUBECTL,
           .help = "(-s) address of the API server, instead of the cluster's"),
    OPTION(DURATION, "request-timeout", &opt.timeout_ms, .value = "0", .arg = "DURATION",
           .group = KUBECTL, .help = "longest wait for one answer; 0: 15s"),
    {0}};
static const struct option_row all_row =
    OPTION(BOOL, "all-namespaces", &opt.all, .help = "(-A) of all namespaces");
static const struct option_row selector_row =
    OPTION(STRING, "selector", &opt.selector, .arg = "LABELS",
           .help = "(-l) only objects with these labels, app=shop,tier!=test");
static const struct option_row watch_row =
    OPTION(BOOL, "watch", &opt.watch, .help = "(-w) go on showing it as it changes");
static const struct option_row output_row = OPTION(STRING, "output", &opt.output, .arg = "FORMAT");

static const struct {
    char letter;
    const char *name;
} letters[] = {
    {'n', "namespace"}, {'A', "all-namespaces"}, {'l', "selector"},  {'o', "output"},
    {'w', "watch"},     {'s', "server"},         {'h', "help"},      {'f', "filename"},
    {'y', "yes"},       {'R', "recursive"},      {'k', "kustomize"}, {'v', "verbose"},
};
enum { LETTERS = sizeof(letters) / sizeof(letters[0]) };

char flags_letter(const char *name)
{
    for (size_t i = 0; i < LETTERS; i++)
        if (strcmp(letters[i].name, name) == 0)
            return letters[i].letter;
    return 0;
}

/* Values of -o, for its row; the last is NULL. */
static const char *const *outputs(struct arena *arena, unsigned accepts)
{
    enum { MOST = 5 };
    const char **list = arena_array(arena, MOST, sizeof(*list));
    size_t n = 0;

    if (accepts & CTL_OUT_DATA) {
        list[n++] = "json";
        list[n++] = "yaml";
    }
    if (accepts & CTL_OUT_NAME)
        list[n++] = "name";
    if (accepts & CTL_OUT_WIDE)
        list[n++] = "wide";
    return list;
}

static size_t count_rows(const struct option_row *rows)
{
    size_t n = 0;

    while (rows && rows[n].name)
        n++;
    return n;
}

const struct option_row *flags_rows(struct arena *arena, const struct ctl_command *command)
{
    enum { OPTIONAL = 5 };
    size_t own = count_rows(command->rows), n = 0;
    struct option_row *rows =
        arena_array(arena, own + OPTIONAL + count_rows(always), sizeof(*rows));

    for (; n < own; n++)
        rows[n] = command->rows[n];
    if (command->accepts & (CTL_OUT_DATA | CTL_OUT_NAME | CTL_OUT_WIDE)) {
        rows[n] = output_row;
        rows[n].help = "(-o) how it is printed";
        rows[n++].choices = outputs(arena, command->accepts);
    }
    if (command->accepts & CTL_WATCH)
        rows[n++] = watch_row;
    if (command->accepts & CTL_ALL)
        rows[n++] = all_row;
    if (command->accepts & CTL_SELECTOR)
        rows[n++] = selector_row;
    for (size_t i = 0; !(command->accepts & CTL_OFFLINE) && always[i].name; i++)
        rows[n++] = always[i];
    return rows;
}

/* --- words as option.h reads them */

/* The words of a command line, flags as one word each, --name=value, and the others. */
struct words {
    struct arena *arena;
    const struct option_row *rows;
    char **flags;
    int n_flags;
    const char **args;
    int n_args;
};

static const struct option_row *find_row(const struct words *w, const char *name, size_t len)
{
    for (const struct option_row *row = w->rows; row->name; row++)
        if (strncmp(row->name, name, len) == 0 && !row->name[len])
            return row;
    return NULL;
}

static const char *long_name(char letter)
{
    for (size_t i = 0; i < LETTERS; i++)
        if (letters[i].letter == letter)
            return letters[i].name;
    return NULL;
}

static void add_flag(struct words *w, const char *name, const char *value)
{
    w->flags[w->n_flags++] = value ? arena_printf(w->arena, "--%s=%s", name, value)
                                   : arena_printf(w->arena, "--%s", name);
}

/* "-Aw", "-n", "-nshop", "-n=shop"; *next is the word behind it, set to NULL when it was taken. */
static enum err read_letters(struct words *w, const char *word, const char **next,
                             struct errinfo *ei)
{
    for (const char *at = word + 1; *at; at++) {
        const char *name = long_name(*at);
        const struct option_row *row = name ? find_row(w, name, strlen(name)) : NULL;
        bool alone = name && strcmp(name, "help") == 0;
        if (!row && !alone)
            return err_set(ei, ERR_INVALID, "unknown flag -%c in \"%.60s\"; see --help", *at, word);
        if (alone || (row->type == OPTION_BOOL && at[1] != '=')) {
            add_flag(w, name, NULL);
            continue;
        }
        const char *value = at[1] == '=' ? at + 2 : at + 1;
        if (!*value && at[1] != '=') {
            value = *next;
            *next = NULL;
        }
        add_flag(w, name, value);
        break;
    }
    return ERR_OK;
}

/* A flag of two dashes; its value may be the next word. */
static void read_long(struct words *w, const char *word, const char **next)
{
    size_t len = strcspn(word + 2, "=");
    const struct option_row *row = find_row(w, word + 2, len);
    bool wants = row && row->type != OPTION_BOOL && !word[2 + len];

    if (wants && *next) {
        add_flag(w, row->name, *next);
        *next = NULL;
        return;
    }
    w->flags[w->n_flags++] = arena_strdup(w->arena, word);
}

static enum err read_words(struct words *w, int argc, char **argv, struct errinfo *ei)
{
    if (argc > MAX_WORDS)
        return err_set(ei, ERR_INVALID, "more than %d words", MAX_WORDS);
    w->flags = arena_array(w->arena, (size_t)argc * 2 + 2, sizeof(*w->flags));
    w->args = arena_array(w->arena, (size_t)argc + 1, sizeof(*w->args));
    w->flags[w->n_flags++] = arena_strdup(w->arena, "ctl");
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL, *had = next;
        if (strcmp(argv[i], "--") == 0) {
            while (++i < argc)
                w->args[w->n_args++] = argv[i];
            break;
        }
        if (argv[i][0] != '-' || !argv[i][1]) {
            w->args[w->n_args++] = argv[i];
            continue;
        }
        if (argv[i][1] == '-')
            read_long(w, argv[i], &next);
        else if (read_letters(w, argv[i], &next, ei) != ERR_OK)
            return ERR_INVALID;
        i += had && !next;
    }
    return ERR_OK;
}

int flags_command_at(int argc, char **argv)
{
    const struct words w = {.rows = always};

    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (word[0] != '-')
            return i;
        const char *name = word[1] == '-' ? word + 2 : long_name(word[1]);
        bool takes = name && (word[1] == '-' || !word[2]) && find_row(&w, name, strlen(name));
        i += takes;
    }
    return argc;
}

/* --- their meaning */

static enum ctl_output output_of(const char *text)
{
    static const char *const names[] = {
        [CTL_WIDE] = "wide", [CTL_NAME] = "name", [CTL_JSON] = "json", [CTL_YAML] = "yaml"};

    for (size_t i = CTL_WIDE; text && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], text) == 0)
            return (enum ctl_output)i;
    return CTL_TEXT;
}

/* kubectl looks in the home directory first, the daemons use the pod's service account. */
static const char *home_file(struct arena *arena)
{
    const char *given = getenv("KUBECONFIG"), *home = getenv("HOME");
    const char *path = home ? arena_printf(arena, "%s/.kube/config", home) : NULL;

    if ((given && *given) || !path || access(path, F_OK) != 0)
        return NULL;
    return path;
}

static enum err check_args(const struct ctl *ctl, struct errinfo *ei)
{
    const struct ctl_command *command = ctl->command;

    if (ctl->n_args < command->min_args)
        return err_set(ei, ERR_INVALID, "%s: an argument is missing: %s %s %s", command->name,
                       ctl->program, command->name, command->usage);
    if (command->max_args >= 0 && ctl->n_args > command->max_args)
        return err_set(ei, ERR_INVALID, "%s: unexpected argument \"%.60s\": %s %s %s",
                       command->name, ctl->args[command->max_args], ctl->program, command->name,
                       command->usage);
    return ERR_OK;
}

enum err flags_read(struct ctl *ctl, int argc, char **argv, struct kube_config_source *source,
                    const char **namespace_, struct errinfo *ei)
{
    struct words words = {.arena = ctl->arena, .rows = flags_rows(ctl->arena, ctl->command)};
    int first;

    memset(&opt, 0, sizeof(opt));
    enum err err = read_words(&words, argc, argv, ei);
    if (err != ERR_OK)
        return err;
    const struct option_program program = {.name = ctl->program, .rows = words.rows};
    err = option_read(&program, ctl->arena, words.n_flags, words.flags, environ, &first, ei);
    if (err != ERR_OK)
        return err;
    ctl->args = words.args;
    ctl->n_args = words.n_args;
    ctl->selector = opt.selector && *opt.selector ? opt.selector : NULL;
    ctl->watch = opt.watch;
    ctl->timeout_ms = opt.timeout_ms;
    ctl->output = output_of(opt.output);
    *namespace_ = opt.all ? NULL : opt.namespace_ && *opt.namespace_ ? opt.namespace_ : "";
    *source = (struct kube_config_source){.kubeconfig = opt.kubeconfig ? opt.kubeconfig
                                                                       : home_file(ctl->arena),
                                          .context = opt.context,
                                          .master = opt.server,
                                          .cluster = opt.cluster,
                                          .user = opt.user,
                                          .token = opt.token};
    return check_args(ctl, ei);
}
