/*
 * The rules of server-side apply:
 *   1. the applied configuration is merged over the live object;
 *   2. what the manager applied last time, applies no longer and nobody else owns is removed;
 *   3. a field that this changed and another manager owns is a conflict, unless force takes it
 * over. Recursion follows objects that json_parse() has bounded.
 */
#include "object/apply.h"

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "object/fieldset.h"
#include "object/managed.h"

static enum err fail(struct errinfo *ei, int status, const char *why)
{
    err_set(ei, ERR_INVALID, "%s", why);
    if (ei)
        ei->status = status;
    return ERR_INVALID;
}

/* ---- merging ---- */

static struct json_object *merge(struct arena *arena, struct typing at, struct json_object *live,
                                 struct json_object *applied);

static void append(struct json_object *list, struct json_object *value)
{
    json_object_array_add(list, json_object_get(value));
}

/*
 * What is only live keeps its place, and the applied items stand in the order of `applied`: each
 * place of one of them takes the next, with the new ones in front of it. So applying the same again
 * changes nothing.
 */
static struct json_object *merge_list(struct arena *arena, struct typing at,
                                      struct json_object *live, struct json_object *applied)
{
    struct json_object *mine = fieldset_index(arena, at, applied, NULL);
    struct json_object *theirs = fieldset_index(arena, at, live, NULL);
    if (!mine || !theirs)
        return json_copy(arena, applied);
    struct json_object *result = json_own(arena, json_object_new_array());
    size_t next = 0;
    for (size_t i = 0; i <= json_len(live); i++) {
        struct json_object *item = json_elem(live, i);
        bool end = i == json_len(live);
        const char *key = end ? NULL : fieldset_item_key(arena, at, item);
        if (!end && !json_object_object_get_ex(mine, key, NULL)) {
            append(result, json_copy(arena, item));
            continue;
        }
        for (bool old = false; (end || !old) && next < json_len(applied); next++) {
            struct json_object *own = json_elem(applied, next), *before = NULL;
            old = json_object_object_get_ex(theirs, fieldset_item_key(arena, at, own), &before);
            append(result, merge(arena, typing_item(at), before, own));
        }
    }
    return result;
}

static struct json_object *merge(struct arena *arena, struct typing at, struct json_object *live,
                                 struct json_object *applied)
{
    if (json_object_is_type(applied, json_type_array) && json_object_is_type(live, json_type_array))
        return merge_list(arena, at, live, applied);
    if (!json_object_is_type(applied, json_type_object) || typing_map_atomic(at))
        return json_copy(arena, applied);
    struct json_object *result = json_object_is_type(live, json_type_object)
                                     ? json_copy(arena, live)
                                     : json_own(arena, json_object_new_object());
    json_object_object_foreach(applied, key, value)
    {
        struct json_object *old = json_at(live, key, NULL);
        if (value)
            json_set(result, key, merge(arena, typing_field(at, key), old, value));
        else
            json_object_object_del(result, key); /* null: the field is owned, and absent */
    }
    return result;
}

/* ---- removing what is no longer applied ---- */

static void remove_lost(struct arena *arena, struct typing at, struct json_object *obj,
                        struct json_object *lost, struct json_object *owned);

static struct json_object *sub(struct json_object *set, const char *key)
{
    struct json_object *value = NULL;
    if (set)
        json_object_object_get_ex(set, key, &value);
    return value;
}

static bool is_empty(struct json_object *value)
{
    return (json_object_is_type(value, json_type_object) &&
            json_object_object_length(value) == 0) ||
           (json_object_is_type(value, json_type_array) && json_len(value) == 0);
}

/* True when value itself must go; otherwise what is lost inside of it is gone when this returns. */
static bool loses(struct arena *arena, struct typing at, struct json_object *value,
                  struct json_object *lost, struct json_object *owned)
{
    if (!owned && sub(lost, "."))
        return true;
    bool was_empty = is_empty(value);
    remove_lost(arena, at, value, lost, owned);
    return !owned && !was_empty && is_empty(value);
}

static void remove_fields(struct arena *arena, struct typing at, struct json_object *obj,
                          struct json_object *lost, struct json_object *owned)
{
    json_object_object_foreach(obj, key, value)
    {
        const char *name = arena_printf(arena, "f:%s", key);
        struct json_object *inner = sub(lost, name);
        if (inner && loses(arena, typing_field(at, key), value, inner, sub(owned, name)))
            json_object_object_del(obj, key);
    }
}

static void remove_items(struct arena *arena, struct typing at, struct json_object *list,
                         struct json_object *lost, struct json_object *owned)
{
    if (!fieldset_index(arena, at, list, NULL))
        return;
    for (size_t i = 0; i < json_len(list);) {
        struct json_object *item = json_elem(list, i);
        const char *key = fieldset_item_key(arena, at, item);
        struct json_object *inner = sub(lost, key);
        if (inner && loses(arena, typing_item(at), item, inner, sub(owned, key)))
            json_object_array_del_idx(list, i, 1);
        else
            i++;
    }
}

static void remove_lost(struct arena *arena, struct typing at, struct json_object *obj,
                        struct json_object *lost, struct json_object *owned)
{
    if (json_object_is_type(obj, json_type_object))
        remove_fields(arena, at, obj, lost, owned);
    else if (json_object_is_type(obj, json_type_array))
        remove_items(arena, at, obj, lost, owned);
}

/* ---- conflicts ---- */

struct collector {
    struct causes *causes;
    const char *owner;
    struct buf paths;
    size_t count;
};

static void add_conflict(void *ctx, const char *path)
{
    struct collector *c = ctx;
    c->count++;
    buf_printf(&c->paths, "\n- %s", path);
    if (c->causes)
        cause_add(c->causes, CAUSE_CONFLICT, path, "conflict with %s", c->owner);
}

static const char *describe(struct arena *arena, const struct managed_entry *entry)
{
    const char *name = arena_printf(arena, "\"%s\"", entry->manager);
    if (entry->subresource[0])
        name = arena_printf(arena, "%s with subresource \"%s\"", name, entry->subresource);
    return entry->applied ? name : arena_printf(arena, "%s using %s", name, entry->api_version);
}

static enum err check_conflicts(struct arena *arena, const struct managed *managed,
                                const struct managed_entry *own, struct json_object *changed,
                                struct causes *causes, struct errinfo *ei)
{
    const char *text = "";
    size_t total = 0;
    for (struct managed_entry *entry = managed->first; entry; entry = entry->next) {
        struct json_object *both =
            entry == own ? NULL : fieldset_common(arena, entry->set, changed);
        struct collector c = {.causes = causes, .owner = describe(arena, entry)};
        buf_init(&c.paths, 64 * 1024);
        fieldset_each(arena, both, add_conflict, &c);
        if (c.count == 1)
            text = arena_printf(arena, "%s%sconflict with %s: %s", text, total ? "\n" : "", c.owner,
                                c.paths.data + strlen("\n- "));
        else if (c.count > 1)
            text = arena_printf(arena, "%s%sconflicts with %s:%s", text, total ? "\n" : "", c.owner,
                                c.paths.data);
        total += c.count;
        buf_fini(&c.paths);
    }
    if (total == 0)
        return ERR_OK;
    err_set(ei, ERR_CONFLICT, "Apply failed with %zu conflict%s: %s", total, total > 1 ? "s" : "",
            text);
    if (ei)
        ei->status = 409;
    return ERR_CONFLICT;
}

/* ---- apply ---- */

/* Every list that merges by key must have the keys, each once. */
static enum err check_keys(struct arena *arena, struct typing at, struct json_object *obj,
                           struct errinfo *ei)
{
    if (json_object_is_type(obj, json_type_object) && !typing_map_atomic(at)) {
        json_object_object_foreach(obj, key, value)
        {
            enum err err = check_keys(arena, typing_field(at, key), value, ei);
            if (err)
                return err;
        }
    }
    if (!json_object_is_type(obj, json_type_array))
        return ERR_OK;
    const char *why = NULL;
    struct json_object *index = fieldset_index(arena, at, obj, &why);
    if (why)
        return fail(ei, 422, why);
    for (size_t i = 0; index && i < json_len(obj); i++) {
        enum err err = check_keys(arena, typing_item(at), json_elem(obj, i), ei);
        if (err)
            return err;
    }
    return ERR_OK;
}

static enum err check_request(const struct apply_request *request, struct json_object *applied,
                              struct arena *arena, struct errinfo *ei)
{
    size_t len = request->manager ? strlen(request->manager) : 0;
    if (len == 0)
        return fail(ei, 400, "fieldManager is required for apply patch");
    if (len > APPLY_MAX_MANAGER)
        return fail(ei, 400,
                    arena_printf(arena, "fieldManager: at most %d bytes, this one has %zu",
                                 APPLY_MAX_MANAGER, len));
    for (const char *p = request->manager; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return fail(ei, 400, "fieldManager: must consist of printable characters");
    if (!json_object_is_type(applied, json_type_object))
        return fail(ei, 400, "an apply patch must be an object");
    if (json_len(json_at(applied, "metadata", "managedFields", NULL)) > 0)
        return fail(ei, 400, "metadata.managedFields must be nil");
    return check_keys(arena, request->typing, applied, ei);
}

/* The object existed before anybody applied: what it holds belongs to a manager of its own. */
static void claim_unowned(struct managed *managed, const struct apply_request *request,
                          struct json_object *live)
{
    if (!live || managed->count > 0)
        return;
    struct json_object *set = fieldset_of(managed->arena, request->typing, live);
    managed_set(
        managed, managed_find(managed, "before-first-apply", false, request->api_version, NULL),
        fieldset_without_server(managed->arena, set), request->api_version, request->now_ms);
}

enum err apply_merge(struct arena *arena, const struct apply_request *request,
                     struct json_object *live, struct json_object *applied,
                     struct json_object **out, struct causes *conflicts, struct errinfo *ei)
{
    struct managed managed;
    struct json_object *changed = NULL, *removed = NULL;
    enum err err = check_request(request, applied, arena, ei);
    if (err)
        return err;
    managed_read(&managed, arena, live);
    claim_unowned(&managed, request, live);
    struct managed_entry *own =
        managed_find(&managed, request->manager, true, request->api_version, request->subresource);

    struct json_object *set =
        fieldset_without_server(arena, fieldset_of(arena, request->typing, applied));
    struct json_object *lost = fieldset_minus(arena, own->set, set);
    struct json_object *owned = fieldset_join(arena, managed_owned(&managed, own), set);
    struct json_object *result = merge(arena, request->typing, live, applied);
    if (lost)
        remove_lost(arena, request->typing, result, lost, owned);

    if (live)
        fieldset_compare(arena, request->typing, live, result, &changed, &removed);
    changed = fieldset_without_server(arena, changed);
    if (!request->force)
        err = check_conflicts(arena, &managed, own, changed, conflicts, ei);
    if (err)
        return err;
    managed_release(&managed, own, changed);
    managed_release(&managed, own, removed);
    managed_set(&managed, own, set, request->api_version, request->now_ms);
    managed_write(&managed, result);
    *out = result;
    return ERR_OK;
}

/* ---- updates ---- */

/* managedFields: [] or [{}] asks to forget all owners. */
static bool clears(struct json_object *updated)
{
    struct json_object *list = json_at(updated, "metadata", "managedFields", NULL);
    return json_object_is_type(list, json_type_array) &&
           (json_len(list) == 0 || (json_len(list) == 1 && is_empty(json_elem(list, 0))));
}

struct json_object *apply_track_update(struct arena *arena, const struct apply_request *request,
                                       struct json_object *live, struct json_object *updated)
{
    struct managed managed;
    struct json_object *changed = NULL, *removed = NULL;
    struct json_object *result = json_copy(arena, updated);
    managed_read(&managed, arena, clears(updated) ? NULL : live);
    if (live && managed.count == 0) { /* nobody applies: nothing is tracked until somebody does */
        managed_write(&managed, result);
        return result;
    }
    if (live)
        fieldset_compare(arena, request->typing, live, updated, &changed, &removed);
    else
        changed = fieldset_of(arena, request->typing, updated);
    changed = fieldset_without_server(arena, changed);
    struct managed_entry *own =
        managed_find(&managed, request->manager, false, request->api_version, request->subresource);
    struct json_object *set = fieldset_minus(arena, own->set, removed);
    managed_release(&managed, own, changed);
    managed_release(&managed, own, removed);
    if (changed || set != own->set)
        managed_set(&managed, own, fieldset_join(arena, set, changed), request->api_version,
                    request->now_ms);
    managed_write(&managed, result);
    return result;
}
