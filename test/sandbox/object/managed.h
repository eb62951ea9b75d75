/*
 * metadata.managedFields as a list of entries: who owns which fields. Read with managed_read(),
 * changed through the functions below, written back with managed_write(). Everything belongs to the
 * arena it was read with.
 */
#ifndef OBJECT_MANAGED_H
#define OBJECT_MANAGED_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum { MANAGED_MAX = 200 };

struct managed_entry {
    const char *manager;
    const char *api_version;
    const char *subresource; /* "" for none */
    const char *time;
    bool applied;            /* operation Apply, otherwise Update */
    struct json_object *set; /* fieldset.h; NULL: the entry is not written */
    struct managed_entry *next;
};

struct managed {
    struct arena *arena;
    struct managed_entry *first;
    size_t count;
};

/* obj NULL, or without managedFields: no entries. */
void managed_read(struct managed *managed, struct arena *arena, struct json_object *obj);
/* The entry of a manager; made, with an empty set, when there is none. Appliers are told apart
 * without version. */
struct managed_entry *managed_find(struct managed *managed, const char *manager, bool applied,
                                   const char *api_version, const char *subresource);
/* Gives the entry another set, and the time when that changes it. */
void managed_set(struct managed *managed, struct managed_entry *entry, struct json_object *set,
                 const char *api_version, int64_t now_ms);
/* What all entries but one own together; except may be NULL. */
struct json_object *managed_owned(const struct managed *managed,
                                  const struct managed_entry *except);
/* Takes fields away from all entries but one. */
void managed_release(struct managed *managed, const struct managed_entry *except,
                     struct json_object *set);
/*
 * Writes metadata.managedFields of obj. More updaters than APPLY_MAX_UPDATERS are joined, the
 * oldest first, into one called "ancient-changes".
 */
void managed_write(struct managed *managed, struct json_object *obj);

#endif
