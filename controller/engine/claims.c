#include "engine/claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/table.h"

/* The target, its primary and three Services; of the spec and of the accepted one. */
enum { MAX_CLAIMS = 10 };

struct claim {
    char *key;         /* "test Deployment/podinfo" */
    const char *field; /* of the spec that names it */
    const char *what;  /* the key from the kind on */
    bool target;       /* it is the target itself */
    bool wanted;       /* by the spec; otherwise only held */
    bool held;
};

struct claim_set {
    char *namespace_, *name, *uid, *created;
    bool deleting;
    int n;
    struct claim claims[]; /* n */
};

/* A claim in the list of its key. */
struct entry {
    struct entry *next;
    const struct claim_set *set;
    const struct claim *claim;
};

struct claims {
    struct table keys; /* the first entry of the list of each key */
};

/* --- what a Canary claims */

static struct claim *find_claim(struct claim_set *set, const char *key)
{
    for (int i = 0; i < set->n; i++) {
        if (strcmp(set->claims[i].key, key) == 0)
            return &set->claims[i];
    }
    return NULL;
}

static struct claim *put_claim(struct claim_set *set, const char *kind, const char *name,
                               const char *suffix, const char *field)
{
    char *key = heap_printf("%s %s/%s%s", set->namespace_, kind, name, suffix);
    struct claim *claim = find_claim(set, key);

    if (claim) {
        free(key);
        return claim;
    }
    claim = &set->claims[set->n++];
    *claim = (struct claim){.key = key, .what = key + strlen(set->namespace_) + 1, .field = field};
    return claim;
}

static void put_spec(struct claim_set *set, struct json_object *spec, bool wanted, bool held)
{
    static const char *const sides[] = {"", "-primary", "-canary"};
    const char *kind = json_str_at(spec, "targetRef", "kind", NULL);
    const char *target = json_str_at(spec, "targetRef", "name", NULL);
    const char *service = json_str_at(spec, "service", "name", NULL);
    bool named = service && *service;
    struct claim *claim;

    if (!kind || !*kind || !target || !*target)
        return;
    for (int i = 0; i < 5; i++) {
        if (i < 2)
            claim = put_claim(set, kind, target, sides[i], "spec.targetRef.name");
        else
            claim = put_claim(set, "Service", named ? service : target, sides[i - 2],
                              named ? "spec.service.name" : "spec.targetRef.name");
        claim->target |= i == 0;
        claim->wanted |= wanted;
        claim->held |= held;
    }
}

static char *text_at(struct json_object *metadata, const char *key)
{
    const char *text = json_str_at(metadata, key, NULL);

    return heap_strdup(text ? text : "");
}

/* It has been initialised: what its status says was done by a spec that was accepted. */
static bool has_begun(struct json_object *status)
{
    const char *phase = json_str_at(status, "phase", NULL);

    return phase && *phase && strcmp(phase, "Initializing") != 0;
}

struct claim_set *claim_set_read(struct json_object *canary)
{
    struct json_object *metadata = json_at(canary, "metadata", NULL);
    struct json_object *status = json_at(canary, "status", NULL);
    struct json_object *accepted = json_at(status, "acceptedSpec", NULL);
    struct claim_set *set = heap_alloc(sizeof(*set) + MAX_CLAIMS * sizeof(set->claims[0]));

    *set = (struct claim_set){
        .namespace_ = text_at(metadata, "namespace"),
        .name = text_at(metadata, "name"),
        .uid = text_at(metadata, "uid"),
        .created = text_at(metadata, "creationTimestamp"),
        .deleting = json_at(metadata, "deletionTimestamp", NULL) != NULL,
    };
    put_spec(set, json_at(canary, "spec", NULL), true, !accepted && has_begun(status));
    put_spec(set, accepted, false, true);
    return heap_grow(set, sizeof(*set) + (size_t)set->n * sizeof(set->claims[0]));
}

void claim_set_free(struct claim_set *set)
{
    if (!set)
        return;
    for (int i = 0; i < set->n; i++)
        free(set->claims[i].key);
    free(set->namespace_);
    free(set->name);
    free(set->uid);
    free(set->created);
    free(set);
}

bool claim_set_same(const struct claim_set *one, const struct claim_set *other)
{
    bool same =
        strcmp(one->uid, other->uid) == 0 && one->deleting == other->deleting && one->n == other->n;

    for (int i = 0; same && i < one->n; i++) {
        const struct claim *a = &one->claims[i], *b = &other->claims[i];
        same = strcmp(a->key, b->key) == 0 && a->target == b->target && a->wanted == b->wanted &&
               a->held == b->held;
    }
    return same;
}

/* --- the claims of all */

static void entry_key(const void *item, const char **key, const char **none)
{
    const struct entry *entry = item;

    *key = entry->claim->key;
    *none = NULL;
}

struct claims *claims_new(void)
{
    struct claims *claims = heap_alloc(sizeof(*claims));

    table_init(&claims->keys, entry_key);
    return claims;
}

void claims_free(struct claims *claims)
{
    struct entry *entry;

    if (!claims)
        return;
    for (size_t i = 0; (entry = table_next(&claims->keys, &i));) {
        while (entry) {
            struct entry *next = entry->next;
            free(entry);
            entry = next;
        }
    }
    table_fini(&claims->keys);
    free(claims);
}

static struct entry *first_of(const struct claims *claims, const char *key)
{
    return table_get(&claims->keys, key, NULL);
}

void claims_add(struct claims *claims, const struct claim_set *set)
{
    for (int i = 0; i < set->n; i++) {
        struct entry *entry = heap_alloc(sizeof(*entry));
        struct entry *first = first_of(claims, set->claims[i].key);
        *entry = (struct entry){.set = set, .claim = &set->claims[i]};
        if (!first) {
            (void)table_put(&claims->keys, entry);
            continue;
        }
        entry->next = first->next;
        first->next = entry;
    }
}

void claims_drop(struct claims *claims, const struct claim_set *set)
{
    for (int i = 0; i < set->n; i++) {
        struct entry *head = first_of(claims, set->claims[i].key), *first = head;
        struct entry **link = &first;
        while (*link && (*link)->set != set)
            link = &(*link)->next;
        struct entry *gone = *link;
        if (!gone)
            continue;
        *link = gone->next;
        if (gone == head) {
            (void)table_take(&claims->keys, gone->claim->key, NULL); /* its key goes with the set */
            if (first)
                (void)table_put(&claims->keys, first);
        }
        free(gone);
    }
}

static bool is_same_canary(const struct claim_set *one, const struct claim_set *other)
{
    return strcmp(one->name, other->name) == 0 && strcmp(one->namespace_, other->namespace_) == 0;
}

void claims_neighbours(const struct claims *claims, const struct claim_set *set,
                       void (*fn)(void *arg, const char *namespace_, const char *name), void *arg)
{
    for (int i = 0; i < set->n; i++) {
        for (const struct entry *e = first_of(claims, set->claims[i].key); e; e = e->next) {
            if (!is_same_canary(e->set, set))
                fn(arg, e->set->namespace_, e->set->name);
        }
    }
}

/* --- who comes first */

static bool comes_first(const struct claim_set *a, bool a_holds, const struct claim_set *b,
                        bool b_holds)
{
    int age = strcmp(a->created, b->created);

    if (a_holds != b_holds)
        return a_holds;
    return age < 0 || (age == 0 && strcmp(a->uid, b->uid) < 0);
}

/* Of those that come before `own`, the first. */
static const struct entry *find_rival(const struct claims *claims, const struct claim_set *own,
                                      const struct claim *claim)
{
    const struct entry *rival = NULL;

    for (const struct entry *e = first_of(claims, claim->key); e; e = e->next) {
        if (is_same_canary(e->set, own) || !comes_first(e->set, e->claim->held, own, claim->held))
            continue;
        if (!rival || comes_first(e->set, e->claim->held, rival->set, rival->claim->held))
            rival = e;
    }
    return rival;
}

static const char *find_heir(const struct claims *claims, struct arena *arena,
                             const struct claim_set *own, const struct claim *claim)
{
    const struct claim_set *heir = NULL;

    for (const struct entry *e = first_of(claims, claim->key); e; e = e->next) {
        if (is_same_canary(e->set, own) || e->set->deleting || !e->claim->target)
            continue;
        if (!heir || comes_first(e->set, false, heir, false))
            heir = e->set;
    }
    return heir ? arena_printf(arena, "%s.%s", heir->name, heir->namespace_) : NULL;
}

struct rivalry claims_judge(const struct claims *claims, struct arena *arena,
                            struct json_object *canary)
{
    struct claim_set *own = claim_set_read(canary);
    struct rivalry out = {0};
    bool holds = false;

    for (int i = 0; i < own->n; i++) {
        const struct claim *claim = &own->claims[i];
        const struct entry *rival = find_rival(claims, own, claim);
        holds |= claim->held;
        out.barred |= rival && claim->held;
        if (claim->target && !out.heir)
            out.heir = find_heir(claims, arena, own, claim);
        if (rival && claim->wanted && !out.rival)
            out.rival = arena_printf(
                arena,
                "%s: %s is looked after by Canary %s.%s; choose another, or delete one of "
                "the two Canaries",
                claim->field, claim->what, rival->set->name, rival->set->namespace_);
    }
    out.barred |= out.rival && !holds;
    claim_set_free(own);
    return out;
}
