/* What the rules of the waves are to know: which clusters a plan means, and how its Canaries stand. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/fleet.h"
#include "fleet/select.h"
#include "members/wave_parts.h"

enum { MAX_CLUSTERS = 10000 };

struct gathering {
    const struct wave_source *source;
    struct wave_facts *facts;
    size_t room;
    int car; /* of the train, whose Canaries are being gathered */
};

static void trouble(struct gathering *g, const char *text)
{
    if (!g->facts->trouble)
        g->facts->trouble = text;
}

/* --- Canaries */

struct waves_canary wave_canary(const struct wave_source *source, const char *cluster,
                                const struct stock_canary *canary)
{
    const struct digest *digest = &canary->seen.digest;
    const char *identity = source->hub->context.identity;
    bool mine =
        strcmp(canary->held_by, source->label) == 0 && strcmp(canary->manager, identity) == 0;
    const char *target = NULL, *key;
    int replicas = 0;

    if (!wave_sight_is_empty(source->sight)) {
        key = arena_printf(source->arena, "%s/%s/%s", cluster, digest->namespace_, digest->name);
        target = wave_sight_of(source->sight, key, source->now_ms);
        replicas = wave_sight_replicas(source->sight, key);
    }
    return (struct waves_canary){.namespace_ = digest->namespace_,
                                 .name = digest->name,
                                 .phase = canary->phase,
                                 .weight = canary->weight,
                                 .applied = canary->applied,
                                 .promoted = canary->promoted,
                                 .suspended = canary->suspended,
                                 .mine = mine,
                                 .holder = *canary->held_by && !mine ? canary->held_by : NULL,
                                 .deleting = canary->deleting,
                                 .replicas = replicas,
                                 .target = target};
}

static void add_canary(struct gathering *g, size_t index, const struct stock_canary *canary)
{
    struct waves_cluster *cluster = &g->facts->clusters[index];
    size_t count = cluster->n_canaries;

    if ((count & (count - 1)) == 0) { /* grows at each power of two */
        struct waves_canary *more =
            arena_array(g->source->arena, count ? count * 2 : 1, sizeof(*more));
        if (count > 0)
            memcpy(more, cluster->canaries, count * sizeof(*more));
        cluster->canaries = more;
    }
    cluster->canaries[cluster->n_canaries] = wave_canary(g->source, cluster->name, canary);
    cluster->canaries[cluster->n_canaries++].car = g->car;
}

static bool has_labels(const struct stock_canary *canary, struct json_object *labels)
{
    if (!labels)
        return true;
    json_object_object_foreach(labels, key, value)
    {
        if (!stock_has_label(canary, key, json_object_get_string(value)))
            return false;
    }
    return true;
}

/* --- clusters */

/* By the wall clock, which is read but once: the same answer has the same time in every status. */
static int64_t heard_at(const struct member *member)
{
    static int64_t ahead_ms;
    int64_t heard_ms = member->stock ? stock_heard_ms(member->stock) : 0;

    if (ahead_ms == 0)
        ahead_ms = clock_wall_ms() - clock_monotonic_ms();
    return heard_ms > 0 ? heard_ms + ahead_ms : 0;
}

/* One of this name once. */
static size_t add_cluster(struct gathering *g, const struct fleet_member *found)
{
    struct wave_facts *facts = g->facts;
    const char *name = found ? found->name : FLEET_HOST;
    const char *namespace_ = found ? facts->plan.namespace_ : "", *access = "";

    for (size_t i = 0; i < facts->count; i++)
        if (strcmp(facts->clusters[i].name, name) == 0)
            return i;
    size_t at = facts->count++;
    struct waves_cluster *cluster = &facts->clusters[at];
    *cluster = (struct waves_cluster){.name = name, .labels = found ? found->labels : NULL};
    if (found && found->mistake) {
        cluster->why = found->mistake;
        return at;
    }
    if (found)
        access = found->key ? arena_printf(g->source->arena, "%s/%s", found->secret, found->key)
                            : found->secret;
    if (!found && !g->source->hub->context.settings->own_cluster) {
        cluster->denied = true;
        cluster->why = MEMBERS_NOT_OWN;
        return at;
    }
    struct member *member = g->source->member(g->source->arg, namespace_, access);
    facts->members[at].member = member;
    cluster->known = member->stock && stock_synced(member->stock);
    cluster->reachable = cluster->known && member_is_reached(member);
    cluster->why = member->why ? member->why : "its Canaries have not been listed yet";
    cluster->seen_ms = heard_at(member);
    facts->begins = facts->begins || (!cluster->known && !member->why);
    return at;
}

static void make_room(struct gathering *g, size_t more)
{
    size_t wanted = g->facts->count + more;

    if (wanted <= g->room)
        return;
    struct waves_cluster *clusters = arena_array(g->source->arena, wanted, sizeof(*clusters));
    struct wave_member *members = arena_array(g->source->arena, wanted, sizeof(*members));
    if (g->facts->count > 0) {
        memcpy(clusters, g->facts->clusters, g->facts->count * sizeof(*clusters));
        memcpy(members, g->facts->members, g->facts->count * sizeof(*members));
    }
    g->facts->clusters = clusters;
    g->facts->members = members;
    g->room = wanted;
}

/* The plan may hold Canaries of this namespace there. Where it may not, or that is not known yet, the
 * cluster counts as one that is not reached: what is held there stays so. */
static bool may_act(struct gathering *g, size_t index, const char *in)
{
    struct arena *arena = g->source->arena;
    const struct members_context *context = &g->source->hub->context;
    const struct member *member = g->facts->members[index].member;
    const char *from = g->facts->plan.namespace_, *refusal = NULL;
    struct waves_cluster *cluster = &g->facts->clusters[index];
    struct json_object *namespace_ = NULL;
    bool known = true;

    if (!grants_is_settled(context->settings->grants, from, in)) {
        member_need(g->facts->members[index].member, &fleet_namespaces);
        known = stock_look(member->stock, arena, &fleet_namespaces, "", in, &namespace_);
    }
    if (known)
        refusal = grants_refusal(arena, context->settings->grants, "the namespace of its Canaries",
                                 from, in, namespace_);
    if (known && !refusal)
        return true;
    g->facts->begins |= !known;
    cluster->known = cluster->reachable = false;
    cluster->denied = known;
    cluster->why = known ? refusal : "its Namespaces have not been listed yet";
    if (refusal)
        trouble(g, arena_printf(arena, "cluster %s: %s", cluster->name, refusal));
    return false;
}

/* Collects objects of one cluster, of a namespace there. */
typedef void (*fill_fn)(struct gathering *g, size_t index, const struct stock *stock,
                        const void *what);

/* The clusters of a destination, each with what `fill` finds in the namespace there. */
static void visit(struct gathering *g, const struct application_destination *destination,
                  const char *in, fill_fn fill, const void *what)
{
    const struct fleet_known none = {0};
    const struct fleet_known *known =
        destination->fleet ? desk_known(g->source->hub->desk, g->facts->plan.namespace_) : &none;
    struct fleet_choice choice;

    fleet_select(g->source->arena, destination, known, &choice);
    if (choice.mistake)
        trouble(g, choice.mistake);
    size_t count = choice.host ? 1 : choice.count;
    make_room(g, count);
    for (size_t i = 0; i < count && g->facts->count < MAX_CLUSTERS; i++) {
        size_t at = add_cluster(g, choice.host ? NULL : &choice.members[i]);
        if (g->facts->clusters[at].known && may_act(g, at, in))
            fill(g, at, g->facts->members[at].member->stock, what);
    }
}

/* --- which Canaries */

static void fill_rollout(struct gathering *g, size_t index, const struct stock *stock,
                         const void *what)
{
    const struct rollout *rollout = what;
    const struct waves_cluster *cluster = &g->facts->clusters[index];
    const char *in = rollout->workload.namespace_, *name = rollout->workload.name;
    const struct stock_canary *canary = stock_canary(stock, in, name);

    for (size_t i = 0; i < cluster->n_canaries; i++)
        if (strcmp(cluster->canaries[i].name, name) == 0 &&
            strcmp(cluster->canaries[i].namespace_, in) == 0)
            return;
    if (canary)
        add_canary(g, index, canary);
}

static void fill_labelled(struct gathering *g, size_t index, const struct stock *stock,
                          const void *what)
{
    const struct releaseplan *plan = what;
    const struct stock_canary *canary;

    for (size_t i = 0; (canary = stock_next(stock, &i));)
        if (strcmp(canary->seen.digest.namespace_, plan->canaries_namespace) == 0 &&
            has_labels(canary, plan->canaries_labels))
            add_canary(g, index, canary);
}

/* Room for so many more. */
static void make_names(struct gathering *g, size_t more)
{
    struct wave_facts *facts = g->facts;
    uint64_t *names = arena_array(g->source->arena, facts->n_names + more, sizeof(*names));

    if (facts->n_names > 0)
        memcpy(names, facts->names, facts->n_names * sizeof(*names));
    facts->names = names;
}

static void gather_application(struct gathering *g, const char *name)
{
    struct arena *arena = g->source->arena;
    struct application app;
    struct json_object *tree;
    struct errinfo ei;

    switch (desk_app(g->source->hub->desk, arena, g->facts->plan.namespace_, name, &tree)) {
    case DESK_NONE:
        trouble(g, arena_printf(arena, "there is no Application %s", name));
        return;
    case DESK_LATER:
        trouble(g, "there is no room in memory to read the Application now");
        return;
    case DESK_FOUND:
        break;
    }
    if (application_view(arena, tree, &app, &ei) != ERR_OK) {
        trouble(g, arena_printf(arena, "Application %s: %s", name, ei.text));
        return;
    }
    struct wave_facts *facts = g->facts;
    make_names(g, (size_t)app.n_policies);
    for (int i = 0; i < app.n_policies; i++) {
        const struct rollout *rollout = app.policies[i].rollout;
        if (!rollout)
            continue;
        facts->names[facts->n_names++] =
            name_hash(rollout->workload.namespace_, rollout->workload.name);
        visit(g, &app.policies[i].destination, rollout->workload.namespace_, fill_rollout, rollout);
    }
}

struct pair {
    struct waves_cluster cluster;
    struct wave_member member;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->cluster.name, ((const struct pair *)b)->cluster.name);
}

/* A Secret is found in no order: without this each new process would write the same status in
 * another one. */
static void sort_clusters(struct gathering *g)
{
    struct wave_facts *facts = g->facts;
    struct pair *pairs = arena_array(g->source->arena, facts->count, sizeof(*pairs));

    for (size_t i = 0; i < facts->count; i++)
        pairs[i] = (struct pair){facts->clusters[i], facts->members[i]};
    if (facts->count > 1)
        qsort(pairs, facts->count, sizeof(*pairs), by_name);
    for (size_t i = 0; i < facts->count; i++) {
        facts->clusters[i] = pairs[i].cluster;
        facts->members[i] = pairs[i].member;
    }
}

static void gather_all(struct gathering *g)
{
    struct wave_facts *facts = g->facts;

    for (g->car = 0; g->car < facts->plan.n_train; g->car++)
        gather_application(g, facts->plan.train[g->car]);
    g->car = 0;
    if (facts->plan.application)
        gather_application(g, facts->plan.application);
    if (!facts->plan.canaries_namespace)
        return;
    make_names(g, 1);
    facts->names[facts->n_names++] = name_hash(facts->plan.canaries_namespace, NULL);
    visit(g, &facts->plan.destination, facts->plan.canaries_namespace, fill_labelled, &facts->plan);
}

void wave_gather(const struct wave_source *source, struct wave_facts *facts)
{
    struct gathering g = {.source = source, .facts = facts};

    gather_all(&g);
    sort_clusters(&g);
}
