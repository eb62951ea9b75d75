/*
 * flagger-random-edits: a random user. Edits everything that a release depends on, with real traffic, and
 * looks whether the service stays up. test/random_edits/run builds it and starts it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/option.h"
#include "crash/process.h"
#include "random_edits/round.h"
#include "random_edits/shrink.h"

enum { RESULT_MAX = 16 * 1024 * 1024, LIST_MAX = 4096, AGAIN = 4 };

static struct {
    const char *programs, *crds, *directory, *replay, *without;
    int64_t seed, round_ms, tries;
    double minutes;
    bool list, quiet, no_shrink, keep;
} opt;

static const struct option_row rows[] = {
    OPTION(NUMBER, "minutes", &opt.minutes, .value = "2", .arg = "N",
           .help = "for how long; a round that has begun is finished"),
    OPTION(INT, "seed", &opt.seed, .value = "1", .min = 0, .max = INT64_MAX, .arg = "N",
           .help = "of the first round; each next one has the next"),
    OPTION(DURATION, "round", &opt.round_ms, .value = "60s", .arg = "DURATION",
           .help = "how long a round is edited"),
    OPTION(STRING, "replay", &opt.replay, .arg = "FILE",
           .help = "makes the edits of a file instead, one a line"),
    OPTION(STRING, "without", &opt.without, .arg = "EDIT,...", .help = "edits that are left out"),
    OPTION(BOOL, "list", &opt.list,
           .help =
               "tells the apps and the edits, and which of them may take a service down, and ends"),
    OPTION(BOOL, "no-shrink", &opt.no_shrink,
           .help = "does not look for the shortest list that breaks the rule"),
    OPTION(INT, "tries", &opt.tries, .value = "40", .min = 1, .max = 1000, .arg = "N",
           .help = "how many lists are tried at most to find the shortest"),
    OPTION(BOOL, "quiet", &opt.quiet, .help = "prints rounds and violations, but no edits"),
    OPTION(BOOL, "keep", &opt.keep, .help = "leaves the logs of every round"),
    OPTION(STRING, "directory", &opt.directory, .value = "/tmp", .arg = "DIR",
           .help =
               "where the logs, lists and objects (`result`) of rounds with violations are left"),
    OPTION(STRING, "programs", &opt.programs, .value = "build/release", .arg = "DIR",
           .help = "folder of flagger-controller and flagger-sandbox"),
    OPTION(
        STRING, "crds", &opt.crds, .arg = "DIR",
        .help =
            "folder of the CustomResourceDefinitions; without it proto/crd of the sources that the "
            "programs were built in, or of the current directory"),
    {0},
};

static const struct option_program program = {
    .name = "flagger-random-edits",
    .summary = "a random user, who edits everything that a release depends on",
    .synopsis = "[OPTION...]",
    .rows = rows,
};

/* Counts of what the judge has looked at, by the names of round.h. */
static const char *const seen[] = {"statuses", "services", "steps",   "numbers",
                                   "gates",    "shares",   "refusals"};
enum { SEEN = sizeof(seen) / sizeof(seen[0]) };

struct total {
    int64_t rounds, edits, refused, requests, allowed, failed, machine, violations, lag_ms,
        troubles;
    uint64_t first_seed, last_seed;
    int64_t seen[SEEN];
};

/* Ends the program: what is wrong is not with the service, and would be so in the next round. */
static _Noreturn void give_up(const char *sentence)
{
    fflush(NULL);
    fprintf(stderr, "flagger-random-edits: %s\n", sentence);
    exit(2);
}

/* --- what it needs */

static bool has_crds(struct arena *arena, const char *directory)
{
    return access(arena_printf(arena, "%s/canaries.yaml", directory), R_OK) == 0;
}

static void find_programs(struct arena *arena)
{
    static const char *const names[] = {"flagger-sandbox", "flagger-controller"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *path = arena_printf(arena, "%s/%s", opt.programs, names[i]);
        if (access(path, X_OK) != 0)
            give_up(
                arena_printf(arena, "there is no program %s; --programs says where it is", path));
    }
    const char *sources = arena_printf(arena, "%s/../../proto/crd", opt.programs);
    if (!opt.crds)
        opt.crds = has_crds(arena, sources) ? sources : "proto/crd";
    if (!has_crds(arena, opt.crds))
        give_up(arena_printf(arena, "there is no canaries.yaml in %s; --crds says where it is",
                             opt.crds));
}

/* --- a round in a process of its own */

static void live(const struct round_options *options)
{
    struct arena *arena = arena_new();
    struct errinfo ei;
    process_follow_parent();
    (void)!log_set_level("error");
    const char *text = json_text(arena, round_run(arena, options));
    const char *path = arena_printf(arena, "%s/result", options->stage.directory);
    fflush(NULL);
    _exit(file_write(path, text, strlen(text), 0600, &ei) == ERR_OK ? 0 : 1);
}

static struct json_object *run_round(struct arena *arena, struct round_options options)
{
    char *directory = arena_printf(arena, "%s/edits-XXXXXX", opt.directory);
    struct json_object *out = NULL;
    struct errinfo ei;
    char *text;
    size_t len;
    int status = 0;
    if (!mkdtemp(directory))
        give_up(arena_printf(arena, "%s: %s", directory, strerror(errno)));
    options.stage =
        (struct stage_options){.programs = opt.programs, .crds = opt.crds, .directory = directory};
    fflush(NULL);
    int pid = fork();
    if (pid == 0)
        live(&options);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    const char *path = arena_printf(arena, "%s/result", directory);
    if (file_read(arena, path, RESULT_MAX, &text, &len, &ei) != ERR_OK ||
        json_parse(arena, text, len, RESULT_MAX, &out, &ei) != ERR_OK) {
        out = json_own(arena, json_object_new_object());
        json_set_str(out, "trouble",
                     arena_printf(arena, "the round ended with 0x%x", (unsigned)status));
    } else if (!json_bool_at(out, true, "up", NULL)) {
        give_up(json_str_at(out, "trouble", NULL));
    }
    json_set_str(out, "directory", directory);
    return out;
}

/* What a round without violation leaves is of no use. */
static void forget(struct json_object *result)
{
    static const char *const files[] = {"result", "kubeconfig", "sandbox.log", "controller.log"};
    struct arena *arena = arena_new();
    const char *directory = json_str_at(result, "directory", NULL);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        unlink(arena_printf(arena, "%s/%s", directory, files[i]));
    const char *const argv[] = {"/bin/rm", "-rf", "--", directory, NULL};
    int pid;
    struct errinfo ei;
    if (process_start(argv, "/dev/null", &pid, &ei) == ERR_OK)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    arena_free(arena);
}

static void add_up(struct total *total, struct json_object *result)
{
    int64_t lag = json_int_at(result, 0, "lag_ms", NULL);
    total->rounds++;
    total->edits += json_int_at(result, 0, "edits", NULL);
    total->refused += json_int_at(result, 0, "refused", NULL);
    total->requests += json_int_at(result, 0, "requests", NULL);
    total->allowed += json_int_at(result, 0, "allowed", NULL);
    total->failed += json_int_at(result, 0, "failed", NULL);
    total->machine += json_int_at(result, 0, "machine", NULL);
    total->violations += (int64_t)json_len(json_at(result, "violations", NULL));
    total->troubles += json_str_at(result, "trouble", NULL) != NULL;
    for (int i = 0; i < SEEN; i++)
        total->seen[i] += json_int_at(result, 0, "seen", seen[i], NULL);
    total->lag_ms = lag > total->lag_ms ? lag : total->lag_ms;
}

/* --- shrinking */

struct search {
    const char *kind;
    int moment;
    int repeat; /* a list has held when it did so as many times */
    int tried;
};

static bool breaks_once(void *arg, const struct line *lines, size_t count)
{
    struct search *search = arg;
    struct arena *arena = arena_new();
    struct round_options options = {.lines = lines,
                                    .n_lines = count,
                                    .kind = search->kind,
                                    .moment = search->moment,
                                    .quiet = true};
    struct json_object *result = run_round(arena, options);
    struct json_object *violations = json_at(result, "violations", NULL);
    bool broken = false;
    for (size_t i = 0; i < json_len(violations); i++) {
        const char *kind = json_str_at(json_elem(violations, i), "kind", NULL);
        broken |= kind && strcmp(kind, search->kind) == 0;
    }
    printf("  try %d: %zu edits: %s\n", ++search->tried, count, broken ? "broken" : "held");
    fflush(stdout);
    forget(result);
    arena_free(arena);
    return broken;
}

static bool breaks(void *arg, const struct line *lines, size_t count)
{
    const struct search *search = arg;
    for (int i = 0; i < search->repeat; i++)
        if (breaks_once(arg, lines, count))
            return true;
    return false;
}

/* The lines of the violation's app and of the controller, up to the violation. */
static size_t lines_before(struct arena *arena, struct json_object *result,
                           struct json_object *violation, struct line *lines)
{
    struct json_object *list = json_at(result, "list", NULL);
    size_t upto = (size_t)json_int_at(violation, 0, "edits", NULL), count = 0;
    const struct app *app = app_named(json_str_at(violation, "app", NULL));
    struct errinfo ei;
    for (size_t i = 0; i < json_len(list) && i < upto && count < LIST_MAX; i++) {
        const char *text = json_object_get_string(json_elem(list, i));
        if (line_parse(arena, text, &lines[count], &ei) == ERR_OK &&
            (!app || !lines[count].app || lines[count].app == app))
            count++;
    }
    return count;
}

static void write_list(struct arena *arena, const char *path, struct json_object *violation,
                       const struct line *lines, size_t count)
{
    struct buf out;
    struct errinfo ei;
    buf_init(&out, RESULT_MAX);
    buf_printf(&out, "# %s, %s: %s\n", json_str_at(violation, "app", NULL),
               json_str_at(violation, "kind", NULL), json_str_at(violation, "text", NULL));
    for (size_t i = 0; i < count; i++)
        buf_printf(&out, "%s\n", line_text(arena, &lines[i]));
    if (file_write(path, out.data, out.len, 0644, &ei) != ERR_OK)
        fprintf(stderr, "flagger-random-edits: %s\n", ei.text);
    buf_fini(&out);
}

static void find_shortest(struct arena *arena, struct json_object *result,
                          struct json_object *violation)
{
    const char *kind = json_str_at(violation, "kind", NULL);
    const char *path = arena_printf(arena, "%s/%s-%s.edits", json_str_at(result, "directory", NULL),
                                    json_str_at(violation, "app", NULL), kind);
    struct line *lines = arena_array(arena, LIST_MAX, sizeof(*lines));
    size_t count = lines_before(arena, result, violation, lines);
    struct search search = {.kind = kind, .moment = (int)json_int_at(violation, 0, "moment", NULL)};
    if (!opt.no_shrink && count > 0) {
        /* It may need its moment: as often as that took, each shorter list is tried as well. */
        bool comes = false;
        while (!comes && search.repeat < AGAIN) {
            search.repeat++;
            comes = breaks_once(&search, lines, count);
        }
        if (comes)
            count = shrink(lines, count, (int)opt.tries, breaks, &search);
        else
            printf("  it does not come again: the whole list is kept\n");
    }
    write_list(arena, path, violation, lines, count);
    printf("  %s:\n", path);
    for (size_t i = 0; i < count; i++)
        printf("    %s\n", line_text(arena, &lines[i]));
}

static void tell_round(struct arena *arena, uint64_t seed, struct json_object *result)
{
    struct json_object *violations = json_at(result, "violations", NULL);
    const char *trouble = json_str_at(result, "trouble", NULL);
    printf("seed %llu: edits %lld (%lld refused by the API), requests %lld, failed %lld, while it "
           "was down by hand %lld, with the machine %lld; longest stall %lld ms%s%s\n",
           (unsigned long long)seed, (long long)json_int_at(result, 0, "edits", NULL),
           (long long)json_int_at(result, 0, "refused", NULL),
           (long long)json_int_at(result, 0, "requests", NULL),
           (long long)json_int_at(result, 0, "failed", NULL),
           (long long)json_int_at(result, 0, "allowed", NULL),
           (long long)json_int_at(result, 0, "machine", NULL),
           (long long)json_int_at(result, 0, "lag_ms", NULL), trouble ? "; " : "",
           trouble ? trouble : "");
    for (size_t i = 0; i < json_len(violations); i++) {
        struct json_object *it = json_elem(violations, i);
        printf("VIOLATION seed %llu %s, %s: %s (after %lld edits; logs in %s)\n",
               (unsigned long long)seed, json_str_at(it, "app", NULL),
               json_str_at(it, "kind", NULL), json_str_at(it, "text", NULL),
               (long long)json_int_at(it, 0, "edits", NULL),
               json_str_at(result, "directory", NULL));
        fflush(stdout);
        find_shortest(arena, result, it);
    }
    if (json_len(violations) == 0 && !trouble && !opt.keep)
        forget(result);
    fflush(stdout);
}

/* --- what is asked for */

static void list_all(void)
{
    printf("apps:\n");
    for (const struct app *app = apps; app->name; app++)
        printf("  %-8s %s\n", app->name, app->about);
    printf("edits that take a service down whoever the controller is, until it is repaired:\n");
    for (const struct edit *edit = edits; edit->name; edit++)
        if (edit->harm)
            printf("  %-26s %s%s\n", edit->name, edit->harm,
                   edit->mid ? " (while the canary has a share)" : "");
    printf("edits that never do:\n");
    for (const struct edit *edit = edits; edit->name; edit++)
        if (!edit->harm)
            printf("  %s\n", edit->name);
}

static size_t read_lines(struct arena *arena, const char *path, struct line *lines)
{
    struct errinfo ei;
    char *text;
    size_t count = 0;
    if (file_read(arena, path, RESULT_MAX, &text, NULL, &ei) != ERR_OK)
        goto bad;
    for (char *at = text; *at && count < LIST_MAX;) {
        size_t len = strcspn(at, "\n");
        const char *line = arena_strndup(arena, at, len);
        at += len + (at[len] == '\n');
        if (line[strspn(line, " \t")] == '\0' || line[0] == '#')
            continue;
        if (line_parse(arena, line, &lines[count++], &ei) != ERR_OK)
            goto bad;
    }
    return count;
bad:
    give_up(ei.text);
}

static void replay(struct total *total)
{
    struct arena *arena = arena_new();
    struct line *lines = arena_array(arena, LIST_MAX, sizeof(*lines));
    struct round_options options = {.lines = lines, .quiet = opt.quiet};
    options.n_lines = read_lines(arena, opt.replay, lines);
    struct json_object *result = run_round(arena, options);
    add_up(total, result);
    tell_round(arena, 0, result);
    arena_free(arena);
}

static void go_on(struct total *total)
{
    int64_t until = clock_monotonic_ms() + (int64_t)(opt.minutes * 60000);
    uint64_t seed = (uint64_t)opt.seed;
    total->first_seed = seed;
    do {
        struct arena *arena = arena_new();
        struct round_options options = {.seed = seed,
                                        .edit_ms = opt.round_ms,
                                        .quiet = opt.quiet,
                                        .without = option_split(arena, opt.without)};
        struct json_object *result = run_round(arena, options);
        add_up(total, result);
        tell_round(arena, seed, result);
        total->last_seed = seed++;
        arena_free(arena);
    } while (clock_monotonic_ms() < until);
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    struct total total = {0};
    option_parse(&program, arena, argc, argv);
    edits_read(arena);
    if (opt.list) {
        list_all();
        return 0;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    find_programs(arena);
    if (opt.replay)
        replay(&total);
    else
        go_on(&total);
    printf("edits %lld (%lld refused by the API), requests %lld, failed %lld, violations %lld, "
           "seeds %llu to %llu; %lld failed while somebody had taken the service down by hand, "
           "%lld with the machine, whose longest stall was %lld ms\n",
           (long long)total.edits, (long long)total.refused, (long long)total.requests,
           (long long)total.failed, (long long)total.violations,
           (unsigned long long)total.first_seed, (unsigned long long)total.last_seed,
           (long long)total.allowed, (long long)total.machine, (long long)total.lag_ms);
    printf("looked at:");
    for (int i = 0; i < SEEN; i++)
        printf(" %s %lld%s", seen[i], (long long)total.seen[i], i + 1 < SEEN ? "," : "\n");
    arena_free(arena);
    return total.violations > 0 || total.failed > 0 || total.troubles > 0;
}
