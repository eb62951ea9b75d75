/* What workloads of Canaries are to be released now: read when the rules ask for it, and forgotten
 * soon, for the next delivery may come at any time. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
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
    struct ask *ask;
    const struct target *target; /* NULL: of its kind nothing can be told */
    char revision[SPECHASH_TEXT];
    bool known;
    int64_t at_ms; /* monotonic: when it was answered; 0: it was not yet */
};

struct wave_sight {
    struct members_context *context;
    TAILQ_HEAD(, sight) sights;
    void (*seen)(void *arg);
    void *arg;
    int under_way;
};

struct wave_sight *wave_sight_new(struct members_context *context, void (*seen)(void *arg),
                                  void *arg)
{
    struct wave_sight *all = heap_alloc(sizeof(*all));

    *all = (struct wave_sight){.context = context, .seen = seen, .arg = arg};
    TAILQ_INIT(&all->sights);
    return all;
}

static void drop(struct sight *sight)
{
    TAILQ_REMOVE(&sight->all->sights, sight, link);
    sight->all->under_way -= sight->ask != NULL;
    ask_free(sight->ask);
    free(sight->key);
    free(sight);
}

void wave_sight_free(struct wave_sight *all)
{
    struct sight *sight;

    if (!all)
        return;
    while ((sight = TAILQ_FIRST(&all->sights)))
        drop(sight);
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

const char *wave_sight_of(const struct wave_sight *all, const char *key, int64_t now_ms)
{
    const struct sight *sight = find(all, key);

    return sight && sight->known && now_ms - sight->at_ms < FRESH_MS ? sight->revision : NULL;
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

/* Of whom nobody asks any more. */
static void forget_old(struct wave_sight *all, int64_t now_ms)
{
    struct sight *sight, *next;

    for (sight = TAILQ_FIRST(&all->sights); sight; sight = next) {
        next = TAILQ_NEXT(sight, link);
        if (!sight->ask && now_ms - sight->at_ms >= FRESH_MS)
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

static void ask(struct sight *sight, const char *namespace_, const char *name)
{
    struct wave_sight *all = sight->all;
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = sight->target->resource,
                                         .namespace_ = namespace_,
                                         .name = name};

    all->under_way++;
    sight->ask = ask_start(all->context, sight->member->kube, &request, on_read, sight);
}

void wave_sight_look(struct wave_sight *all, const char *key, struct member *member,
                     const char *namespace_, const char *name)
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
            ask(sight, namespace_, target);
        } else {
            sight->at_ms = clock_monotonic_ms();
            answer(sight, NULL);
            all->seen(all->arg);
        }
    }
    arena_free(arena);
}
