/* Parts of a watch, for its tests and for fuzzing: the keys of reported objects, and the lines of a
 * stream. */
#ifndef KUBE_WATCH_INTERNAL_H
#define KUBE_WATCH_INTERNAL_H

#include "base/buf.h"
#include "base/table.h"
#include "kube/reply.h"

/* Namespaces, names and uids of the objects that a watch has reported. */
struct watch_key {
    const char *namespace_; /* "" for cluster-scoped objects; all three point behind the struct */
    const char *name;
    const char *uid;
    uint32_t round; /* number of the list that it was last seen in */
};

struct watch_keys {
    struct table table;
    uint32_t round;
};

void watch_keys_init(struct watch_keys *keys);
void watch_keys_fini(struct watch_keys *keys);
/* Begins a list: keys not put from here on are stale. */
void watch_keys_begin(struct watch_keys *keys);
/* Returns the replaced key if the uid differs (the caller frees it with free()), else NULL. */
struct watch_key *watch_keys_put(struct watch_keys *keys, const char *namespace_, const char *name,
                                 const char *uid);
void watch_keys_remove(struct watch_keys *keys, const char *namespace_, const char *name);
/* Removes all stale keys. Returns a heap array of heap keys, both the caller's; NULL and 0 if
 * none. */
struct watch_key **watch_keys_take_stale(struct watch_keys *keys, size_t *count);

/* A stream, split into lines, and a line read as an event. Bytes from outside, within limits. */
enum { WATCH_LINE_MAX = REPLY_MAX_TEXT };

enum line_type { LINE_PUT, LINE_GONE, LINE_BOOKMARK, LINE_ERROR };

struct line_event {
    enum line_type type;
    struct json_object *object;
    /* From the object's metadata, "" if missing. For a bookmark only resource_version is set. */
    const char *namespace_, *name, *uid, *resource_version;
    bool outline; /* only an outline was read, since the object takes too much memory */
    int code;     /* LINE_ERROR: of the Status, 0 if it has none */
    const char *message;
};

/* *out lives in the arena. ERR_INVALID if the line is no event. */
enum err watch_line_parse(struct arena *arena, const char *line, size_t len, struct line_event *out,
                          struct errinfo *ei) MUST_USE;

/* Fills the metadata part of *out from an object; returns false without name or resourceVersion. */
bool watch_object_key(struct json_object *object, struct line_event *out);

/*
 * Appends bytes to the incomplete line in `rest`, and calls fn for each complete line that is not
 * empty, until it returns false. Returns false if fn did, or if a line exceeds the maximum of the
 * buffer, which is then truncated.
 */
bool watch_lines_feed(struct buf *rest, const char *data, size_t len,
                      bool (*fn)(void *arg, const char *line, size_t len), void *arg);

#endif
