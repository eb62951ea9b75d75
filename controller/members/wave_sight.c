/* What workloads of Canaries are to be released now: read when the rules ask for it, and forgotten
 * soon, for the next delivery may come at any time. How many replicas serve is read beside it where
 * the plan weighs them, and kept. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "fleet/fleet.h"
#include "kube/status.h"
#include "members/ask.h"
#include "members/wave_parts.h"
#include "target/target.h"

enum { FRESH_MS = 10000 };

struct sight {
    TAILQ_ENTRY(sight) link;
    struct wave_sight *all;
    char *key;
    struct member *member;
    struct ask *ask, *weighing;
    const struct target *target; /* NULL: of its kind nothing can be told */
    char revision[SPECHASH_TEXT];
    bool known;
    int64_t at_ms; /* monotonic: when it was answered; 0: it was not yet */
};

/* What was seen of a primary. */
struct weight {
    int replicas;
    char key[]; /* of the sight */
};

struct wave_sight {
    struct members_context *context;
    struct table weights;
    TAILQ_HEAD(, sight) sights;
    void (*seen)(void *arg);
    void *arg;
    int under_way;
};

static void weight_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct weight *)item)->key;
    *second = NULL;
}

struct wave_sight *wave_sight_new(struct members_context *context, void (*seen)(void *arg),
                                  void *arg)
{
    struct wave_sight *all = heap_alloc(sizeof(*all));

    *all = (struct wave_sight){.context = context, .seen = seen, .arg = arg};
    TAILQ_INIT(&all->sights);
    table_init(&all->weights, weight_key);
    return all;
}

static void drop(struct sight *sight)
{
    TAILQ_REMOVE(&sight->all->sights, sight, link);
    sight->all->under_way -= (sight->ask != NULL) + (sight->weighing != NULL);
    ask_free(sight->ask);
    ask_free(sight->weighing);
    free(sight->key);
    free(sight);
}

void wave_sight_free(struct wave_sight *all)
{
    struct weight *weight;
    struct sight *sight;

    if (!all)
        return;
    while ((sight = TAILQ_FIRST(&all->sights)))
        drop(sight);
    for (size_t i = 0; (weight = table_next(&all->weights, &i));)
        free(weight);
    table_fini(&all->weights);
    free(all);
}

void wave_sight_drop(struct wave_sight *all, const struct member *member)
{
    struct sight *sight, *next;

    for (sight = TAILQ_FIRST(&all->sights); sight; sight = next) {
        next = TAILQ_NEXT(sight, link);
        if (sight->member == member)
            drop(sight);
    }
}

static struct sight *find(const struct wave_sight *all, const char *key)
{
    struct sight *sight;

    TAILQ_FOREACH(sight, &all->sights, link)
    {
        if (strcmp(sight->key, key) == 0)
            return sight;
    }
    return NULL;
}

bool wave_sight_is_empty(const struct wave_sight *all)
{
    return TAILQ_EMPTY(&all->sights) && all->weights.count == 0;
}

const char *wave_sight_of(const struct wave_sight *all, const char *key, int64_t now_ms)
{
    const struct sight *sight = find(all, key);

    return sight && sight->known && !sight->weighing && now_ms - sight->at_ms < FRESH_MS
               ? sight->revision
               : NULL;
}

int wave_sight_replicas(const struct wave_sight *all, const char *key)
{
    const struct weight *weight =
        all->weights.count > 0 ? table_get(&all->weights, key, NULL) : NULL;

    return weight ? weight->replicas : 0;
}

int wave_sight_under_way(const struct wave_sight *all)
{
    return all->under_way;
}

/* What nobody can know is "": there is no such workload, or it is of another kind. */
static void answer(struct sight *sight, struct json_object *workload)
{
    struct arena *arena = arena_new();

    sight->known = true;
    if (!workload || !sight->target ||
        sight->target->revision(arena, workload, sight->revision, NULL) != ERR_OK)
        sight->revision[0] = '\0';
    arena_free(arena);
}

static void on_read(void *arg, const struct kube_result *result)
{
    struct sight *sight = arg;
    struct wave_sight *all = sight->all;
    bool missing = result->err == ERR_NOT_FOUND;

    sight->ask = NULL;
    sight->at_ms = clock_monotonic_ms();
    all->under_way--;
    if (result->err == ERR_OK || missing)
        answer(sight, missing ? NULL : result->body);
    all->seen(all->arg);
}

/* --- how many serve */

/* Of a DaemonSet as many as it has nodes. One that is scaled to zero counts as one. */
static int replicas_of(struct json_object *primary)
{
    enum { MOST = 1000000 };
    int64_t nodes = json_int_at(primary, 0, "status", "desiredNumberScheduled", NULL);
    int64_t count = json_int_at(primary, nodes, "spec", "replicas", NULL);

    return count < 1 ? 1 : count > MOST ? MOST : (int)count;
}

static void weigh(struct wave_sight *all, const char *key, int replicas)
{
    struct weight *weight = heap_alloc(sizeof(*weight) + strlen(key) + 1);

    weight->replicas = replicas;
    memcpy(weight->key, key, strlen(key) + 1);
    free(table_put(&all->weights, weight));
}

static void on_weighed(void *arg, const struct kube_result *result)
{
    struct sight *sight = arg;
    struct wave_sight *all = sight->all;

    sight->weighing = NULL;
    all->under_way--;
    if (result->err == ERR_OK)
        weigh(all, sight->key, replicas_of(result->body));
    all->seen(all->arg);
}

/* Of whom nobody asks any more. */
static void forget_old(struct wave_sight *all, int64_t now_ms)
{
    struct sight *sight, *next;

    for (sight = TAILQ_FIRST(&all->sights); sight; sight = next) {
        next = TAILQ_NEXT(sight, link);
        if (!sight->ask && !sight->weighing && now_ms - sight->at_ms >= FRESH_MS)
            drop(sight);
    }
}

/* What a Canary releases; NULL: of that nothing can be told. */
static const struct target *target_of(struct json_object *canary, const char **name)
{
    const char *version = json_str_at(canary, "spec", "targetRef", "apiVersion", NULL);
    const char *kind = json_str_at(canary, "spec", "targetRef", "kind", NULL);
    const struct target *target = kind ? target_find(version, kind) : NULL;

    *name = json_str_at(canary, "spec", "targetRef", "name", NULL);
    return *name && target && target->revision ? target : NULL;
}

static void ask(struct sight *sight, struct arena *arena, const char *namespace_, const char *name,
                bool weighs)
{
    struct wave_sight *all = sight->all;
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = sight->target->resource,
                                         .namespace_ = namespace_,
                                         .name = name};

    const struct kube_request primary = {.verb = KUBE_GET,
                                         .resource = sight->target->resource,
                                         .namespace_ = namespace_,
                                         .name = arena_printf(arena, "%s-primary", name)};

    all->under_way += 1 + weighs;
    sight->ask = ask_start(all->context, sight->member->kube, &request, on_read, sight);
    if (weighs)
        sight->weighing = ask_start(all->context, sight->member->kube, &primary, on_weighed, sight);
}

void wave_sight_look(struct wave_sight *all, const char *key, struct member *member,
                     const char *namespace_, const char *name, bool weighs)
{
    struct arena *arena = arena_new();
    struct json_object *canary = NULL;
    const char *target = NULL;

    forget_old(all, clock_monotonic_ms());
    if (!find(all, key) && member->kube &&
        stock_look(member->stock, arena, &fleet_canaries, namespace_, name, &canary)) {
        struct sight *sight = heap_alloc(sizeof(*sight));
        *sight = (struct sight){.all = all,
                                .key = heap_strdup(key),
                                .member = member,
                                .target = target_of(canary, &target)};
        TAILQ_INSERT_TAIL(&all->sights, sight, link);
        if (sight->target) {
            ask(sight, arena, namespace_, target, weighs);
        } else {
            sight->at_ms = clock_monotonic_ms();
            answer(sight, NULL);
            all->seen(all->arg);
        }
    }
    arena_free(arena);
}
