#include "screen/summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

/*
 * A step's share is measured between its status write and the next one. The route is patched a
 * moment before the status, and on a busy machine we hear of the status late: so much is left out
 * at both ends.
 */
enum { MARGIN_AFTER_MS = 400, MARGIN_BEFORE_MS = 800, MIN_REQUESTS = 50 };

struct share {
    int asked;
    double measured; /* percent of the requests that this version answered */
    size_t requests;
};

/* False when the step is no weight step, or too short to measure. */
static bool measure(const struct story_options *options, const struct release *release, size_t at,
                    struct share *out)
{
    size_t count;
    const struct step *steps = observe_steps(options->observe, &count);
    if (steps[at].phase != PHASE_Progressing || steps[at].weight == 0 || at >= release->last_step)
        return false;
    struct traffic_view view =
        traffic_look(options->traffic, steps[at].at_ms + MARGIN_AFTER_MS,
                     steps[at + 1].at_ms - MARGIN_BEFORE_MS, release->version);
    if (view.requests < MIN_REQUESTS)
        return false;
    *out = (struct share){.asked = steps[at].weight,
                          .measured = 100.0 * (double)view.of_version / (double)view.requests,
                          .requests = view.requests};
    return true;
}

static bool close_enough(const struct share *share)
{
    return fabs(share->measured - share->asked) <= SUMMARY_TOLERANCE;
}

/* Steps of the same weight (halts in between) are shown each: `fn` sees them in order. */
static void each_share(const struct story_options *options,
                       void (*fn)(void *arg, const struct release *release,
                                  const struct share *share),
                       void *arg)
{
    for (int i = 0; i < options->n_releases; i++) {
        const struct release *release = &options->releases[i];
        if (!release->ended_ms)
            continue;
        for (size_t at = release->first_step; at < release->last_step; at++) {
            struct share share;
            if (measure(options, release, at, &share))
                fn(arg, release, &share);
        }
    }
}

struct print {
    const char *off, *plain;
    int shares;
    bool good;
};

static void print_share(void *arg, const struct release *release, const struct share *share)
{
    struct print *print = arg;
    bool good = close_enough(share);
    print->shares++;
    print->good &= good;
    printf("  %-14s  %5d%%  %7.1f%%  %8zu%s%s%s\n", release->version, share->asked, share->measured,
           share->requests, good ? "" : print->off, good ? "" : "  off by more than 5 points",
           good ? "" : print->plain);
}

static bool print_releases(const struct story_options *options, const struct print *print)
{
    bool good = true;
    printf("  %-14s  %-10s  %s\n", "version", "outcome", "seconds");
    for (int i = 0; i < options->n_releases; i++) {
        const struct release *release = &options->releases[i];
        if (!release->ended_ms) {
            printf("  %-14s  %snone%s\n", release->version, print->off, print->plain);
            good = false;
            continue;
        }
        bool as_asked = release->ended_as == release->outcome;
        good &= as_asked;
        printf("  %-14s  %-10s  %7.1f", release->version, phase_name(release->ended_as),
               (double)(release->ended_ms - release->began_ms) / 1000);
        if (!as_asked)
            printf("  %sexpected %s%s", print->off, phase_name(release->outcome), print->plain);
        putchar('\n');
    }
    return good;
}

bool summary_print(const struct story_options *options, const struct story *story)
{
    struct print print = {.off = options->screen->terminal ? "\033[31m" : "",
                          .plain = options->screen->terminal ? "\033[0m" : "",
                          .good = true};
    printf("\nSummary\n\n");
    bool good = print_releases(options, &print);
    printf("\n  %-14s  %6s  %8s  %8s\n", "version", "asked", "measured", "requests");
    each_share(options, print_share, &print);
    struct traffic_view all = traffic_look(options->traffic, 0, INT64_MAX, NULL);
    printf("\n  the client outside sent %zu requests: %zu failed, %zu were answered 5xx by a bad "
           "version\n",
           all.requests, all.failed, all.errors);
    if (all.failed > 0)
        printf("  %slast failure: %s%s\n", print.off, traffic_last_failure(options->traffic),
               print.plain);
    if (story_idle_requests(story) >= 0)
        printf("  an idle canary cost %lld API requests in %lld s, watches apart\n",
               (long long)story_idle_requests(story), (long long)options->idle_ms / 1000);
    if (*story_trouble(story))
        printf("  %s%s%s\n", print.off, story_trouble(story), print.plain);
    bool idle_good = story_idle_requests(story) <= 0;
    good = good && print.good && print.shares > 0 && all.failed == 0 && idle_good &&
           !*story_trouble(story);
    printf("\n%s\n", good ? "All as it should be." : "Something is off: see above.");
    fflush(stdout);
    return good;
}

static void add_share(void *arg, const struct release *release, const struct share *share)
{
    (void)release;
    struct json_object *row = json_object_new_object();
    json_set_int(row, "asked", share->asked);
    json_object_object_add(row, "measured",
                           json_object_new_double(round(share->measured * 10) / 10));
    json_set_int(row, "requests", (int64_t)share->requests);
    json_object_array_add(arg, row);
}

enum err summary_report(const struct story_options *options, const struct story *story,
                        const char *path, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    struct json_object *report = json_own(arena, json_object_new_object());
    struct json_object *releases = json_object_new_array();
    struct json_object *weights = json_object_new_array();
    struct json_object *client = json_object_new_object();
    for (int i = 0; i < options->n_releases; i++) {
        const struct release *release = &options->releases[i];
        struct json_object *row = json_object_new_object();
        json_set_str(row, "version", release->version);
        json_set_str(row, "outcome", release->ended_ms ? phase_name(release->ended_as) : "");
        json_set_str(row, "expected", phase_name(release->outcome));
        double seconds =
            release->ended_ms ? (double)(release->ended_ms - release->began_ms) / 1000 : -1;
        json_object_object_add(row, "seconds", json_object_new_double(round(seconds * 10) / 10));
        json_object_array_add(releases, row);
    }
    each_share(options, add_share, weights);
    struct traffic_view all = traffic_look(options->traffic, 0, INT64_MAX, NULL);
    json_set_int(client, "requests", (int64_t)all.requests);
    json_set_int(client, "failed", (int64_t)all.failed);
    json_object_object_add(report, "releases", releases);
    json_object_object_add(report, "weights", weights);
    json_object_object_add(report, "client", client);
    json_set_int(report, "idle_api_requests", story_idle_requests(story));
    const char *text = arena_printf(arena, "%s\n", json_text(arena, report));
    enum err err = file_write(path, text, strlen(text), 0644, ei);
    arena_free(arena);
    return err;
}
