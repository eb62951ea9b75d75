/*
 * Plans for a member cluster: rows of cases.yaml. Each plan is also carried out on the objects for
 * which it was made, and must leave nothing to do; after the rollout is deleted, none of our
 * objects may remain.
 */
#include "fleet/rules/fleet.h"

#include <string.h>

#include "test/rows.h"
#include "test/unit.h"
#include "tick/edit.h"

enum { LEAST_ROWS = 32, MAX_ROUNDS = 6 };

/* --- a cluster that consists only of its objects */

struct cluster {
    struct arena *arena;
    struct json_object *objects;
    bool blind; /* nothing is known */
    int asked;
};

static bool is_it(struct json_object *object, const struct kube_resource *resource,
                  const char *namespace_, const char *name)
{
    const char *in = json_str_at(object, "metadata", "namespace", NULL);

    return strcmp(json_str_at(object, "kind", NULL), resource->kind) == 0 &&
           strcmp(in ? in : "", namespace_) == 0 &&
           strcmp(json_str_at(object, "metadata", "name", NULL), name) == 0;
}

static size_t find(const struct cluster *cluster, const struct kube_resource *resource,
                   const char *namespace_, const char *name)
{
    size_t i = 0;

    while (i < json_len(cluster->objects) &&
           !is_it(json_elem(cluster->objects, i), resource, namespace_, name))
        i++;
    return i;
}

static bool look(void *arg, const struct kube_resource *resource, const char *namespace_,
                 const char *name, struct json_object **out)
{
    struct cluster *cluster = arg;

    cluster->asked++;
    *out = cluster->blind ? NULL
                          : json_elem(cluster->objects, find(cluster, resource, namespace_, name));
    return !cluster->blind;
}

/* Removes the objects that were being deleted. */
static bool let_go(struct cluster *cluster)
{
    size_t before = json_len(cluster->objects);

    for (size_t i = before; i > 0; i--)
        if (json_at(json_elem(cluster->objects, i - 1), "metadata", "deletionTimestamp", NULL))
            json_object_array_del_idx(cluster->objects, i - 1, 1);
    return json_len(cluster->objects) < before;
}

/* Acts like an API server, but deletes at once. The process ends after this number of steps. */
static void carry_out(struct cluster *cluster, const struct fleet_plan *plan, int most)
{
    for (const struct fleet_step *step = plan->first; step && most > 0; step = step->next, most--) {
        size_t at = find(cluster, step->resource, step->namespace_, step->name);
        struct json_object *live = json_elem(cluster->objects, at);
        if (step->verb == FLEET_CREATE) {
            assert_null(live);
            json_object_array_add(cluster->objects, json_dup(step->body));
            continue;
        }
        assert_non_null(live);
        if (step->verb == FLEET_DELETE) {
            json_object_array_del_idx(cluster->objects, at, 1);
            continue;
        }
        struct json_object *to = json_merge(cluster->arena, live, step->body);
        assert_true(json_same(to, step->object));
        json_object_array_put_idx(cluster->objects, at, json_object_get(to));
    }
}

/* --- rows */

static const char *const verbs[] = {
    [FLEET_CREATE] = "create", [FLEET_PATCH] = "patch", [FLEET_DELETE] = "delete"};

/* The label and the manager's uid come with each mark, and are left out of the rows. */
static void drop_company(struct json_object *metadata)
{
    struct json_object *labels = json_at(metadata, "labels", NULL);
    struct json_object *notes = json_at(metadata, "annotations", NULL);

    if (labels)
        json_object_object_del(labels, FLEET_LABEL);
    if (labels && json_object_object_length(labels) == 0)
        json_object_object_del(metadata, "labels");
    if (notes)
        json_object_object_del(notes, FLEET_MANAGER);
}

static void add_company(struct json_object *object)
{
    struct json_object *metadata = json_at(object, "metadata", NULL);
    struct json_object *notes = json_at(metadata, "annotations", NULL);

    if (!json_str_at(notes, FLEET_MARK, NULL) || json_str_at(notes, FLEET_MANAGER, NULL))
        return;
    json_set_str(notes, FLEET_MANAGER, "m");
    json_set_str(json_sub(metadata, "labels"), FLEET_LABEL, FLEET_LABEL_VALUE);
}

/* A create as the object, without the annotation of what was applied, which the check of removals
 * tests; a patch without its precondition. */
static struct json_object *step_json(struct arena *arena, const struct fleet_step *step)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *body = json_copy(arena, step->body);
    struct json_object *metadata = json_at(body, "metadata", NULL);
    const char *target = arena_printf(arena, "%s %s%s%s", step->resource->kind, step->namespace_,
                                      *step->namespace_ ? "/" : "", step->name);

    if (json_at(metadata, "annotations", NULL))
        json_object_object_del(json_at(metadata, "annotations", NULL), APPLIED);
    drop_company(metadata);
    if (step->verb == FLEET_PATCH) {
        json_object_object_del(metadata, "resourceVersion");
        if (metadata && json_at(metadata, "annotations", NULL) &&
            json_object_object_length(json_at(metadata, "annotations", NULL)) == 0)
            json_object_object_del(metadata, "annotations");
        if (metadata && json_object_object_length(metadata) == 0)
            json_object_object_del(body, "metadata");
    }
    json_set_str(out, verbs[step->verb], target);
    if (step->verb == FLEET_DELETE) {
        json_set_str(out, "uid", json_str_at(body, "preconditions", "uid", NULL));
        return out;
    }
    json_object_object_del(body, "apiVersion");
    json_object_object_del(body, "kind");
    if (step->verb == FLEET_CREATE) {
        json_object_object_del(metadata, "name");
        json_object_object_del(metadata, "namespace");
        struct json_object *notes = json_at(metadata, "annotations", NULL);
        if (json_str_at(notes, FLEET_MARK, NULL))
            json_object_object_del(notes, FLEET_MARK);
        if (notes && json_object_object_length(notes) == 0)
            json_object_object_del(metadata, "annotations");
        if (json_object_object_length(metadata) == 0)
            json_object_object_del(body, "metadata");
    }
    json_set(out, "with", body);
    return out;
}

static struct json_object *plan_json(struct arena *arena, const struct fleet_plan *plan)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *steps = json_own(arena, json_object_new_array());
    int count = 0;

    for (const struct fleet_step *step = plan->first; step; step = step->next, count++)
        json_object_array_add(steps, json_object_get(step_json(arena, step)));
    assert_int_equal(count, plan->count);
    json_set_str(out, "refused", plan->refused);
    json_set_str(out, "waits", plan->waits);
    if (plan->count > 0)
        json_set(out, "steps", steps);
    return out;
}

struct row {
    struct arena *arena;
    struct application app;
    struct fleet_place place;
    struct grants grants;
    struct cluster cluster;
    struct json_object *inventory;
    struct fleet_eyes eyes;
};

static void read_row(struct arena *arena, struct json_object *parts, struct json_object *json,
                     struct row *row)
{
    struct errinfo ei;
    const char *of = json_str_at(json, "of", NULL);
    struct json_object *base = json_at(parts, of ? of : "document", NULL);
    struct json_object *app = json_copy(arena, base);
    struct json_object *policy = json_elem(json_at(app, "spec", "syncPolicies", NULL), 0);

    *row = (struct row){.arena = arena};
    assert_non_null(base);
    if (json_at(json, "rollout", NULL))
        json_set(
            policy, "rollout",
            json_merge(arena, json_at(policy, "rollout", NULL), json_at(json, "rollout", NULL)));
    if (application_view(arena, app, &row->app, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    row->cluster =
        (struct cluster){.arena = arena, .objects = json_own(arena, json_object_new_array())};
    struct json_object *objects = json_at(json, "cluster", NULL);
    for (size_t i = 0; i < json_len(objects); i++) {
        struct json_object *object = json_dup(json_elem(objects, i));
        add_company(object);
        json_object_array_add(row->cluster.objects, object);
    }
    row->inventory = json_at(json, "inventory", NULL);
    const char *allow = json_str_at(json, "allow", NULL);
    if (grants_read(arena, allow ? allow : "default:test,default:live", "flagger-system",
                    &row->grants, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    row->place = (struct fleet_place){.app = &row->app,
                                      .policy = &row->app.policies[0],
                                      .manager = "m",
                                      .leaves = json_bool_at(json, false, "leaves", NULL),
                                      .loader_image = "flagger-loadtester:1",
                                      .grants = &row->grants};
    row->eyes = (struct fleet_eyes){.look = look, .arg = &row->cluster};
}

static struct fleet_plan *plan(struct row *row)
{
    return fleet_plan(row->arena, &row->place, row->inventory, &row->eyes);
}

/* Repeats until nothing is left to do; what was being deleted is then removed. */
static struct fleet_plan *settle(struct row *row, const char *name)
{
    struct fleet_plan *now = NULL;

    for (int round = 0; round < MAX_ROUNDS; round++) {
        now = plan(row);
        row->inventory = now->inventory;
        carry_out(&row->cluster, now, now->count);
        if (!let_go(&row->cluster) && now->count == 0)
            return now;
    }
    fail_msg("%s: there is always something more to do: %s", name,
             json_text(row->arena, plan_json(row->arena, now)));
    return now;
}

/* Checks that the controller accepts the Canaries that the plan creates. */
static void check_canaries(struct row *row, const char *name)
{
    for (size_t i = 0; i < json_len(row->cluster.objects); i++) {
        struct json_object *object = json_elem(row->cluster.objects, i);
        struct canary canary;
        struct errinfo ei;
        const char *mark = json_str_at(object, "metadata", "annotations", FLEET_MARK, NULL);
        if (mark && strcmp(json_str_at(object, "kind", NULL), "Canary") == 0 &&
            strcmp(mark, "default/shop/shop-0") == 0 &&
            canary_view(row->arena, object, &canary, &ei) != ERR_OK)
            fail_msg("%s: %s", name, ei.text);
    }
}

static void check_nothing_is_ours(struct row *row, const char *name)
{
    const char *text = json_text(row->arena, row->cluster.objects);

    assert_int_equal(json_len(row->inventory), 0);
    if (strstr(text, "default/shop/shop-0"))
        fail_msg("%s: something is left: %s", name, text);
}

/* A user changes the rollout after all of it has been carried out. */
static void check_change(struct arena *arena, struct json_object *parts, struct json_object *json,
                         const struct row *settled)
{
    const char *name = json_str_at(json, "case", NULL);
    struct json_object *changed = json_copy(arena, json);
    struct row row;

    json_set(changed, "rollout",
             json_merge(arena, json_at(json, "rollout", NULL), json_at(json, "then", NULL)));
    json_set(changed, "cluster", settled->cluster.objects);
    json_set(changed, "inventory", settled->inventory);
    read_row(arena, parts, changed, &row);
    struct json_object *found = plan_json(arena, plan(&row));
    if (!json_same(found, json_at(json, "want then", NULL)))
        fail_msg("%s: found then\n%s", name, json_text(arena, found));
}

/* Wherever the process ends, the next process arrives at the same result. */
static void check_crashes(struct arena *arena, struct json_object *parts, struct json_object *json,
                          struct row *settled)
{
    const char *name = json_str_at(json, "case", NULL);
    struct row row;
    int most = 0, count;

    do {
        read_row(arena, parts, json, &row);
        const struct fleet_plan *first = plan(&row);
        count = first->count;
        row.inventory = first->inventory;
        carry_out(&row.cluster, first, most);
        (void)settle(&row, name);
        if (!json_same(row.cluster.objects, settled->cluster.objects) ||
            !json_same(row.inventory, settled->inventory))
            fail_msg("%s: after an end at step %d it is\n%s\nand not\n%s", name, most,
                     json_text(arena, row.cluster.objects),
                     json_text(arena, settled->cluster.objects));
    } while (most++ < count);
}

static void check_row(struct arena *arena, struct json_object *parts, struct json_object *json)
{
    const char *name = json_str_at(json, "case", NULL);
    struct json_object *want = json_at(json, "want", NULL);
    struct row row;

    read_row(arena, parts, json, &row);
    row.cluster.blind = true;
    const struct fleet_plan *blind = plan(&row);
    assert_true(blind->denied || (blind->unknown && row.cluster.asked > 0));
    row.cluster.blind = false;
    struct json_object *found = plan_json(arena, plan(&row));
    if (!json_same(found, want ? want : json_own(arena, json_object_new_object())))
        fail_msg("%s: found\n%s", name, json_text(arena, found));
    const struct fleet_plan *last = settle(&row, name);
    if (!last->refused)
        check_canaries(&row, name);
    if (json_at(json, "inventory after", NULL) &&
        !json_same(json_at(json, "inventory after", NULL), row.inventory))
        fail_msg("%s: the inventory is\n%s", name, json_text(arena, row.inventory));
    if (json_at(json, "then", NULL))
        check_change(arena, parts, json, &row);
    check_crashes(arena, parts, json, &row);
    if (last->refused)
        return;
    row.place.leaves = true;
    (void)settle(&row, name);
    check_nothing_is_ours(&row, name);
}

CASE(rows_of_cases)
{
    struct json_object *file = json_elem(rows_read(arena, "controller/fleet/rules/cases.yaml"), 0);
    struct json_object *rows = json_at(file, "cases", NULL);

    assert_true(json_len(rows) >= LEAST_ROWS);
    for (size_t i = 0; i < json_len(rows); i++)
        check_row(arena, file, json_elem(rows, i));
}

CASE(what_is_of_another_manager_is_not_taken_away)
{
    struct application app = {.name = "shop", .namespace_ = "default"};
    struct application_policy policy = {.name = "shop-0"};
    struct cluster cluster = {
        .arena = arena,
        .objects = rows_json(
            arena, "[{'kind':'Canary','metadata':{'name':'a','namespace':'test','annotations':"
                   "{'" FLEET_MARK "':'default/shop/shop-0','" FLEET_MANAGER "':'other'}}}]")};
    const struct fleet_place place = {.app = &app, .policy = &policy, .manager = "m"};
    const struct fleet_eyes eyes = {.look = look, .arg = &cluster};
    struct json_object *inventory =
        rows_json(arena, "[{'kind':'Canary','namespace':'test','name':'a'}]");
    struct json_object *notes =
        json_at(json_elem(cluster.objects, 0), "metadata", "annotations", NULL);

    assert_int_equal(fleet_plan(arena, &place, inventory, &eyes)->count, 0);
    json_object_object_del(notes, FLEET_MANAGER);
    assert_int_equal(fleet_plan(arena, &place, inventory, &eyes)->count, 1);
}
