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

struct asked {
    uint64_t sequence; /* 0: unused */
    int64_t time_ms;
    char *agent, *verb, *resource, *path;
    int status;
};

struct apistats {
    struct row *rows;
    size_t count, cap;
    struct asked ring[APISTATS_RING];
    uint64_t last;
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

static void clear_asked(struct asked *it)
{
    free(it->agent);
    free(it->verb);
    free(it->resource);
    free(it->path);
    *it = (struct asked){0};
}

void apistats_free(struct apistats *stats)
{
    if (!stats)
        return;
    apistats_reset(stats);
    for (size_t i = 0; i < APISTATS_RING; i++)
        clear_asked(&stats->ring[i]);
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

uint64_t apistats_begin(struct apistats *stats, const char *agent, const char *verb,
                        const char *resource, const char *path, int64_t now_ms)
{
    if (strncmp(path, "/sandbox/", 9) != 0)
        take(stats, agent, verb, resource)->count++;
    struct asked *it = &stats->ring[++stats->last % APISTATS_RING];
    clear_asked(it);
    *it = (struct asked){
        .sequence = stats->last,
        .time_ms = now_ms,
        .agent = heap_strdup(agent),
        .verb = heap_strdup(verb),
        .resource = heap_strdup(resource),
        .path = heap_strdup(path),
    };
    return stats->last;
}

void apistats_finish(struct apistats *stats, uint64_t sequence, int status)
{
    struct asked *it = &stats->ring[sequence % APISTATS_RING];
    if (it->sequence == sequence)
        it->status = status;
}

static bool is_quiet(const struct row *row)
{
    return strcmp(row->verb, "watch") == 0 ||
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

struct json_object *apistats_requests(const struct apistats *stats, struct arena *arena,
                                      uint64_t since)
{
    struct json_object *list = form(arena, "[]");
    uint64_t first = stats->last > APISTATS_RING ? stats->last - APISTATS_RING + 1 : 1;
    for (uint64_t seq = since + 1 > first ? since + 1 : first; seq <= stats->last; seq++) {
        const struct asked *it = &stats->ring[seq % APISTATS_RING];
        char text[CLOCK_TEXT];
        form_add(list, form(arena,
                            "{seq: %zu, time: %s, agent: %s, verb: %s, resource: %s, path: %s, "
                            "status: %d}",
                            it->sequence, clock_rfc3339_micro(it->time_ms, text), it->agent,
                            it->verb, it->resource, it->path, it->status));
    }
    return form(arena, "{last: %zu, requests: %p}", stats->last, list);
}
