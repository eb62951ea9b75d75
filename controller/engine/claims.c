#include "engine/claims.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/table.h"

/* The target, its primary and three Services, of the spec and of the accepted spec. */
enum { MAX_CLAIMS = 10, MAX_NAME = 253 };

/* There are five per Canary, so they are small. */
struct claim {
    struct claim *next;  /* in the list of its key, while the set is in the index */
    uint16_t key;        /* offset of its text in the set: "Deployment/podinfo" */
    uint8_t place;       /* index in the set */
    bool by_service : 1; /* named by spec.service.name, not spec.targetRef.name */
    bool target : 1;     /* the target itself */
    bool wanted : 1;     /* by the spec; otherwise the claim is only held */
    bool held : 1;
};

/* One allocation, followed by all texts. */
struct claim_set {
    const char *namespace_, *name, *uid;
    int64_t created; /* 0 if missing or invalid */
    bool deleting;
    uint8_t n;
    struct claim claims[]; /* n */
};

static const struct claim_set *set_of(const struct claim *claim)
{
    const struct claim *first = claim - claim->place;

    return (const void *)((const char *)first - offsetof(struct claim_set, claims));
}

static const char *key_of(const struct claim *claim)
{
    return (const char *)set_of(claim) + claim->key;
}

struct claims {
    struct table keys; /* first claim of each key */
};

/* --- the claims of a Canary */

/* Collects claims before they are packed into one block. */
struct draft {
    struct arena *arena;
    uint8_t n;
    struct claim claims[MAX_CLAIMS];
    const char *keys[MAX_CLAIMS];
};

static struct claim *put_claim(struct draft *draft, const char *kind, const char *name,
                               const char *suffix)
{
    const char *key = arena_printf(draft->arena, "%s/%s%s", kind, name, suffix);

    for (int i = 0; i < draft->n; i++) {
        if (strcmp(draft->keys[i], key) == 0)
            return &draft->claims[i];
    }
    struct claim *claim = &draft->claims[draft->n];
    draft->keys[draft->n] = key;
    *claim = (struct claim){.place = draft->n++};
    return claim;
}

/* Object names have at most 253 characters: a longer name claims nothing. */
static bool is_name(const char *text)
{
    return text && *text && strlen(text) <= MAX_NAME;
}

static void put_spec(struct draft *draft, struct json_object *spec, bool wanted, bool held)
{
    static const char *const sides[] = {"", "-primary", "-canary"};
    const char *kind = json_str_at(spec, "targetRef", "kind", NULL);
    const char *target = json_str_at(spec, "targetRef", "name", NULL);
    const char *service = json_str_at(spec, "service", "name", NULL);
    bool named = service && *service;
    struct claim *claim;

    if (!is_name(kind) || !is_name(target) || (named && !is_name(service)))
        return;
    for (int i = 0; i < 5; i++) {
        int known = draft->n;
        if (i < 2)
            claim = put_claim(draft, kind, target, sides[i]);
        else
            claim = put_claim(draft, "Service", named ? service : target, sides[i - 2]);
        if (draft->n > known)
            claim->by_service = named && i >= 2;
        claim->target |= i == 0;
        claim->wanted |= wanted;
        claim->held |= held;
    }
}

static const char *text_at(struct json_object *metadata, const char *key)
{
    const char *text = json_str_at(metadata, key, NULL);

    return text ? text : "";
}

/* True if initialised: the status results from an accepted spec. */
static bool has_begun(struct json_object *status)
{
    const char *phase = json_str_at(status, "phase", NULL);

    return phase && *phase && strcmp(phase, "Initializing") != 0;
}

static const char *copy_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);

    *at += size;
    return copy;
}

static struct claim_set *set_new(const struct draft *draft, struct json_object *metadata)
{
    const char *texts[] = {text_at(metadata, "namespace"), text_at(metadata, "name"),
                           text_at(metadata, "uid")};
    size_t fixed = sizeof(struct claim_set) + draft->n * sizeof(struct claim);
    size_t size = fixed;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        size += strlen(texts[i]) + 1;
    for (int i = 0; i < draft->n; i++)
        size += strlen(draft->keys[i]) + 1;
    struct claim_set *set = heap_alloc(size);
    char *at = (char *)set + fixed;
    *set = (struct claim_set){.n = draft->n};
    set->namespace_ = copy_text(&at, texts[0]);
    set->name = copy_text(&at, texts[1]);
    set->uid = copy_text(&at, texts[2]);
    if (clock_parse(text_at(metadata, "creationTimestamp"), &set->created, NULL) != ERR_OK)
        set->created = 0;
    for (int i = 0; i < draft->n; i++) {
        set->claims[i] = draft->claims[i];
        set->claims[i].key = (uint16_t)(copy_text(&at, draft->keys[i]) - (const char *)set);
    }
    return set;
}

struct claim_set *claim_set_read(struct json_object *canary)
{
    struct json_object *metadata = json_at(canary, "metadata", NULL);
    struct json_object *status = json_at(canary, "status", NULL);
    struct json_object *accepted = json_at(status, "acceptedSpec", NULL);
    struct draft draft = {.arena = arena_new()};

    put_spec(&draft, json_at(canary, "spec", NULL), true, !accepted && has_begun(status));
    put_spec(&draft, accepted, false, true);
    struct claim_set *set = set_new(&draft, metadata);
    set->deleting = json_at(metadata, "deletionTimestamp", NULL) != NULL;
    arena_free(draft.arena);
    return set;
}

void claim_set_free(struct claim_set *set)
{
    free(set);
}

bool claim_set_same(const struct claim_set *one, const struct claim_set *other)
{
    bool same =
        strcmp(one->uid, other->uid) == 0 && one->deleting == other->deleting && one->n == other->n;

    for (int i = 0; same && i < one->n; i++) {
        const struct claim *a = &one->claims[i], *b = &other->claims[i];
        same = strcmp(key_of(a), key_of(b)) == 0 && a->target == b->target &&
               a->wanted == b->wanted && a->held == b->held;
    }
    return same;
}

/* --- the index */

static void claim_key(const void *item, const char **namespace_, const char **key)
{
    *namespace_ = set_of(item)->namespace_;
    *key = key_of(item);
}

struct claims *claims_new(void)
{
    struct claims *claims = heap_alloc(sizeof(*claims));

    table_init(&claims->keys, claim_key);
    return claims;
}

void claims_free(struct claims *claims)
{
    if (!claims)
        return;
    table_fini(&claims->keys);
    free(claims);
}

static struct claim *first_of(const struct claims *claims, const struct claim *claim)
{
    return table_get(&claims->keys, set_of(claim)->namespace_, key_of(claim));
}

void claims_add(struct claims *claims, struct claim_set *set)
{
    for (int i = 0; i < set->n; i++) {
        struct claim *claim = &set->claims[i];
        struct claim *first = first_of(claims, claim);
        claim->next = NULL;
        if (!first) {
            (void)table_put(&claims->keys, claim);
            continue;
        }
        claim->next = first->next;
        first->next = claim;
    }
}

void claims_drop(struct claims *claims, struct claim_set *set)
{
    for (int i = 0; i < set->n; i++) {
        struct claim *gone = &set->claims[i], *first = first_of(claims, gone);
        if (first == gone) {
            (void)table_take(&claims->keys, set->namespace_,
                             key_of(gone)); /* the key belongs to the set that is removed */
            if (gone->next)
                (void)table_put(&claims->keys, gone->next);
            continue;
        }
        while (first && first->next != gone)
            first = first->next;
        if (first)
            first->next = gone->next;
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
        for (const struct claim *e = first_of(claims, &set->claims[i]); e; e = e->next) {
            if (!is_same_canary(set_of(e), set))
                fn(arg, set_of(e)->namespace_, set_of(e)->name);
        }
    }
}

/* --- precedence */

static bool comes_first(const struct claim_set *a, bool a_holds, const struct claim_set *b,
                        bool b_holds)
{
    if (a_holds != b_holds)
        return a_holds;
    if (a->created != b->created)
        return a->created < b->created;
    return strcmp(a->uid, b->uid) < 0;
}

/* The first claim that takes precedence over `own`. */
static const struct claim *find_conflict(const struct claims *claims, const struct claim_set *own,
                                         const struct claim *claim)
{
    const struct claim *conflict = NULL;

    for (const struct claim *e = first_of(claims, claim); e; e = e->next) {
        if (is_same_canary(set_of(e), own) || !comes_first(set_of(e), e->held, own, claim->held))
            continue;
        if (!conflict || comes_first(set_of(e), e->held, set_of(conflict), conflict->held))
            conflict = e;
    }
    return conflict;
}

static const char *find_successor(const struct claims *claims, struct arena *arena,
                                  const struct claim_set *own, const struct claim *claim)
{
    const struct claim_set *successor = NULL;

    for (const struct claim *e = first_of(claims, claim); e; e = e->next) {
        if (is_same_canary(set_of(e), own) || set_of(e)->deleting || !e->target)
            continue;
        if (!successor || comes_first(set_of(e), false, successor, false))
            successor = set_of(e);
    }
    return successor ? arena_printf(arena, "%s.%s", successor->name, successor->namespace_) : NULL;
}

struct claim_conflict claims_check(const struct claims *claims, struct arena *arena,
                                   struct json_object *canary)
{
    struct claim_set *own = claim_set_read(canary);
    struct claim_conflict out = {0};
    bool holds = false;

    for (int i = 0; i < own->n; i++) {
        const struct claim *claim = &own->claims[i];
        const struct claim *conflict = find_conflict(claims, own, claim);
        holds |= claim->held;
        out.locked_out |= conflict && claim->held;
        if (claim->target && !out.successor)
            out.successor = find_successor(claims, arena, own, claim);
        if (conflict && claim->wanted && !out.conflict)
            out.conflict = arena_printf(
                arena,
                "%s: %s is looked after by Canary %s.%s; choose another, or delete one of "
                "the two Canaries",
                claim->by_service ? "spec.service.name" : "spec.targetRef.name", key_of(claim),
                set_of(conflict)->name, set_of(conflict)->namespace_);
    }
    out.locked_out |= out.conflict && !holds;
    claim_set_free(own);
    return out;
}
