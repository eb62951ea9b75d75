#include "engine/targets.h"

#include <json-c/linkhash.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* One Canary of a target; the first that came is the first of the list. */
struct claim {
    struct claim *next;
    char *canary;
};

struct targets {
    struct lh_table *claims; /* target -> struct claim; owns the keys and the first of each list */
};

static void free_entry(struct lh_entry *entry)
{
    free(lh_entry_k(entry));
}

struct targets *targets_new(void)
{
    struct targets *targets = heap_alloc(sizeof(*targets));
    targets->claims = lh_kchar_table_new(64, free_entry);
    return targets;
}

static void claim_free(struct claim *claim)
{
    free(claim->canary);
    free(claim);
}

void targets_free(struct targets *targets)
{
    if (!targets)
        return;
    struct lh_entry *entry;
    lh_foreach(targets->claims, entry)
    {
        struct claim *claim = (struct claim *)lh_entry_v(entry);
        while (claim) {
            struct claim *next = claim->next;
            claim_free(claim);
            claim = next;
        }
    }
    lh_table_free(targets->claims);
    free(targets);
}

const char *targets_claim(struct targets *targets, const char *target, const char *canary)
{
    struct claim *claim = heap_alloc(sizeof(*claim));
    *claim = (struct claim){.canary = heap_strdup(canary)};
    void *found = NULL;
    if (!lh_table_lookup_ex(targets->claims, target, &found)) {
        lh_table_insert(targets->claims, heap_strdup(target), claim);
        return NULL;
    }
    struct claim *first = found;
    claim->next = first->next;
    first->next = claim;
    return first->canary;
}

void targets_release(struct targets *targets, const char *target, const char *canary)
{
    struct lh_entry *entry = target ? lh_table_lookup_entry(targets->claims, target) : NULL;
    if (!entry)
        return;
    struct claim *first = (struct claim *)lh_entry_v(entry);
    struct claim **link = &first;
    while (*link && strcmp((*link)->canary, canary) != 0)
        link = &(*link)->next;
    struct claim *gone = *link;
    if (!gone)
        return;
    *link = gone->next;
    claim_free(gone);
    if (first)
        lh_entry_set_val(entry, first);
    else
        lh_table_delete_entry(targets->claims, entry);
}
