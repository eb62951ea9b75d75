#include "loadtester/verdict.h"

#include <stdlib.h>
#include <string.h>

struct verdict {
    struct verdict *next;
    char *canary, *key, *checksum, *sentence;
    size_t bytes;
};

/* Newest first. */
struct verdicts {
    struct verdict *first;
    int count;
    size_t bytes;
};

static const char *bound_sentence(struct arena *arena, const struct task_bounds *bounds,
                                  const struct summary *summary)
{
    double rate = summary_error_rate(summary);

    if (summary->requests == 0)
        return arena_printf(arena, "%s made no request", summary->tool);
    if (bounds->max_error_rate >= 0 && rate > bounds->max_error_rate)
        return arena_printf(
            arena, "%.3g%% of the requests failed (%lld of %lld), maxErrorRate is %g%%", rate,
            (long long)summary->errors, (long long)summary->requests, bounds->max_error_rate);
    if (bounds->max_error_rate < 0 && bounds->fail_on_error && summary->errors > 0)
        return arena_printf(arena, "%.3g%% of the requests failed (%lld of %lld)", rate,
                            (long long)summary->errors, (long long)summary->requests);
    if (bounds->max_p99_ms >= 0 && summary->p99_ms > bounds->max_p99_ms)
        return arena_printf(arena, "99%% of the requests took up to %.4gms, maxP99 is %.4gms",
                            summary->p99_ms, bounds->max_p99_ms);
    if (bounds->max_p99_ms >= 0 && summary->p99_ms < 0)
        return arena_printf(arena, "%s did not say how long 99%% of the requests took",
                            summary->tool);
    return NULL;
}

const char *verdict_sentence(struct arena *arena, const struct task_plan *plan, const char *error,
                             const struct summary *summary)
{
    const struct task_bounds *bounds = &plan->bounds;
    bool measured = bounds->max_error_rate >= 0 || bounds->max_p99_ms >= 0;
    const char *why = NULL;

    if (!measured && !bounds->fail_on_error)
        return NULL;
    if (summary)
        why = bound_sentence(arena, bounds, summary);
    else if (measured)
        why = error ? error : "no summary of hey, ghz or wrk in its output";
    if (!why && bounds->fail_on_error)
        why = error;
    return why ? arena_printf(arena, "load test \"%s\" failed: %s", plan->text, why) : NULL;
}

struct verdicts *verdicts_new(void)
{
    struct verdicts *verdicts = heap_alloc(sizeof(*verdicts));
    *verdicts = (struct verdicts){0};
    return verdicts;
}

/* Unlinks and frees. */
static void drop(struct verdicts *verdicts, struct verdict **link)
{
    struct verdict *verdict = *link;

    *link = verdict->next;
    verdicts->count--;
    verdicts->bytes -= verdict->bytes;
    free(verdict->canary);
    free(verdict->key);
    free(verdict->checksum);
    free(verdict->sentence);
    free(verdict);
}

void verdicts_free(struct verdicts *verdicts)
{
    if (!verdicts)
        return;
    while (verdicts->first)
        drop(verdicts, &verdicts->first);
    free(verdicts);
}

static struct verdict **find(struct verdicts *verdicts, const char *canary, const char *key)
{
    struct verdict **link = &verdicts->first;

    while (*link && (strcmp((*link)->canary, canary) != 0 || strcmp((*link)->key, key) != 0))
        link = &(*link)->next;
    return link;
}

static void drop_oldest(struct verdicts *verdicts)
{
    struct verdict **link = &verdicts->first;

    while ((*link)->next)
        link = &(*link)->next;
    drop(verdicts, link);
}

void verdicts_put(struct verdicts *verdicts, const char *canary, const char *key,
                  const char *checksum, const char *sentence)
{
    struct verdict **old = find(verdicts, canary, key);

    if (*old)
        drop(verdicts, old);
    if (!sentence)
        return;
    struct verdict *verdict = heap_alloc(sizeof(*verdict));
    *verdict = (struct verdict){.next = verdicts->first,
                                .canary = heap_strdup(canary),
                                .key = heap_strdup(key),
                                .checksum = heap_strdup(checksum),
                                .sentence = heap_strdup(sentence),
                                .bytes = strlen(canary) + strlen(key) + strlen(checksum) +
                                         strlen(sentence)};
    verdicts->first = verdict;
    verdicts->count++;
    verdicts->bytes += verdict->bytes;
    while (verdicts->count > VERDICT_KEPT || verdicts->bytes > VERDICT_BYTES)
        drop_oldest(verdicts);
}

const char *verdicts_take(struct verdicts *verdicts, struct arena *arena, const char *canary,
                          const char *key, const char *checksum)
{
    struct verdict **link = find(verdicts, canary, key);
    const char *sentence = NULL;

    if (!*link)
        return NULL;
    if (strcmp((*link)->checksum, checksum) == 0)
        sentence = arena_strdup(arena, (*link)->sentence);
    drop(verdicts, link);
    return sentence;
}
