#include "base/shares.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

struct owner {
    char *name;
    size_t taken;
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

void shares_take(struct shares *shares, const char *name, size_t amount)
{
    struct owner *owner = table_get(&shares->owners, name, "");

    if (amount == 0)
        return;
    if (!owner) {
        owner = heap_alloc(sizeof(*owner));
        *owner = (struct owner){.name = heap_strdup(name ? name : "")};
        table_put(&shares->owners, owner);
    }
    owner->taken += amount;
    shares->taken += amount;
}

void shares_give_back(struct shares *shares, const char *name, size_t amount)
{
    struct owner *owner = table_get(&shares->owners, name, "");

    if (amount == 0)
        return;
    assert(owner && owner->taken >= amount && "only what was taken is given back");
    owner->taken -= amount;
    shares->taken -= amount;
    if (owner->taken == 0) {
        table_take(&shares->owners, owner->name, "");
        owner_free(owner);
    }
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

const char *shares_yields(const struct shares *shares, const char *name, size_t amount)
{
    const struct owner *greedy = NULL, *owner;

    if (shares->taken + amount <= shares->most)
        return NULL;
    for (size_t i = 0; (owner = table_next(&shares->owners, &i));)
        if (*owner->name && (!greedy || owner->taken > greedy->taken))
            greedy = owner;
    if (!name)
        name = "";
    if (!greedy || (*name && shares_of(shares, name) + amount >= greedy->taken))
        return name;
    return greedy->name;
}
