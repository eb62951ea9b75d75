#include "fleet/daemon/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fleet/daemon/context.h"
#include "fleet/rules/fleet.h"
#include "fleet/rules/inventory.h"
#include "kube/reply.h"

enum {
    PATIENCE_MS = 60000, /* of a whole run; each request has less */
    MAX_ROUNDS = 24,     /* a plan that comes to no end by then is made anew later */
    MAX_CONFLICTS = 3,
};

/* An object that was read because it is not watched. */
struct fact {
    struct fact *next;
    const struct kube_resource *resource;
    const char *namespace_, *name;
    struct json_object *object; /* NULL if there is none */
    bool known;
    struct run *run;
    struct tracked_request *ask;
};

struct run {
    struct place *place;
    const struct run_ways *ways;
    struct arena *arena;
    struct view *view; /* NULL of one that leaves */
    struct application app;
    struct application_policy policy;
    struct fleet_place spec;
    struct fact *facts;
    int left; /* reads under way */
    struct fleet_plan *plan;
    struct fleet_step *step;
    struct tracked_request *ask;
    struct claim_wait wait;
    struct timer *deadline;
    int rounds, conflicts;
    bool distrusts;  /* the watches: all is read */
    enum err failed; /* of a read; ERR_OK: none */
    struct errinfo failure;
};

static void look(struct run *run);

void run_free(struct run *run)
{
    if (!run)
        return;
    for (struct fact *fact = run->facts; fact; fact = fact->next)
        tracked_free(fact->ask);
    tracked_free(run->ask);
    if (run->place->member && run->place->member->claim)
        claim_leave(run->place->member->claim, &run->wait);
    timer_stop(run->deadline);
    view_drop(run->view);
    arena_free(run->arena);
    free(run);
}

/* --- ends */

static void fail(struct run *run, enum err err, const struct errinfo *info)
{
    struct place *place = run->place;
    struct errinfo own = *info;

    log_warn("fleet_place_failed", NULL, own.text, LOG_STR("application", place->owner->label),
             LOG_STR("policy", place->policy), LOG_STR("cluster", place->cluster));
    run->ways->tell(place, err == ERR_DENIED ? REPORT_Refused : REPORT_Failing, own.text);
    run->ways->end(place, &own);
    /* No answer at all: others need not find that out one by one. */
    if (err == ERR_RETRY && own.status == 0 && place->member)
        member_doubt(place->member, own.text);
}

static void on_deadline(void *arg)
{
    struct run *run = arg;
    struct errinfo info = {0};

    run->deadline = NULL;
    err_set(&info, ERR_CANCELLED, "what is to be done there took longer than %d s",
            PATIENCE_MS / 1000);
    fail(run, ERR_CANCELLED, &info);
}

/* Nothing is left to be done now. */
static void rest(struct run *run)
{
    struct place *place = run->place;
    const struct fleet_plan *plan = run->plan;
    const char *objects = inventory_objects(run->arena, plan->inventory);
    enum report_state told = plan->refused ? REPORT_Refused
                             : plan->waits ? REPORT_Waiting
                                           : REPORT_Ready;

    if (plan->denied && plan->refused && (!place->says || strcmp(place->says, plan->refused) != 0))
        place->owner->warn(
            place->owner, "NamespaceNotGranted",
            arena_printf(run->arena, "cluster %s: %s", place->cluster, plan->refused));
    run->ways->tell(place, told, plan->refused ? plan->refused : plan->waits);
    place->marked = place->marked && (plan->refused || plan->waits);
    if (strcmp(objects, place->objects) != 0) {
        free(place->records);
        place->records = heap_strdup(objects);
        place->owner->record(place->owner);
    }
    run->ways->end(place, NULL);
}

/* --- looking */

static struct fact *fact_of(struct run *run, const struct kube_resource *resource,
                            const char *namespace_, const char *name)
{
    struct fact *fact;

    for (fact = run->facts; fact; fact = fact->next)
        if (fact->resource == resource && strcmp(fact->namespace_, namespace_) == 0 &&
            strcmp(fact->name, name) == 0)
            return fact;
    fact = ARENA_NEW(run->arena, struct fact);
    *fact = (struct fact){.next = run->facts,
                          .resource = resource,
                          .namespace_ = arena_strdup(run->arena, namespace_),
                          .name = arena_strdup(run->arena, name),
                          .run = run};
    run->facts = fact;
    return fact;
}

static bool see(void *arg, const struct kube_resource *resource, const char *namespace_,
                const char *name, struct json_object **out)
{
    struct run *run = arg;
    struct fact *fact = fact_of(run, resource, namespace_, name);

    if (!fact->known && !run->distrusts)
        fact->known = member_cache_find(run->place->member->cache, run->arena, resource, namespace_,
                                        name, &fact->object);
    *out = fact->object;
    return fact->known;
}

static void on_read(void *arg, const struct kube_result *result)
{
    struct fact *fact = arg;
    struct run *run = fact->run;
    bool missing =
        result->err == ERR_NOT_FOUND && !kube_status_unserved(result->status, result->body);

    fact->ask = NULL;
    if (result->err == ERR_OK) {
        fact->object = json_own(run->arena, json_object_get(result->body));
        run->place->learns = true;
        member_cache_learn(run->place->member->cache, fact->resource, result->body);
        run->place->learns = false;
    }
    fact->known = result->err == ERR_OK || missing;
    if (!fact->known && run->failed == ERR_OK) {
        run->failed = result->err;
        run->failure = *result->info;
    }
    if (--run->left > 0)
        return;
    if (run->failed != ERR_OK)
        fail(run, run->failed, &run->failure);
    else
        look(run);
}

static void read_missing(struct run *run)
{
    for (struct fact *fact = run->facts; fact; fact = fact->next)
        run->left += !fact->known;
    for (struct fact *fact = run->facts; fact; fact = fact->next) {
        const struct kube_request request = {
            .verb = KUBE_GET,
            .resource = fact->resource,
            .namespace_ = fact->resource->cluster_scoped ? NULL : fact->namespace_,
            .name = fact->name};
        if (!fact->known)
            fact->ask = tracked_send(&run->place->owner->fleet->context, run->place->member->kube,
                                     &request, on_read, fact);
    }
}

/* --- carrying out */

static void next_step(struct run *run);

static void look_again(struct run *run, bool distrusts)
{
    for (struct fact *fact = run->facts; fact; fact = fact->next)
        tracked_free(fact->ask);
    run->facts = NULL;
    run->distrusts = distrusts;
    run->ways->set_state(run->place, PLACE_LOOKING);
    look(run);
}

static void learn(struct run *run, const struct kube_result *result)
{
    const struct fleet_step *step = run->step;
    struct place *place = run->place;
    bool gone = step->verb == FLEET_DELETE &&
                (result->err != ERR_OK || !json_at(result->body, "metadata", "uid", NULL));

    place->learns = true;
    if (gone)
        member_cache_learn_gone(place->member->cache, step->resource, step->namespace_, step->name,
                                json_str_at(step->body, "preconditions", "uid", NULL));
    else if (result->body)
        member_cache_learn(place->member->cache, step->resource, result->body);
    place->learns = false;
}

static void on_step(void *arg, const struct kube_result *result)
{
    struct run *run = arg;
    const struct fleet_step *step = run->step;
    bool is_gone = step->verb == FLEET_DELETE && result->err == ERR_NOT_FOUND;
    bool is_other =
        result->err == ERR_CONFLICT || (result->err == ERR_NOT_FOUND && step->verb == FLEET_PATCH);

    run->ask = NULL;
    if (result->err == ERR_OK || is_gone) {
        learn(run, result);
        run->step = step->next;
        next_step(run);
    } else if (is_other && ++run->conflicts <= MAX_CONFLICTS) {
        look_again(run, true); /* a conflict */
    } else {
        fail(run, result->err, result->info);
    }
}

static void next_step(struct run *run)
{
    static const enum kube_verb verbs[] = {[FLEET_CREATE] = KUBE_CREATE,
                                           [FLEET_PATCH] = KUBE_MERGE_PATCH,
                                           [FLEET_DELETE] = KUBE_DELETE};
    const struct fleet_step *step = run->step;

    if (!step) {
        look_again(run, false);
        return;
    }
    const struct kube_request request = {
        .verb = verbs[step->verb],
        .resource = step->resource,
        .namespace_ = step->resource->cluster_scoped ? NULL : step->namespace_,
        .name = step->verb == FLEET_CREATE ? NULL : step->name,
        .body = step->body};
    log_info("fleet_step", NULL,
             step->verb == FLEET_CREATE  ? "makes an object"
             : step->verb == FLEET_PATCH ? "changes an object"
                                         : "deletes an object",
             LOG_STR("application", run->place->owner->label),
             LOG_STR("cluster", run->place->cluster), LOG_STR("kind", step->resource->kind),
             LOG_STR("namespace", step->namespace_), LOG_STR("name", step->name));
    run->ask = tracked_send(&run->place->owner->fleet->context, run->place->member->kube, &request,
                            on_step, run);
}

static void carry_out(struct run *run)
{
    run->ways->set_state(run->place, PLACE_WRITING);
    run->ways->tell(run->place, REPORT_Working, NULL);
    run->step = run->plan->first;
    next_step(run);
}

static void on_claimed(void *arg, enum err err, const struct errinfo *info)
{
    struct run *run = arg;

    if (err == ERR_OK)
        carry_out(run);
    else
        fail(run, err, info);
}

static void claim(struct run *run)
{
    run->wait.done = on_claimed;
    run->wait.arg = run;
    if (claim_enter(run->place->member->claim, &run->wait))
        carry_out(run);
    else
        run->ways->set_state(run->place, PLACE_CLAIMING);
}

/* Records the plan's objects in the inventory before they are made. */
static void record(struct run *run)
{
    struct place *place = run->place;
    const char *objects = inventory_objects(run->arena, run->plan->inventory);

    if (inventory_has(place->objects, objects)) {
        claim(run);
        return;
    }
    free(place->records);
    place->records = heap_strdup(inventory_join(run->arena, place->objects, objects));
    run->ways->set_state(place, PLACE_RECORDING);
    place->owner->record(place->owner);
}

void run_recorded(struct run *run, const struct errinfo *failure)
{
    if (failure)
        fail(run, ERR_INVALID, failure);
    else
        claim(run);
}

/* --- planning */

static void add_marked(void *arg, const struct kube_resource *resource, const struct digest *digest)
{
    struct json_object *entry = json_object_new_object();

    json_object_array_add(arg, entry);
    json_set_str(entry, "kind", resource->kind);
    json_set_str(entry, "namespace", digest->namespace_);
    json_set_str(entry, "name", digest->name);
}

/* With what has our mark there, where the inventory was lost. */
static struct json_object *inventory_before(struct run *run)
{
    struct place *place = run->place;
    struct json_object *list = inventory_list(run->arena, place->objects);
    const char *mark = arena_printf(run->arena, "%s/%s", place->owner->label, place->policy);

    if (place->marked)
        member_cache_marked(place->member->cache, member_cache_mark(mark), add_marked, list);
    return list;
}

static void look(struct run *run)
{
    const struct fleet_eyes eyes = {.look = see, .arg = run};
    struct errinfo info = {0};

    if (++run->rounds > MAX_ROUNDS) {
        err_set(&info, ERR_CONFLICT,
                "after %d rounds something is still to be done: somebody else changes it as well",
                MAX_ROUNDS);
        fail(run, ERR_CONFLICT, &info);
        return;
    }
    run->plan = fleet_plan(run->arena, &run->spec, inventory_before(run), &eyes);
    if (run->plan->unknown)
        read_missing(run);
    else if (run->plan->count > 0)
        record(run);
    else
        rest(run);
}

static const struct application_policy *policy_of(const struct application *app, const char *name)
{
    for (int i = 0; i < app->n_policies; i++)
        if (strcmp(app->policies[i].name, name) == 0)
            return &app->policies[i];
    return NULL;
}

/* False if its rollout cannot be read, or is not there any more; the Application looks at it anew.
 */
static bool aim(struct run *run)
{
    struct place *place = run->place;
    const struct members_context *context = &place->owner->fleet->context;

    run->app =
        (struct application){.namespace_ = place->owner->namespace_, .name = place->owner->name};
    run->policy = (struct application_policy){.name = place->policy};
    run->spec = (struct fleet_place){.app = &run->app,
                                     .policy = &run->policy,
                                     .manager = context->identity,
                                     .leaves = place->leaves,
                                     .loader_image = context->settings->loader_image,
                                     .grants = context->settings->grants};
    if (place->leaves)
        return true;
    run->view = place->owner->view(place->owner);
    const struct application_policy *policy =
        run->view ? policy_of(&run->view->app, place->policy) : NULL;
    if (!policy || !policy->rollout)
        return false;
    run->spec.app = &run->view->app;
    run->spec.policy = policy;
    return true;
}

void run_start(struct place *place, const struct run_ways *ways)
{
    struct run *run = heap_alloc(sizeof(*run));

    *run = (struct run){.place = place, .ways = ways, .arena = arena_new()};
    place->run = run;
    if (!aim(run)) {
        ways->end(place, NULL);
        return;
    }
    run->deadline =
        timer_start(place->owner->fleet->context.loop, PATIENCE_MS, 0, on_deadline, run);
    look(run);
}
