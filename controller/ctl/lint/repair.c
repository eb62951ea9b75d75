#include "ctl/lint/document.h"

#include <string.h>

#include "ctl/lint/crd_schema.h"

enum { MAX_ROUNDS = LINT_MAX_PER_OBJECT, MAX_TRIALS = 4000, MAX_VARIANTS = 6, MAX_CHOICES = 40 };

struct repair {
    struct document *document;
    struct arena *arena;
    struct json_object *schema;
    struct json_object *object; /* as it is repaired so far */
    struct json_paths given_up;
    repair_ask *ask;
    void *arg;
    int trials;
    const struct verdicts *last;     /* on `object` */
    const struct json_path *mistake; /* that is being repaired */
};

void verdicts_add(struct verdicts *verdicts, const char *sentence)
{
    if (verdicts->count == verdicts->room) {
        size_t room = verdicts->room ? 2 * verdicts->room : 8;
        const char **more = arena_array(verdicts->arena, room, sizeof(*more));
        for (size_t i = 0; i < verdicts->count; i++)
            more[i] = verdicts->sentences[i];
        verdicts->sentences = more;
        verdicts->room = room;
    }
    verdicts->sentences[verdicts->count++] = arena_strdup(verdicts->arena, sentence);
}

static bool place_of(struct arena *arena, const char *sentence, struct json_path *out)
{
    const char *rest;

    return json_path_parse(arena, sentence, out, &rest);
}

/* a is b, or below it. */
static bool is_within(const struct json_path *a, const struct json_path *b)
{
    return a->depth >= b->depth && json_path_is_near(a, b);
}

static bool is_among(const struct verdicts *verdicts, const char *sentence)
{
    for (size_t i = 0; i < verdicts->count; i++)
        if (strcmp(verdicts->sentences[i], sentence) == 0)
            return true;
    return false;
}

/* The mistake is gone, and the edit is not the reason of another one. */
static bool is_better(struct repair *repair, const struct verdicts *verdicts,
                      const struct json_path *edited)
{
    if (verdicts->unread && !repair->last->unread)
        return false;
    for (size_t i = 0; i < verdicts->count; i++) {
        struct json_path place;
        if (!place_of(verdicts->arena, verdicts->sentences[i], &place))
            return false;
        bool same =
            place.depth == repair->mistake->depth && json_path_is_near(&place, repair->mistake);
        bool lacks = place.depth + 1 == edited->depth && is_within(edited, &place) &&
                     !is_among(repair->last, verdicts->sentences[i]);
        if (same || lacks || is_within(&place, edited))
            return false;
        if (!repair->last->unread && !is_among(repair->last, verdicts->sentences[i]))
            return false;
    }
    return true;
}

/* --- edits; NULL for a value takes it away */

static void put(struct json_object *root, const struct json_path *at, struct json_object *value)
{
    const struct json_path above = json_path_above(at);
    const struct json_path_step *step = &at->steps[at->depth - 1];
    struct json_object *parent = json_path_get(&above, root);

    if (!parent)
        return;
    if (!step->key)
        json_object_array_put_idx(parent, step->index, json_dup(value));
    else if (value)
        json_object_object_add(parent, step->key, json_dup(value));
    else
        json_object_object_del(parent, step->key);
}

static bool try_edit(struct repair *repair, const struct json_path *at, struct json_object *value)
{
    struct arena *arena = arena_new();
    struct json_object *copy = json_copy(arena, repair->object);
    struct verdicts verdicts = {.arena = arena};

    if (repair->trials++ >= MAX_TRIALS) {
        arena_free(arena);
        return false;
    }
    put(copy, at, value);
    repair->ask(repair->arg, copy, &verdicts);
    bool better = is_better(repair, &verdicts, at);
    if (better) {
        put(repair->object, at, value);
        json_paths_add(repair->arena, &repair->document->changed, at);
    }
    arena_free(arena);
    return better;
}

static struct json_object *schema_at(const struct repair *repair, const struct json_path *place)
{
    struct json_object *node = repair->schema;

    for (int i = 0; node && i < place->depth; i++)
        node = place->steps[i].key ? crd_member(node, place->steps[i].key)
                                   : json_at(node, "items", NULL);
    return node;
}

static bool try_samples(struct repair *repair, const struct json_path *at)
{
    struct json_object *node = schema_at(repair, at), *sample;

    for (int variant = 0; node && variant < MAX_VARIANTS; variant++) {
        sample = crd_sample(repair->arena, node, variant);
        if (sample && try_edit(repair, at, sample))
            return true;
    }
    return false;
}

/* One of the members too much, or one missing. */
static bool try_members(struct repair *repair, const struct json_path *at,
                        struct json_object *value)
{
    struct json_object *known = json_at(schema_at(repair, at), "properties", NULL);
    struct json_object *members = json_copy(repair->arena, value);

    json_object_object_foreach(members, key, child)
    {
        const struct json_path in = json_path_in(at, key, 0);
        (void)child;
        if (try_edit(repair, &in, NULL))
            return true;
    }
    if (!known)
        return false;
    json_object_object_foreach(known, name, node)
    {
        const struct json_path in = json_path_in(at, name, 0);
        struct json_object *sample = crd_sample(repair->arena, node, 0);
        if (!json_at(members, name, NULL) && sample && try_edit(repair, &in, sample))
            return true;
    }
    return false;
}

/* An element of a list of plain values: the others may depend on it. */
static struct json_path whole_of(const struct repair *repair, const struct json_path *place)
{
    bool element = place->depth > 0 && !place->steps[place->depth - 1].key;

    if (element && !json_object_is_type(json_path_get(place, repair->object), json_type_object))
        return json_path_above(place);
    return *place;
}

/* The smallest edit that makes the mistake go, at its place or above, but below the spec. */
static bool repair_one(struct repair *repair, const struct json_path *mistake)
{
    struct json_path at = whole_of(repair, mistake);

    repair->mistake = mistake;
    for (; at.depth > 1; at = json_path_above(&at)) {
        struct json_object *value = json_path_get(&at, repair->object);
        if (json_object_is_type(value, json_type_object) && try_members(repair, &at, value))
            return true;
        if (try_samples(repair, &at))
            return true;
        if (value && at.steps[at.depth - 1].key && try_edit(repair, &at, NULL))
            return true;
    }
    return false;
}

/* --- all of them */

/* Replaces a value that the schema refuses by the sample with the fewest further mistakes. */
static void choose(struct repair *repair, const struct json_path *at)
{
    struct json_object *node = schema_at(repair, at), *sample, *best = NULL;
    size_t least = SIZE_MAX;

    for (int variant = 0; node && variant < MAX_CHOICES; variant++) {
        struct arena *arena = arena_new();
        struct verdicts verdicts = {.arena = arena};
        sample = variant == 0 ? json_path_get(at, repair->object)
                              : crd_sample(repair->arena, node, variant - 1);
        if (sample) {
            struct json_object *copy = json_copy(arena, repair->object);
            put(copy, at, sample);
            repair->ask(repair->arg, copy, &verdicts);
            size_t count = verdicts.unread ? SIZE_MAX - 1 : verdicts.count;
            best = count < least ? json_copy(repair->arena, sample) : best;
            least = count < least ? count : least;
        }
        arena_free(arena);
    }
    if (best)
        put(repair->object, at, best);
}

/* Tells the new ones; the first that can still be repaired is *next. */
static bool tell(struct repair *repair, const struct verdicts *verdicts, struct json_path *next)
{
    bool more = false;

    for (size_t i = 0; i < verdicts->count; i++) {
        struct json_path place;
        const char *sentence = arena_strdup(repair->arena, verdicts->sentences[i]);
        if (!place_of(repair->arena, sentence, &place)) {
            document_sentence(repair->document, sentence);
            continue;
        }
        document_sentence(repair->document, sentence);
        if (!more && !json_paths_have(&repair->given_up, &place)) {
            *next = place;
            more = true;
        }
    }
    return more;
}

void repair_tell_all(struct document *document, struct json_object *schema,
                     struct json_object *object, repair_ask *ask, void *arg)
{
    struct repair repair = {.document = document,
                            .arena = document->lint->arena,
                            .schema = schema,
                            .object = object,
                            .ask = ask,
                            .arg = arg};

    for (const struct json_paths_item *item = document->changed.first; item; item = item->next)
        choose(&repair, &item->place);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        struct arena *arena = arena_new();
        struct verdicts verdicts = {.arena = arena};
        struct json_path next;
        ask(arg, object, &verdicts);
        repair.last = &verdicts;
        bool more = tell(&repair, &verdicts, &next);
        if (more && !repair_one(&repair, &next))
            json_paths_add(repair.arena, &repair.given_up, &next);
        arena_free(arena);
        if (!more)
            return;
    }
}
