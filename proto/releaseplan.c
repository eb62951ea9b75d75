#include "proto/releaseplan.h"

#include <string.h>

#include "base/clock.h"
#include "proto/canary_parts.h"

/*
 * Windows and freezes. A window has days, hours and a time zone, without which "9 to 5" would be
 * ambiguous; the zone is UTC or an offset, and has no daylight saving time. A freeze is defined by
 * two points in time.
 */

enum { DAYS = 7, MINUTE_MS = 60000, MAX_OFFSET_H = 14, THURSDAY = 3 };

static const char *const day_names[DAYS] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/* "09:30" in minutes; -1 if it is not a time. */
static int read_digits(const char *text)
{
    for (int i = 0; i < 5; i++) {
        bool fits = i == 2 ? text[i] == ':' : text[i] >= '0' && text[i] <= '9';
        if (!fits)
            return -1;
    }
    int hours = (text[0] - '0') * 10 + text[1] - '0',
        minutes = (text[3] - '0') * 10 + text[4] - '0';
    return text[5] == '\0' && minutes < 60 ? hours * 60 + minutes : -1;
}

static int read_hour(struct json_reader *r, struct json_object *json, const char *key)
{
    const char *text = canary_read_name(r, json, key, JSON_REQUIRED);
    int minutes = text != NULL ? read_digits(text) : 0;
    if (minutes < 0 || minutes > RELEASEPLAN_MINUTES_OF_DAY)
        json_reader_fail(r, json, key,
                         "expected a time from \"00:00\" to \"24:00\", found \"%.40s\"", text);
    return minutes;
}

static int read_zone(struct json_reader *r, struct json_object *json)
{
    const char *text = canary_read_name(r, json, "zone", JSON_REQUIRED);
    if (text == NULL || strcmp(text, "UTC") == 0)
        return 0;
    int minutes = text[0] == '+' || text[0] == '-' ? read_digits(text + 1) : -1;
    if (minutes < 0 || minutes > MAX_OFFSET_H * 60)
        json_reader_fail(r, json, "zone",
                         "expected UTC or an offset as \"+02:00\", found \"%.40s\"", text);
    return text[0] == '-' ? -minutes : minutes;
}

static void read_days(struct json_reader *r, struct json_object *json,
                      struct releaseplan_window *out)
{
    struct json_object *array = canary_read_strings(r, json, "days");
    for (int day = 0; day < DAYS; day++)
        out->days[day] = array == NULL;
    if (array != NULL && json_len(array) == 0)
        json_reader_fail(r, json, "days", "expected at least one day, found none");
    for (size_t i = 0; r->err == ERR_OK && i < json_len(array); i++) {
        const char *text = json_object_get_string(json_elem(array, i));
        int day = 0;
        while (day < DAYS && strcmp(day_names[day], text) != 0)
            day++;
        if (day == DAYS) {
            canary_fail_element(r, array, i, "Mon, Tue, Wed, Thu, Fri, Sat or Sun");
            return;
        }
        out->days[day] = true;
    }
}

static void read_window(struct json_reader *r, struct json_object *json,
                        struct releaseplan_window *out)
{
    read_days(r, json, out);
    out->from = read_hour(r, json, "from");
    out->until = read_hour(r, json, "until");
    out->offset_min = read_zone(r, json);
    if (r->err == ERR_OK && out->from >= out->until)
        json_reader_fail(r, json, "until",
                         "expected a time after from, found \"%s\"; a window over midnight is two",
                         json_str_at(json, "until", NULL));
}

static int64_t read_moment(struct json_reader *r, struct json_object *json, const char *key)
{
    const char *text = canary_read_name(r, json, key, JSON_REQUIRED);
    int64_t ms = 0;
    if (text != NULL && clock_parse(text, &ms, NULL) != ERR_OK)
        json_reader_fail(r, json, key,
                         "expected a time as \"2026-12-24T18:00:00+01:00\", found \"%.40s\"", text);
    return ms;
}

static void read_freeze(struct json_reader *r, struct json_object *json,
                        struct releaseplan_freeze *out)
{
    out->from_ms = read_moment(r, json, "from");
    out->until_ms = read_moment(r, json, "until");
    out->reason = canary_read_name(r, json, "reason", JSON_OPTIONAL);
    if (r->err == ERR_OK && out->from_ms >= out->until_ms)
        json_reader_fail(r, json, "until", "expected a time after from, found \"%s\"",
                         json_str_at(json, "until", NULL));
}

/* Array `key` with a limited number of elements; NULL if missing or invalid. */
static struct json_object *read_list(struct json_reader *r, struct json_object *spec,
                                     const char *key)
{
    struct json_object *array = json_read_array(r, spec, key, JSON_OPTIONAL);
    if (json_len(array) > RELEASEPLAN_MAX_TIMES)
        json_reader_fail(r, spec, key, "expected at most %d of them, found %zu",
                         (int)RELEASEPLAN_MAX_TIMES, json_len(array));
    return r->err == ERR_OK ? array : NULL;
}

static void releaseplan_read_times(struct json_reader *r, struct json_object *spec,
                                   struct releaseplan *out)
{
    struct json_object *windows = read_list(r, spec, "windows");
    out->n_windows = (int)json_len(windows);
    out->windows = arena_array(r->arena, json_len(windows), sizeof *out->windows);
    for (size_t i = 0; i < json_len(windows) && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, windows, i);
        if (json != NULL)
            read_window(r, json, &out->windows[i]);
    }
    struct json_object *freezes = read_list(r, spec, "freezes");
    out->n_freezes = (int)json_len(freezes);
    out->freezes = arena_array(r->arena, json_len(freezes), sizeof *out->freezes);
    for (size_t i = 0; i < json_len(freezes) && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, freezes, i);
        if (json != NULL)
            read_freeze(r, json, &out->freezes[i]);
    }
}

/* Milliseconds until this window opens; 0 if open. */
static int64_t until_window(const struct releaseplan_window *window, int64_t now_ms)
{
    const int64_t day_ms = (int64_t)RELEASEPLAN_MINUTES_OF_DAY * MINUTE_MS;
    int64_t local = now_ms + (int64_t)window->offset_min * MINUTE_MS;
    int64_t day = local / day_ms, at = local % day_ms;

    /* Day 0 of the clock was a Thursday. */
    for (int ahead = 0; ahead <= DAYS; ahead++) {
        int64_t from = ahead * day_ms + (int64_t)window->from * MINUTE_MS;
        int64_t until = ahead * day_ms + (int64_t)window->until * MINUTE_MS;
        if (window->days[(day + ahead + THURSDAY) % DAYS] && at < until)
            return from > at ? from - at : 0;
    }
    return day_ms; /* not reached, since a window has at least one day */
}

bool releaseplan_is_open(struct arena *arena, const struct releaseplan *plan, int64_t now_ms,
                         int64_t *until_ms, const char **why)
{
    char text[CLOCK_TEXT];

    for (int i = 0; i < plan->n_freezes; i++) {
        const struct releaseplan_freeze *freeze = &plan->freezes[i];
        if (now_ms < freeze->from_ms || now_ms >= freeze->until_ms)
            continue;
        *until_ms = freeze->until_ms;
        *why = arena_printf(arena, "nothing is let go before %s%s%s",
                            clock_rfc3339(freeze->until_ms, text), freeze->reason ? ": " : "",
                            freeze->reason ? freeze->reason : "");
        return false;
    }
    int64_t least = plan->n_windows > 0 ? INT64_MAX : 0;
    for (int i = 0; i < plan->n_windows; i++) {
        int64_t wait = until_window(&plan->windows[i], now_ms);
        least = wait < least ? wait : least;
    }
    if (least == 0)
        return true;
    *until_ms = now_ms + least;
    *why = arena_printf(arena, "the next window begins at %s", clock_rfc3339(*until_ms, text));
    return false;
}

/* --- the plan */

enum { DEFAULT_GATE_TIMEOUT_MS = 10000, MAX_COUNT = 100000, PERCENT = 100 };

static const char *or_else(const char *text, const char *missing)
{
    return text != NULL ? text : missing;
}

static void read_metadata(struct json_reader *r, struct json_object *object,
                          struct releaseplan *out)
{
    const char *kind = json_read_str(r, object, "kind", JSON_OPTIONAL);
    if (kind != NULL && strcmp(kind, "ReleasePlan") != 0)
        json_reader_fail(r, object, "kind", "expected ReleasePlan, found \"%s\"", kind);
    const char *version = json_read_str(r, object, "apiVersion", JSON_OPTIONAL);
    if (version != NULL && strcmp(version, "flagger.app/v1alpha1") != 0)
        json_reader_fail(r, object, "apiVersion", "expected flagger.app/v1alpha1, found \"%s\"",
                         version);
    struct json_object *metadata = json_read_obj(r, object, "metadata", JSON_REQUIRED);
    out->name = application_read_name(r, metadata, "name", JSON_REQUIRED, APPLICATION_MAX_NAME);
    out->namespace_ = or_else(
        application_read_name(r, metadata, "namespace", JSON_OPTIONAL, APPLICATION_MAX_LABEL),
        "default");
    out->uid = or_else(json_read_str(r, metadata, "uid", JSON_OPTIONAL), "");
    out->resource_version =
        or_else(json_read_str(r, metadata, "resourceVersion", JSON_OPTIONAL), "");
    out->generation = json_read_int(r, metadata, "generation", 0, INT64_MAX, 0);
    out->deleting = json_read_str(r, metadata, "deletionTimestamp", JSON_OPTIONAL) != NULL;
    struct json_object *notes = canary_read_map(r, metadata, "annotations");
    out->accept = canary_read_name(r, notes, RELEASEPLAN_ACCEPT, JSON_OPTIONAL);
}

/* At least two Applications, with no repetition. */
static void read_train(struct json_reader *r, struct json_object *spec, struct releaseplan *out)
{
    struct json_object *array = canary_read_strings(r, spec, "train");
    size_t n = json_len(array);
    if (array == NULL)
        return;
    if (n < 2 || n > RELEASEPLAN_MAX_TRAIN)
        json_reader_fail(r, spec, "train", "expected 2 to %d Applications, found %zu",
                         (int)RELEASEPLAN_MAX_TRAIN, n);
    out->train = arena_array(r->arena, n, sizeof *out->train);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        out->train[i] = json_object_get_string(json_elem(array, i));
        for (size_t j = 0; j < i && r->err == ERR_OK; j++)
            if (strcmp(out->train[i], out->train[j]) == 0)
                canary_fail_element(r, array, i, "another Application than those before");
        out->n_train = (int)i + 1;
    }
}

/* Exactly one of three ways selects the Canaries. */
static void check_canaries(struct json_reader *r, struct json_object *spec,
                           const struct releaseplan *out, struct json_object *canaries)
{
    const char *first = out->application != NULL ? "application" : "train";
    if (out->application != NULL && out->train != NULL)
        json_reader_fail(r, spec, "train", "expected none beside application, found both");
    else if (canaries != NULL && (out->application != NULL || out->train != NULL))
        json_reader_fail(r, spec, "canaries", "expected none beside %s, found both", first);
    else if (canaries == NULL && out->application == NULL && out->train == NULL)
        json_reader_fail(r, spec, NULL,
                         "expected application, train or canaries, found none of them");
}

/* Selects the Canaries: of Applications, or of a namespace on the clusters of a destination. */
static void read_canaries(struct json_reader *r, struct json_object *spec, struct releaseplan *out)
{
    out->application =
        application_read_name(r, spec, "application", JSON_OPTIONAL, APPLICATION_MAX_NAME);
    struct json_object *canaries = json_read_obj(r, spec, "canaries", JSON_OPTIONAL);
    bool has_destination = application_read_destination(r, spec, &out->destination);
    read_train(r, spec, out);
    if (r->err == ERR_OK)
        check_canaries(r, spec, out, canaries);
    if (r->err == ERR_OK && canaries == NULL && has_destination)
        json_reader_fail(r, spec, "destination",
                         "expected none beside %s, whose own clusters count",
                         out->application != NULL ? "application" : "train");
    if (r->err != ERR_OK || canaries == NULL)
        return;
    out->canaries_namespace =
        application_read_name(r, canaries, "namespace", JSON_REQUIRED, APPLICATION_MAX_LABEL);
    struct json_object *selector = json_read_obj(r, canaries, "selector", JSON_OPTIONAL);
    out->canaries_labels = selector != NULL ? canary_read_map(r, selector, "matchLabels") : NULL;
    if (!has_destination)
        json_reader_fail(r, spec, "destination",
                         "required: expected the fleet whose clusters have these Canaries");
}

static struct releaseplan_gate *read_gate(struct json_reader *r, struct json_object *wave)
{
    struct json_object *json = json_read_obj(r, wave, "gate", JSON_OPTIONAL);
    if (json == NULL)
        return NULL;
    struct releaseplan_gate *gate = ARENA_NEW(r->arena, struct releaseplan_gate);
    gate->url = canary_read_name(r, json, "url", JSON_REQUIRED);
    if (gate->url != NULL && strncmp(gate->url, "http://", 7) != 0 &&
        strncmp(gate->url, "https://", 8) != 0)
        json_reader_fail(r, json, "url", "expected http:// or https://, found \"%.80s\"",
                         gate->url);
    gate->timeout_ms = json_read_duration(r, json, "timeout", DEFAULT_GATE_TIMEOUT_MS);
    if (r->err == ERR_OK && gate->timeout_ms == 0)
        json_reader_fail(r, json, "timeout", "expected a duration above 0s, found \"%s\"",
                         json_str_at(json, "timeout", NULL));
    if (gate->timeout_ms > HOOK_MAX_MS)
        gate->timeout_ms = HOOK_MAX_MS;
    gate->metadata = canary_read_map(r, json, "metadata");
    return gate;
}

/* The last wave has no successor, and the first one never waits, so settings for that would have no
 * effect. */
static void check_place(struct json_reader *r, struct json_object *json,
                        const struct releaseplan_wave *wave, int index, int count)
{
    if (index == 0 && wave->max_concurrent > 0)
        json_reader_fail(r, json, "maxConcurrent",
                         "expected none, for the Canaries of the first wave are never held");
    if (index < count - 1)
        return;
    if (wave->soak_ms > 0)
        json_reader_fail(r, json, "soak", "expected none, for nothing comes after the last wave");
    if (wave->gate != NULL)
        json_reader_fail(r, json, "gate", "expected none, for nothing comes after the last wave");
}

static void check_name(struct json_reader *r, struct json_object *json,
                       const struct releaseplan *out, int index)
{
    for (int i = 0; r->err == ERR_OK && i < index; i++) {
        if (strcmp(out->waves[i].name, out->waves[index].name) == 0)
            json_reader_fail(r, json, "name",
                             "expected another name than that of waves[%d], found \"%s\"", i,
                             out->waves[index].name);
    }
}

static void read_wave(struct json_reader *r, struct json_object *json, struct releaseplan *out,
                      int index)
{
    struct releaseplan_wave *wave = &out->waves[index];
    wave->name = application_read_name(r, json, "name", JSON_REQUIRED, APPLICATION_MAX_LABEL);
    check_name(r, json, out, index);
    struct json_object *selector = json_read_obj(r, json, "clusterSelector", JSON_OPTIONAL);
    wave->labels = selector != NULL ? canary_read_map(r, selector, "matchLabels") : NULL;
    wave->max_concurrent = canary_read_int(r, json, "maxConcurrent", 0, MAX_COUNT, 0);
    wave->max_failed = canary_read_int(r, json, "maxFailed", 0, MAX_COUNT, 0);
    wave->soak_ms = json_read_duration(r, json, "soak", 0);
    wave->deadline_ms = json_read_duration(r, json, "deadline", 0);
    wave->gate = read_gate(r, json);
    check_place(r, json, wave, index, out->n_waves);
    if (out->n_train > 0 && wave->max_failed > 0)
        json_reader_fail(r, json, "maxFailed",
                         "expected none with a train, for one that fails holds all");
}

static void read_waves(struct json_reader *r, struct json_object *spec, struct releaseplan *out)
{
    struct json_object *array = json_read_array(r, spec, "waves", JSON_REQUIRED);
    size_t n = json_len(array);
    if (r->err == ERR_OK && (n < 1 || n > RELEASEPLAN_MAX_WAVES))
        json_reader_fail(r, spec, "waves", "expected 1 to %d of them, found %zu",
                         (int)RELEASEPLAN_MAX_WAVES, n);
    if (r->err != ERR_OK)
        return;
    out->waves = arena_array(r->arena, n, sizeof *out->waves);
    out->n_waves = (int)n;
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, array, i);
        if (json != NULL)
            read_wave(r, json, out, (int)i);
    }
}

enum err releaseplan_view(struct arena *arena, struct json_object *object, struct releaseplan *out,
                          struct errinfo *ei)
{
    *out = (struct releaseplan){.json = object};
    if (!json_object_is_type(object, json_type_object))
        return err_set(ei, ERR_INVALID, "expected a ReleasePlan object, found %.40s",
                       json_text(arena, object));
    struct json_reader r = {.arena = arena};
    read_metadata(&r, object, out);
    struct json_object *spec = json_read_obj(&r, object, "spec", JSON_REQUIRED);
    if (spec != NULL) {
        read_canaries(&r, spec, out);
        read_waves(&r, spec, out);
        releaseplan_read_times(&r, spec, out);
        struct json_object *budget = json_read_obj(&r, spec, "budget", JSON_OPTIONAL);
        if (budget != NULL) {
            out->max_concurrent = canary_read_int(&r, budget, "maxConcurrent", 1, MAX_COUNT, 0);
            out->max_replicas_percent =
                canary_read_int(&r, budget, "maxReplicasPercent", 1, PERCENT, 0);
        }
    }
    if (r.err != ERR_OK)
        return err_set(ei, r.err, "%s", r.info.text);
    return ERR_OK;
}
