/* What is looked up for each of a hundred thousand Canaries: by halving, in sorted copies. */
#include <stdlib.h>
#include <string.h>

#include "fleet/waves_parts.h"

/* The parts, with a slash between two, as strcmp() orders them. */
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

    /* The same one is asked for several times, then the next. */
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
