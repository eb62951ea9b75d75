/* spec.pushes: when releases begin, and how many in a day. */
#include "proto/canary.h"

#include <ctype.h>
#include <string.h>

#include "proto/canary_parts.h"

enum {
    WEEK = 7,
    HOUR = 60,       /* minutes */
    DAY = 24 * HOUR, /* minutes */
    MINUTE_MS = 60 * 1000,
    FIRST_DAY = 3, /* 1970-01-01 was a Thursday; Monday is 0 */
    ALL_DAYS = (1 << WEEK) - 1,
    MOST_OFFSET = 14 * HOUR,
};

static const char *const days[WEEK] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/* "hh:mm" in minutes; -1 if it is none. */
static int parse_minutes(const char *text)
{
    if (strlen(text) != strlen("hh:mm") || text[2] != ':')
        return -1;
    for (int i = 0; i < 5; i++)
        if (i != 2 && !isdigit((unsigned char)text[i]))
            return -1;
    int hours = (text[0] - '0') * 10 + text[1] - '0',
        minutes = (text[3] - '0') * 10 + text[4] - '0';
    return minutes < HOUR ? hours * HOUR + minutes : -1;
}

static int read_minutes(struct json_reader *r, struct json_object *json, const char *key, int most)
{
    const char *text = json_read_str(r, json, key, JSON_REQUIRED);
    int minutes = text != NULL ? parse_minutes(text) : 0;

    if (minutes < 0 || minutes > most)
        json_reader_fail(r, json, key, "expected a time from 00:00 to %02d:%02d, found \"%s\"",
                         most / HOUR, most % HOUR, text);
    return minutes;
}

static struct zone fixed(int minutes)
{
    return (struct zone){.offset = minutes, .summer = minutes};
}

/* "UTC", "+02:00" or "Europe/Berlin" */
static struct zone read_zone(struct json_reader *r, struct json_object *json, struct zone missing)
{
    const char *text = canary_read_name(r, json, "timeZone", JSON_OPTIONAL);
    struct zone zone;

    if (text == NULL)
        return missing;
    if (strcmp(text, "UTC") == 0)
        return fixed(0);
    if (zone_find(text, &zone))
        return zone;
    int minutes = text[0] == '+' || text[0] == '-' ? parse_minutes(text + 1) : -1;
    if (minutes < 0 || minutes > MOST_OFFSET)
        json_reader_fail(r, json, "timeZone",
                         "expected UTC, a time zone such as Europe/Berlin, or an offset such as "
                         "+02:00, up to 14 hours, found \"%s\"",
                         text);
    return fixed(text[0] == '-' ? -minutes : minutes);
}

static unsigned read_days(struct json_reader *r, struct json_object *json)
{
    struct json_object *array = canary_read_strings(r, json, "days");
    size_t n = json_len(array);
    unsigned out = 0;

    if (array == NULL)
        return ALL_DAYS;
    if (n == 0 || n > WEEK)
        json_reader_fail(r, json, "days", "expected 1 to %d days, found %zu", (int)WEEK, n);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        const char *text = json_object_get_string(json_elem(array, i));
        int day = 0;
        while (day < WEEK && strcmp(days[day], text) != 0)
            day++;
        if (day == WEEK)
            canary_fail_element(r, array, i, "Mon, Tue, Wed, Thu, Fri, Sat or Sun");
        else if (out & 1u << day)
            canary_fail_element(r, array, i, "each day once");
        else
            out |= 1u << day;
    }
    return out;
}

static void read_windows(struct json_reader *r, struct json_object *json, struct canary_pushes *out)
{
    struct json_object *array = json_read_array(r, json, "windows", JSON_OPTIONAL);
    size_t n = json_len(array);

    if (array == NULL)
        return;
    if (n == 0 || n > CANARY_MAX_WINDOWS)
        json_reader_fail(r, json, "windows", "expected 1 to %d windows, found %zu",
                         (int)CANARY_MAX_WINDOWS, n);
    out->windows = arena_array(r->arena, n, sizeof *out->windows);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *element = canary_read_element(r, array, i);
        if (element == NULL)
            return;
        struct canary_window *window = &out->windows[i];
        *window = (struct canary_window){
            .days = read_days(r, element),
            .from = read_minutes(r, element, "from", DAY - 1),
            .to = read_minutes(r, element, "to", DAY),
            .zone = read_zone(r, element, out->zone),
        };
        if (r->err == ERR_OK && window->from == window->to)
            json_reader_fail(r, element, "to", "expected another time than from, found both at %s",
                             json_str_at(element, "to", NULL));
    }
    out->n_windows = (int)n;
}

void canary_read_pushes(struct json_reader *r, struct json_object *spec, struct canary_pushes *out)
{
    struct json_object *json = json_read_obj(r, spec, "pushes", JSON_OPTIONAL);

    if (json == NULL)
        return;
    canary_read_fields(r, json, FIELDS_PUSHES, out);
    out->zone = read_zone(r, json, fixed(0));
    read_windows(r, json, out);
    if (r->err == ERR_OK && out->per_day == 0 && out->n_windows == 0)
        json_reader_fail(r, json, NULL, "expected perDay, windows or both, found neither");
}

/* --- the calendar */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static bool is_day_of(const struct canary_window *window, int64_t day)
{
    int64_t of_week = (day + FIRST_DAY) % WEEK;

    return (window->days & 1u << ((of_week + WEEK) % WEEK)) != 0;
}

/* The first minute from `now` on at which it is open, both in UTC. */
static int64_t opens_at(const struct canary_window *window, int64_t now)
{
    int64_t today = floor_div(now + zone_offset(&window->zone, now), DAY);
    int lasts = window->to - window->from + (window->to <= window->from ? DAY : 0);

    /* one that began yesterday may last until today; one that the clocks leave out comes in a week */
    for (int64_t day = today - 1; day <= today + 2 * WEEK; day++) {
        int64_t local = day * DAY + window->from;
        int64_t begins = zone_to_utc(&window->zone, local);
        int64_t ends = zone_to_utc(&window->zone, local + lasts);
        if (is_day_of(window, day) && begins < ends && now < ends)
            return now > begins ? now : begins;
    }
    return now; /* not reached: each window has a day */
}

int64_t canary_pushes_open_ms(const struct canary_pushes *pushes, int64_t now_ms)
{
    int64_t now = floor_div(now_ms, MINUTE_MS), first = INT64_MAX;

    for (int i = 0; i < pushes->n_windows; i++) {
        int64_t at = opens_at(&pushes->windows[i], now);
        first = at < first ? at : first;
    }
    return pushes->n_windows == 0 || first == now ? now_ms : first * MINUTE_MS;
}

static int64_t day_ms(const struct canary_pushes *pushes, int64_t now_ms, int later)
{
    int64_t now = floor_div(now_ms, MINUTE_MS);
    int64_t day = floor_div(now + zone_offset(&pushes->zone, now), DAY) + later;

    return zone_to_utc(&pushes->zone, day * DAY) * MINUTE_MS;
}

int64_t canary_pushes_day_ms(const struct canary_pushes *pushes, int64_t now_ms)
{
    return day_ms(pushes, now_ms, 0);
}

int64_t canary_pushes_next_day_ms(const struct canary_pushes *pushes, int64_t now_ms)
{
    return day_ms(pushes, now_ms, 1);
}
