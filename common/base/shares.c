#include "base/shares.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

struct owner {
    char *name;
    struct owner *group; /* the owner "a" of "a/b", which includes its parts; or NULL */
    size_t taken;
    int parts;
};

static void owner_key(const void *item, const char **first, const char **second)
{
    const struct owner *owner = item;

    *first = owner->name;
    *second = "";
}

const char *budget_name(enum budget budget)
{
    static const char *const names[] = {
#define BUDGET(name, what, programs, unit, owner) [BUDGET_##name] = what,
#include "base/budgets.def"
#undef BUDGET
    };

    return names[budget];
}

void shares_init(struct shares *shares, enum budget budget, size_t most)
{
    *shares = (struct shares){.budget = budget, .most = most};
    table_init(&shares->owners, owner_key);
}

static void owner_free(struct owner *owner)
{
    free(owner->name);
    free(owner);
}

void shares_fini(struct shares *shares)
{
    struct owner *owner;

    for (size_t i = 0; (owner = table_next(&shares->owners, &i));)
        owner_free(owner);
    table_fini(&shares->owners);
}

/* "a" of "a/b", on the heap; NULL if the name has no slash. */
static char *group_name(const char *name)
{
    const char *slash = strchr(name, '/');

    return slash ? heap_printf("%.*s", (int)(slash - name), name) : NULL;
}

static struct owner *owner_new(struct shares *shares, const char *name, struct owner *group)
{
    struct owner *owner = heap_alloc(sizeof(*owner));

    *owner = (struct owner){.name = heap_strdup(name), .group = group};
    if (group)
        group->parts++;
    table_put(&shares->owners, owner);
    return owner;
}

static struct owner *owner_get(struct shares *shares, const char *name)
{
    struct owner *owner = table_get(&shares->owners, name, ""), *group = NULL;
    char *of = owner ? NULL : group_name(name);

    if (owner)
        return owner;
    if (of)
        group = table_get(&shares->owners, of, "");
    if (of && !group)
        group = owner_new(shares, of, NULL);
    free(of);
    return owner_new(shares, name, group);
}

void shares_take(struct shares *shares, const char *name, size_t amount)
{
    if (amount == 0)
        return;
    struct owner *owner = owner_get(shares, name ? name : "");
    owner->taken += amount;
    if (owner->group)
        owner->group->taken += amount;
    shares->taken += amount;
}

static void drop_unused(struct shares *shares, struct owner *owner)
{
    struct owner *group = owner->group;

    if (owner->taken > 0 || owner->parts > 0)
        return;
    table_take(&shares->owners, owner->name, "");
    owner_free(owner);
    if (!group)
        return;
    group->parts--;
    drop_unused(shares, group);
}

void shares_give_back(struct shares *shares, const char *name, size_t amount)
{
    struct owner *owner = table_get(&shares->owners, name, "");

    if (amount == 0)
        return;
    assert(owner && owner->taken >= amount && "only what was taken is given back");
    owner->taken -= amount;
    if (owner->group)
        owner->group->taken -= amount;
    shares->taken -= amount;
    drop_unused(shares, owner);
}

size_t shares_of(const struct shares *shares, const char *name)
{
    const struct owner *owner = table_get(&shares->owners, name, "");

    return owner ? owner->taken : 0;
}

bool shares_admit(const struct shares *shares, const char *name, size_t amount)
{
    enum { PART = 3 };

    if (amount > shares->most || shares->taken > shares->most - amount)
        return false;
    return !name || !*name ||
           shares_of(shares, name) / PART <= shares->most - shares->taken - amount;
}

/* The largest owner of a group or, if group is NULL, of the owners that are not parts of
 * another; NULL if there is none. */
static const struct owner *greediest(const struct shares *shares, const struct owner *group)
{
    const struct owner *greedy = NULL, *owner;

    for (size_t i = 0; (owner = table_next(&shares->owners, &i));)
        if (*owner->name && owner->group == group && (!greedy || owner->taken > greedy->taken))
            greedy = owner;
    return greedy;
}

const char *shares_yields(const struct shares *shares, const char *name, size_t amount)
{
    const struct owner *greedy, *part;

    if (shares->taken + amount <= shares->most)
        return NULL;
    if (!name)
        name = "";
    char *of = group_name(name);
    greedy = greediest(shares, NULL);
    bool own = !greedy || (*name && shares_of(shares, of ? of : name) + amount >= greedy->taken);
    if (own)
        greedy = of ? table_get(&shares->owners, of, "") : NULL;
    free(of);
    part = greedy ? greediest(shares, greedy) : NULL;
    if (own)
        return part && part->taken > shares_of(shares, name) + amount ? part->name : name;
    return part ? part->name : greedy->name;
}

static void lane_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct fair_lane *)item)->owner;
    *second = NULL;
}

void fair_init(struct fair_queue *queue)
{
    TAILQ_INIT(&queue->lanes);
    queue->count = 0;
    table_init(&queue->owned, lane_key);
}

void fair_fini(struct fair_queue *queue)
{
    table_fini(&queue->owned);
}

void fair_lane_init(struct fair_lane *lane, struct fair_queue *queue)
{
    *lane = (struct fair_lane){.queue = queue};
    TAILQ_INIT(&lane->items);
}

void fair_add(struct fair_lane *lane, struct fair_item *item)
{
    if (lane->count++ == 0)
        TAILQ_INSERT_TAIL(&lane->queue->lanes, lane, link);
    lane->queue->count++;
    item->lane = lane;
    TAILQ_INSERT_TAIL(&lane->items, item, link);
}

void fair_add_of(struct fair_queue *queue, const char *owner, struct fair_item *item)
{
    struct fair_lane *lane = table_get(&queue->owned, owner ? owner : "", NULL);

    if (!lane) {
        lane = heap_alloc(sizeof(*lane));
        fair_lane_init(lane, queue);
        lane->owner = heap_strdup(owner ? owner : "");
        (void)table_put(&queue->owned, lane);
    }
    fair_add(lane, item);
}

static void drop_lane(struct fair_lane *lane)
{
    TAILQ_REMOVE(&lane->queue->lanes, lane, link);
    if (!lane->owner)
        return;
    (void)table_take(&lane->queue->owned, lane->owner, NULL);
    free(lane->owner);
    free(lane);
}

void fair_remove(struct fair_item *item)
{
    struct fair_lane *lane = item->lane;

    if (!lane)
        return;
    TAILQ_REMOVE(&lane->items, item, link);
    item->lane = NULL;
    lane->queue->count--;
    if (--lane->count == 0)
        drop_lane(lane);
}

struct fair_item *fair_take(struct fair_queue *queue)
{
    struct fair_lane *lane = TAILQ_FIRST(&queue->lanes);

    if (!lane)
        return NULL;
    struct fair_item *item = TAILQ_FIRST(&lane->items);
    TAILQ_REMOVE(&queue->lanes, lane, link);
    TAILQ_INSERT_TAIL(&queue->lanes, lane, link);
    fair_remove(item);
    return item;
}

int fair_before(const struct fair_item *item)
{
    const struct fair_lane *own = item->lane, *lane;
    const struct fair_item *at;
    int round = 0, before;
    bool passed = false;

    TAILQ_FOREACH(at, &own->items, link)
    {
        if (at == item)
            break;
        round++;
    }
    before = round;
    TAILQ_FOREACH(lane, &own->queue->lanes, link)
    {
        if (lane == own) {
            passed = true;
            continue;
        }
        int taken = passed ? round : round + 1;
        before += lane->count < taken ? lane->count : taken;
    }
    return before;
}
