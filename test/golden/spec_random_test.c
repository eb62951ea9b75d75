/*
 * Canaries that nobody has written: for each router, random parts of all that a spec can say. What
 * is accepted is taken through every state, held against the schemas of the mesh where they are at
 * hand, and given back. Each field has an effect in some state, or is told to be ignored; what is
 * refused names its path. (stage.h says what holds of every state.)
 */
#include <stdio.h>
#include <string.h>

#include "object/schema.h"
#include "stage.h"
#include "test/rows.h"
#include "test/unit.h"
#include "world.h"

enum { SEEDS = 3, TRIES = 60, KEPT = 65 };

struct sample {
    struct arena *arena;
    unsigned seed;
    uint64_t state; /* of its numbers */
    const char *provider;
    struct json_object *crds, *found;
    struct json_object *untold;
    bool splits_all;     /* no A/B test begins */
    const char *ignored; /* of the whole spec */
    struct json_object *spec;
    const char *routed; /* by the whole spec, in all states */
    struct schema *schema;
    struct arena *lasting;
    const char **wrong; /* what has no effect, and nobody is told; a line each */
};

static bool keeps(struct sample *sample, unsigned percent)
{
    sample->state = sample->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(sample->state >> 33) % 100 < percent;
}

/* --- parts of a spec */

static bool is_empty(struct json_object *value)
{
    return (json_object_is_type(value, json_type_object) &&
            json_object_object_length(value) == 0) ||
           (json_object_is_type(value, json_type_array) && json_len(value) == 0);
}

/* A part of the tree; what was not empty is not. NULL: nothing of it. */
static struct json_object *part_of(struct sample *sample, struct json_object *tree)
{
    struct json_object *out;

    if (json_object_is_type(tree, json_type_array)) {
        out = json_own(sample->arena, json_object_new_array());
        for (size_t i = 0; i < json_len(tree); i++) {
            struct json_object *one =
                keeps(sample, KEPT) ? part_of(sample, json_elem(tree, i)) : NULL;
            if (one)
                json_object_array_add(out, json_object_get(one));
        }
        return is_empty(out) ? NULL : out;
    }
    if (!json_object_is_type(tree, json_type_object))
        return tree;
    out = json_own(sample->arena, json_object_new_object());
    json_object_object_foreach(tree, key, value)
    {
        struct json_object *one = keeps(sample, KEPT) ? part_of(sample, value) : NULL;
        if (one)
            json_set(out, key, one);
    }
    return is_empty(out) ? NULL : out;
}

/* The tree without what stands there: "match", 0, "headers". What is left empty goes as well. */
static struct json_object *without(struct arena *arena, struct json_object *tree, const char *path)
{
    size_t len = strcspn(path, "/");
    const char *key = arena_strndup(arena, path, len), *rest = path[len] ? path + len + 1 : NULL;
    bool listed = json_object_is_type(tree, json_type_array);
    struct json_object *out =
        json_own(arena, listed ? json_object_new_array() : json_object_new_object());
    size_t at = 0;

    for (; listed && at < json_len(tree); at++) {
        bool is_it = at == strtoul(key, NULL, 10);
        struct json_object *one = json_elem(tree, at);
        one = is_it ? (rest ? without(arena, one, rest) : NULL) : one;
        if (one)
            json_object_array_add(out, json_object_get(one));
    }
    if (listed)
        return is_empty(out) ? NULL : out;
    json_object_object_foreach(tree, name, value)
    {
        bool is_it = strcmp(name, key) == 0;
        struct json_object *one = is_it ? (rest ? without(arena, value, rest) : NULL) : value;
        if (one || !is_it)
            json_set(out, name, one);
    }
    return is_empty(out) ? NULL : out;
}

/* --- one Canary */

static bool is_valid(struct sample *sample, struct json_object *canary)
{
    struct causes causes = {.arena = sample->arena};

    return schema_validate(sample->schema, canary, &causes);
}

/* NULL, or why nobody takes it: "the schema". */
static const char *stage_of(struct sample *sample, struct json_object *spec, struct stage *stage)
{
    struct json_object *canary = stage_canary(sample->arena, json_copy(sample->arena, spec));

    if (!is_valid(sample, canary))
        return "the schema";
    return stage_init(stage, sample->arena, sample->provider, sample->crds, sample->found, canary);
}

/* All objects in all states, one after the other. */
static const char *routed(struct stage *stage)
{
    const char *out;

    stage_reconcile(stage);
    out = json_text_sorted(stage->arena, stage->objects);
    for (int i = 0; i < STAGE_STATES; i++) {
        stage_set(stage, i);
        out = arena_printf(stage->arena, "%s\n%s", out,
                           json_text_sorted(stage->arena, stage->objects));
    }
    return out;
}

/* "spec.service.match[0].uri" of "service/match/0/uri", or "spec.service.match[].uri". */
static const char *dotted(struct arena *arena, const char *path, bool numbered)
{
    const char *out = "spec";

    for (size_t len; path; path = path[len] ? path + len + 1 : NULL) {
        len = strcspn(path, "/");
        bool number = path[0] >= '0' && path[0] <= '9';
        out = arena_printf(arena, number ? "%s[%.*s]" : "%s.%.*s", out,
                           number && !numbered ? 0 : (int)len, path);
    }
    return out;
}

/* One of the paths of the list is the field, or what it is a part of. */
static bool stands_in(const char *list, const char *field)
{
    for (; list && *list; list += strspn(list, ", ")) {
        size_t len = strcspn(list, ",");
        if (strncmp(list, field, len) == 0 && strchr(".[", field[len]))
            return true;
        list += len;
    }
    return false;
}

static bool need_not_be_told(struct sample *sample, const char *field)
{
    for (size_t i = 0; i < json_len(sample->untold); i++) {
        if (stands_in(json_object_get_string(json_elem(sample->untold, i)), field))
            return true;
    }
    return false;
}

static void check_field(struct sample *sample, const char *path)
{
    struct json_object *spec = without(sample->arena, sample->spec, path);
    const char *field = dotted(sample->arena, path, true);
    const char *any = dotted(sample->arena, path, false);
    struct stage stage;

    if (stands_in(sample->ignored, field) || need_not_be_told(sample, any) ||
        stage_of(sample, spec, &stage) != NULL)
        return;
    if (strcmp(routed(&stage), sample->routed) == 0 && !strstr(*sample->wrong, any))
        *sample->wrong = arena_printf(sample->lasting, "%s%s: %s has no effect with seed %u\n",
                                      *sample->wrong, sample->provider, any, sample->seed);
}

static void check_fields(struct sample *sample, struct json_object *tree, const char *path)
{
    for (size_t i = 0; i < json_len(tree); i++) {
        const char *here = arena_printf(sample->arena, "%s/%zu", path, i);
        check_fields(sample, json_elem(tree, i), here);
    }
    if (!json_object_is_type(tree, json_type_object)) {
        if (tree && json_len(tree) == 0)
            check_field(sample, path);
        return;
    }
    json_object_object_foreach(tree, key, value)
    {
        const char *here = arena_printf(sample->arena, "%s/%s", path, key);
        /* which a mesh takes as it is, with rules of its own */
        if (strcmp(key, "trafficPolicy") == 0)
            check_field(sample, here);
        else
            check_fields(sample, value, here);
    }
}

static void check_sample(struct sample *sample, struct stage *stage)
{
    const struct router *router = stage->router;

    sample->ignored = router->ignored ? router->ignored(sample->arena, &stage->canary) : NULL;
    sample->routed = routed(stage);
    stage_give_back(stage);
    check_fields(sample, json_at(sample->spec, "service", NULL), "service");
    check_fields(sample, json_at(sample->spec, "analysis", "match", NULL), "analysis/match");
}

/* --- all of them */

/* What the router does not offer is refused before it is asked (decide/accept). */
static struct json_object *offered(struct sample *sample, struct json_object *analysis)
{
    const struct router *router = router_find(sample->provider);
    struct json_object *out = json_copy(sample->arena, analysis);

    if (!router->matches || sample->splits_all || keeps(sample, 100 - KEPT))
        json_object_object_del(out, "match");
    if (!router->mirrors || json_at(out, "match", NULL))
        json_object_object_del(out, "mirror");
    if (!json_at(out, "mirror", NULL))
        json_object_object_del(out, "mirrorWeight");
    if (!router->session_affinity)
        json_object_object_del(out, "sessionAffinity");
    return part_of(sample, out);
}

static struct json_object *spec_of(struct sample *sample, struct json_object *base,
                                   struct json_object *service, struct json_object *analysis)
{
    struct json_object *out = json_copy(sample->arena, base);

    service = part_of(sample, service);
    analysis = offered(sample, analysis);
    if (service)
        json_set(out, "service",
                 json_merge(sample->arena, json_at(base, "service", NULL), service));
    if (analysis)
        json_set(out, "analysis",
                 json_merge(sample->arena, json_at(base, "analysis", NULL), analysis));
    return out;
}

/* Of each try a smaller one, until it is accepted. */
static bool play_one(struct sample *sample, struct json_object *base, struct json_object *full)
{
    struct json_object *service = json_at(full, "service", NULL),
                       *analysis = json_at(full, "analysis", NULL);
    struct stage stage;
    const char *why = "";

    for (int i = 0; i < TRIES && why; i++) {
        sample->spec = spec_of(sample, base, service, analysis);
        why = stage_of(sample, sample->spec, &stage);
        if (why && strncmp(why, "spec.", 5) != 0 && strcmp(why, "the schema") != 0)
            fail_msg("%s: what is refused has no path: %s", sample->provider, why);
    }
    if (!why)
        check_sample(sample, &stage);
    return !why;
}

/* The row's specs say at least what the provider cannot do without. */
static int play_row(struct arena *lasting, struct json_object *row, struct json_object *service,
                    struct json_object *given, const char **wrong)
{
    struct json_object *specs = json_at(row, "specs", NULL);
    int played = 0;

    for (unsigned seed = 1; seed <= SEEDS; seed += WORLD_EVERY) {
        struct arena *arena = arena_new();
        const char *crds = json_str_at(row, "crds", NULL);
        struct sample sample = {.arena = arena,
                                .seed = seed,
                                .state = seed,
                                .provider = json_str_at(row, "provider", NULL),
                                .crds = crds ? stage_crds(arena, crds) : NULL,
                                .found = json_at(row, "objects", NULL),
                                .splits_all = json_bool_at(row, false, "splits_all", NULL),
                                .untold = json_at(given, "untold", NULL),
                                .schema = stage_canary_schema(arena),
                                .lasting = lasting,
                                .wrong = wrong};
        struct json_object *full = json_own(arena, json_object_new_object());
        json_set(full, "service", service);
        json_set(full, "analysis", json_at(given, "analysis", NULL));
        played += play_one(&sample, json_elem(specs, seed % json_len(specs)), full);
        arena_free(arena);
    }
    return played;
}

CASE(test_random_specs)
{
    struct json_object *rows = rows_read(arena, "test/golden/route_schema.yaml");
    struct json_object *given = json_elem(rows_read(arena, "test/golden/spec_random.yaml"), 0);
    struct json_object *walk = json_elem(rows_read(arena, "test/golden/walk.yaml"), 0);
    struct json_object *service =
        json_merge(arena, json_at(walk, "full", NULL), json_at(given, "service", NULL));
    const char *all = "";

    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *row = json_elem(rows, i);
        const char *wrong = "";
        if (play_row(arena, row, service, given, &wrong) == 0)
            fail_msg("nothing is accepted for %s", json_str_at(row, "provider", NULL));
        all = arena_printf(arena, "%s%s", all, wrong);
    }
    if (*all)
        print_error("%s", all); /* longer than the message of a failure may be */
    assert_string_equal(all, "");
}
