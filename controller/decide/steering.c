#include "decide/steering.h"

#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "decide/status.h"
#include "tick/edit.h"

/* Fields of status, and of status.steer. */
static const char paused[] = "paused", steer[] = "steer";
static const char skip[] = "skip", requeue[] = "restart", resumed[] = "resumed";
static const char configs[] = "checksum"; /* of the skipped revision: template and configs */

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

bool steering_is_at_gate(const struct release *r)
{
    return json_bool_at(r->canary->status.json, false, paused, "gate", NULL);
}

/* The target decides, whatever is being released. */
bool steering_is_analysed_again(const struct release *r)
{
    const char *revision = noted(r, steer, requeue);

    return *revision && strcmp(revision, r->info.hash) == 0;
}

bool steering_ends_analysis(const struct release *r)
{
    const char *checksum = noted(r, steer, configs);

    return is_of_this(r, steer, skip) && (!*checksum || strcmp(checksum, release_checksum(r)) == 0);
}

/* A time in the future was written by a wrong clock. */
bool steering_stops_clock(const struct release *r)
{
    int64_t at;
    const char *time = noted(r, steer, resumed);

    if (steering_is_paused(r))
        return true;
    return *time && clock_parse(time, &at, NULL) == ERR_OK && at <= r->tick->now_ms &&
           !tick_deadline_passed(r->tick, at);
}

static void note(struct release *r, const char *key, const char *text)
{
    struct json_object *notes = json_sub(release_status(r), steer);

    json_set(notes, key, NULL);
    json_set_str(notes, key, text);
}

static struct json_object *pause_of(struct release *r, const char *by, const char *why)
{
    struct json_object *out = edit_object(r->tick->arena);
    char now[CLOCK_TEXT];

    json_set_str(out, "revision", steering_revision(r));
    json_set_str(out, "by", by);
    json_set_str(out, "why", why);
    json_set_str(out, "since", clock_rfc3339(r->tick->now_ms, now));
    return out;
}

void steering_pause(struct release *r, const char *by, const char *why)
{
    status_object(r, paused, pause_of(r, by, why));
}

void steering_pause_at_gate(struct release *r, const char *gate, const char *why)
{
    struct json_object *out = pause_of(r, gate, why);

    json_set_bool(out, "gate", true);
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
    note(r, requeue, r->info.hash);
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
    if (steering_is_at_gate(r))
        forget(r, paused);
}

/* The pause names the revision that it holds. */
static void name_paused(struct release *r, const char *revision)
{
    if (steering_is_paused(r) && strcmp(noted(r, paused, "revision"), revision) != 0)
        json_set_str(json_sub(release_status(r), paused), "revision", revision);
}

void steering_forget_others(struct release *r)
{
    const char *revision = steering_revision(r), *again_of = noted(r, steer, requeue);

    name_paused(r, revision);
    if (*noted(r, steer, skip) && !steering_ends_analysis(r)) {
        note(r, skip, NULL);
        note(r, configs, NULL);
    }
    if (*again_of && strcmp(again_of, r->info.hash) != 0)
        note(r, requeue, NULL);
}

/* Limits of the CRD; the number of past requests kept. */
enum { NAME_MAX_BYTES = 253, WHY_MAX_BYTES = 512, KEPT = 5 };

static const char field[] = "requests";

static const char *text_of(struct release *r, struct json_object *object, const char *key,
                           size_t max)
{
    const char *text = json_str_at(object, "spec", key, NULL);

    if (!text)
        return "";
    return strlen(text) > max ? arena_strndup(r->tick->arena, text, utf8_cut(text, max)) : text;
}

static enum rule_result read_object(struct release *r, struct json_object **out)
{
    return need_object_if_watched(r->tick, &tick_requests, r->canary->namespace_, r->canary->name,
                                  out)
               ? RULE_CONTINUE
               : RULE_NEEDS_FACTS;
}

/* --- identity: the part that the API server guarantees */

#define POLICY "flagger-release-requests"
static const struct kube_resource policies = {.group = "admissionregistration.k8s.io",
                                              .version = "v1",
                                              .plural = "validatingadmissionpolicies",
                                              .kind = "ValidatingAdmissionPolicy",
                                              .cluster_scoped = true};
static const struct kube_resource bindings = {.group = "admissionregistration.k8s.io",
                                              .version = "v1",
                                              .plural = "validatingadmissionpolicybindings",
                                              .kind = "ValidatingAdmissionPolicyBinding",
                                              .cluster_scoped = true};

static bool has_text(struct json_object *list, const char *text)
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *one = json_object_get_string(json_elem(list, i));
        if (one && (strcmp(one, text) == 0 || strcmp(one, "*") == 0))
            return true;
    }
    return false;
}

/* True if the rules of the policy cover every request, regardless of namespace and labels. */
static bool has_every_request(struct json_object *spec)
{
    struct json_object *match = json_at(spec, "matchConstraints", NULL);
    struct json_object *rules = json_at(match, "resourceRules", NULL);

    if (json_len(json_at(match, "excludeResourceRules", NULL)) > 0 ||
        json_len(json_at(spec, "matchConditions", NULL)) > 0)
        return false;
    static const char *const selectors[] = {"namespaceSelector", "objectSelector"};
    for (size_t i = 0; i < sizeof(selectors) / sizeof(selectors[0]); i++) {
        struct json_object *selector = json_at(match, selectors[i], NULL);
        if (selector && json_object_object_length(selector) > 0)
            return false;
    }
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *rule = json_elem(rules, i);
        if (has_text(json_at(rule, "apiGroups", NULL), tick_requests.group) &&
            has_text(json_at(rule, "resources", NULL), tick_requests.plural) &&
            has_text(json_at(rule, "apiVersions", NULL), tick_requests.version) &&
            has_text(json_at(rule, "operations", NULL), "CREATE") &&
            has_text(json_at(rule, "operations", NULL), "UPDATE") &&
            json_len(json_at(rule, "resourceNames", NULL)) == 0)
            return true;
    }
    return false;
}

static bool compares_names(struct json_object *spec)
{
    static const char expression[] = "object.spec.by == request.userInfo.username";
    struct json_object *validations = json_at(spec, "validations", NULL);
    const char *failure = json_str_at(spec, "failurePolicy", NULL);

    if (failure && strcmp(failure, "Fail") != 0)
        return false;
    for (size_t i = 0; i < json_len(validations); i++) {
        const char *text = json_str_at(json_elem(validations, i), "expression", NULL);
        if (text && strcmp(text, expression) == 0)
            return true;
    }
    return false;
}

static bool is_bound(struct json_object *binding)
{
    struct json_object *spec = json_at(binding, "spec", NULL);
    const char *name = json_str_at(spec, "policyName", NULL);

    return name && strcmp(name, POLICY) == 0 && !json_at(spec, "matchResources", NULL) &&
           !json_at(spec, "paramRef", NULL) &&
           has_text(json_at(spec, "validationActions", NULL), "Deny");
}

/* True if the object existed when the request was made. Times are texts of one format. */
static bool is_older(struct json_object *object, struct json_object *request)
{
    const char *made = json_str_at(object, "metadata", "creationTimestamp", NULL);
    const char *asked = json_str_at(request, "metadata", "creationTimestamp", NULL);

    return made && asked && strcmp(made, asked) <= 0;
}

/*
 * *proven: the API server has compared spec.by with the name of the user. False if that cannot be
 * established.
 */
static enum rule_result find_proof(struct release *r, struct json_object *request, bool *proven)
{
    struct json_object *policy, *binding;
    const char *denied;
    bool known = need_object_once(r->tick, &policies, "", POLICY, &policy, &denied);

    if (!need_object_once(r->tick, &bindings, "", POLICY, &binding, &denied) || !known)
        return RULE_NEEDS_FACTS;
    struct json_object *spec = json_at(policy, "spec", NULL);
    *proven = has_every_request(spec) && compares_names(spec) && is_bound(binding) &&
              is_older(policy, request) && is_older(binding, request);
    return RULE_CONTINUE;
}

static const char *name_of(struct release *r, struct json_object *request, bool proven)
{
    const char *by = text_of(r, request, "by", NAME_MAX_BYTES);

    return proven ? by : arena_printf(r->tick->arena, "%s (not proven)", *by ? by : "somebody");
}

static bool is_noted(const struct release *r, const char *uid)
{
    struct json_object *list = json_at(r->tick->live->status.json, field, NULL);

    for (size_t i = 0; i < json_len(list); i++) {
        const char *found = json_str_at(json_elem(list, i), "uid", NULL);
        if (found && strcmp(found, uid) == 0)
            return true;
    }
    return false;
}

static const char *uid_of(struct json_object *object)
{
    const char *uid = json_str_at(object, "metadata", "uid", NULL);

    return uid ? uid : "";
}

enum rule_result request_find(struct release *r, const struct request **out)
{
    struct json_object *object;
    enum rule_result verdict = read_object(r, &object);
    bool proven;

    *out = NULL;
    if (verdict != RULE_CONTINUE || !object || is_noted(r, uid_of(object)) ||
        json_at(object, "metadata", "deletionTimestamp", NULL))
        return verdict;
    if (find_proof(r, object, &proven) != RULE_CONTINUE)
        return RULE_NEEDS_FACTS;
    struct request *request = ARENA_NEW(r->tick->arena, struct request);
    *request = (struct request){.object = object,
                                .uid = uid_of(object),
                                .action = text_of(r, object, "action", NAME_MAX_BYTES),
                                .revision = text_of(r, object, "revision", NAME_MAX_BYTES),
                                .by = name_of(r, object, proven),
                                .why = text_of(r, object, "why", WHY_MAX_BYTES)};
    *out = request;
    return RULE_CONTINUE;
}

static void take_away(struct release *r, struct json_object *object)
{
    plan_delete(r->tick, &tick_requests, object);
    plan_why(r->tick, "done with");
}

bool request_clear(struct release *r)
{
    struct json_object *object;

    if (read_object(r, &object) != RULE_CONTINUE || !object || !is_noted(r, uid_of(object)) ||
        json_at(object, "metadata", "deletionTimestamp", NULL))
        return false;
    take_away(r, object);
    return true;
}

const char *request_who(struct release *r, const struct request *request)
{
    const char *by = *request->by ? request->by : "somebody";

    return *request->why ? arena_printf(r->tick->arena, "%s: %s", by, request->why) : by;
}

static void put(struct json_object *out, const char *key, const char *text)
{
    if (*text)
        json_set_str(out, key, text);
}

/* Newest first. */
static void note_request(struct release *r, const struct request *request, const char *outcome,
                         const char *sentence)
{
    struct json_object *old = json_at(r->tick->live->status.json, field, NULL);
    struct json_object *list = edit_array(r->tick->arena);
    struct json_object *entry = edit_object(r->tick->arena);
    char now[CLOCK_TEXT];

    put(entry, "uid", request->uid);
    put(entry, "action", request->action);
    put(entry, "revision", request->revision);
    put(entry, "by", request->by);
    put(entry, "why", request->why);
    put(entry, "at", clock_rfc3339(r->tick->now_ms, now));
    put(entry, "outcome", outcome);
    put(entry, "message", sentence);
    json_object_array_add(list, json_object_get(entry));
    for (size_t i = 0; i < json_len(old) && i + 1 < KEPT; i++)
        json_object_array_add(list, json_object_get(json_elem(old, i)));
    status_object(r, field, list);
    release_requeue(r, REQUEUE_NOW);
}

void request_done(struct release *r, const struct request *request, const char *sentence)
{
    note_request(r, request, "done", sentence);
    event_normal(r, "Request %s (%s): %s", request->action, request_who(r, request), sentence);
}

static void tell_refusal(struct release *r, const struct request *request, const char *sentence)
{
    event_warning(r, "Request %s (%s) is refused: %s",
                  *request->action ? request->action : "without an action", request_who(r, request),
                  sentence);
}

void request_refused(struct release *r, const struct request *request, const char *sentence)
{
    note_request(r, request, "refused", sentence);
    tell_refusal(r, request, sentence);
}

void request_turn_away(struct release *r, const struct request *request, const char *sentence)
{
    take_away(r, request->object);
    tell_refusal(r, request, sentence);
}
