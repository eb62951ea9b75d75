#include "api/apistats.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "object/form.h"
#include "object/meta.h"

struct row {
    char *agent, *verb, *resource;
    int64_t count, bytes, events;
};

struct apistats {
    struct row *rows;
    size_t count, cap;
    int64_t since_ms;
};

struct apistats *apistats_new(void)
{
    struct apistats *stats = heap_alloc(sizeof(*stats));
    *stats = (struct apistats){.since_ms = clock_wall_ms()};
    return stats;
}

void apistats_reset(struct apistats *stats)
{
    for (size_t i = 0; i < stats->count; i++) {
        free(stats->rows[i].agent);
        free(stats->rows[i].verb);
        free(stats->rows[i].resource);
    }
    stats->count = 0;
    stats->since_ms = clock_wall_ms();
}

void apistats_free(struct apistats *stats)
{
    if (!stats)
        return;
    apistats_reset(stats);
    free(stats->rows);
    free(stats);
}

static struct row *find(struct apistats *stats, const char *agent, const char *verb,
                        const char *resource)
{
    for (size_t i = 0; i < stats->count; i++) {
        struct row *row = &stats->rows[i];
        if (strcmp(row->agent, agent) == 0 && strcmp(row->verb, verb) == 0 &&
            strcmp(row->resource, resource) == 0)
            return row;
    }
    return NULL;
}

/* The row of these texts, which is made if there is none. */
static struct row *take(struct apistats *stats, const char *agent, const char *verb,
                        const char *resource)
{
    struct row *row = find(stats, agent, verb, resource);
    if (row)
        return row;
    /* The last rows are for the verbs of all who come too late. */
    enum { FOR_OTHERS = 16 };
    if (stats->count >= APISTATS_ROWS_MAX - FOR_OTHERS && *resource)
        return take(stats, "others", verb, "");
    if (stats->count == stats->cap) {
        stats->cap = stats->cap ? stats->cap * 2 : 32;
        stats->rows = heap_grow(stats->rows, stats->cap * sizeof(*stats->rows));
    }
    row = &stats->rows[stats->count++];
    *row = (struct row){
        .agent = heap_strdup(agent), .verb = heap_strdup(verb), .resource = heap_strdup(resource)};
    return row;
}

void apistats_sent(struct apistats *stats, const char *agent, const char *verb,
                   const char *resource, size_t bytes, int events)
{
    struct row *row = find(stats, agent, verb, resource);
    if (!row) /* one of too many, or the counts were reset since */
        return;
    row->bytes += (int64_t)bytes;
    row->events += events;
}

void apistats_count(struct apistats *stats, const char *agent, const char *verb,
                    const char *resource)
{
    take(stats, agent, verb, resource)->count++;
}

static bool is_quiet(const struct row *row)
{
    return strcmp(row->verb, "watch") == 0 || !*row->resource ||
           strcmp(row->resource, "leases.coordination.k8s.io") == 0;
}

static void add_to(struct json_object *obj, const char *key, int64_t by)
{
    json_set_int(obj, key, json_int_at(obj, 0, key, NULL) + by);
}

struct json_object *apistats_counts(const struct apistats *stats, struct arena *arena)
{
    struct json_object *rows = form(arena, "[]"), *agents = form(arena, "{}");
    struct json_object *out =
        form(arena, "{since: %s, requests: 0, busy: 0, agents: %p, counts: %p}",
             meta_time(arena, stats->since_ms), agents, rows);
    for (size_t i = 0; i < stats->count; i++) {
        const struct row *row = &stats->rows[i];
        int64_t busy = is_quiet(row) ? 0 : row->count;
        struct json_object *agent = json_sub(agents, row->agent);
        add_to(out, "requests", row->count);
        add_to(out, "busy", busy);
        add_to(agent, "requests", row->count);
        add_to(agent, "busy", busy);
        form_add(rows,
                 form(arena,
                      "{agent: %s, verb: %s, resource: %s, count: %ld, bytes: %ld, events: %ld}",
                      row->agent, row->verb, row->resource, row->count, row->bytes, row->events));
    }
    return out;
}
