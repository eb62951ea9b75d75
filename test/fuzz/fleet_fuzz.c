/* The rules of the fleet: an Application, what is on a member cluster and what was made there, all of any shape. */
#include <stdlib.h>
#include <string.h>

#include "fleet/rules/fleet.h"
#include "fleet/rules/record.h"
#include "fleet/rules/select.h"
#include "fuzz.h"

enum { MAX_ROUNDS = 4 };

static bool look(void *arg, const struct kube_resource *resource, const char *namespace_,
                 const char *name, struct json_object **out)
{
    struct json_object *objects = arg;

    *out = NULL;
    for (size_t i = 0; i < json_len(objects) && !*out; i++) {
        struct json_object *object = json_elem(objects, i);
        const char *kind = json_str_at(object, "kind", NULL);
        const char *own = json_str_at(object, "metadata", "name", NULL);
        const char *in = json_str_at(object, "metadata", "namespace", NULL);
        if (kind && own && strcmp(kind, resource->kind) == 0 && strcmp(own, name) == 0 &&
            strcmp(in ? in : "", namespace_) == 0)
            *out = object;
    }
    return true;
}

/* What is made has a name and a mark, or is the Namespace; a plan that is refused does nothing. */
static void check_plan(const struct fleet_plan *plan)
{
    int count = 0;

    for (const struct fleet_step *step = plan->first; step; step = step->next, count++) {
        const char *mark = json_str_at(step->object, "metadata", "annotations", FLEET_MARK, NULL);
        if (!step->body || !*step->name || (step->verb == FLEET_DELETE) != (step->object == NULL))
            abort();
        if (step->verb == FLEET_CREATE && !mark && step->resource != &fleet_namespaces)
            abort();
    }
    if (count != plan->count || (plan->refused && count > 0))
        abort();
}

static void check_place(struct arena *arena, const struct application *app, int index,
                        struct json_object *root)
{
    const struct fleet_eyes eyes = {.look = look, .arg = json_at(root, "cluster", NULL)};
    struct fleet_place place = {.app = app,
                                .policy = &app->policies[index],
                                .manager = "m",
                                .loader_image = "image",
                                .grants = &grants_any};
    struct json_object *inventory = json_at(root, "inventory", NULL);

    for (int round = 0; round < MAX_ROUNDS; round++) {
        place.leaves = round % 2;
        const struct fleet_plan *plan = fleet_plan(arena, &place, inventory, &eyes);
        check_plan(plan);
        inventory = plan->inventory;
    }
}

static void check_choice(struct arena *arena, const struct application_policy *policy,
                         struct json_object *root)
{
    const struct fleet_known known = {.fleets = json_at(root, "fleets", NULL),
                                      .attached = json_at(root, "attached", NULL),
                                      .clusters = json_at(root, "clusters", NULL),
                                      .secrets = json_at(root, "secrets", NULL)};
    struct fleet_choice choice;

    fleet_select(arena, &policy->destination, &known, &choice);
    for (size_t i = 0; i < choice.count; i++)
        if (!*choice.members[i].name ||
            (choice.members[i].mistake == NULL) != (choice.members[i].secret != NULL))
            abort();
}

/* What can be read is written again as it was, but for what has no objects. */
static void check_inventory(struct arena *arena, const char *text)
{
    struct inventory once, twice;

    if (!text || inventory_read(arena, text, &once, NULL) != ERR_OK)
        return;
    const char *again = inventory_text(arena, once.entries, once.count);
    if (inventory_read(arena, again, &twice, NULL) != ERR_OK ||
        strcmp(inventory_text(arena, twice.entries, twice.count), again) != 0)
        abort();
    for (size_t i = 0; i < once.count; i++) {
        struct json_object *list = inventory_list(arena, once.entries[i].objects);
        if (strcmp(inventory_objects(arena, list), once.entries[i].objects) != 0)
            abort();
    }
}

static void check_access(struct arena *arena, struct json_object *secret)
{
    struct kube_config config;
    struct errinfo ei;
    const char *text;

    if (fleet_kubeconfig(arena, secret, NULL, &text, &config, &ei) == ERR_OK &&
        (!config.server || config.auth == KUBE_AUTH_EXEC || config.token_file))
        abort();
}

FUZZ_TARGET(arena, data, size)
{
    struct application app;
    struct json_object *root;

    if (json_parse(arena, (const char *)data, size, JSON_MAX_BYTES, &root, NULL) != ERR_OK)
        root = NULL;
    check_inventory(arena, json_str_at(root, "annotation", NULL));
    check_access(arena, json_at(root, "secret", NULL));
    if (root && application_view(arena, json_at(root, "application", NULL), &app, NULL) == ERR_OK)
        for (int i = 0; i < app.n_policies; i++) {
            check_choice(arena, &app.policies[i], root);
            check_place(arena, &app, i, root);
        }
}
