#include "fleet/rules/inventory.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 100 * 1000, MAX_TEXT = 300 * 1024 };

/* --- lines */

struct lines {
    const char **all;
    size_t count;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void split(struct arena *arena, const char *text, struct lines *out)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        out->all[out->count++] = arena_strndup(arena, text, len);
        text += len + (text[len] == '\n');
    }
}

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (const char *at = text; *at; at++)
        count += *at == '\n';
    return count + 1;
}

/* Sorted, without duplicates. */
static const char *join(struct arena *arena, struct lines *lines)
{
    struct buf text;

    if (lines->count > 0)
        qsort(lines->all, lines->count, sizeof(*lines->all), by_text);
    buf_init(&text, MAX_TEXT);
    for (size_t i = 0; i < lines->count; i++) {
        if (i > 0 && strcmp(lines->all[i], lines->all[i - 1]) == 0)
            continue;
        if (text.len > 0)
            buf_puts(&text, "\n");
        buf_puts(&text, lines->all[i]);
    }
    const char *out = arena_strndup(arena, text.data ? text.data : "", text.len);
    buf_fini(&text);
    return out;
}

const char *inventory_join(struct arena *arena, const char *one, const char *other)
{
    struct lines lines = {
        .all = arena_array(arena, count_lines(one) + count_lines(other), sizeof(*lines.all))};

    split(arena, one, &lines);
    split(arena, other, &lines);
    return join(arena, &lines);
}

bool inventory_has(const char *whole, const char *part)
{
    while (*part) {
        size_t len = strcspn(part, "\n");
        const char *at = whole;
        while (*at && !(strncmp(at, part, len) == 0 && (at[len] == '\n' || !at[len]))) {
            at += strcspn(at, "\n");
            at += *at == '\n';
        }
        if (!*at)
            return false;
        part += len + (part[len] == '\n');
    }
    return true;
}

/* --- as the plan has them */

const char *inventory_objects(struct arena *arena, struct json_object *list)
{
    struct lines lines = {.all = arena_array(arena, json_len(list) + 1, sizeof(*lines.all))};

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *entry = json_elem(list, i);
        lines.all[lines.count++] =
            arena_printf(arena, "%s %s/%s", json_str_at(entry, "kind", NULL),
                         json_str_at(entry, "namespace", NULL), json_str_at(entry, "name", NULL));
    }
    return join(arena, &lines);
}

/* "Kind namespace/name" */
static bool cut(struct arena *arena, const char *line, const char **kind, const char **namespace_,
                const char **name)
{
    const char *blank = strchr(line, ' ');
    const char *slash = blank ? strchr(blank, '/') : NULL;

    if (!slash || blank == line || slash == blank + 1 || !slash[1] || strchr(slash + 1, '/') ||
        strchr(blank + 1, ' '))
        return false;
    *kind = arena_strndup(arena, line, (size_t)(blank - line));
    *namespace_ = arena_strndup(arena, blank + 1, (size_t)(slash - blank - 1));
    *name = arena_strdup(arena, slash + 1);
    return true;
}

struct json_object *inventory_list(struct arena *arena, const char *objects)
{
    struct json_object *list = json_own(arena, json_object_new_array());
    struct lines lines = {.all = arena_array(arena, count_lines(objects), sizeof(*lines.all))};
    const char *kind, *namespace_, *name;

    split(arena, objects, &lines);
    for (size_t i = 0; i < lines.count; i++) {
        if (!cut(arena, lines.all[i], &kind, &namespace_, &name))
            continue;
        struct json_object *entry = json_object_new_object();
        json_object_array_add(list, entry);
        json_set_str(entry, "kind", kind);
        json_set_str(entry, "namespace", namespace_);
        json_set_str(entry, "name", name);
    }
    return list;
}

/* --- read */

static const char *read_objects(struct json_reader *r, struct json_object *group)
{
    struct json_object *array = json_read_array(r, group, "objects", JSON_REQUIRED);
    struct lines lines = {.all = arena_array(r->arena, json_len(array) + 1, sizeof(*lines.all))};
    const char *kind, *namespace_, *name;

    for (size_t i = 0; i < json_len(array); i++) {
        struct json_object *text = json_elem(array, i);
        const char *line =
            json_object_is_type(text, json_type_string) ? json_object_get_string(text) : "";
        if (strchr(line, '\n') || !cut(r->arena, line, &kind, &namespace_, &name)) {
            json_reader_fail(r, group, "objects",
                             "expected lines as \"Canary test/podinfo\", found \"%.80s\"", line);
            return "";
        }
        lines.all[lines.count++] = line;
    }
    return join(r->arena, &lines);
}

static void read_group(struct json_reader *r, const char *policy, struct json_object *group,
                       struct json_object *access, struct inventory *out)
{
    struct json_object *clusters = json_read_array(r, group, "clusters", JSON_REQUIRED);
    const char *objects = read_objects(r, group);

    for (size_t i = 0; r->err == ERR_OK && i < json_len(clusters); i++) {
        struct json_object *name = json_elem(clusters, i);
        if (!json_object_is_type(name, json_type_string) || out->count >= MAX_ENTRIES) {
            json_reader_fail(r, group, "clusters", "expected at most %d names of clusters",
                             (int)MAX_ENTRIES);
            return;
        }
        const char *secret = json_str_at(access, json_object_get_string(name), NULL);
        if ((out->count & (out->count - 1)) == 0) { /* grows at each power of two */
            struct inventory_entry *more =
                arena_array(r->arena, out->count ? out->count * 2 : 1, sizeof(*more));
            if (out->count > 0)
                memcpy(more, out->entries, out->count * sizeof(*more));
            out->entries = more;
        }
        out->entries[out->count++] =
            (struct inventory_entry){.policy = policy,
                                     .cluster = json_object_get_string(name),
                                     .access = secret ? secret : "",
                                     .objects = objects};
    }
}

enum err inventory_read(struct arena *arena, const char *text, struct inventory *out,
                        struct errinfo *ei)
{
    struct json_object *root;
    struct json_reader r = {.arena = arena};

    *out = (struct inventory){0};
    if (!text)
        return ERR_OK;
    enum err err = json_parse(arena, text, strlen(text), MAX_TEXT, &root, ei);
    if (err != ERR_OK)
        return err_wrap(ei, err, FLEET_INVENTORY);
    struct json_object *access = json_read_obj(&r, root, "clusters", JSON_OPTIONAL);
    struct json_object *policies = json_read_obj(&r, root, "policies", JSON_REQUIRED);
    if (policies) {
        json_object_object_foreach(policies, policy, value)
        {
            (void)value;
            struct json_object *groups = json_read_array(&r, policies, policy, JSON_REQUIRED);
            for (size_t i = 0; r.err == ERR_OK && i < json_len(groups); i++)
                read_group(&r, arena_strdup(arena, policy), json_read_elem(&r, groups, i), access,
                           out);
        }
    }
    if (r.err == ERR_OK)
        return ERR_OK;
    *out = (struct inventory){0};
    return err_set(ei, r.err, FLEET_INVENTORY ": %s", r.info.text);
}

/* --- written */

/* The group of the policy with just these objects. */
static struct json_object *group_of(struct arena *arena, struct json_object *groups,
                                    const char *objects)
{
    for (size_t i = 0; i < json_len(groups); i++)
        if (strcmp(json_str_at(json_elem(groups, i), "key", NULL), objects) == 0)
            return json_elem(groups, i);
    struct json_object *group = json_object_new_object();
    struct lines lines = {.all = arena_array(arena, count_lines(objects), sizeof(*lines.all))};
    json_object_array_add(groups, group);
    json_set_str(group, "key", objects);
    json_object_object_add(group, "clusters", json_object_new_array());
    json_object_object_add(group, "objects", json_object_new_array());
    split(arena, objects, &lines);
    for (size_t i = 0; i < lines.count; i++)
        json_object_array_add(json_at(group, "objects", NULL),
                              json_object_new_string(lines.all[i]));
    return group;
}

const char *inventory_text(struct arena *arena, const struct inventory_entry *entries, size_t count)
{
    struct json_object *root = json_own(arena, json_object_new_object());
    struct json_object *access = json_sub(root, "clusters"), *policies = json_sub(root, "policies");

    for (size_t i = 0; i < count; i++) {
        const struct inventory_entry *entry = &entries[i];
        if (!*entry->objects)
            continue;
        if (*entry->access)
            json_set_str(access, entry->cluster, entry->access);
        struct json_object *groups = json_at(policies, entry->policy, NULL);
        if (!groups) {
            groups = json_object_new_array();
            json_object_object_add(policies, entry->policy, groups);
        }
        struct json_object *group = group_of(arena, groups, entry->objects);
        json_object_array_add(json_at(group, "clusters", NULL),
                              json_object_new_string(entry->cluster));
    }
    json_object_object_foreach(policies, policy, groups)
    {
        (void)policy;
        for (size_t i = 0; i < json_len(groups); i++)
            json_object_object_del(json_elem(groups, i), "key");
    }
    return json_text(arena, root);
}
