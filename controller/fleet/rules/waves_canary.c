/* Predicates of one Canary, and lookups in sorted copies: the rules evaluate them for each of up to
 * a hundred thousand Canaries. */
#include <stdlib.h>
#include <string.h>

#include "fleet/rules/waves_parts.h"

bool waves_is_initialised(const struct waves_canary *canary)
{
    return canary->phase != PHASE_NONE && canary->phase != PHASE_Initializing;
}

bool waves_rests(const struct waves_canary *canary)
{
    return canary->phase == PHASE_Initialized || canary->phase == PHASE_Succeeded ||
           canary->phase == PHASE_Failed;
}

bool waves_is_under_way(const struct waves_canary *canary)
{
    return canary->phase == PHASE_Progressing || canary->phase == PHASE_WaitingPromotion ||
           canary->phase == PHASE_Promoting || canary->phase == PHASE_Finalising;
}

bool waves_is_held(const struct waves_canary *canary)
{
    return canary->suspended && canary->mine;
}

bool waves_has_promoted(const struct waves_work *w, const struct waves_canary *canary)
{
    const char *wanted = waves_wanted(w, canary);

    return wanted && waves_rests(canary) && strcmp(canary->promoted, wanted) == 0;
}

bool waves_has_failed(const struct waves_work *w, const struct waves_canary *canary)
{
    const char *wanted = waves_wanted(w, canary);

    return wanted && canary->phase == PHASE_Failed && strcmp(canary->applied, wanted) == 0 &&
           strcmp(canary->promoted, wanted) != 0;
}

bool waves_is_accepted(const struct waves_work *w, const struct waves_canary *canary)
{
    return w->plan->accept && strcmp(w->plan->accept, canary->applied) == 0;
}

bool waves_may_be_held(const struct waves_work *w, const struct waves_canary *canary)
{
    const char *wanted = waves_wanted(w, canary);

    if (waves_rests(canary) || canary->phase == PHASE_Waiting)
        return true;
    return canary->phase == PHASE_Progressing && canary->weight == 0 && wanted &&
           strcmp(canary->applied, wanted) != 0;
}

const char *waves_key(struct arena *arena, const struct waves_cluster *cluster,
                      const struct waves_canary *canary)
{
    return arena_printf(arena, "%s/%s/%s", cluster->name, canary->namespace_, canary->name);
}

bool waves_was_let_go(const struct waves_work *w, const struct waves_cluster *cluster,
                      const struct waves_canary *canary)
{
    return waves_has_key(&w->let_go_before, cluster, canary);
}

void waves_tell(struct waves_work *w, enum waves_phase phase, const char *message)
{
    w->out->status.phase = phase;
    w->out->status.message = message;
}

void waves_look_again(struct waves_work *w, int64_t at_ms)
{
    if (w->out->again_ms == 0 || at_ms < w->out->again_ms)
        w->out->again_ms = at_ms;
}

/* --- lookups by binary search */

/* Compares the parts, joined by slashes, with the text, as strcmp() does. */
static int compare_joined(const char *const *parts, int count, const char *text)
{
    for (int i = 0; i < count; i++) {
        if (i > 0 && *text != '/')
            return '/' - (unsigned char)*text;
        text += i > 0;
        for (const char *part = parts[i]; *part; part++, text++)
            if (*part != *text)
                return (unsigned char)*part - (unsigned char)*text;
    }
    return -(int)(unsigned char)*text;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void waves_index_keys(struct arena *arena, struct waves_keys *out, const char *const *keys,
                      size_t count)
{
    out->count = count;
    out->sorted = arena_array(arena, count, sizeof(*out->sorted));
    for (size_t i = 0; i < count; i++)
        out->sorted[i] = keys[i];
    if (count > 1)
        qsort(out->sorted, count, sizeof(*out->sorted), by_text);
}

bool waves_has_key(const struct waves_keys *keys, const struct waves_cluster *cluster,
                   const struct waves_canary *canary)
{
    const char *const parts[] = {cluster->name, canary->namespace_, canary->name};
    size_t from = 0, until = keys->count;

    while (from < until) {
        size_t middle = from + (until - from) / 2;
        int order = compare_joined(parts, 3, keys->sorted[middle]);
        if (order == 0)
            return true;
        if (order > 0)
            from = middle + 1;
        else
            until = middle;
    }
    return false;
}

static int by_workload(const void *a, const void *b)
{
    return strcmp(((const struct waves_revision *)a)->workload,
                  ((const struct waves_revision *)b)->workload);
}

void waves_index_revisions(struct waves_work *w)
{
    const struct waves_status *status = &w->out->status;

    w->revisions = arena_array(w->arena, status->n_revisions, sizeof(*w->revisions));
    w->n_revisions = status->n_revisions;
    w->found_last = ARENA_NEW(w->arena, size_t);
    for (size_t i = 0; i < w->n_revisions; i++)
        w->revisions[i] = status->revisions[i];
    if (w->n_revisions > 1)
        qsort(w->revisions, w->n_revisions, sizeof(*w->revisions), by_workload);
}

const char *waves_wanted(const struct waves_work *w, const struct waves_canary *canary)
{
    const char *const parts[] = {canary->namespace_, canary->name};
    size_t from = 0, until = w->n_revisions;

    /* Consecutive lookups are mostly for the same workload, then the next. */
    for (size_t i = *w->found_last; i < w->n_revisions && i <= *w->found_last + 1; i++) {
        if (compare_joined(parts, 2, w->revisions[i].workload) != 0)
            continue;
        *w->found_last = i;
        return w->revisions[i].hash;
    }
    while (from < until) {
        size_t middle = from + (until - from) / 2;
        int order = compare_joined(parts, 2, w->revisions[middle].workload);
        if (order == 0) {
            *w->found_last = middle;
            return w->revisions[middle].hash;
        }
        if (order > 0)
            from = middle + 1;
        else
            until = middle;
    }
    return NULL;
}
