/* Broken manifests: rows of cases.yaml, each with an edit of a manifest and all mistakes found
 * then. */
#include "ctl/lint/lint.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/yaml.h"
#include "ctl/lint/document.h"
#include "test/rows.h"
#include "test/unit.h"

static const char cases[] = "controller/ctl/lint/cases.yaml", manifests[] = "test/data/manifests";
enum { LEAST_ROWS = 80, MANIFEST_MAX = 1024 * 1024 };

/* "12:5 error spec.provider: expected ...", one line each. */
static const char *print(struct arena *arena, const struct lint_mistake *mistake, bool errors)
{
    const char *text = "";

    for (; mistake; mistake = mistake->next)
        if (mistake->level == LINT_ERROR || !errors)
            text = arena_printf(arena, "%s%zu:%zu %s %s%s%s\n", text, mistake->line,
                                mistake->column, lint_level_name(mistake->level), mistake->path,
                                *mistake->path ? ": " : "", mistake->text);
    return text;
}

static const char *run(struct arena *arena, const char *file, const char *text, bool errors)
{
    struct lint *lint = lint_new(arena, &settings_default);

    lint_add(lint, file, text, strlen(text), false);
    return print(arena, lint_run(lint), errors);
}

/* --- rows */

static const char *edited(struct arena *arena, const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);

    if (!at)
        fail_msg("\"%s\" is not in the manifest", from);
    return arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void check_row(struct arena *arena, struct json_object *bases, struct json_object *row)
{
    const char *base = json_str_at(row, "of", NULL), *expected = json_str_at(row, "finds", NULL);
    const char *text = json_str_at(bases, base ? base : "canary", NULL);
    struct json_object *edits = json_at(row, "edit", NULL);

    for (size_t i = 0; i + 1 < json_len(edits); i += 2)
        text = edited(arena, text, json_object_get_string(json_elem(edits, i)),
                      json_object_get_string(json_elem(edits, i + 1)));
    const char *found = run(arena, "case.yaml", text, false);
    if (strcmp(found, expected) != 0)
        fail_msg("%s\nfinds\n%s\nand not\n%s", json_text(arena, edits), found, expected);
}

CASE(each_mistake_has_its_place_and_its_sentence)
{
    struct json_object *docs = rows_read(arena, cases);
    struct json_object *rows = json_at(json_elem(docs, 1), "rows", NULL);

    for (size_t i = 0; i < json_len(rows); i++)
        check_row(arena, json_elem(docs, 0), json_elem(rows, i));
    assert_true(json_len(rows) >= LEAST_ROWS);
}

/* --- every field of the schemas: a value of the wrong type is reported exactly there */

struct search {
    struct arena *arena;
    const char *kind;
    struct json_object *items, *paths; /* objects checked at once, and where each is broken */
    size_t count;
};
enum { BATCH = 40 };

static const char *const bases[][2] = {
    {"Canary",
     "{'provider':'istio','service':{'port':80},'targetRef':{'apiVersion':'apps/v1','kind':"
     "'Deployment','name':'a'},'analysis':{'interval':'1m','threshold':1,'iterations':1}}"},
    {"MetricTemplate", "{'provider':{'type':'prometheus','address':'http://a'},'query':'up'}"},
    {"AlertProvider", "{'type':'slack','address':'https://a'}"},
    {"ReleaseRequest", "{'action':'abort','revision':'a','by':'alice'}"},
};

static struct json_object *base_of(struct search *search)
{
    struct json_object *object = json_own(search->arena, json_object_new_object());

    json_set_str(object, "apiVersion",
                 strcmp(search->kind, "ReleaseRequest") == 0 ? "flagger.app/v1alpha1"
                                                             : "flagger.app/v1beta1");
    json_set_str(object, "kind", search->kind);
    json_set_str(json_sub(object, "metadata"), "name",
                 arena_printf(search->arena, "c%zu", search->count));
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
        if (strcmp(bases[i][0], search->kind) == 0)
            json_set(object, "spec", rows_json(search->arena, bases[i][1]));
    return object;
}

/* Puts the value at the place, and adds what must surround it. */
static void plant(struct search *search, struct json_object *object, struct json_object *node,
                  const struct json_path *place, struct json_object *value)
{
    for (int i = 0; i < place->depth; i++) {
        const struct json_path_step *step = &place->steps[i];
        bool last = i == place->depth - 1;
        node = step->key ? crd_member(node, step->key) : json_at(node, "items", NULL);
        if (!step->key) {
            if (json_len(object) == 0)
                json_object_array_add(object, json_dup(crd_sample(search->arena, node, 0)));
            if (last)
                json_object_array_put_idx(object, 0, json_dup(value));
            object = json_elem(object, 0);
            continue;
        }
        if (last || !json_at(object, step->key, NULL))
            json_set(object, step->key,
                     last ? value : json_copy(search->arena, crd_sample(search->arena, node, 0)));
        object = json_at(object, step->key, NULL);
    }
}

static void lint_batch(struct search *search)
{
    struct json_object *list = json_own(search->arena, json_object_new_object());
    struct arena *arena = arena_new();
    struct lint *lint = lint_new(arena, &settings_default);

    json_set(list, "items", search->items);
    const char *text = json_text(arena, list);
    lint_add(lint, "list", text, strlen(text), false);
    for (const struct lint_mistake *mistake = lint_run(lint); mistake; mistake = mistake->next)
        if (mistake->level == LINT_ERROR)
            json_object_object_del(search->paths,
                                   arena_printf(arena, "%s at %s", mistake->object, mistake->path));
    arena_free(arena);
    if (json_object_object_length(search->paths) > 0)
        fail_msg("found nothing wrong in %s", json_text(search->arena, search->paths));
    search->items = json_own(search->arena, json_object_new_array());
}

static void expect_found(struct search *search, struct json_object *schema,
                         const struct json_path *place, const char *wrong)
{
    struct json_object *object = base_of(search);

    plant(search, object, schema, place, rows_json(search->arena, wrong));
    json_object_array_add(search->items, json_object_get(object));
    json_set_bool(search->paths,
                  arena_printf(search->arena, "%s c%zu at %s", search->kind, search->count,
                               json_path_text(search->arena, place)),
                  true);
    if (++search->count % BATCH == 0)
        lint_batch(search);
}

static void break_each(struct search *search, struct json_object *schema, struct json_object *node,
                       const struct json_path *place)
{
    const char *type = json_str_at(node, "type", NULL);
    struct json_object *properties = json_at(node, "properties", NULL);
    struct json_object *items = json_at(node, "items", NULL);
    bool text = type && strcmp(type, "string") == 0;

    if (place->depth > 0 && (type || !crd_is_open(node))) {
        expect_found(search, schema, place, text ? "3" : "'x y'");
        if (!type || strcmp(type, "object") != 0)
            expect_found(search, schema, place, "{'a':{'b':1}}");
        if (!type || strcmp(type, "array") != 0)
            expect_found(search, schema, place, "[[]]");
    }
    if (items) {
        const struct json_path in = json_path_in(place, NULL, 0);
        break_each(search, schema, items, &in);
    }
    if (!properties)
        return;
    json_object_object_foreach(properties, key, child)
    {
        const struct json_path in = json_path_in(place, key, 0);
        bool meta = place->depth == 0 && strcmp(key, "spec") != 0;
        if (!meta)
            break_each(search, schema, child, &in);
    }
}

CASE(every_field_of_another_type_is_found)
{
    for (size_t i = 0; crd_kinds[i]; i++) {
        struct search search = {.arena = arena,
                                .kind = crd_kinds[i],
                                .items = json_own(arena, json_object_new_array()),
                                .paths = json_own(arena, json_object_new_object())};
        struct json_object *schema = crd_schema(arena, crd_kinds[i]);
        break_each(&search, schema, schema, &(struct json_path){0});
        lint_batch(&search);
        assert_true(search.count > 5);
    }
}

/* A required field that is missing is reported, whatever else is there. */
static void remove_each(struct arena *arena, const char *kind, struct json_object *root,
                        struct json_object *node, const struct json_path *place)
{
    struct json_object *required = json_at(node, "required", NULL);
    struct json_object *value = json_path_get(place, root);

    for (size_t i = 0; i < json_len(required); i++) {
        const char *key = json_object_get_string(json_elem(required, i));
        const struct json_path in = json_path_in(place, key, 0);
        struct json_object *left = json_copy(arena, root);
        if (!json_at(value, key, NULL))
            continue;
        json_object_object_del(json_path_get(place, left), key);
        const char *found = run(arena, "file", json_text(arena, left), true);
        const char *expected = arena_printf(arena, "%s: required", json_path_text(arena, &in));
        if (!strstr(found, expected))
            fail_msg("%s without %s: found\n%s", kind, json_path_text(arena, &in), found);
        remove_each(arena, kind, root, crd_member(node, key), &in);
    }
}

CASE(every_required_field_is_missed)
{
    for (size_t i = 0; crd_kinds[i]; i++) {
        struct search search = {.arena = arena, .kind = crd_kinds[i]};
        struct json_object *schema = crd_schema(arena, crd_kinds[i]), *root = base_of(&search);
        const struct json_path spec = json_path_in(&(struct json_path){0}, "spec", 0);
        remove_each(arena, crd_kinds[i], root, crd_member(schema, "spec"), &spec);
    }
}

/* --- the manifests of the field */

/* Manifests that Flagger's own schema rejects as well. */
static const char *const refused[] = {"usage-alerting.yaml", NULL};

static int lint_file(struct arena *arena, const char *name)
{
    char *text;
    size_t len;
    struct errinfo ei;
    const char *path = arena_printf(arena, "%s/%s", manifests, name);

    if (file_read(arena, path, MANIFEST_MAX, &text, &len, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    const char *found = run(arena, path, text, true);
    for (size_t i = 0; refused[i]; i++) {
        if (strcmp(refused[i], name) != 0)
            continue;
        if (!*found)
            fail_msg("%s has no mistake any more", name);
        return 1;
    }
    if (*found)
        fail_msg("%s:\n%s", path, found);
    return 1;
}

CASE(every_manifest_of_the_field_is_fine)
{
    DIR *dir = opendir(manifests);
    struct dirent *entry;
    int n = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        const char *end = strrchr(entry->d_name, '.');
        if (end && strcmp(end, ".yaml") == 0)
            n += lint_file(arena, arena_strdup(arena, entry->d_name));
    }
    closedir(dir);
    assert_true(n >= 30);
}

/* --- files */

CASE(files_keep_their_order_and_know_each_other)
{
    static const char template[] =
        "apiVersion: flagger.app/v1beta1\nkind: MetricTemplate\n"
        "metadata: {name: t}\nspec: {provider: {type: dog}, query: up}\n";
    static const char canary[] =
        "apiVersion: flagger.app/v1beta1\nkind: Canary\nmetadata: {name: c}\nspec:\n"
        "  targetRef: {apiVersion: apps/v1, kind: Deployment, name: c}\n  service: {port: 80}\n"
        "  analysis: {interval: 1m, threshold: 1, iterations: 1, metrics: [{name: m, templateRef: "
        "{name: t}, thresholdRange: {max: 1}}], webhooks: [{name: w, url: 'http://w'}]}\n";
    struct lint *lint = lint_new(arena, &settings_default);

    lint_add(lint, "b.yaml", canary, strlen(canary), false);
    lint_add(lint, "a.yaml", template, strlen(template), false);
    const struct lint_mistake *found = lint_run(lint);
    assert_string_equal(found->file, "b.yaml");
    assert_non_null(strstr(found->text, "MetricTemplate t.default has provider dog"));
    assert_string_equal(found->next->file, "a.yaml");
    assert_string_equal(found->next->path, "spec.provider.type");
    assert_null(found->next->next);
    assert_int_equal(lint_objects(lint), 2);
}

/* However many there are, they are reported within limits. */
CASE(mistakes_are_bounded)
{
    const char *text =
        "apiVersion: flagger.app/v1beta1\nkind: Canary\nmetadata: {name: c}\nspec:\n";
    const char *last = "";
    int n = 0;

    for (int i = 0; i < 2 * LINT_MAX_PER_OBJECT; i++)
        text = arena_printf(arena, "%s  unknown%d: 1\n", text, i);
    struct lint *lint = lint_new(arena, &settings_default);
    lint_add(lint, "many", text, strlen(text), false);
    for (const struct lint_mistake *mistake = lint_run(lint); mistake; mistake = mistake->next, n++)
        last = mistake->text;
    assert_int_equal(n, LINT_MAX_PER_OBJECT + 1);
    assert_string_equal(last, "there is more that is wrong, which is not told");
}
