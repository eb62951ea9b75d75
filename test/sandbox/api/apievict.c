#include "api/apievict.h"

#include <string.h>

#include "object/form.h"
#include "object/meta.h"

static bool is_ready(struct json_object *pod)
{
    struct json_object *conditions = json_at(pod, "status", "conditions", NULL);
    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *status = json_str_at(json_elem(conditions, i), "status", NULL);
        if (type && status && strcmp(type, "Ready") == 0)
            return strcmp(status, "True") == 0 && !meta_deleting(pod);
    }
    return false;
}

/* How many of the budget's pods there are, and how many of them are ready; false: this pod is none. */
static bool count_pods(struct restreq *req, struct json_object *budget, struct json_object *pod,
                       int *all, int *ready)
{
    const struct selector *selector;
    struct errinfo ei;
    struct json_object **pods;
    *all = *ready = 0;
    if (selector_from_object(req->arena, json_at(budget, "spec", "selector", NULL), &selector,
                             &ei) != ERR_OK ||
        !selector_match(selector, meta_labels(pod)))
        return false;
    size_t count = objstore_list(req->store, req->arena, req->kind, req->path.ns, &pods);
    for (size_t i = 0; i < count; i++) {
        if (!selector_match(selector, meta_labels(pods[i])))
            continue;
        *all += !meta_deleting(pods[i]);
        *ready += is_ready(pods[i]);
    }
    return true;
}

/* A share that cannot be read allows nothing. */
static bool budget_allows(struct restreq *req, struct json_object *budget, struct json_object *pod)
{
    struct json_object *spec = json_at(budget, "spec", NULL);
    struct json_object *at_most = json_at(spec, "maxUnavailable", NULL);
    struct errinfo ei;
    int all, ready, part;
    if (!count_pods(req, budget, pod, &all, &ready))
        return true;
    if (intstr_scaled(at_most ? at_most : json_at(spec, "minAvailable", NULL), all, true, 1, &part,
                      &ei) != ERR_OK)
        return false;
    return ready > (at_most ? all - part : part);
}

static bool is_allowed(struct restreq *req, struct json_object *pod)
{
    struct json_object **budgets;
    size_t count = objstore_list(req->store, req->arena,
                                 objstore_kind(req->store, "policy", "poddisruptionbudgets"),
                                 req->path.ns, &budgets);
    for (size_t i = 0; i < count && is_ready(pod); i++) {
        if (budget_allows(req, budgets[i], pod))
            continue;
        req->call.fail.arena = req->arena;
        return restreply_error(req, 429, "TooManyRequests",
                               "Cannot evict pod as it would violate the pod's disruption budget: "
                               "The disruption budget %s does not allow it now",
                               meta_name(budgets[i]));
    }
    return true;
}

void apievict(struct restreq *req)
{
    struct json_object *pod = objstore_get(req->store, req->kind, req->path.ns, req->path.name);
    const struct objdelete options = {.grace_seconds = -1};
    if (!pod) {
        restreply_not_found(req);
        return;
    }
    json_own(req->arena, json_object_get(pod));
    if (!is_allowed(req, pod))
        return;
    if (objstore_delete(req->store, &req->call, req->kind, req->path.ns, req->path.name, &options,
                        NULL, NULL) != ERR_OK)
        restreply_fail(req);
    else
        restreply_tree(req, 201,
                       form(req->arena, "{kind: Status, apiVersion: v1, metadata: {}, status: "
                                        "Success}"));
}
