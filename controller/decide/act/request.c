#include "decide/act/request.h"

#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "decide/release/status.h"
#include "tick/edit.h"

/* The CRD allows no more; requests of before are as many as stay. */
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

static enum verdict read_object(struct release *r, struct json_object **out)
{
    return need_object_if_watched(r->tick, &tick_requests, r->canary->namespace_, r->canary->name,
                                  out)
               ? VERDICT_GO
               : VERDICT_NEED_FACTS;
}

/* --- who it is: what the API server vouches for */

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

/* The rules of the policy have each request, whatever its namespace and labels are. */
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

/* It was there when the request was made. Times are texts of one form. */
static bool is_older(struct json_object *object, struct json_object *request)
{
    const char *made = json_str_at(object, "metadata", "creationTimestamp", NULL);
    const char *asked = json_str_at(request, "metadata", "creationTimestamp", NULL);

    return made && asked && strcmp(made, asked) <= 0;
}

/* *proven: the API server has compared spec.by with the name of who asked. Where that cannot be seen
 * it has not. */
static enum verdict look_for_proof(struct release *r, struct json_object *request, bool *proven)
{
    struct json_object *policy, *binding;
    const char *denied;
    bool known = need_object_once(r->tick, &policies, "", POLICY, &policy, &denied);

    if (!need_object_once(r->tick, &bindings, "", POLICY, &binding, &denied) || !known)
        return VERDICT_NEED_FACTS;
    struct json_object *spec = json_at(policy, "spec", NULL);
    *proven = has_every_request(spec) && compares_names(spec) && is_bound(binding) &&
              is_older(policy, request) && is_older(binding, request);
    return VERDICT_GO;
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

enum verdict request_find(struct release *r, const struct request **out)
{
    struct json_object *object;
    enum verdict verdict = read_object(r, &object);
    bool proven;

    *out = NULL;
    if (verdict != VERDICT_GO || !object || is_noted(r, uid_of(object)) ||
        json_at(object, "metadata", "deletionTimestamp", NULL))
        return verdict;
    if (look_for_proof(r, object, &proven) != VERDICT_GO)
        return VERDICT_NEED_FACTS;
    struct request *request = ARENA_NEW(r->tick->arena, struct request);
    *request = (struct request){.object = object,
                                .uid = uid_of(object),
                                .action = text_of(r, object, "action", NAME_MAX_BYTES),
                                .revision = text_of(r, object, "revision", NAME_MAX_BYTES),
                                .by = name_of(r, object, proven),
                                .why = text_of(r, object, "why", WHY_MAX_BYTES)};
    *out = request;
    return VERDICT_GO;
}

static void take_away(struct release *r, struct json_object *object)
{
    plan_delete(r->tick, &tick_requests, object);
    plan_why(r->tick, "done with");
}

bool request_clear(struct release *r)
{
    struct json_object *object;

    if (read_object(r, &object) != VERDICT_GO || !object || !is_noted(r, uid_of(object)) ||
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

/* The last one first. */
static void note(struct release *r, const struct request *request, const char *outcome,
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
    release_again(r, AGAIN_NOW);
}

void request_done(struct release *r, const struct request *request, const char *sentence)
{
    note(r, request, "done", sentence);
    release_say(r, "Request %s (%s): %s", request->action, request_who(r, request), sentence);
}

static void tell_refusal(struct release *r, const struct request *request, const char *sentence)
{
    release_warn(r, "Request %s (%s) is refused: %s",
                 *request->action ? request->action : "without an action", request_who(r, request),
                 sentence);
}

void request_refused(struct release *r, const struct request *request, const char *sentence)
{
    note(r, request, "refused", sentence);
    tell_refusal(r, request, sentence);
}

void request_turn_away(struct release *r, const struct request *request, const char *sentence)
{
    take_away(r, request->object);
    tell_refusal(r, request, sentence);
}
