#include "decide/release/steering.h"

#include <string.h>

#include "base/clock.h"
#include "decide/release/status.h"
#include "tick/edit.h"

/* Fields of status, and of status.steer. */
static const char paused[] = "paused", steer[] = "steer";
static const char skip[] = "skip", again[] = "restart", resumed[] = "resumed";
static const char configs[] = "checksum"; /* of what is skipped: template and configs */

const char *steering_revision(const struct release *r)
{
    return release_is_analysing(r) || release_is_promoting(r) ? r->canary->status.last_applied_spec
                                                              : r->info.hash;
}

static const char *noted(const struct release *r, const char *group, const char *key)
{
    const char *text = json_str_at(r->canary->status.json, group, key, NULL);

    return text ? text : "";
}

static bool is_of_this(const struct release *r, const char *group, const char *key)
{
    const char *revision = noted(r, group, key);

    return *revision && strcmp(revision, steering_revision(r)) == 0;
}

bool steering_is_paused(const struct release *r)
{
    return json_object_is_type(json_at(r->canary->status.json, paused, NULL), json_type_object);
}

/* The target decides, whatever is released at the moment. */
bool steering_is_analysed_again(const struct release *r)
{
    const char *revision = noted(r, steer, again);

    return *revision && strcmp(revision, r->info.hash) == 0;
}

bool steering_ends_analysis(const struct release *r)
{
    const char *checksum = noted(r, steer, configs);

    return is_of_this(r, steer, skip) && (!*checksum || strcmp(checksum, release_checksum(r)) == 0);
}

/* A time that lies ahead was written with a clock that was wrong. */
bool steering_stops_clock(const struct release *r)
{
    int64_t at, deadline = r->canary->progress_deadline_s * (int64_t)1000;
    const char *time = noted(r, steer, resumed);

    if (steering_is_paused(r))
        return true;
    return *time && clock_parse(time, &at, NULL) == ERR_OK && at <= r->tick->now_ms &&
           r->tick->now_ms - at < deadline;
}

static void note(struct release *r, const char *key, const char *text)
{
    struct json_object *notes = json_sub(release_status(r), steer);

    json_set(notes, key, NULL);
    json_set_str(notes, key, text);
}

void steering_pause(struct release *r, const char *by, const char *why)
{
    struct json_object *out = edit_object(r->tick->arena);
    char now[CLOCK_TEXT];

    json_set_str(out, "revision", steering_revision(r));
    json_set_str(out, "by", by);
    json_set_str(out, "why", why);
    json_set_str(out, "since", clock_rfc3339(r->tick->now_ms, now));
    status_object(r, paused, out);
}

void steering_resume(struct release *r)
{
    char now[CLOCK_TEXT];

    status_object(r, paused, NULL);
    status_forget_waits(r);
    note(r, resumed, clock_rfc3339(r->tick->now_ms, now));
}

void steering_analyse_again(struct release *r)
{
    note(r, again, r->info.hash);
}

void steering_end_analysis(struct release *r)
{
    if (steering_is_paused(r))
        steering_resume(r);
    note(r, skip, steering_revision(r));
    note(r, configs, release_checksum(r));
}

static void forget(struct release *r, const char *field)
{
    if (json_at(r->canary->status.json, field, NULL))
        status_object(r, field, NULL);
}

void steering_end_pause(struct release *r)
{
    forget(r, paused);
}

void steering_forget(struct release *r)
{
    forget(r, steer);
}

/* The pause is shown with the revision that it holds. */
static void name_paused(struct release *r, const char *revision)
{
    if (steering_is_paused(r) && strcmp(noted(r, paused, "revision"), revision) != 0)
        json_set_str(json_sub(release_status(r), paused), "revision", revision);
}

void steering_forget_others(struct release *r)
{
    const char *revision = steering_revision(r), *again_of = noted(r, steer, again);

    name_paused(r, revision);
    if (*noted(r, steer, skip) && !steering_ends_analysis(r)) {
        note(r, skip, NULL);
        note(r, configs, NULL);
    }
    if (*again_of && strcmp(again_of, r->info.hash) != 0)
        note(r, again, NULL);
}
