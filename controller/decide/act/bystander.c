/*
 * Services of others that lead to the target or to the primary. When a Canary is made for a
 * workload, its own Services lead to the primary, and the target goes to zero; a Service of another
 * name that selects the target's pods (an older one, that of another team) would lead to nobody
 * from then on. (Flagger lets that happen.) So the target keeps its pods as long as there is such a
 * Service; that is told, and releases go on meanwhile.
 *
 * They are looked for once, when the Canary is initialised, whatever number of pods the target has
 * then: a Service that somebody makes later has led to nobody before either. The condition is the
 * memory of what was found; while it stands, it is looked again before the target would go, and
 * when the Service changes. A person may take the target to zero meanwhile; the pods of the next
 * release stay. A Service whose endpoints may go says so by an annotation.
 *
 * When a Canary is deleted, its primary would go with it. It stays, with all that its pods read,
 * where a Service of others selects them: the one of a Canary that was pointed elsewhere leads on
 * to the primary that it had, which another Canary may have taken over. Nobody looks after it then.
 */
#include "decide/act/bystander.h"

#include <string.h>

#include "decide/act/handover.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "tick/edit.h"

#define MAY_GO "flagger.app/endpoints-may-go"

static bool is_named_by(const struct canary *canary, const char *name)
{
    const char *const names[] = {canary->service.name, canary->service.primary_name,
                                 canary->service.canary_name};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i] && strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

/* It selects something, and all that it selects by, such pods have. */
static bool selects(struct json_object *service, struct json_object *template)
{
    struct json_object *labels = json_at(template, "metadata", "labels", NULL);
    struct json_object *selector = json_at(service, "spec", "selector", NULL);

    if (!json_object_is_type(selector, json_type_object) ||
        json_object_object_length(selector) == 0)
        return false;
    json_object_object_foreach(selector, key, value)
    {
        if (!json_same(json_at(labels, key, NULL), value))
            return false;
    }
    return true;
}

/* The Service of a canary, which another Canary has left: it led to nobody between two releases. */
static bool is_left_canary(const struct release *r, struct json_object *service)
{
    return json_at(service, "metadata", "annotations", HANDED_OVER_BY, NULL) &&
           selects(service, r->info.template);
}

/* Whether it would lead to nobody without the pods of this template; `instead`: of those that stay,
 * or NULL. */
static bool is_in_the_way(struct release *r, struct json_object *service,
                          struct json_object *template, struct json_object *instead)
{
    const char *name = json_str_at(service, "metadata", "name", NULL);
    const char *may_go = json_str_at(service, "metadata", "annotations", MAY_GO, NULL);

    return name && !is_named_by(r->canary, name) && !edit_is_owned(r->tick, service) &&
           !is_left_canary(r, service) && !(may_go && strcmp(may_go, "true") == 0) &&
           selects(service, template) && !(instead && selects(service, instead));
}

/* Asked for one by one, those that are found wake the Canary when they change. *name: the first of
 * them, NULL: there is none. */
static enum verdict find(struct release *r, struct json_object *template,
                         struct json_object *instead, const char **name)
{
    struct json_object *services, *one;
    enum verdict verdict = VERDICT_GO;

    *name = NULL;
    if (!need_objects(r->tick, &kube_services, r->canary->namespace_, &services))
        return VERDICT_NEED_FACTS;
    for (size_t i = 0; i < json_len(services); i++) {
        struct json_object *service = json_elem(services, i);
        if (!is_in_the_way(r, service, template, instead))
            continue;
        const char *found = json_str_at(service, "metadata", "name", NULL);
        *name = *name ? *name : found;
        if (!need_object(r->tick, &kube_services, r->canary->namespace_, found, &one))
            verdict = VERDICT_NEED_FACTS;
    }
    return verdict;
}

enum verdict bystander_look(struct release *r)
{
    const char *name;

    if (r->target->own_services || !r->info.template)
        return VERDICT_GO;
    enum verdict verdict = find(r, r->info.template, NULL, &name);
    if (verdict != VERDICT_GO || !name) {
        if (verdict == VERDICT_GO)
            condition_clear(r, CONDITION_FREE);
        return verdict;
    }
    const char *text = arena_printf(r->tick->arena,
                                    "Service %s.%s selects the pods of %s, which keeps them until "
                                    "it is gone or selects others, and no revision with other "
                                    "configs is released; if it may lead to nobody, annotate it "
                                    "with " MAY_GO "=true",
                                    name, r->canary->namespace_, release_target(r));
    if (condition_set(r, CONDITION_FREE, "SelectedByService", text))
        release_warn(r, "%s", text);
    return VERDICT_STOP;
}

enum verdict bystander_wait(struct release *r)
{
    bool may_be = release_is_initialising(r) || condition_is_set(r, CONDITION_FREE);

    return may_be ? bystander_look(r) : VERDICT_GO;
}

enum verdict bystander_keep_primary(struct release *r)
{
    struct json_object *primary = r->info.primary;
    struct json_object *instead = r->info.at_zero ? NULL : r->info.template;
    const char *name;

    if (r->target->own_services || !primary || !edit_is_owned(r->tick, primary))
        return VERDICT_GO;
    enum verdict verdict = find(r, json_at(primary, "spec", "template", NULL), instead, &name);
    if (verdict == VERDICT_GO && name)
        verdict = handover_leave_primary(r);
    if (verdict == VERDICT_GO && name)
        release_warn(r,
                     "Service %s.%s selects the pods of %s-primary.%s, which stays without its "
                     "Canary; delete it when nobody needs it",
                     name, r->canary->namespace_, r->canary->target.name, r->canary->namespace_);
    return verdict;
}
