#include "ctl/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ctl/read.h"
#include "scaler/scaler.h"
#include "target/target.h"
#include "tick/fact.h"

static const struct kube_resource pods = {
    .group = "", .version = "v1", .plural = "pods", .kind = "Pod"};

static void note_denied(struct ctl *ctl, struct facts *facts, const char *what)
{
    if (!facts->denied)
        facts->denied = what;
    else if (!strstr(facts->denied, what))
        facts->denied = arena_printf(ctl->arena, "%s, %s", facts->denied, what);
}

/* One object that the Canary depends on. */
struct part {
    const struct kube_resource *resource;
    const char *namespace_, *name;
    struct json_object **at;
    bool *missing; /* or NULL */
};

/* Reads all parts at once. */
static void read_parts(struct ctl *ctl, struct facts *facts, const struct part *parts, size_t count)
{
    struct kube_request *requests = arena_array(ctl->arena, count, sizeof(*requests));
    struct read_answer *answers = arena_array(ctl->arena, count, sizeof(*answers));

    for (size_t i = 0; i < count; i++)
        requests[i] = (struct kube_request){.verb = KUBE_GET,
                                            .resource = parts[i].resource,
                                            .namespace_ = parts[i].namespace_,
                                            .name = parts[i].name};
    read_calls(ctl, requests, answers, count);
    for (size_t i = 0; i < count; i++) {
        if (answers[i].err == ERR_OK)
            *parts[i].at = answers[i].body;
        else if (answers[i].err == ERR_NOT_FOUND && parts[i].missing)
            *parts[i].missing = true;
        else if (parts[i].at == &facts->lease)
            facts->lease_denied = answers[i].err == ERR_DENIED;
        else if (answers[i].err != ERR_NOT_FOUND)
            note_denied(ctl, facts, parts[i].resource->plural);
    }
}

/* --- which lease */

/* "NAMESPACE/NAME" from the status, or where a controller keeps its Lease by default. */
static void find_lease(struct ctl *ctl, struct json_object *canary, struct part *part)
{
    const char *named = json_str_at(canary, "status", "controller", NULL);
    const char *slash = named ? strchr(named, '/') : NULL;

    part->resource = &kube_leases;
    part->namespace_ =
        slash ? arena_strndup(ctl->arena, named, (size_t)(slash - named)) : "kube-system";
    part->name = slash ? slash + 1 : "flagger-leader-election";
}

static size_t list_parts(struct ctl *ctl, struct facts *facts, const char *namespace_,
                         struct part *parts)
{
    struct json_object *spec = json_at(facts->canary, "spec", NULL);
    const char *name = json_str_at(spec, "targetRef", "name", NULL);
    const struct target *target = target_find(json_str_at(spec, "targetRef", "apiVersion", NULL),
                                              json_str_at(spec, "targetRef", "kind", NULL));
    const char *scaler_kind = json_str_at(spec, "autoscalerRef", "kind", NULL);
    const char *scaler_name = json_str_at(spec, "autoscalerRef", "name", NULL);
    const struct scaler *scaler = scaler_kind ? scaler_find(scaler_kind) : NULL;
    size_t n = 0;

    if (target && name) {
        parts[n++] = (struct part){.resource = target->resource,
                                   .namespace_ = namespace_,
                                   .name = name,
                                   .at = &facts->target,
                                   .missing = &facts->no_target};
        parts[n++] = (struct part){.resource = target->resource,
                                   .namespace_ = namespace_,
                                   .name = arena_printf(ctl->arena, "%s-primary", name),
                                   .at = &facts->primary,
                                   .missing = &facts->no_primary};
    }
    if (scaler && scaler_name)
        parts[n++] = (struct part){.resource = scaler->resource,
                                   .namespace_ = namespace_,
                                   .name = scaler_name,
                                   .at = &facts->scaler};
    parts[n] = (struct part){.at = &facts->lease, .missing = &facts->no_lease};
    find_lease(ctl, facts->canary, &parts[n++]);
    return n;
}

/* --- lists */

static int64_t event_time(struct json_object *event)
{
    static const char *const fields[] = {"lastTimestamp", "eventTime", "firstTimestamp"};
    int64_t at;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const char *text = json_str_at(event, fields[i], NULL);
        if (text && clock_parse(text, &at, NULL) == ERR_OK)
            return at;
    }
    return 0;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = event_time(*(struct json_object *const *)a);
    int64_t y = event_time(*(struct json_object *const *)b);

    return x < y ? -1 : x > y;
}

static void read_events(struct ctl *ctl, struct facts *facts, const char *namespace_,
                        const char *name)
{
    struct errinfo ei = {0};
    const char *fields =
        arena_printf(ctl->arena, "involvedObject.kind=Canary,involvedObject.name=%s", name);
    const struct read_what what = {
        .resource = &kube_events, .namespace_ = namespace_, .fields = fields};

    if (read_list(ctl, &what, &facts->events, &ei) != ERR_OK)
        note_denied(ctl, facts, "events");
    json_object_array_sort(facts->events, by_time);
}

/* "app=podinfo,tier=web" from matchLabels; NULL if the target has none. */
static const char *pod_selector(struct ctl *ctl, struct json_object *target)
{
    struct json_object *labels = json_at(target, "spec", "selector", "matchLabels", NULL);
    const char *text = NULL;

    if (!json_object_is_type(labels, json_type_object))
        return NULL;
    json_object_object_foreach(labels, key, value)
    {
        if (json_object_is_type(value, json_type_string))
            text = arena_printf(ctl->arena, "%s%s%s=%s", text ? text : "", text ? "," : "", key,
                                json_object_get_string(value));
    }
    return text;
}

static void read_pods(struct ctl *ctl, struct facts *facts, const char *namespace_,
                      struct json_object *owner, struct json_object **out)
{
    struct errinfo ei = {0};
    const char *selector = pod_selector(ctl, owner);
    const struct read_what what = {
        .resource = &pods, .namespace_ = namespace_, .selector = selector};

    if (selector && read_list(ctl, &what, out, &ei) != ERR_OK)
        note_denied(ctl, facts, "pods");
}

static const char *namespace_of(const struct ctl *ctl, struct json_object *canary)
{
    const char *namespace_ = json_str_at(canary, "metadata", "namespace", NULL);

    return namespace_ ? namespace_ : ctl->namespace_;
}

void facts_read_objects(struct ctl *ctl, struct json_object *canary, struct facts *out)
{
    enum { MOST = 4 };
    struct part parts[MOST];

    *out = (struct facts){.now_ms = clock_wall_ms(),
                          .canary = canary,
                          .events = json_own(ctl->arena, json_object_new_array()),
                          .pods = json_own(ctl->arena, json_object_new_array()),
                          .primary_pods = json_own(ctl->arena, json_object_new_array())};
    read_parts(ctl, out, parts, list_parts(ctl, out, namespace_of(ctl, canary), parts));
}

void facts_read(struct ctl *ctl, struct json_object *canary, struct facts *out)
{
    const char *namespace_ = namespace_of(ctl, canary);
    const char *name = json_str_at(canary, "metadata", "name", NULL);

    facts_read_objects(ctl, canary, out);
    read_events(ctl, out, namespace_, name ? name : "");
    read_pods(ctl, out, namespace_, out->target, &out->pods);
    read_pods(ctl, out, namespace_, out->primary, &out->primary_pods);
}

void facts_read_more(struct ctl *ctl, struct facts *facts)
{
    const char *name = json_str_at(facts->canary, "metadata", "name", NULL);
    struct errinfo ei = {0};
    struct gate gate;

    facts->live = revision_of_target(ctl, facts->canary);
    if (!name || gate_find(ctl, facts->canary, NULL, &gate, &ei) != ERR_OK)
        return; /* no gate, or several: only the Canary's own status is available */
    facts->gate_url = gate.url;
    if (gate_read(ctl, &gate, namespace_of(ctl, facts->canary), name, &facts->gate, &ei) == ERR_OK)
        return;
    facts->gate = NULL;
    facts->gate_asks_who = ei.status == 401;
    facts->gate_trouble = arena_strdup(ctl->arena, ei.text);
}

struct target_question {
    struct ctl *ctl;
    const struct target *target;
    struct json_object *object; /* used in place of the target; NULL: the live target */
    struct target_info info;
    enum err err; /* error of what could not be read */
    struct errinfo *ei;
};

static void answer(void *arg, struct tick *tick, const struct need *need)
{
    struct target_question *question = arg;
    struct json_object *object = NULL;

    if (need->kind != NEED_OBJECT || !need->name)
        return;
    if (question->object && need->resource == question->target->resource &&
        strcmp(need->name, tick->canary->target.name) == 0) {
        fact_object(tick, need, question->object);
        return;
    }
    enum err err = read_get(question->ctl, need->resource, need->namespace_, need->name, &object,
                            question->ei);
    if (err == ERR_OK || err == ERR_NOT_FOUND)
        fact_object(tick, need, err == ERR_OK ? object : NULL);
    else
        question->err = err;
}

static enum rule_result ask(void *arg, struct tick *tick)
{
    struct target_question *question = arg;

    question->info = (struct target_info){0};
    return question->target->read(tick, &question->info);
}

/* Configs are not part of the hash, and users may not be allowed to read Secrets. */
enum err revision_of_object(struct ctl *ctl, struct json_object *object, struct json_object *target,
                            const char **out, struct errinfo *ei)
{
    struct settings settings = settings_default;
    struct target_question question = {.ctl = ctl, .object = target, .ei = ei};
    struct canary canary;
    enum err err = canary_view(ctl->arena, object, &canary, ei);

    *out = "";
    if (err != ERR_OK)
        return err;
    question.target = target_find(canary.target.api_version, canary.target.kind);
    if (!question.target)
        return err_set(ei, ERR_INVALID, "a %s is not released", canary.target.kind);
    settings.config_tracking = false;
    struct tick *tick = tick_new(ctl->arena, &canary, &settings, clock_wall_ms(), false);
    enum rule_result verdict = tick_solve(tick, ask, answer, &question);
    if (question.err != ERR_OK)
        return question.err;
    if (verdict == RULE_NEEDS_FACTS)
        return err_set(ei, ERR_INVALID, "the target cannot be read");
    if (verdict == RULE_CONTINUE)
        *out = arena_strdup(ctl->arena, question.info.hash);
    return ERR_OK;
}

enum err revision_read(struct ctl *ctl, struct json_object *object, const char **out,
                       struct errinfo *ei)
{
    return revision_of_object(ctl, object, NULL, out, ei);
}

const char *revision_of_target(struct ctl *ctl, struct json_object *canary)
{
    struct errinfo ei;
    const char *hash;

    return revision_read(ctl, canary, &hash, &ei) == ERR_OK && *hash ? hash : NULL;
}
