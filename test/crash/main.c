/*
 * flagger-crash: kills the controller at every single write of many releases.
 *
 * For each scenario: a cluster is prepared up to the moment when the release begins; one release
 * goes undisturbed; then, for each write that it made, one release is killed before that write is
 * applied, and one after it was applied and before the answer. The controller is started again at
 * once. All must end in the same cluster.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/option.h"
#include "crash/outcome.h"
#include "crash/run.h"

enum { TRIES = 4, TRIES_UNDISTURBED = 12, RUNS_MAX = 100000 };

static struct {
    const char *controller, *crds, *scenario, *write;
    int64_t jobs, late, every, watch_delay_ms;
    bool list, verbose;
} opt;

static const struct option_row rows[] = {
    OPTION(STRING, "controller", &opt.controller, .arg = "FILE",
           .help = "program to kill; flagger-controller beside this program if not given",
           .group = "What"),
    OPTION(STRING, "crds", &opt.crds, .value = "proto/crd,test/crash/crd", .arg = "DIR,...",
           .help = "directories with CustomResourceDefinitions", .group = "What"),
    OPTION(STRING, "scenario", &opt.scenario, .arg = "TEXT",
           .help = "only scenarios with this in their name", .group = "What"),
    OPTION(STRING, "write", &opt.write, .arg = "TEXT",
           .help = "only writes with this in their description, e.g. \"patch httproutes\"",
           .group = "What"),
    OPTION(INT, "every", &opt.every, .value = "1", .min = 1, .max = 10000, .arg = "N",
           .help =
               "kill at every Nth of these moments only; an odd one takes those before and after a "
               "write in turn",
           .group = "What"),
    OPTION(
        INT, "late", &opt.late, .value = "0", .min = 0, .max = 1000, .arg = "N",
        .help =
            "instead, the write at which the controller dies arrives before the next one's write "
            "number N",
        .group = "What"),
    OPTION(DURATION, "watch-delay", &opt.watch_delay_ms, .value = "0s", .arg = "DURATION",
           .help = "the watches of the controller are so late: it decides on what was",
           .group = "What"),
    OPTION(BOOL, "list", &opt.list,
           .help = "lists the writes of the undisturbed releases and kills nothing",
           .group = "How"),
    OPTION(BOOL, "verbose", &opt.verbose, .help = "one line for each release", .group = "How"),
    OPTION(INT, "jobs", &opt.jobs, .value = "0", .min = 0, .max = 64, .arg = "N",
           .help = "releases at the same time; 0: four for each processor, since they mostly wait",
           .group = "How"),
    {0},
};

static const struct option_program program = {
    .name = "flagger-crash",
    .summary = "kills the controller at every write of many releases, and looks where they end",
    .synopsis = "[OPTION...]",
    .details = "Exit status 0: every release that was killed ended as the undisturbed one did.",
    .rows = rows,
};

/* One scenario and what became of it. */
struct trial {
    const struct scenario *scenario;
    const char *snapshot;
    struct json_object *reference;
    int writes, kills, right, calls, calls_right, missed;
};

struct search {
    struct arena *arena;
    const char *directory;
    struct trial *trials;
    size_t count;
    int jobs;
    int wrong;
    int64_t run_ms; /* of the releases that were killed, in all */
    int runs;
};

static const char *trouble_of(const struct run *run)
{
    return json_str_at(run->result, "trouble", NULL);
}

static struct trial *trial_of(struct search *t, const struct run *run)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->trials[i].scenario == run->options.scenario)
            return &t->trials[i];
    }
    return NULL;
}

static struct world_options options_of(const struct trial *trial)
{
    return (struct world_options){.scenario = trial->scenario,
                                  .controller = opt.controller,
                                  .crds = opt.crds,
                                  .watch_delay_ms = opt.watch_delay_ms,
                                  .snapshot = trial->snapshot};
}

/* --- the undisturbed releases */

static void ignore(void *arg, const struct run *run)
{
    (void)arg;
    (void)run;
}

/* Moments decide what it writes: something was asked for just before it was ready, or a person
 * meddled. The shortest of several releases is the one where nothing came in between. */
static bool is_momentary(const struct trial *trial)
{
    struct json_object *writes = json_at(trial->reference, "writes", NULL);
    bool momentary = trial->scenario->meanwhile[0].name != NULL;

    for (size_t i = 0; i < json_len(writes); i++) {
        const char *key = json_str_at(json_elem(writes, i), "key", NULL);
        momentary =
            momentary || strstr(key, "waiting for rollout") || strstr(key, "observed generation");
    }
    return momentary;
}

static void take_reference(struct trial *trial, struct json_object *result)
{
    size_t before = json_len(json_at(trial->reference, "writes", NULL));

    if (!trial->reference || json_len(json_at(result, "writes", NULL)) < before)
        trial->reference = result;
}

/* True when none of them had any trouble. */
static bool run_undisturbed(struct search *t, bool prepare)
{
    struct run *runs = arena_array(t->arena, t->count, sizeof(*runs));
    size_t count = 0;
    bool good = true;

    for (size_t i = 0; i < t->count; i++) {
        if (t->trials[i].reference && !is_momentary(&t->trials[i]))
            continue;
        runs[count].options = options_of(&t->trials[i]);
        runs[count++].options.prepare = prepare;
    }
    run_all(t->arena, runs, count, t->jobs, t->directory, ignore, NULL);
    for (size_t i = 0; i < count; i++) {
        if (!trouble_of(&runs[i])) {
            if (!prepare)
                take_reference(trial_of(t, &runs[i]), runs[i].result);
            continue;
        }
        good = false;
        printf("%s, undisturbed: %s; see %s\n", runs[i].options.scenario->name,
               trouble_of(&runs[i]), runs[i].options.directory);
    }
    return good;
}

static void list_writes(const struct search *t)
{
    for (size_t i = 0; i < t->count; i++) {
        struct json_object *writes = json_at(t->trials[i].reference, "writes", NULL);
        printf("%s\n", t->trials[i].scenario->name);
        for (size_t j = 0; j < json_len(writes); j++) {
            struct json_object *write = json_elem(writes, j);
            printf("  %s #%lld  %s\n", json_str_at(write, "key", NULL),
                   (long long)json_int_at(write, 0, "number", NULL),
                   json_str_at(write, "what", NULL));
        }
    }
}

/* --- the killed ones */

/* NULL: a release with this result did not make it. */
static struct json_object *find_write(struct json_object *result, const struct kill_point *point)
{
    struct json_object *writes = json_at(result, "writes", NULL);

    for (size_t i = 0; i < json_len(writes); i++) {
        struct json_object *write = json_elem(writes, i);
        if (strcmp(json_str_at(write, "key", NULL), point->key) == 0 &&
            json_int_at(write, 0, "number", NULL) == point->number)
            return write;
    }
    return NULL;
}

static bool was_killed(const struct run *run)
{
    return json_bool_at(run->result, false, "killed", NULL);
}

static bool is_call(const struct run *run)
{
    return strncmp(run->options.point->key, "ask ", 4) == 0;
}

static void tell_wrong(struct search *t, const struct run *run)
{
    const struct kill_point *point = run->options.point;
    struct trial *trial = trial_of(t, run);
    const char *outcome = json_str_at(run->result, "outcome", NULL);

    printf("\n%s, killed %s \"%s\" #%d: %s\n  that request: %s\n  the controller's log: "
           "%s/controller.log\n",
           run->options.scenario->name, point->applied ? "after" : "before", point->key,
           point->number, trouble_of(run),
           json_str_at(find_write(trial->reference, point), "what", NULL), run->options.directory);
    if (outcome)
        printf("  undisturbed (-) and killed (+):\n%s",
               outcome_difference(t->arena, run->options.expected, outcome));
}

static void on_killed(void *arg, const struct run *run)
{
    struct search *t = arg;
    struct trial *trial = trial_of(t, run);
    bool right = !trouble_of(run);

    t->run_ms += json_int_at(run->result, 0, "milliseconds", NULL);
    t->runs++;
    if (opt.verbose)
        printf("%s, killed %s \"%s\" #%d: %s (%lld ms)\n", run->options.scenario->name,
               run->options.point->applied ? "after" : "before", run->options.point->key,
               run->options.point->number, right ? "right" : trouble_of(run),
               (long long)json_int_at(run->result, 0, "milliseconds", NULL));
    if (!was_killed(run)) {
        run_forget(t->arena, run); /* tried again */
        return;
    }
    if (is_call(run)) {
        trial->calls++;
        trial->calls_right += right;
    } else {
        trial->kills++;
        trial->right += right;
    }
    if (!right) {
        t->wrong++;
        tell_wrong(t, run);
    }
    fflush(stdout);
}

static void add_run(struct search *t, struct run *runs, size_t *count, const struct trial *trial,
                    struct json_object *write, bool applied)
{
    struct kill_point *point = ARENA_NEW(t->arena, struct kill_point);

    *point = (struct kill_point){.key = json_str_at(write, "key", NULL),
                                 .number = (int)json_int_at(write, 0, "number", NULL),
                                 .applied = applied,
                                 .late = applied ? 0 : (int)opt.late};
    if (*count == RUNS_MAX || (opt.write && !strstr(point->key, opt.write)))
        return;
    runs[*count].options = options_of(trial);
    runs[*count].options.point = point;
    runs[*count].options.expected = json_str_at(trial->reference, "outcome", NULL);
    (*count)++;
}

static size_t plan_runs(struct search *t, struct run *runs)
{
    size_t count = 0;
    int64_t moment = 0;

    for (size_t i = 0; i < t->count; i++) {
        struct trial *trial = &t->trials[i];
        struct json_object *writes = json_at(trial->reference, "writes", NULL);
        for (size_t j = 0; j < json_len(writes); j++) {
            struct json_object *write = json_elem(writes, j);
            bool call = json_bool_at(write, false, "call", NULL);
            if (call && !trial->scenario->calls)
                continue;
            trial->writes += !call;
            if (moment++ % opt.every == 0)
                add_run(t, runs, &count, trial, write, false);
            if (!call && opt.late == 0 && moment++ % opt.every == 0)
                add_run(t, runs, &count, trial, write, true);
        }
    }
    return count;
}

/*
 * True if an undisturbed release makes this write every time: asked more often than a killed one is
 * tried, for a write that comes at most times is missed four times in a row now and then. An event
 * about something that was not ready yet tells of a moment; and what a person does meanwhile meets
 * the release here or there.
 */
static bool is_certain(struct search *t, const struct run *run)
{
    struct run again = {.options = run->options};

    again.options.point = NULL;
    for (int i = 0; i < TRIES_UNDISTURBED; i++) {
        run_all(t->arena, &again, 1, 1, t->directory, ignore, NULL);
        if (trouble_of(&again))
            run_forget(t->arena, &again);
        if (!find_write(again.result, run->options.point))
            return false;
    }
    return true;
}

/* When the machine is busy, a write may come another time or not at all: those are tried again. */
static void run_killed(struct search *t)
{
    struct run *runs = arena_array(t->arena, RUNS_MAX, sizeof(*runs));
    size_t count = plan_runs(t, runs);

    for (int i = 0; i < TRIES && count > 0; i++) {
        size_t left = 0;
        run_all(t->arena, runs, count, t->jobs, t->directory, on_killed, t);
        for (size_t j = 0; j < count; j++) {
            if (was_killed(&runs[j]))
                continue;
            runs[left].options = runs[j].options;
            runs[left++].result = runs[j].result;
        }
        count = left;
    }
    for (size_t i = 0; i < count; i++) {
        bool certain = is_certain(t, &runs[i]);
        trial_of(t, &runs[i])->missed += certain;
        printf("%s: \"%s\" #%d never came again%s\n", runs[i].options.scenario->name,
               runs[i].options.point->key, runs[i].options.point->number,
               certain ? ", though it should" : ", nor does it without a crash");
    }
}

/* --- the report */

static bool report(const struct search *t, int64_t elapsed_ms)
{
    int kills = 0, right = 0, calls = 0, calls_right = 0, missed = 0;

    printf("\n  %-44s %7s %7s %7s %7s\n", "release", "writes", "killed", "right", "missed");
    for (size_t i = 0; i < t->count; i++) {
        const struct trial *trial = &t->trials[i];
        printf("  %-44s %7d %7d %7d %7d\n", trial->scenario->name, trial->writes, trial->kills,
               trial->right, trial->missed);
        kills += trial->kills;
        right += trial->right;
        calls += trial->calls;
        calls_right += trial->calls_right;
        missed += trial->missed;
    }
    printf("\n%d releases in %lld s, %lld ms each; killed between two questions to metrics or "
           "webhooks: %d, ended right: %d\n",
           t->runs, (long long)(elapsed_ms / 1000),
           (long long)(t->runs > 0 ? t->run_ms / t->runs : 0), calls, calls_right);
    printf("writes killed: %d, releases that ended right: %d\n", kills, right);
    return kills > 0 && kills == right && calls == calls_right && missed == 0;
}

static const char *beside(struct arena *arena, const char *name)
{
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (len <= 0)
        return name;
    self[len] = '\0';
    *strrchr(self, '/') = '\0';
    return arena_printf(arena, "%s/%s", self, name);
}

static size_t choose(struct search *t)
{
    size_t all;
    const struct scenario *scenarios = scenarios_read(t->arena, &all);

    t->trials = arena_array(t->arena, all, sizeof(*t->trials));
    for (size_t i = 0; i < all; i++) {
        if (opt.scenario && !strstr(scenarios[i].name, opt.scenario))
            continue;
        t->trials[t->count] = (struct trial){
            .scenario = &scenarios[i],
            .snapshot = arena_printf(t->arena, "%s/snapshot-%zu", t->directory, i),
        };
        t->count++;
    }
    return t->count;
}

static const char *temporary(struct arena *arena)
{
    const char *tmp = getenv("TMPDIR");
    char *name = arena_printf(arena, "%s/flagger-crash-XXXXXX", tmp && *tmp ? tmp : "/tmp");

    if (!mkdtemp(name)) {
        fprintf(stderr, "flagger-crash: %s: %s\n", name, strerror(errno));
        exit(2);
    }
    return name;
}

int main(int argc, char **argv)
{
    struct search t = {.arena = arena_new()};
    int64_t began = clock_monotonic_ms();
    bool good;

    option_parse(&program, t.arena, argc, argv);
    if (!opt.controller)
        opt.controller = beside(t.arena, "flagger-controller");
    t.jobs = opt.jobs > 0 ? (int)opt.jobs : 4 * (int)sysconf(_SC_NPROCESSORS_ONLN);
    t.directory = temporary(t.arena);
    if (choose(&t) == 0) {
        fprintf(stderr, "flagger-crash: no scenario has \"%s\" in its name\n", opt.scenario);
        rmdir(t.directory);
        arena_free(t.arena);
        return 2;
    }
    good = run_undisturbed(&t, true);
    for (int i = 0; i < TRIES && good; i++)
        good = run_undisturbed(&t, false);
    if (good && opt.list) {
        list_writes(&t);
    } else if (good) {
        run_killed(&t);
        good = report(&t, clock_monotonic_ms() - began);
    }
    for (size_t i = 0; i < t.count; i++)
        unlink(t.trials[i].snapshot);
    rmdir(t.directory); /* stays when a run with trouble has left its files there */
    arena_free(t.arena);
    return good ? 0 : 1;
}
