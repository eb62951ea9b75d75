/* The facts for the rules of the waves: the clusters of a plan and the state of its Canaries. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "fleet/daemon/wave_parts.h"
#include "fleet/rules/fleet.h"
#include "fleet/rules/select.h"
#include "kube/reply.h"
#include "target/target.h"

enum { MAX_CLUSTERS = 10000 };

struct gathering {
    const struct wave_source *source;
    struct wave_facts *facts;
    size_t room;
    int order; /* position in the train of the Application being read */
};

static void trouble(struct gathering *g, const char *text)
{
    if (!g->facts->trouble)
        g->facts->trouble = text;
}

static int workload_probes_replicas(const struct workload_probes *all, const char *key);
static const char *workload_probes_of(const struct workload_probes *all, const char *key,
                                      int64_t now_ms);
static bool workload_probes_is_empty(const struct workload_probes *all);

/* --- Canaries */

static struct waves_canary wave_canary(const struct wave_source *source, const char *cluster,
                                       const struct member_canary *canary)
{
    const struct digest *digest = &canary->seen.digest;
    const char *identity = source->fleet->context.identity;
    bool mine =
        strcmp(canary->held_by, source->label) == 0 && strcmp(canary->manager, identity) == 0;
    const char *target = NULL, *key;
    int replicas = 0;

    if (!workload_probes_is_empty(source->probes)) {
        key = arena_printf(source->arena, "%s/%s/%s", cluster, digest->namespace_, digest->name);
        target = workload_probes_of(source->probes, key, source->now_ms);
        replicas = workload_probes_replicas(source->probes, key);
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

static void add_canary(struct gathering *g, size_t index, const struct member_canary *canary)
{
    struct waves_cluster *cluster = &g->facts->clusters[index];
    size_t count = cluster->n_canaries;

    if ((count & (count - 1)) == 0) { /* doubles at each power of two */
        struct waves_canary *more =
            arena_array(g->source->arena, count ? count * 2 : 1, sizeof(*more));
        if (count > 0)
            memcpy(more, cluster->canaries, count * sizeof(*more));
        cluster->canaries = more;
    }
    cluster->canaries[cluster->n_canaries] = wave_canary(g->source, cluster->name, canary);
    cluster->canaries[cluster->n_canaries++].order = g->order;
}

static bool has_labels(const struct member_canary *canary, struct json_object *labels)
{
    if (!labels)
        return true;
    json_object_object_foreach(labels, key, value)
    {
        if (!member_cache_has_label(canary, key, json_object_get_string(value)))
            return false;
    }
    return true;
}

/* --- clusters */

/* Converted to the wall clock, which is read only once: the same contact has the same time in every
 * status. */
static int64_t heard_at(const struct member *member)
{
    static int64_t ahead_ms;
    int64_t heard_ms = member->cache ? member_cache_heard_ms(member->cache) : 0;

    if (ahead_ms == 0)
        ahead_ms = clock_wall_ms() - clock_monotonic_ms();
    return heard_ms > 0 ? heard_ms + ahead_ms : 0;
}

/* Adds a cluster, unless there is one with this name. */
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
    if (!found && !g->source->fleet->context.settings->own_cluster) {
        cluster->denied = true;
        cluster->why = MEMBERS_NOT_OWN;
        return at;
    }
    struct member *member = g->source->member(g->source->arg, namespace_, access);
    facts->members[at].member = member;
    cluster->known = member->cache && member_cache_synced(member->cache);
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

/* True if the plan may hold Canaries of this namespace there. If it may not, or if that is not
 * known yet, the cluster counts as unreachable, so that what is held there stays held. */
static bool may_act(struct gathering *g, size_t index, const char *in)
{
    struct arena *arena = g->source->arena;
    const struct members_context *context = &g->source->fleet->context;
    const struct member *member = g->facts->members[index].member;
    const char *from = g->facts->plan.namespace_, *refusal = NULL;
    struct waves_cluster *cluster = &g->facts->clusters[index];
    struct json_object *namespace_ = NULL;
    bool known = true;

    if (!grants_is_settled(context->settings->grants, from, in)) {
        member_need(g->facts->members[index].member, &fleet_namespaces);
        known = member_cache_find(member->cache, arena, &fleet_namespaces, "", in, &namespace_);
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

/* Collects objects of one cluster, from one namespace there. */
typedef void (*fill_fn)(struct gathering *g, size_t index, const struct member_cache *cache,
                        const void *what);

/* Visits the clusters of a destination; `fill` collects what is in the namespace on each. */
static void visit(struct gathering *g, const struct application_destination *destination,
                  const char *in, fill_fn fill, const void *what)
{
    const struct fleet_known none = {0};
    const struct fleet_known *known =
        destination->fleet
            ? management_cache_known(g->source->fleet->management, g->facts->plan.namespace_)
            : &none;
    struct fleet_choice choice;

    fleet_select(g->source->arena, destination, known, &choice);
    if (choice.mistake)
        trouble(g, choice.mistake);
    size_t count = choice.host ? 1 : choice.count;
    make_room(g, count);
    for (size_t i = 0; i < count && g->facts->count < MAX_CLUSTERS; i++) {
        size_t at = add_cluster(g, choice.host ? NULL : &choice.members[i]);
        if (g->facts->clusters[at].known && may_act(g, at, in))
            fill(g, at, g->facts->members[at].member->cache, what);
    }
}

/* --- which Canaries */

static void fill_rollout(struct gathering *g, size_t index, const struct member_cache *cache,
                         const void *what)
{
    const struct rollout *rollout = what;
    const struct waves_cluster *cluster = &g->facts->clusters[index];
    const char *in = rollout->workload.namespace_, *name = rollout->workload.name;
    const struct member_canary *canary = member_cache_canary(cache, in, name);

    for (size_t i = 0; i < cluster->n_canaries; i++)
        if (strcmp(cluster->canaries[i].name, name) == 0 &&
            strcmp(cluster->canaries[i].namespace_, in) == 0)
            return;
    if (canary)
        add_canary(g, index, canary);
}

static void fill_labelled(struct gathering *g, size_t index, const struct member_cache *cache,
                          const void *what)
{
    const struct releaseplan *plan = what;
    const struct member_canary *canary;

    for (size_t i = 0; (canary = member_cache_next(cache, &i));)
        if (strcmp(canary->seen.digest.namespace_, plan->canaries_namespace) == 0 &&
            has_labels(canary, plan->canaries_labels))
            add_canary(g, index, canary);
}

/* Makes room for `more` names. */
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

    switch (management_cache_app(g->source->fleet->management, arena, g->facts->plan.namespace_,
                                 name, &tree)) {
    case MANAGEMENT_NONE:
        trouble(g, arena_printf(arena, "there is no Application %s", name));
        return;
    case MANAGEMENT_LATER:
        trouble(g, "there is no room in memory to read the Application now");
        return;
    case MANAGEMENT_FOUND:
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

/* Secrets are found in no particular order: without sorting, each new process would write the same
 * status in a different order. */
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

    for (g->order = 0; g->order < facts->plan.n_train; g->order++)
        gather_application(g, facts->plan.train[g->order]);
    g->order = 0;
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

/*
 * --- probes of workloads
 *
 * The revision of a workload is read when the rules request it and soon dropped, because the next
 * delivery may come at any time. The number of replicas is read with it if the plan has a budget,
 * and is kept.
 */

enum { FRESH_MS = 10000 };

struct workload_probe {
    TAILQ_ENTRY(workload_probe) link;
    struct workload_probes *all;
    char *key;
    struct member *member;
    struct tracked_request *ask, *weighing;
    const struct target *target; /* NULL: nothing is known about its kind */
    char revision[SPECHASH_TEXT];
    bool known;
    int64_t at_ms; /* monotonic: time of the reply; 0 if there is none yet */
};

/* Replicas of a primary, when last read. */
struct weight {
    int replicas;
    char key[]; /* key of the probe */
};

struct workload_probes {
    struct members_context *context;
    struct table weights;
    TAILQ_HEAD(, workload_probe) probes;
    void (*seen)(void *arg);
    void *arg;
    int under_way;
};

static void weight_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct weight *)item)->key;
    *second = NULL;
}

struct workload_probes *workload_probes_new(struct members_context *context,
                                            void (*seen)(void *arg), void *arg)
{
    struct workload_probes *all = heap_alloc(sizeof(*all));

    *all = (struct workload_probes){.context = context, .seen = seen, .arg = arg};
    TAILQ_INIT(&all->probes);
    table_init(&all->weights, weight_key);
    return all;
}

static void drop(struct workload_probe *probe)
{
    TAILQ_REMOVE(&probe->all->probes, probe, link);
    probe->all->under_way -= (probe->ask != NULL) + (probe->weighing != NULL);
    tracked_free(probe->ask);
    tracked_free(probe->weighing);
    free(probe->key);
    free(probe);
}

void workload_probes_free(struct workload_probes *all)
{
    struct weight *weight;
    struct workload_probe *probe;

    if (!all)
        return;
    while ((probe = TAILQ_FIRST(&all->probes)))
        drop(probe);
    for (size_t i = 0; (weight = table_next(&all->weights, &i));)
        free(weight);
    table_fini(&all->weights);
    free(all);
}

void workload_probes_drop(struct workload_probes *all, const struct member *member)
{
    struct workload_probe *probe, *next;

    for (probe = TAILQ_FIRST(&all->probes); probe; probe = next) {
        next = TAILQ_NEXT(probe, link);
        if (probe->member == member)
            drop(probe);
    }
}

static struct workload_probe *find(const struct workload_probes *all, const char *key)
{
    struct workload_probe *probe;

    TAILQ_FOREACH(probe, &all->probes, link)
    {
        if (strcmp(probe->key, key) == 0)
            return probe;
    }
    return NULL;
}

/* True if no workload was read recently. */
static bool workload_probes_is_empty(const struct workload_probes *all)
{
    return TAILQ_EMPTY(&all->probes) && all->weights.count == 0;
}

/* The revision of the workload; NULL if not read recently, "" if it cannot be known. Borrowed. */
static const char *workload_probes_of(const struct workload_probes *all, const char *key,
                                      int64_t now_ms)
{
    const struct workload_probe *probe = find(all, key);

    return probe && probe->known && !probe->weighing && now_ms - probe->at_ms < FRESH_MS
               ? probe->revision
               : NULL;
}

/* Number of replicas that served for this workload when last read, however long ago, at least 1; 0
 * if never read or unknown. */
static int workload_probes_replicas(const struct workload_probes *all, const char *key)
{
    const struct weight *weight =
        all->weights.count > 0 ? table_get(&all->weights, key, NULL) : NULL;

    return weight ? weight->replicas : 0;
}

int workload_probes_under_way(const struct workload_probes *all)
{
    return all->under_way;
}

/* "" represents an unknown revision: there is no such workload, or its kind is not supported. */
static void answer(struct workload_probe *probe, struct json_object *workload)
{
    struct arena *arena = arena_new();

    probe->known = true;
    if (!workload || !probe->target ||
        probe->target->revision(arena, workload, probe->revision, NULL) != ERR_OK)
        probe->revision[0] = '\0';
    arena_free(arena);
}

static void on_read(void *arg, const struct kube_result *result)
{
    struct workload_probe *probe = arg;
    struct workload_probes *all = probe->all;
    bool missing = result->err == ERR_NOT_FOUND;

    probe->ask = NULL;
    probe->at_ms = clock_monotonic_ms();
    all->under_way--;
    if (result->err == ERR_OK || missing)
        answer(probe, missing ? NULL : result->body);
    all->seen(all->arg);
}

/* --- number of replicas that serve */

/* For a DaemonSet, the number of nodes on which it should run. A workload that is scaled to zero
 * counts as one. */
static int replicas_of(struct json_object *primary)
{
    enum { MOST = 1000000 };
    int64_t nodes = json_int_at(primary, 0, "status", "desiredNumberScheduled", NULL);
    int64_t count = json_int_at(primary, nodes, "spec", "replicas", NULL);

    return count < 1 ? 1 : count > MOST ? MOST : (int)count;
}

static void weigh(struct workload_probes *all, const char *key, int replicas)
{
    struct weight *weight = heap_alloc(sizeof(*weight) + strlen(key) + 1);

    weight->replicas = replicas;
    memcpy(weight->key, key, strlen(key) + 1);
    free(table_put(&all->weights, weight));
}

static void on_weighed(void *arg, const struct kube_result *result)
{
    struct workload_probe *probe = arg;
    struct workload_probes *all = probe->all;

    probe->weighing = NULL;
    all->under_way--;
    if (result->err == ERR_OK)
        weigh(all, probe->key, replicas_of(result->body));
    all->seen(all->arg);
}

/* Drops probes that are too old to be used. */
static void forget_old(struct workload_probes *all, int64_t now_ms)
{
    struct workload_probe *probe, *next;

    for (probe = TAILQ_FIRST(&all->probes); probe; probe = next) {
        next = TAILQ_NEXT(probe, link);
        if (!probe->ask && !probe->weighing && now_ms - probe->at_ms >= FRESH_MS)
            drop(probe);
    }
}

/* The target kind of a Canary and the name of its workload; NULL if the kind is not supported. */
static const struct target *target_of(struct json_object *canary, const char **name)
{
    const char *version = json_str_at(canary, "spec", "targetRef", "apiVersion", NULL);
    const char *kind = json_str_at(canary, "spec", "targetRef", "kind", NULL);
    const struct target *target = kind ? target_find(version, kind) : NULL;

    *name = json_str_at(canary, "spec", "targetRef", "name", NULL);
    return *name && target && target->revision ? target : NULL;
}

static void ask(struct workload_probe *probe, struct arena *arena, const char *namespace_,
                const char *name, bool weighs)
{
    struct workload_probes *all = probe->all;
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = probe->target->resource,
                                         .namespace_ = namespace_,
                                         .name = name};

    const struct kube_request primary = {.verb = KUBE_GET,
                                         .resource = probe->target->resource,
                                         .namespace_ = namespace_,
                                         .name = arena_printf(arena, "%s-primary", name)};

    all->under_way += 1 + weighs;
    probe->ask = tracked_send(all->context, probe->member->kube, &request, on_read, probe);
    if (weighs)
        probe->weighing =
            tracked_send(all->context, probe->member->kube, &primary, on_weighed, probe);
}

void workload_probes_start(struct workload_probes *all, const char *key, struct member *member,
                           const char *namespace_, const char *name, bool weighs)
{
    struct arena *arena = arena_new();
    struct json_object *canary = NULL;
    const char *target = NULL;

    forget_old(all, clock_monotonic_ms());
    if (!find(all, key) && member->kube &&
        member_cache_find(member->cache, arena, &fleet_canaries, namespace_, name, &canary)) {
        struct workload_probe *probe = heap_alloc(sizeof(*probe));
        *probe = (struct workload_probe){.all = all,
                                         .key = heap_strdup(key),
                                         .member = member,
                                         .target = target_of(canary, &target)};
        TAILQ_INSERT_TAIL(&all->probes, probe, link);
        if (probe->target) {
            ask(probe, arena, namespace_, target, weighs);
        } else {
            probe->at_ms = clock_monotonic_ms();
            answer(probe, NULL);
            all->seen(all->arg);
        }
    }
    arena_free(arena);
}
