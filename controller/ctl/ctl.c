#include "ctl/ctl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "ctl/output.h"
#include "ctl/read.h"
#include "ctl/state.h"
#include "kube/watch.h"
#include "proto/weight.h"

enum { HELP_WIDTH = 100, HELP_MAX = 64 * 1024 };

static const char codes[] =
    "Exit codes\n"
    "  0  done; of status: the revision is promoted\n"
    "  1  the server does not answer, says no, or has no such object\n"
    "  2  the command line is wrong\n"
    "  3  the release was rolled back, or the request was refused\n"
    "  4  the release is still under way; with --wait: at the end of --timeout\n"
    "  5  the release waits for a person\n"
    "  6  another revision has taken the place of the one asked about\n";

const struct ctl_command *ctl_find(const char *name)
{
    for (const struct ctl_command *const *at = ctl_table; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

int ctl_fail(const struct ctl *ctl, enum ctl_exit code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(ctl->arena, fmt, args);
    va_end(args);
    fprintf(ctl->err, "%s: %s\n", ctl->program, print_clean(ctl->arena, text));
    return (int)code;
}

/* --- help */

/* Names and summaries, one per line, with the summaries wrapped at the width. */
static const char *command_list(const struct ctl *ctl, int width)
{
    enum { INDENT = 2, COLUMN = 17 };
    struct buf out;

    buf_init(&out, HELP_MAX);
    buf_puts(&out, "Commands\n");
    for (const struct ctl_command *const *at = ctl_table; *at; at++) {
        int column = COLUMN;
        if (!(*at)->summary)
            continue;
        buf_printf(&out, "%*s%-*s", INDENT, "", COLUMN - INDENT, (*at)->name);
        for (const char *text = (*at)->summary; *text; text += strspn(text, " ")) {
            size_t len = strcspn(text, " ");
            if (column > COLUMN && column + 1 + (int)len > width) {
                buf_printf(&out, "\n%*s", COLUMN, "");
                column = COLUMN;
            }
            buf_printf(&out, "%s%.*s", column > COLUMN ? " " : "", (int)len, text);
            column += (int)len + (column > COLUMN);
            text += len;
        }
        buf_puts(&out, "\n");
    }
    const char *text = arena_strndup(ctl->arena, out.data, out.len);
    buf_fini(&out);
    return text;
}

/* The text with each "{ctl}" replaced by the program's name. */
static const char *named(const struct ctl *ctl, const char *text)
{
    static const char mark[] = "{ctl}";
    const char *at;

    while (text && (at = strstr(text, mark)))
        text = arena_printf(ctl->arena, "%.*s%s%s", (int)(at - text), text, ctl->program,
                            at + sizeof(mark) - 1);
    return text;
}

static int help_width(const struct ctl *ctl)
{
    return ctl->width > 0 && ctl->width < HELP_WIDTH ? ctl->width : HELP_WIDTH;
}

static int help_all(const struct ctl *ctl)
{
    static const struct ctl_command none = {.name = ""};
    const char *tail = arena_printf(ctl->arena,
                                    "%s\n%s COMMAND --help says more of each command. Objects are "
                                    "read and written with the rights that your kubeconfig gives "
                                    "you.\n",
                                    codes, ctl->program);
    const struct option_program program = {
        .name = ctl->program,
        .summary = "Looks at Canaries, says what they wait for, and steers their releases.",
        .synopsis = "COMMAND [ARGUMENT...] [FLAG...]",
        .before = command_list(ctl, help_width(ctl)),
        .details = tail,
        .rows = flags_rows(ctl->arena, &none),
        .width = help_width(ctl)};

    fputs(option_help(&program, ctl->arena, ctl->color), ctl->out);
    return CTL_DONE;
}

static int help_one(const struct ctl *ctl)
{
    const struct ctl_command *command = ctl->command;
    const struct option_program program = {
        .name = arena_printf(ctl->arena, "%s %s", ctl->program, command->name),
        .summary = command->summary,
        .synopsis = arena_printf(ctl->arena, "%s [FLAG...]", command->usage ? command->usage : ""),
        .details = named(ctl, command->help),
        .rows = flags_rows(ctl->arena, command),
        .width = help_width(ctl)};

    fputs(option_help(&program, ctl->arena, ctl->color), ctl->out);
    return CTL_DONE;
}

/* --- one run */

void ctl_measure(struct ctl *ctl)
{
    enum { USUAL = 80, LEAST = 20 };
    struct winsize size = {0};

    ctl->width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL;
    ctl->width = ctl->width < LEAST ? LEAST : ctl->width;
}

static void look_at_terminal(struct ctl *ctl)
{
    const char *term = getenv("TERM"), *none = getenv("NO_COLOR");

    if (!isatty(STDOUT_FILENO))
        return;
    ctl->color = term && strcmp(term, "dumb") != 0 && !(none && *none);
    ctl_measure(ctl);
}

/* Ctrl-C ends it at once, as it does other commands; the loop would finish its work first. */
static struct loop *new_loop(void)
{
    struct loop *loop = loop_new(0);

    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    return loop;
}

static int run_with_server(struct ctl *ctl, const struct kube_config_source *source)
{
    static const char agent[] = "kubectl-canary";
    struct errinfo ei = {0};
    struct kube_config config;

    if (kube_config_load(ctl->arena, source, &config, &ei) != ERR_OK)
        return ctl_fail(ctl, CTL_SERVER, "%s", ei.text);
    if (ctl->namespace_ && !*ctl->namespace_)
        ctl->namespace_ = config.namespace_;
    ctl->config = &config;
    ctl->loop = new_loop();
    ctl->http = http_client_new(ctl->loop, &(struct http_client_options){.user_agent = agent});
    ctl->kube = kube_client_new(ctl->loop, ctl->http, &config,
                                &(struct kube_client_options){.user_agent = agent});
    int code = ctl->command->run(ctl);
    kube_client_free(ctl->kube);
    http_client_free(ctl->http);
    loop_free(ctl->loop);
    ctl->config = NULL;
    return code;
}

static int run_command(struct ctl *ctl, int argc, char **argv)
{
    struct kube_config_source source;
    struct errinfo ei = {0};
    enum err err = flags_read(ctl, argc, argv, &source, &ctl->namespace_, &ei);

    if (err == ERR_CANCELLED)
        return help_one(ctl);
    if (err != ERR_OK)
        return ctl_fail(ctl, CTL_USAGE, "%s", ei.text);
    if ((ctl->command->accepts & CTL_OFFLINE) ||
        (ctl->command->needs_no_server && ctl->command->needs_no_server()))
        return ctl->command->run(ctl);
    return run_with_server(ctl, &source);
}

static int unknown_command(const struct ctl *ctl, const char *name)
{
    const char *all = "";

    for (const struct ctl_command *const *at = ctl_table; *at; at++)
        if ((*at)->summary)
            all = arena_printf(ctl->arena, "%s%s%s", all, *all ? ", " : "", (*at)->name);
    return ctl_fail(ctl, CTL_USAGE, "unknown command \"%.60s\"; there are %s", name, all);
}

int ctl_run(struct ctl *ctl, int argc, char **argv)
{
    int at = flags_command_at(argc, argv);
    const char *name = at < argc ? argv[at] : NULL;

    if (!name && argc > 1 && strcmp(argv[1], "--version") == 0) {
        fprintf(ctl->out, "kubectl-canary %s\n", FLAGGER_VERSION);
        return CTL_DONE;
    }
    if (!name || (strcmp(name, "help") == 0 && at + 1 == argc))
        return help_all(ctl);
    bool help = strcmp(name, "help") == 0;
    name = help ? argv[++at] : name;
    ctl->command = ctl_find(name);
    if (!ctl->command)
        return unknown_command(ctl, name);
    if (help)
        return help_one(ctl);
    if (ctl->command->accepts & CTL_RAW) {
        ctl->args = (const char *const *)argv + at + 1;
        ctl->n_args = argc - at - 1;
        return ctl->command->run(ctl);
    }
    /* Flags may come before the command. */
    memmove(argv + 1, argv, (size_t)at * sizeof(*argv));
    return run_command(ctl, argc - 1, argv + 1);
}

int ctl_main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    struct ctl ctl = {.arena = arena, .program = argv[0], .out = stdout, .err = stderr};

    log_set_level("error");
    look_at_terminal(&ctl);
    int code = ctl_run(&ctl, argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        code = code == CTL_DONE ? CTL_SERVER : code;
    metrics_reset();
    arena_free(arena);
    return code;
}

enum { AGAIN_MS = 5000 };

struct live {
    struct ctl *ctl;
    const char *name; /* NULL for all */
    bool changed, gone;
};

static void print_change(struct ctl *ctl, struct json_object *canary, bool gone)
{
    struct glance at;
    char now[CLOCK_TEXT];

    glance_at(ctl->arena, canary, &at);
    fprintf(ctl->out, "%s  %s/%s  %s  %s%%  %s%s%s\n", clock_rfc3339(clock_wall_ms(), now),
            print_clean(ctl->arena, at.namespace_), print_clean(ctl->arena, at.name),
            gone        ? "deleted"
            : *at.phase ? print_clean(ctl->arena, at.phase)
                        : "-",
            weight_text(ctl->arena, at.weight), print_clean(ctl->arena, at.revision),
            *at.reason ? "  " : "", at.reason);
}

static void on_change(void *arg, enum watch_event event, struct json_object *object)
{
    struct live *live = arg;
    struct ctl *ctl = live->ctl;

    if (event != WATCH_PUT && event != WATCH_GONE)
        return;
    live->changed = true;
    live->gone = live->gone || (live->name && event == WATCH_GONE);
    if (ctl->width > 0)
        return;
    struct ctl line = *ctl;
    line.arena = arena_new();
    if (ctl->output == CTL_JSON || ctl->output == CTL_YAML) {
        fputs(ctl->output == CTL_YAML ? "---\n" : "", ctl->out);
        print_object(&line, object);
    } else {
        print_change(&line, object, event == WATCH_GONE);
    }
    fflush(ctl->out);
    arena_free(line.arena);
}

static void on_time(void *arg)
{
    struct live *live = arg;

    live->changed = true;
}

/* Redraws the screen in one write, so that it does not flicker. */
static int redraw(struct ctl *ctl, int (*draw)(struct ctl *ctl))
{
    char *text = NULL;
    size_t len = 0;
    struct ctl page = *ctl;

    page.arena = arena_new();
    ctl_measure(&page);
    page.out = open_memstream(&text, &len);
    int code = draw(&page);
    fclose(page.out);
    if (code == CTL_DONE)
        fprintf(ctl->out, "\033[H\033[J%s", text);
    fflush(ctl->out);
    free(text);
    arena_free(page.arena);
    return code;
}

int live_run(struct ctl *ctl, const char *name, int (*draw)(struct ctl *ctl))
{
    struct live live = {.ctl = ctl, .name = name, .changed = true};
    const struct watch_spec spec = {
        .resource = &read_canaries,
        .namespace_ = ctl->namespace_,
        .label_selector = ctl->selector,
        .field_selector = name ? arena_printf(ctl->arena, "metadata.name=%s", name) : NULL};
    struct watch *watch = watch_new(ctl->loop, ctl->kube, &spec, on_change, &live);
    struct timer *timer = timer_start(ctl->loop, AGAIN_MS, AGAIN_MS, on_time, &live);
    int code = CTL_DONE;

    while (code == CTL_DONE && !live.gone && !ferror(ctl->out)) {
        if (live.changed && ctl->width > 0)
            code = redraw(ctl, draw);
        live.changed = false;
        while (!live.changed)
            uv_run(loop_uv(ctl->loop), UV_RUN_ONCE);
    }
    timer_stop(timer);
    watch_free(watch);
    if (live.gone)
        return ctl_fail(ctl, CTL_SERVER, "the Canary \"%s\" was deleted", name);
    return code;
}

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

/* Words that -o accepts, for its row; the last is NULL. */
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

/* --- words, in the form that option.h reads */

/* The words of a command line: flags as one word each, --name=value, and the rest. */
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

/* "-Aw", "-n", "-nshop", "-n=shop"; *next is the following word, set to NULL if it was used. */
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

/* A flag with two dashes; its value may be the next word. */
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
    for (int i = 1; i < argc && argv[i]; i++) {
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

/* kubectl looks in the home directory first, while the daemons use the pod's service account. */
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
