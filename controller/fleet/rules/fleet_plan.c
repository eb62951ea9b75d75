#include "fleet/rules/fleet.h"

#include <string.h>

#include "tick/edit.h"

const struct kube_resource fleet_namespaces = {.group = "",
                                               .version = "v1",
                                               .plural = "namespaces",
                                               .kind = "Namespace",
                                               .cluster_scoped = true};
const struct kube_resource fleet_ingresses = {
    .group = "networking.k8s.io", .version = "v1", .plural = "ingresses", .kind = "Ingress"};
const struct kube_resource fleet_templates = {.group = "flagger.app",
                                              .version = "v1beta1",
                                              .plural = "metrictemplates",
                                              .kind = "MetricTemplate"};
const struct kube_resource fleet_canaries = {
    .group = "flagger.app", .version = "v1beta1", .plural = "canaries", .kind = "Canary"};

/* All kinds that the fleet creates. */
static const struct kube_resource *const kinds[] = {
    &fleet_ingresses, &kube_deployments, &kube_services, &fleet_templates, &fleet_canaries};

#define KURATORS_MARK    "kurator.dev/rollout"
#define KURATORS_INGRESS "nginx"

struct work {
    struct arena *arena;
    const struct fleet_place *place;
    const struct rollout *rollout; /* NULL if none of its objects must remain */
    const struct fleet_eyes *eyes;
    const char *mark;
    struct json_object *before; /* the inventory */
    struct fleet_plan *plan;
};

/* Treats an unknown object as absent and marks the plan incomplete, so that one pass collects all
 * needs. */
static struct json_object *look(struct work *w, const struct kube_resource *resource,
                                const char *namespace_, const char *name)
{
    struct json_object *live = NULL;

    if (!w->eyes->look(w->eyes->arg, resource, namespace_, name, &live))
        w->plan->unknown = true;
    return live;
}

static void wait_for(struct work *w, const char *sentence)
{
    if (!w->plan->waits)
        w->plan->waits = sentence;
}

static void refuse(struct work *w, const char *sentence)
{
    if (!w->plan->refused)
        w->plan->refused = sentence;
}

static const char *label(struct work *w, const struct kube_resource *resource,
                         const char *namespace_, const char *name)
{
    return arena_printf(w->arena, "%s %s%s%s", resource->kind, namespace_, *namespace_ ? "/" : "",
                        name);
}

/* Why the Application must not act in this namespace, one sentence; NULL if it may, or if that is
 * not known yet. */
static const char *refusal_in(struct work *w, const char *namespace_)
{
    const struct grants *grants = w->place->grants;
    const char *from = w->place->app->namespace_;
    const char *field =
        arena_printf(w->arena, "policy %s: rollout.workload.namespace", w->place->policy->name);
    struct json_object *live = NULL;

    if (!grants_is_settled(grants, from, namespace_)) {
        live = look(w, &fleet_namespaces, "", namespace_);
        if (w->plan->unknown)
            return NULL;
    }
    return grants_refusal(w->arena, grants, field, from, namespace_, live);
}

/* Kurator's mark contains just the name of a policy, which any author may choose: it counts only
 * where the Application may act. */
static bool is_taken_over(struct work *w, struct json_object *live)
{
    const char *kurators = json_str_at(live, "metadata", "annotations", KURATORS_MARK, NULL);
    const char *in = json_str_at(live, "metadata", "namespace", NULL);

    return kurators && strcmp(kurators, w->place->policy->name) == 0 && in && !refusal_in(w, in);
}

static bool is_ours(struct work *w, struct json_object *live)
{
    const char *mark = json_str_at(live, "metadata", "annotations", FLEET_MARK, NULL);
    const char *manager = json_str_at(live, "metadata", "annotations", FLEET_MANAGER, NULL);

    if (mark)
        return strcmp(mark, w->mark) == 0 && (!manager || strcmp(manager, w->place->manager) == 0);
    return is_taken_over(w, live);
}

/* The end of a message if the object belongs to a namesake in another management cluster; else
 * "". */
static const char *of_other_manager(const struct work *w, struct json_object *live)
{
    const char *manager = json_str_at(live, "metadata", "annotations", FLEET_MANAGER, NULL);

    return manager && strcmp(manager, w->place->manager) != 0
               ? arena_printf(w->arena, " and " FLEET_MANAGER ": %s, found %.60s",
                              w->place->manager, manager)
               : "";
}

static bool is_going(struct json_object *live)
{
    return json_at(live, "metadata", "deletionTimestamp", NULL) != NULL;
}

/* --- steps */

static struct fleet_step *add_step(struct work *w, enum fleet_verb verb,
                                   const struct kube_resource *resource, const char *namespace_,
                                   const char *name)
{
    struct fleet_step *step = ARENA_NEW(w->arena, struct fleet_step);

    *step = (struct fleet_step){
        .verb = verb, .resource = resource, .namespace_ = namespace_, .name = name};
    *w->plan->last = step;
    w->plan->last = &step->next;
    w->plan->count++;
    return step;
}

static void add_create(struct work *w, const struct kube_resource *resource, const char *namespace_,
                       const char *name, struct json_object *object)
{
    struct fleet_step *step = add_step(w, FLEET_CREATE, resource, namespace_, name);

    step->body = step->object = object;
}

/* Adds nothing if both are the same. */
static void add_patch(struct work *w, const struct kube_resource *resource, const char *namespace_,
                      const char *name, struct json_object *from, struct json_object *to)
{
    struct json_object *patch = json_merge_diff(w->arena, from, to);

    if (!patch)
        return;
    json_set_str(json_sub(patch, "metadata"), "resourceVersion",
                 json_str_at(from, "metadata", "resourceVersion", NULL));
    struct fleet_step *step = add_step(w, FLEET_PATCH, resource, namespace_, name);
    step->body = patch;
    step->object = to;
}

static void add_delete(struct work *w, const struct kube_resource *resource, const char *namespace_,
                       const char *name, struct json_object *live)
{
    struct fleet_step *step = add_step(w, FLEET_DELETE, resource, namespace_, name);

    step->body = edit_object(w->arena);
    json_set_str(json_sub(step->body, "preconditions"), "uid",
                 json_str_at(live, "metadata", "uid", NULL));
}

/* --- the inventory */

static bool is_listed(struct json_object *list, const char *kind, const char *namespace_,
                      const char *name)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *entry = json_elem(list, i);
        if (strcmp(json_str_at(entry, "kind", NULL), kind) == 0 &&
            strcmp(json_str_at(entry, "namespace", NULL), namespace_) == 0 &&
            strcmp(json_str_at(entry, "name", NULL), name) == 0)
            return true;
    }
    return false;
}

static void list(struct work *w, const struct kube_resource *resource, const char *namespace_,
                 const char *name)
{
    struct json_object *entry = edit_object(w->arena);

    if (is_listed(w->plan->inventory, resource->kind, namespace_, name))
        return;
    json_set_str(entry, "apiVersion", kube_api_version(w->arena, resource));
    json_set_str(entry, "kind", resource->kind);
    json_set_str(entry, "namespace", namespace_);
    json_set_str(entry, "name", name);
    edit_add(w->plan->inventory, entry);
}

struct listed {
    const struct kube_resource *resource;
    const char *namespace_, *name;
};

/* Reads an entry of an inventory; false if we cannot have written it. */
static bool read_entry(struct json_object *inventory, size_t index, struct listed *out)
{
    struct json_object *entry = json_elem(inventory, index);
    const char *kind = json_str_at(entry, "kind", NULL);

    *out = (struct listed){.namespace_ = json_str_at(entry, "namespace", NULL),
                           .name = json_str_at(entry, "name", NULL)};
    for (size_t i = 0; kind && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i]->kind, kind) == 0)
            out->resource = kinds[i];
    return out->resource && out->namespace_ && out->name;
}

/* The old inventory and the new objects: those that are not checked now are checked later. */
static void list_as_before(struct work *w)
{
    struct json_object *made = w->plan->inventory;
    struct listed it;

    w->plan->inventory = edit_array(w->arena);
    for (size_t i = 0; i < json_len(w->before); i++)
        if (read_entry(w->before, i, &it))
            list(w, it.resource, it.namespace_, it.name);
    for (size_t i = 0; !w->plan->refused && i < json_len(made); i++)
        if (read_entry(made, i, &it))
            list(w, it.resource, it.namespace_, it.name);
}

/* --- the wanted objects */

static struct json_object *new_object(struct work *w, const struct kube_resource *resource,
                                      const char *namespace_, const char *name)
{
    struct json_object *out = edit_object(w->arena), *metadata = json_sub(out, "metadata");

    json_set_str(out, "apiVersion", kube_api_version(w->arena, resource));
    json_set_str(out, "kind", resource->kind);
    json_set_str(metadata, "name", name);
    if (*namespace_)
        json_set_str(metadata, "namespace", namespace_);
    return out;
}

/* The wanted state of an object in the workload's namespace. */
struct wish {
    const struct kube_resource *resource;
    const char *name;
    struct json_object *live, *wanted;
    struct json_object *first; /* initial fields, which others may change later; NULL if none */
    bool keep;                 /* it outlives the rollout */
};

static void set_marks(struct work *w, struct json_object *object, bool keep)
{
    struct json_object *metadata = json_sub(object, "metadata");
    struct json_object *notes = json_sub(metadata, "annotations");

    json_set_str(json_sub(metadata, "labels"), FLEET_LABEL, FLEET_LABEL_VALUE);
    json_set_str(notes, FLEET_MARK, w->mark);
    json_set_str(notes, FLEET_MANAGER, w->place->manager);
    if (keep)
        json_set_str(notes, FLEET_KEEP, "true");
    else
        json_object_object_del(notes, FLEET_KEEP);
}

static void lay(struct work *w, const struct wish *wish)
{
    const char *in = w->rollout->workload.namespace_;
    struct json_object *base;

    if (wish->live && !is_ours(w, wish->live)) {
        refuse(w, arena_printf(w->arena,
                               "%s is there, and is not of Application %s: expected none, or one "
                               "with the annotation " FLEET_MARK ": %s%s",
                               label(w, wish->resource, in, wish->name), w->mark, w->mark,
                               of_other_manager(w, wish->live)));
        return;
    }
    list(w, wish->resource, in, wish->name);
    if (wish->live && is_going(wish->live)) {
        wait_for(w, arena_printf(w->arena, "waits for %s, which is being deleted, to be gone",
                                 label(w, wish->resource, in, wish->name)));
        return;
    }
    if (wish->live)
        base = json_copy(w->arena, wish->live);
    else
        base = edit_overlay(w->arena, new_object(w, wish->resource, in, wish->name),
                            wish->first ? wish->first : edit_object(w->arena));
    set_marks(w, base, wish->keep);
    struct json_object *to = applied_lay(w->arena, wish->live, base, wish->wanted);
    if (wish->live)
        add_patch(w, wish->resource, in, wish->name, wish->live, to);
    else
        add_create(w, wish->resource, in, wish->name, to);
}

/* False if nothing can be created in it yet. */
static bool want_namespace(struct work *w)
{
    const char *name = w->rollout->workload.namespace_, *mistake;
    struct json_object *live = look(w, &fleet_namespaces, "", name);
    struct json_object *wanted = derive_namespace(w->arena, w->rollout, live, &mistake);

    if (mistake)
        refuse(w, mistake);
    else if (live && is_going(live))
        wait_for(w, arena_printf(w->arena,
                                 "waits for Namespace %s, which is being deleted, to be recreated",
                                 name));
    else if (!live && !wanted)
        wait_for(w, arena_printf(w->arena, "waits for Namespace %s, which is not there", name));
    else if (!live)
        add_create(w, &fleet_namespaces, "", name,
                   edit_overlay(w->arena, new_object(w, &fleet_namespaces, "", name), wanted));
    else if (wanted)
        add_patch(w, &fleet_namespaces, "", name, live, edit_overlay(w->arena, live, wanted));
    return w->plan->unknown || (!w->plan->refused && !w->plan->waits);
}

/* Returns the name of the Ingress that leads to the Service; NULL if the provider needs none. */
static const char *want_ingress(struct work *w)
{
    const struct rollout *rollout = w->rollout;
    const char *in = rollout->workload.namespace_;
    const char *class = rollout->provider->ingress_class;

    if (!class)
        return NULL;
    const char *own = arena_printf(w->arena, "%s-%s", rollout->workload.name, class);
    struct json_object *live = look(w, &fleet_ingresses, in, own);
    struct json_object *kurators = look(w, &fleet_ingresses, in, KURATORS_INGRESS);
    if (live && !is_ours(w, live) && derive_ingress_leads(live, rollout))
        return own;
    if (!live && derive_ingress_leads(kurators, rollout))
        return KURATORS_INGRESS;
    struct json_object *first = edit_object(w->arena);
    json_set_str(json_sub(first, "spec"), "ingressClassName", class);
    lay(w, &(struct wish){.resource = &fleet_ingresses,
                          .name = own,
                          .live = live,
                          .wanted = derive_ingress(w->arena, rollout),
                          .first = first});
    return own;
}

static void want_loader(struct work *w)
{
    const struct rollout *rollout = w->rollout;
    const char *in = rollout->workload.namespace_, *name = derive_loader_name(w->arena, rollout);

    if (!rollout->loader)
        return;
    struct json_object *deployment = look(w, &kube_deployments, in, name);
    struct json_object *service = look(w, &kube_services, in, name);
    struct json_object *first = edit_object(w->arena);
    json_set_int(json_sub(first, "spec"), "replicas", 1);
    lay(w, &(struct wish){.resource = &kube_deployments,
                          .name = name,
                          .live = deployment,
                          .wanted = derive_loader_deployment(w->arena, w->place, deployment),
                          .first = first,
                          .keep = rollout->keep_loader});
    lay(w, &(struct wish){.resource = &kube_services,
                          .name = name,
                          .live = service,
                          .wanted = derive_loader_service(w->arena, rollout, deployment),
                          .keep = rollout->keep_loader});
}

static void want_templates(struct work *w)
{
    const struct rollout_analysis *analysis = &w->rollout->analysis;
    const char *in = w->rollout->workload.namespace_;

    for (int i = 0; i < analysis->n_metrics; i++) {
        const struct rollout_metric *metric = &analysis->metrics[i];
        if (metric->custom)
            lay(w, &(struct wish){.resource = &fleet_templates,
                                  .name = metric->name,
                                  .live = look(w, &fleet_templates, in, metric->name),
                                  .wanted = derive_template(w->arena, metric)});
    }
}

static void want_canary(struct work *w, const char *ingress)
{
    const struct rollout *rollout = w->rollout;
    const char *in = rollout->workload.namespace_, *name = rollout->workload.name;
    struct json_object *service = look(w, &kube_services, in, rollout->service_name);
    struct json_object *live = look(w, &fleet_canaries, in, name);

    /* An existing Canary is always managed: it may have to be suspended. */
    if (!live && !derive_port(rollout, service)) {
        wait_for(w, service ? arena_printf(w->arena,
                                           "waits for a port %d of Service %s/%s, which has none",
                                           rollout->port, in, rollout->service_name)
                            : arena_printf(w->arena, "waits for Service %s/%s, which is not there",
                                           in, rollout->service_name));
        return;
    }
    lay(w, &(struct wish){.resource = &fleet_canaries,
                          .name = name,
                          .live = live,
                          .wanted = derive_canary(w->arena, rollout, ingress, service, live)});
}

/* --- objects to delete */

static bool is_wanted_canary(const struct work *w, const struct listed *it)
{
    return w->rollout && strcmp(it->namespace_, w->rollout->workload.namespace_) == 0 &&
           strcmp(it->name, w->rollout->workload.name) == 0;
}

/* A Canary that is being deleted gives the traffic back and needs the other objects until then, so
 * the plan waits for it. */
static void send_canaries_away(struct work *w)
{
    struct listed it;

    for (size_t i = 0; i < json_len(w->before); i++) {
        if (!read_entry(w->before, i, &it) || it.resource != &fleet_canaries ||
            is_wanted_canary(w, &it))
            continue;
        struct json_object *live = look(w, it.resource, it.namespace_, it.name);
        if (!live || !is_ours(w, live))
            continue;
        if (!is_going(live))
            add_delete(w, it.resource, it.namespace_, it.name, live);
        wait_for(w, arena_printf(w->arena, "waits for %s to give its traffic back and go",
                                 label(w, it.resource, it.namespace_, it.name)));
    }
}

/* A copy without the marks: the object no longer has an owner. */
static struct json_object *unmarked(struct work *w, struct json_object *live)
{
    static const char *const marks[] = {FLEET_MARK, FLEET_KEEP, FLEET_MANAGER, KURATORS_MARK,
                                        APPLIED};
    struct json_object *out = json_copy(w->arena, live);
    struct json_object *metadata = json_at(out, "metadata", NULL);
    struct json_object *notes = json_at(metadata, "annotations", NULL);
    struct json_object *labels = json_at(metadata, "labels", NULL);

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        json_object_object_del(notes, marks[i]);
    if (json_object_object_length(notes) == 0)
        json_object_object_del(metadata, "annotations");
    if (!labels)
        return out;
    json_object_object_del(labels, FLEET_LABEL);
    if (json_object_object_length(labels) == 0)
        json_object_object_del(metadata, "labels");
    return out;
}

static void take_away_rest(struct work *w)
{
    struct listed it;

    for (size_t i = 0; i < json_len(w->before); i++) {
        if (!read_entry(w->before, i, &it) ||
            is_listed(w->plan->inventory, it.resource->kind, it.namespace_, it.name))
            continue;
        struct json_object *live = look(w, it.resource, it.namespace_, it.name);
        if (!live || !is_ours(w, live))
            continue;
        list(w, it.resource, it.namespace_, it.name);
        bool kept = json_at(live, "metadata", "annotations", FLEET_KEEP, NULL) != NULL;
        if (kept || it.resource == &fleet_ingresses)
            add_patch(w, it.resource, it.namespace_, it.name, live, unmarked(w, live));
        else if (!is_going(live))
            add_delete(w, it.resource, it.namespace_, it.name, live);
    }
}

/* Objects made before the refusal stay and guard the workload. */
static bool may_act(struct work *w)
{
    const char *in = w->rollout->workload.namespace_;
    const char *refusal = refusal_in(w, in);

    if (refusal) {
        refuse(w, refusal);
        w->plan->denied = true;
    }
    return !refusal && (!w->plan->unknown ||
                        grants_is_settled(w->place->grants, w->place->app->namespace_, in));
}

static void want_all(struct work *w)
{
    if (!may_act(w) || !want_namespace(w))
        return;
    const char *ingress = want_ingress(w);
    want_loader(w);
    want_templates(w);
    want_canary(w, ingress);
}

struct fleet_plan *fleet_plan(struct arena *arena, const struct fleet_place *place,
                              struct json_object *inventory, const struct fleet_eyes *eyes)
{
    struct fleet_plan *plan = ARENA_NEW(arena, struct fleet_plan);
    struct work w = {
        .arena = arena,
        .place = place,
        .rollout = place->leaves ? NULL : place->policy->rollout,
        .eyes = eyes,
        .mark = arena_printf(arena, "%s/%s/%s", place->app->namespace_, place->app->name,
                             place->policy->name),
        .before = inventory,
        .plan = plan,
    };

    *plan = (struct fleet_plan){.inventory = edit_array(arena)};
    plan->last = &plan->first;
    send_canaries_away(&w);
    if (!plan->waits && w.rollout)
        want_all(&w);
    if (plan->refused) {
        plan->first = NULL;
        plan->last = &plan->first;
        plan->count = 0;
    }
    /* An outdated Canary may still need objects that would be deleted. */
    if (plan->refused || plan->waits)
        list_as_before(&w);
    else
        take_away_rest(&w);
    return plan;
}
