#include "object/managed.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "object/apply.h"
#include "object/fieldset.h"

static struct managed_entry *append(struct managed *managed, struct managed_entry entry)
{
    struct managed_entry **at = &managed->first;
    while (*at)
        at = &(*at)->next;
    *at = ARENA_NEW(managed->arena, struct managed_entry);
    **at = entry;
    managed->count++;
    return *at;
}

void managed_read(struct managed *managed, struct arena *arena, struct json_object *obj)
{
    struct json_object *list = json_at(obj, "metadata", "managedFields", NULL);
    *managed = (struct managed){.arena = arena};
    for (size_t i = 0; i < json_len(list) && i < MANAGED_MAX; i++) {
        struct json_object *row = json_elem(list, i);
        const char *operation = json_str_at(row, "operation", NULL);
        struct managed_entry entry = {
            .manager = json_str_at(row, "manager", NULL) ?: "",
            .api_version = json_str_at(row, "apiVersion", NULL) ?: "",
            .subresource = json_str_at(row, "subresource", NULL) ?: "",
            .time = json_str_at(row, "time", NULL),
            .applied = operation && strcmp(operation, "Apply") == 0,
            .set = fieldset_parse(arena, json_at(row, "fieldsV1", NULL)),
        };
        append(managed, entry);
    }
}

struct managed_entry *managed_find(struct managed *managed, const char *manager, bool applied,
                                   const char *api_version, const char *subresource)
{
    subresource = subresource ? subresource : "";
    for (struct managed_entry *entry = managed->first; entry; entry = entry->next)
        if (entry->applied == applied && strcmp(entry->manager, manager) == 0 &&
            strcmp(entry->subresource, subresource) == 0 &&
            (applied || strcmp(entry->api_version, api_version) == 0))
            return entry;
    return append(managed, (struct managed_entry){
                               .manager = manager,
                               .api_version = api_version,
                               .subresource = subresource,
                               .applied = applied,
                           });
}

void managed_set(struct managed *managed, struct managed_entry *entry, struct json_object *set,
                 const char *api_version, int64_t now_ms)
{
    char text[CLOCK_TEXT];
    bool same = entry->set && set && json_same(entry->set, set) &&
                strcmp(entry->api_version, api_version) == 0;
    entry->set = set;
    entry->api_version = api_version;
    if (!same || !entry->time)
        entry->time = arena_strdup(managed->arena, clock_rfc3339(now_ms, text));
}

struct json_object *managed_owned(const struct managed *managed, const struct managed_entry *except)
{
    struct json_object *all = NULL;
    for (const struct managed_entry *entry = managed->first; entry; entry = entry->next)
        if (entry != except)
            all = fieldset_join(managed->arena, all, entry->set);
    return all;
}

void managed_release(struct managed *managed, const struct managed_entry *except,
                     struct json_object *set)
{
    for (struct managed_entry *entry = managed->first; entry; entry = entry->next)
        if (entry != except)
            entry->set = fieldset_minus(managed->arena, entry->set, set);
}

/* RFC 3339 times in UTC sort as text. */
static struct managed_entry *oldest_updater(struct managed *managed, size_t *count)
{
    struct managed_entry *oldest = NULL;
    *count = 0;
    for (struct managed_entry *entry = managed->first; entry; entry = entry->next) {
        if (entry->applied || !entry->set || entry->subresource[0])
            continue;
        (*count)++;
        if (strcmp(entry->manager, "ancient-changes") == 0)
            continue;
        if (!oldest || strcmp(entry->time ?: "", oldest->time ?: "") < 0)
            oldest = entry;
    }
    return oldest;
}

static void join_old(struct managed *managed)
{
    size_t count;
    for (;;) {
        struct managed_entry *oldest = oldest_updater(managed, &count);
        if (!oldest || count <= APPLY_MAX_UPDATERS)
            return;
        struct managed_entry *ancient =
            managed_find(managed, "ancient-changes", false, oldest->api_version, NULL);
        ancient->set = fieldset_join(managed->arena, ancient->set, oldest->set);
        ancient->time = oldest->time;
        oldest->set = NULL;
    }
}

void managed_write(struct managed *managed, struct json_object *obj)
{
    struct json_object *list = json_object_new_array();
    join_old(managed);
    for (struct managed_entry *entry = managed->first; entry; entry = entry->next) {
        if (!entry->set)
            continue;
        struct json_object *row = json_object_new_object();
        json_set_str(row, "manager", entry->manager);
        json_set_str(row, "operation", entry->applied ? "Apply" : "Update");
        json_set_str(row, "apiVersion", entry->api_version);
        json_set_str(row, "time", entry->time);
        json_set_str(row, "fieldsType", "FieldsV1");
        json_set(row, "fieldsV1", fieldset_text(managed->arena, entry->set));
        if (entry->subresource[0])
            json_set_str(row, "subresource", entry->subresource);
        json_object_array_add(list, row);
    }
    if (json_len(list) > 0) {
        json_object_object_add(json_sub(obj, "metadata"), "managedFields", list);
        return;
    }
    json_object_put(list);
    struct json_object *metadata = json_at(obj, "metadata", NULL);
    if (metadata)
        json_object_object_del(metadata, "managedFields");
}
