/*
 * When clusters may be let go. A window says its days, hours and zone, for "9 to 5" alone is another
 * time for each reader; the zone is UTC or an offset, which does not move in spring. A freeze is two
 * points in time.
 */
#include <string.h>

#include "base/clock.h"
#include "proto/canary_parts.h"
#include "proto/releaseplan.h"

enum { DAYS = 7, MINUTE_MS = 60000, MAX_OFFSET_H = 14, THURSDAY = 3 };

static const char *const day_names[DAYS] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/* "09:30" in minutes; -1: it is none. */
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

/* Array `key` of at most so many; NULL: none, or a mistake. */
static struct json_object *read_list(struct json_reader *r, struct json_object *spec,
                                     const char *key)
{
    struct json_object *array = json_read_array(r, spec, key, JSON_OPTIONAL);
    if (json_len(array) > RELEASEPLAN_MAX_TIMES)
        json_reader_fail(r, spec, key, "expected at most %d of them, found %zu",
                         (int)RELEASEPLAN_MAX_TIMES, json_len(array));
    return r->err == ERR_OK ? array : NULL;
}

void releaseplan_read_times(struct json_reader *r, struct json_object *spec,
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

/* How long until this window is open, in ms; 0: it is now. */
static int64_t until_window(const struct releaseplan_window *window, int64_t now_ms)
{
    const int64_t day_ms = (int64_t)RELEASEPLAN_MINUTES_OF_DAY * MINUTE_MS;
    int64_t local = now_ms + (int64_t)window->offset_min * MINUTE_MS;
    int64_t day = local / day_ms, at = local % day_ms;

    /* The first day of the clock was a Thursday. */
    for (int ahead = 0; ahead <= DAYS; ahead++) {
        int64_t from = ahead * day_ms + (int64_t)window->from * MINUTE_MS;
        int64_t until = ahead * day_ms + (int64_t)window->until * MINUTE_MS;
        if (window->days[(day + ahead + THURSDAY) % DAYS] && at < until)
            return from > at ? from - at : 0;
    }
    return day_ms; /* not reached: a window has a day */
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
