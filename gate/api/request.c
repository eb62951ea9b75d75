#include "gate/api/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/json.h"
#include "proto/webhook_message.h"

enum { MAX_FOR_DAYS = 366, LINK_DEFAULT_DAYS = 1, LINK_MAX_DAYS = 30 };
_Static_assert(REQUEST_MAX_NAME <= (int)LINK_MAX_NAME &&
                   REQUEST_MAX_REVISION <= (int)LINK_MAX_NAME &&
                   REQUEST_MAX_REASON <= (int)LINK_MAX_REASON,
               "what a request may say fits into a link");
static const int64_t day_ms = 86400000;

/* Accepts only text that people can read. */
static enum err check_text(const char *field, const char *text, size_t max, struct errinfo *ei)
{
    size_t len = strlen(text);
    if (len > max)
        return err_set(ei, ERR_INVALID, "%s: expected at most %zu bytes, found %zu", field, max,
                       len);
    if (!utf8_valid(text, len))
        return err_set(ei, ERR_INVALID, "%s: expected UTF-8", field);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return err_set(ei, ERR_INVALID, "%s: expected no control characters", field);
    return ERR_OK;
}

enum err request_name(const char *field, const char *text, struct errinfo *ei)
{
    if (!text || !*text)
        return err_set(ei, ERR_INVALID, "%s: expected a name, found none", field);
    return check_text(field, text, REQUEST_MAX_NAME, ei);
}

enum err request_canary(const char *namespace_, const char *name, struct gate_name *gate,
                        struct errinfo *ei)
{
    gate->namespace_ = namespace_;
    gate->name = name;
    enum err err = request_name("namespace", namespace_, ei);
    if (err == ERR_OK)
        err = request_name("name", name, ei);
    if (err == ERR_OK && (strchr(namespace_, '/') || strchr(name, '/')))
        err = err_set(ei, ERR_INVALID, "namespace and name: expected no slash");
    return err;
}

enum err request_webhook(struct arena *arena, const char *body, size_t len, const char *hook,
                         struct gate_name *gate, struct gate_question *question, struct errinfo *ei)
{
    struct webhook_message message;
    enum err err = webhook_parse(arena, body, len, &message, ei);
    if (err != ERR_OK)
        return err;
    if (!message.name || !*message.name || !message.namespace_ || !*message.namespace_)
        return err_set(
            ei, ERR_INVALID,
            "expected a body that names the Canary: {\"name\": \"...\", \"namespace\": \"...\"}");
    gate->hook = hook ? hook : "";
    *question = (struct gate_question){.revision = message.checksum ? message.checksum : "",
                                       .phase = message.phase ? message.phase : "",
                                       .release = message.release ? message.release : ""};
    err = request_canary(message.namespace_, message.name, gate, ei);
    if (err == ERR_OK)
        err = check_text("hook", gate->hook, REQUEST_MAX_NAME, ei);
    if (err == ERR_OK)
        err = check_text("checksum", question->revision, REQUEST_MAX_REVISION, ei);
    if (err == ERR_OK)
        err = check_text("phase", question->phase, REQUEST_MAX_NAME, ei);
    if (err == ERR_OK)
        err = check_text("release", question->release, REQUEST_MAX_REVISION, ei);
    return err;
}

/* --- bodies of /v1 */

struct body {
    struct json_reader r;
    struct json_object *root;
};

/* Rejects the first key that is not in `known`, which ends with NULL. */
static void check_keys(struct body *b, struct json_object *obj, const char *const *known)
{
    json_object_object_foreach(obj, key, value)
    {
        (void)value;
        const char *const *k = known;
        while (*k && strcmp(*k, key) != 0)
            k++;
        if (!*k) {
            const char *list = known[0];
            for (int i = 1; known[i]; i++)
                list = arena_printf(b->r.arena, "%s, %s", list, known[i]);
            json_reader_fail(&b->r, obj, key, "is not known here; expected only %s", list);
            return;
        }
    }
}

static enum err body_begin(struct body *b, struct arena *arena, const char *text, size_t len,
                           const char *const *known, struct errinfo *ei)
{
    *b = (struct body){.r = {.arena = arena}};
    if (len == 0)
        b->root = json_own(arena, json_object_new_object());
    else if (json_parse(arena, text, len, len, &b->root, ei) != ERR_OK)
        return err_wrap(ei, ERR_INVALID, "the body");
    if (!json_object_is_type(b->root, json_type_object))
        return err_set(ei, ERR_INVALID, "the body: expected a JSON object");
    check_keys(b, b->root, known);
    return ERR_OK;
}

static enum err body_end(struct body *b, struct errinfo *ei)
{
    return b->r.err == ERR_OK ? ERR_OK : err_set(ei, b->r.err, "%s", b->r.info.text);
}

/* Returns `missing` if the key is absent. */
static const char *read_text(struct body *b, struct json_object *obj, const char *key, size_t max,
                             const char *missing)
{
    const char *text = json_read_str(&b->r, obj, key, JSON_OPTIONAL);
    struct errinfo info = {0};
    if (!text)
        return missing;
    if (check_text(json_reader_path(&b->r, obj, key), text, max, &info) != ERR_OK)
        json_reader_fail(&b->r, obj, key, "%s", strstr(info.text, "expected"));
    return text;
}

static const char *read_kind(struct body *b)
{
    const char *kind = read_text(b, b->root, "kind", 16, "gate");
    if (strcmp(kind, "gate") != 0 && strcmp(kind, "rollback") != 0)
        json_reader_fail(&b->r, b->root, "kind", "expected gate or rollback, found \"%s\"", kind);
    return kind;
}

static const char *read_time(struct body *b, const char *key)
{
    const char *text = read_text(b, b->root, key, 64, NULL);
    struct errinfo info = {0};
    int64_t ms;
    char clean[CLOCK_TEXT];
    if (!text)
        return NULL;
    if (clock_parse(text, &ms, &info) != ERR_OK || ms < 0) {
        json_reader_fail(&b->r, b->root, key,
                         "expected a time such as 2026-11-20T19:15:00Z, found \"%s\"", text);
        return NULL;
    }
    return arena_strdup(b->r.arena, clock_rfc3339_micro(ms, clean));
}

/* Milliseconds as text. */
static const char *read_duration(struct body *b, const char *key)
{
    int64_t ms = json_read_duration(&b->r, b->root, key, 0);
    if (!json_at(b->root, key, NULL))
        return NULL;
    if (b->r.err == ERR_OK && (ms <= 0 || ms > MAX_FOR_DAYS * day_ms))
        json_reader_fail(&b->r, b->root, key,
                         "expected a duration above 0 and up to %d days, such as 30m",
                         MAX_FOR_DAYS);
    return arena_printf(b->r.arena, "%lld", (long long)ms);
}

static void read_why(struct body *b, struct gate_change *change)
{
    change->reason = read_text(b, b->root, "reason", REQUEST_MAX_REASON, "");
    change->who = read_text(b, b->root, "who", REQUEST_MAX_NAME, NULL);
    if (change->who && !*change->who)
        json_reader_fail(&b->r, b->root, "who", "expected a name");
}

enum err request_change(struct arena *arena, const char *body, size_t len, enum request_verb verb,
                        struct gate_change *change, struct errinfo *ei)
{
    static const char *const known[][8] = {
        [REQUEST_OPEN] = {"kind", "hook", "for", "expires", "reason", "who"},
        [REQUEST_APPROVE] = {"kind", "hook", "revision", "for", "expires", "reason", "who"},
        [REQUEST_CLOSE] = {"kind", "hook", "reason", "who"},
    };
    struct body b;
    enum err err = body_begin(&b, arena, body, len, known[verb], ei);
    if (err != ERR_OK)
        return err;
    change->gate.kind = read_kind(&b);
    change->gate.hook = read_text(&b, b.root, "hook", REQUEST_MAX_NAME, "");
    change->revision = "";
    if (verb == REQUEST_APPROVE) {
        change->revision = read_text(&b, b.root, "revision", REQUEST_MAX_REVISION, "");
        if (!*change->revision)
            json_reader_fail(&b.r, b.root, "revision",
                             "expected the checksum of the revision to approve, as the gate's "
                             "`waits` and the Canary's webhooks say it");
    }
    change->expires = read_time(&b, "expires");
    change->for_ms = read_duration(&b, "for");
    if (change->expires && change->for_ms)
        json_reader_fail(&b.r, b.root, "for", "expected only one of for and expires");
    read_why(&b, change);
    return body_end(&b, ei);
}

static void add_array_text(struct buf *out, const char *text)
{
    buf_puts(out, out->len > 1 ? ",\"" : "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_puts(out, "\\");
        buf_add(out, c, 1);
    }
    buf_puts(out, "\"");
}

/* As a PostgreSQL array of texts. */
static const char *read_approvers(struct body *b)
{
    struct json_object *array = json_read_array(&b->r, b->root, "approvers", JSON_OPTIONAL);
    struct buf out;
    if (json_len(array) > REQUEST_MAX_APPROVERS) {
        json_reader_fail(&b->r, b->root, "approvers", "expected at most %d names",
                         REQUEST_MAX_APPROVERS);
        return "{}";
    }
    buf_init(&out, REQUEST_MAX_APPROVERS * (2 * REQUEST_MAX_NAME + 4));
    buf_puts(&out, "{");
    for (size_t i = 0; i < json_len(array); i++) {
        struct errinfo info = {0};
        struct json_object *name = json_elem(array, i);
        const char *text =
            json_object_is_type(name, json_type_string) ? json_object_get_string(name) : "";
        if (request_name(arena_printf(b->r.arena, "approvers[%zu]", i), text, &info) != ERR_OK)
            json_reader_fail(&b->r, b->root, "approvers", "%s", info.text);
        else
            add_array_text(&out, text);
    }
    buf_puts(&out, "}");
    const char *text = arena_strndup(b->r.arena, out.data, out.len);
    buf_fini(&out);
    return text;
}

enum err request_policy(struct arena *arena, const char *body, size_t len,
                        struct gate_change *change, struct gate_policy *policy, struct errinfo *ei)
{
    static const char *const known[] = {"kind",       "quorum", "approvers", "deadline",
                                        "onDeadline", "reason", "who",       NULL};
    struct body b;
    enum err err = body_begin(&b, arena, body, len, known, ei);
    if (err != ERR_OK)
        return err;
    change->gate.kind = read_kind(&b);
    change->gate.hook = "";
    int64_t quorum = json_read_int(&b.r, b.root, "quorum", 1, REQUEST_MAX_APPROVERS, 1);
    *policy = (struct gate_policy){
        .quorum = arena_printf(arena, "%lld", (long long)quorum),
        .approvers = read_approvers(&b),
        .deadline_ms = read_duration(&b, "deadline"),
        .on_deadline = read_text(&b, b.root, "onDeadline", 16, NULL),
    };
    if ((policy->deadline_ms == NULL) != (policy->on_deadline == NULL))
        json_reader_fail(&b.r, b.root, policy->deadline_ms ? "onDeadline" : "deadline",
                         "deadline and onDeadline belong together");
    else if (policy->on_deadline && strcmp(policy->on_deadline, "open") != 0 &&
             strcmp(policy->on_deadline, "rollback") != 0)
        json_reader_fail(&b.r, b.root, "onDeadline", "expected open or rollback, found \"%s\"",
                         policy->on_deadline);
    else if (policy->deadline_ms && strcmp(change->gate.kind, "gate") != 0)
        json_reader_fail(&b.r, b.root, "deadline", "nothing waits at a gate of kind rollback");
    read_why(&b, change);
    return body_end(&b, ei);
}

/* "Fri 16:00" in minutes since Monday 0:00, as text. */
static const char *read_week(struct body *b, struct json_object *week, const char *key)
{
    static const char *const days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    const char *text = json_read_str(&b->r, week, key, JSON_REQUIRED);
    char name[4] = "";
    int hour, minute, end = 0;
    if (!text)
        return NULL;
    if (sscanf(text, "%3[A-Za-z] %2d:%2d%n", name, &hour, &minute, &end) == 3 &&
        end == (int)strlen(text) && hour >= 0 && hour < 24 && minute >= 0 && minute < 60)
        for (int day = 0; day < 7; day++)
            if (strcmp(days[day], name) == 0)
                return arena_printf(b->r.arena, "%d", day * 1440 + hour * 60 + minute);
    json_reader_fail(&b->r, week, key,
                     "expected a day and time such as \"Fri 16:00\", found \"%s\"", text);
    return NULL;
}

enum err request_freeze(struct arena *arena, const char *body, size_t len,
                        struct gate_change *change, struct gate_freeze *freeze, struct errinfo *ei)
{
    static const char *const known[] = {"namespace", "name",   "from", "until",
                                        "weekly",    "reason", "who",  NULL};
    static const char *const known_weekly[] = {"from", "until", "zone", NULL};
    struct body b;
    enum err err = body_begin(&b, arena, body, len, known, ei);
    if (err != ERR_OK)
        return err;
    *freeze = (struct gate_freeze){.from = read_time(&b, "from"), .until = read_time(&b, "until")};
    change->gate = (struct gate_name){
        .kind = "gate",
        .namespace_ = read_text(&b, b.root, "namespace", REQUEST_MAX_NAME, ""),
        .name = read_text(&b, b.root, "name", REQUEST_MAX_NAME, ""),
        .hook = "",
    };
    if (*change->gate.name && !*change->gate.namespace_)
        json_reader_fail(&b.r, b.root, "namespace", "expected with a name its namespace");
    struct json_object *week = json_read_obj(&b.r, b.root, "weekly", JSON_OPTIONAL);
    if (week) {
        check_keys(&b, week, known_weekly);
        freeze->weekly_from = read_week(&b, week, "from");
        freeze->weekly_until = read_week(&b, week, "until");
        freeze->zone = read_text(&b, week, "zone", 64, "UTC");
        if (freeze->weekly_from && freeze->weekly_until &&
            strcmp(freeze->weekly_from, freeze->weekly_until) == 0)
            json_reader_fail(&b.r, week, "until", "expected another time than from");
    }
    read_why(&b, change);
    if (!*change->reason)
        json_reader_fail(&b.r, b.root, "reason",
                         "expected why nothing may be released; whoever waits reads it");
    return body_end(&b, ei);
}

/* Unix time at which the link's validity ends. */
static int64_t read_validity(struct body *b, int64_t now_ms)
{
    const char *at = read_time(b, "expires");
    const char *valid = read_duration(b, "valid");
    int64_t until_ms = now_ms + (valid ? strtoll(valid, NULL, 10) : LINK_DEFAULT_DAYS * day_ms);
    if (at && valid)
        json_reader_fail(&b->r, b->root, "valid", "expected only one of valid and expires");
    else if (at && clock_parse(at, &until_ms, NULL) == ERR_OK && until_ms <= now_ms)
        json_reader_fail(&b->r, b->root, "expires", "expected a time to come, found %s", at);
    if (until_ms > now_ms + LINK_MAX_DAYS * day_ms)
        json_reader_fail(&b->r, b->root, at ? "expires" : "valid",
                         "expected at most %d days from now", LINK_MAX_DAYS);
    return until_ms / 1000;
}

enum err request_link(struct arena *arena, const char *body, size_t len, int64_t now_ms,
                      struct link *link, struct errinfo *ei)
{
    static const char *const known[] = {"namespace", "name",     "kind",   "hook",
                                        "action",    "revision", "for",    "valid",
                                        "expires",   "as",       "reason", NULL};
    struct body b;
    struct gate_name gate;
    enum err err = body_begin(&b, arena, body, len, known, ei);
    if (err != ERR_OK)
        return err;
    const char *action = read_text(&b, b.root, "action", 16, "");
    const char *for_ms = read_duration(&b, "for");
    *link = (struct link){
        .namespace_ = read_text(&b, b.root, "namespace", REQUEST_MAX_NAME, ""),
        .name = read_text(&b, b.root, "name", REQUEST_MAX_NAME, ""),
        .hook = read_text(&b, b.root, "hook", REQUEST_MAX_NAME, ""),
        .revision = read_text(&b, b.root, "revision", REQUEST_MAX_REVISION, ""),
        .for_ms = for_ms ? strtoll(for_ms, NULL, 10) : 0,
        .expires_s = read_validity(&b, now_ms),
        .who = read_text(&b, b.root, "as", REQUEST_MAX_NAME, NULL),
        .issuer = "",
        .reason = read_text(&b, b.root, "reason", REQUEST_MAX_REASON, ""),
    };
    if (!link_kind_parse(read_kind(&b), &link->kind))
        link->kind = LINK_OF_GATE; /* read_kind() has reported the error */
    if (!link_action_parse(action, &link->action))
        json_reader_fail(&b.r, b.root, "action", "expected open, approve or close, found \"%s\"",
                         action);
    else if ((link->action == LINK_APPROVE) != (*link->revision != '\0'))
        json_reader_fail(&b.r, b.root, "revision",
                         "expected with the action approve, and only there");
    else if (link->action == LINK_CLOSE && for_ms)
        json_reader_fail(&b.r, b.root, "for", "not expected with the action close");
    if (link->who && !*link->who)
        json_reader_fail(&b.r, b.root, "as", "expected a name");
    err = body_end(&b, ei);
    return err == ERR_OK ? request_canary(link->namespace_, link->name, &gate, ei) : err;
}

enum err request_number(struct arena *arena, const char *field, const char *text,
                        const char *missing, int64_t max, const char **out, struct errinfo *ei)
{
    *out = missing;
    if (!text)
        return ERR_OK;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || text[digits] || digits > 18 || strtoll(text, NULL, 10) > max)
        return err_set(ei, ERR_INVALID, "%s: expected a whole number up to %lld, found \"%.40s\"",
                       field, (long long)max, text);
    *out = arena_strdup(arena, text);
    return ERR_OK;
}
