#include "linearizability/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void explain_clear(struct explanations *set)
{
    set->n = 0;
    set->full = false;
    if (set->n_buckets == 0) {
        set->n_buckets = 1 << 10;
        set->buckets = heap_array(set->n_buckets, sizeof(*set->buckets));
    }
    memset(set->buckets, 0xff, set->n_buckets * sizeof(*set->buckets));
}

void explain_fini(struct explanations *set)
{
    free(set->all);
    free(set->next);
    free(set->buckets);
}

static size_t bucket_of(const struct explanations *set, const struct explanation *e)
{
    uint64_t hash = (e->state + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 29) ^ e->done) * 0x94d049bb133111eb;
    return (hash ^ (hash >> 32)) & (set->n_buckets - 1);
}

static void link_in(struct explanations *set, size_t i)
{
    size_t bucket = bucket_of(set, &set->all[i]);
    set->next[i] = set->buckets[bucket];
    set->buckets[bucket] = i;
}

static void make_room(struct explanations *set)
{
    if (set->n < set->cap)
        return;
    set->cap = set->cap ? set->cap * 2 : 256;
    set->all = heap_grow(set->all, set->cap * sizeof(*set->all));
    set->next = heap_grow(set->next, set->cap * sizeof(*set->next));
    if (set->cap <= set->n_buckets)
        return;
    set->n_buckets = set->cap;
    free(set->buckets);
    set->buckets = heap_array(set->n_buckets, sizeof(*set->buckets));
    memset(set->buckets, 0xff, set->n_buckets * sizeof(*set->buckets));
    for (size_t i = 0; i < set->n; i++)
        link_in(set, i);
}

/* Whether less of each kind was used up, so that more can still happen. */
static bool frugal(const struct explanation *a, const struct explanation *b)
{
    for (int i = 0; i < EXPLAIN_KINDS; i++) {
        if (a->used[i] > b->used[i])
            return false;
    }
    return true;
}

static bool same_place(const struct explanation *a, const struct explanation *b)
{
    return a->state == b->state && a->done == b->done && a->turn == b->turn;
}

void explain_add(struct explanations *set, const struct explanation *e)
{
    for (size_t i = set->buckets[bucket_of(set, e)]; i != SIZE_MAX; i = set->next[i]) {
        struct explanation *other = &set->all[i];
        if (other->dropped || !same_place(other, e))
            continue;
        if (frugal(other, e))
            return;
        if (frugal(e, other))
            other->dropped = true;
    }
    if (set->n >= EXPLAIN_MAX) {
        set->full = true;
        return;
    }
    make_room(set);
    set->all[set->n] = *e;
    link_in(set, set->n++);
}

void explain_drop(struct explanations *set, const struct explanation *e)
{
    for (size_t i = set->buckets[bucket_of(set, e)]; i != SIZE_MAX; i = set->next[i]) {
        struct explanation *other = &set->all[i];
        if (same_place(other, e) && frugal(e, other))
            other->dropped = true;
    }
}

void explain_swap(struct explanations *a, struct explanations *b)
{
    struct explanations c = *a;
    *a = *b;
    *b = c;
}
