/* The spec is not followed, or cannot be. */
#include <string.h>

#include "ctl/why/parts.h"

static bool owned_by_another(struct why *w)
{
    struct json_object *condition = why_condition(w, "Accepted", "False");
    const char *message = why_message(w, condition);

    if (!condition || !strstr(message, "is looked after by Canary"))
        return false;
    return why_say(w, why_kubectl(w, "get canaries"),
                   "Another Canary owns what %s wants, for %s: %s", w->name,
                   why_since(w, condition), message);
}

static bool spec_refused(struct why *w)
{
    struct json_object *condition = why_condition(w, "Accepted", "False");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "edit canary %s", w->name),
                   "The spec of %s has been refused for %s: %s. %s", w->name,
                   why_since(w, condition), why_message(w, condition),
                   why_under_way(w) ? "The release that runs is guarded by the spec before it, and "
                                      "goes no step forward"
                                    : "No release begins before it is right");
}

static bool right_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "ResourcesAllowed", "False");

    if (!condition)
        return false;
    return why_say(w, "kubectl get clusterrole flagger -o yaml",
                   "The controller lacks a right that %s needs, for %s: %s", w->name,
                   why_since(w, condition), why_message(w, condition));
}

static bool crd_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "ResourcesServed", "False");

    if (!condition)
        return false;
    return why_say(w, "kubectl get crds",
                   "A CRD is missing, for %s: %s. %s goes on by itself when it is there",
                   why_since(w, condition), why_message(w, condition), w->name);
}

static bool write_refused(struct why *w)
{
    struct json_object *condition = why_condition(w, "WritesAccepted", "False");
    const char *resource = json_str_at(w->status, "refusedWrite", "resource", NULL);
    const char *name = json_str_at(w->status, "refusedWrite", "name", NULL);
    bool kept = json_int_at(w->status, 0, "canaryWeight", NULL) > 0;

    if (!condition)
        return false;
    return why_say(w,
                   resource && name ? why_kubectl(w, "get %s %s -o yaml", resource, name)
                                    : why_kubectl(w, "describe canary %s", w->name),
                   "The API server has refused a write of %s for %s: %s. It is tried again; %s",
                   w->name, why_since(w, condition), why_message(w, condition),
                   why_under_way(w) ? "at the progress deadline the release is rolled back, unless "
                                      "its promotion is written already"
                   : kept           ? "until it is taken the canary keeps the traffic that it has"
                                    : "nothing goes on before it is taken");
}

const struct why_situation why_spec[] = {
    {"another-owns-target", owned_by_another}, {"spec-refused", spec_refused},
    {"right-missing", right_missing},          {"crd-missing", crd_missing},
    {"write-refused", write_refused},          {0}};
