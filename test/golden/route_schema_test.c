/*
 * What a router writes is what its mesh takes: the objects of published Canaries and of those in
 * route_schema.yaml, in every state of a release, against the schemas of the mesh where they are at
 * hand. Nothing is pruned, nothing is refused, and what the server gives back with its defaults
 * needs no further edit. At the end nothing is left of the analysis.
 */
#include <glob.h>
#include <string.h>

#include "stage.h"
#include "test/rows.h"
#include "test/unit.h"

#define PUBLISHED "test/data/manifests/"

static bool is_text(struct json_object *object, const char *text)
{
    return json_object_is_type(object, json_type_string) &&
           strcmp(json_object_get_string(object), text) == 0;
}

static void check_canary(struct arena *arena, const char *provider, struct json_object *crds,
                         struct json_object *objects, struct json_object *object)
{
    struct stage stage;
    const char *why = stage_init(&stage, arena, provider, crds, objects, object);

    if (why)
        fail_msg("%s: %s", provider, why);
    stage_reconcile(&stage);
    for (int i = 0; i < STAGE_STATES; i++)
        stage_set(&stage, i);
    stage_give_back(&stage);
}

static int check_published(struct arena *arena, struct json_object *row, struct json_object *crds)
{
    const char *pattern = json_str_at(row, "published", NULL);
    const char *provider = json_str_at(row, "provider", NULL);
    glob_t files;
    int n = 0;

    if (!pattern || glob(arena_printf(arena, PUBLISHED "%s", pattern), 0, NULL, &files) != 0)
        return 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct json_object *docs = rows_read(arena, files.gl_pathv[i]);
        for (size_t k = 0; k < json_len(docs); k++) {
            if (!is_text(json_at(json_elem(docs, k), "kind", NULL), "Canary"))
                continue;
            check_canary(arena, provider, crds, json_at(row, "objects", NULL), json_elem(docs, k));
            n++;
        }
    }
    globfree(&files);
    return n;
}

CASE(test_schemas)
{
    struct json_object *rows = rows_read(arena, "test/golden/route_schema.yaml");
    int played = 0;

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *row = json_elem(rows, i), *specs = json_at(row, "specs", NULL);
        const char *file = json_str_at(row, "crds", NULL);
        struct json_object *crds = file ? stage_crds(arena, file) : NULL;
        for (size_t k = 0; k < json_len(specs); k++, played++)
            check_canary(arena, json_str_at(row, "provider", NULL), crds,
                         json_at(row, "objects", NULL), stage_canary(arena, json_elem(specs, k)));
        played += check_published(arena, row, crds);
    }
    assert_true(played > 0);
}
