/* Why a ReleasePlan waits, and what would let it continue, based on its status. */
#include <string.h>

#include "base/clock.h"
#include "ctl/output.h"
#include "ctl/why/why.h"
#include "proto/releaseplan.h"

struct about {
    struct arena *arena;
    const char *program;
    struct json_object *plan, *status;
    const char *name, *namespace_;
    const char *message;      /* without a full stop */
    const char *revision;     /* the plan's revision */
    struct json_object *wave; /* in the status: the first wave that is not passed; NULL if none */
    int64_t now_ms;
    struct why_answer *out;
};

static const char *text_at(struct json_object *json, const char *key)
{
    const char *text = json_str_at(json, key, NULL);

    return text ? text : "";
}

static struct json_object *find_wave(struct json_object *status)
{
    struct json_object *waves = json_at(status, "waves", NULL);
    size_t count = json_len(waves);

    for (size_t i = 0; i < count; i++)
        if (!json_bool_at(json_elem(waves, i), false, "passed", NULL))
            return json_elem(waves, i);
    return NULL;
}

static struct json_object *condition_of(const struct about *a, const char *type)
{
    return json_find(json_at(a->status, "conditions", NULL), "type", type, NULL);
}

static const char *since(const struct about *a, const char *type)
{
    struct json_object *condition = condition_of(a, type);

    return condition
               ? print_age(a->arena, json_str_at(condition, "lastTransitionTime", NULL), a->now_ms)
               : "?";
}

/* "; cluster b: test/app waits for its turn; and 3 more", for those in the wave that are not
 * finished */
static const char *who_is_left(const struct about *a)
{
    enum { TOLD = 3 };
    struct json_object *clusters = json_at(a->status, "clusters", NULL);
    const char *text = "";
    int left = 0;

    for (size_t i = 0; a->wave && i < json_len(clusters); i++) {
        struct json_object *row = json_elem(clusters, i);
        const char *says = text_at(row, "says");
        if (strcmp(text_at(row, "wave"), text_at(a->wave, "name")) != 0 ||
            strcmp(text_at(row, "state"), "Promoted") == 0)
            continue;
        if (left++ < TOLD)
            text = arena_printf(a->arena, "%s; cluster %s: %s", text, text_at(row, "name"), says);
    }
    return left <= TOLD ? text : arena_printf(a->arena, "%s; and %d more", text, left - TOLD);
}

/* --- the state of the plan, one function each */

static void say_new(const struct about *a)
{
    a->out->text = arena_printf(
        a->arena,
        "No controller has looked at the ReleasePlan %s since it was made %s ago: %s runs in the "
        "management cluster and carries plans out. Until it does, nothing is held",
        a->name,
        print_age(a->arena, json_str_at(a->plan, "metadata", "creationTimestamp", NULL), a->now_ms),
        "flagger-controller fleet");
    a->out->next = "kubectl get pods -A -l app.kubernetes.io/name=flagger";
}

static void say_releasing(const struct about *a)
{
    a->out->text = arena_printf(a->arena,
                                "%s%s. The plan goes on when each of them has promoted the "
                                "revision and rests",
                                a->message, who_is_left(a));
}

static void say_soaking(const struct about *a)
{
    const char *name = text_at(a->wave, "name"), *completed = text_at(a->wave, "completed");
    struct releaseplan plan;
    struct errinfo ei;
    char text[CLOCK_TEXT];
    int64_t at = 0;

    a->out->text = a->message;
    if (releaseplan_view(a->arena, a->plan, &plan, &ei) != ERR_OK ||
        clock_parse(completed, &at, NULL) != ERR_OK)
        return;
    for (int i = 0; i < plan.n_waves; i++) {
        if (strcmp(plan.waves[i].name, name) != 0)
            continue;
        at += plan.waves[i].soak_ms;
        a->out->text = arena_printf(
            a->arena, "%s until %s, for %s more. Then %s", a->message, clock_rfc3339(at, text),
            print_span(a->arena, at > a->now_ms ? at - a->now_ms : 0),
            plan.waves[i].gate ? "its gate is asked, and when that is open the next wave begins"
                               : "the next wave begins");
    }
}

/* The command that opens a gate of flagger-gate, if the URL is one. */
static const char *opens(const struct about *a, const char *url)
{
    static const char check[] = "/gate/check";
    size_t len = strlen(url);

    if (len < sizeof check || strcmp(url + len - (sizeof check - 1), check) != 0)
        return NULL;
    return arena_printf(a->arena, "curl -d '{\"name\":\"%s\",\"namespace\":\"%s\"}' %.*s/gate/open",
                        a->name, a->namespace_, (int)(len - (sizeof check - 1)), url);
}

static void say_at_gate(const struct about *a)
{
    struct json_object *waves = json_at(a->plan, "spec", "waves", NULL);
    const char *url = "";

    for (size_t i = 0; i < json_len(waves); i++)
        if (strcmp(text_at(json_elem(waves, i), "name"), text_at(a->wave, "name")) == 0)
            url = text_at(json_at(json_elem(waves, i), "gate", NULL), "url");
    a->out->text = arena_printf(a->arena,
                                "%s. %s is asked every ten seconds; when it lets the revision "
                                "through, the next wave begins",
                                a->message, print_clean(a->arena, url));
    a->out->next = opens(a, print_clean(a->arena, url));
}

static void say_closed(const struct about *a)
{
    a->out->text = arena_printf(a->arena,
                                "%s. What was let go before goes on. Only other windows or "
                                "freezes in the spec of the plan let it go on earlier",
                                a->message);
}

/* The revision of the first cluster on which something has failed. */
static const char *failed_revision(const struct about *a)
{
    struct json_object *clusters = json_at(a->status, "clusters", NULL);

    for (size_t i = 0; i < json_len(clusters); i++)
        if (strcmp(text_at(json_elem(clusters, i), "phase"), "Failed") == 0)
            return text_at(json_elem(clusters, i), "revision");
    return a->revision;
}

static void say_stopped(const struct about *a)
{
    a->out->text = arena_printf(
        a->arena,
        "The plan stands still, for %s: %s. Whoever takes the failures as they are, sets "
        "the annotation, and the plan goes on",
        since(a, "Stopped"), a->message);
    a->out->next =
        arena_printf(a->arena, "kubectl -n %s annotate releaseplan %s " RELEASEPLAN_ACCEPT "=%s",
                     a->namespace_, a->name, print_clean(a->arena, failed_revision(a)));
}

static void say_completed(const struct about *a)
{
    a->out->text = arena_printf(
        a->arena,
        "Nothing holds %s: %s, for %s. The Canaries of all later waves are held, so that what is "
        "delivered next begins in the first wave alone",
        a->name, a->message, since(a, "Ready"));
}

static void say_message(const struct about *a)
{
    a->out->text = a->message;
}

static const struct {
    const char *phase, *situation;
    void (*say)(const struct about *a);
} rows[] = {
    {"", "plan-not-seen", say_new},
    {"Pending", "plan-pending", say_message},
    {"Releasing", "plan-releases", say_releasing},
    {"Soaking", "plan-soaks", say_soaking},
    {"AtGate", "plan-at-gate", say_at_gate},
    {"Closed", "plan-closed", say_closed},
    {"Stopped", "plan-stopped", say_stopped},
    {"Completed", "plan-at-rest", say_completed},
    {"GivingBack", "plan-given-back", say_message},
};

static void add_late(const struct about *a)
{
    struct json_object *late = condition_of(a, "Late");

    if (late && strcmp(text_at(late, "status"), "True") == 0)
        a->out->text = arena_printf(a->arena, "%s. The deadline of the wave has passed %s ago",
                                    a->out->text, since(a, "Late"));
}

void why_release_plan(struct arena *arena, const char *program, struct json_object *plan,
                      int64_t now_ms, struct why_answer *out)
{
    struct json_object *status = json_at(plan, "status", NULL);
    const char *message = print_clean(arena, json_str_at(status, "message", NULL));
    const struct about about = {
        .arena = arena,
        .program = program,
        .plan = plan,
        .status = status,
        .name = print_clean(arena, json_str_at(plan, "metadata", "name", NULL)),
        .namespace_ = print_clean(arena, json_str_at(plan, "metadata", "namespace", NULL)),
        .message = message,
        .revision = text_at(status, "revision"),
        .wave = find_wave(status),
        .now_ms = now_ms,
        .out = out,
    };

    *out = (struct why_answer){.situation = "unknown", .text = message};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].phase, text_at(status, "phase")) != 0)
            continue;
        out->situation = rows[i].situation;
        rows[i].say(&about);
        add_late(&about);
    }
}
