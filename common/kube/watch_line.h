/* The stream of a watch cut into lines, and a line read as an event. Outside bytes, bounded. */
#ifndef KUBE_WATCH_LINE_H
#define KUBE_WATCH_LINE_H

#include "base/buf.h"
#include "base/json.h"
#include "kube/reply.h"

enum { WATCH_LINE_MAX = REPLY_MAX_TEXT };

enum line_type { LINE_PUT, LINE_GONE, LINE_BOOKMARK, LINE_ERROR };

struct line_event {
    enum line_type type;
    struct json_object *object;
    /* Of the object's metadata; "" if there is none. For a bookmark only resource_version is
     * filled. */
    const char *namespace_, *name, *uid, *resource_version;
    bool outline; /* of the object: it takes too much memory to be read whole */
    int code;     /* LINE_ERROR: of the Status, 0 if it has none */
    const char *message;
};

/* Lives in the arena. ERR_INVALID: no event that can be understood. */
enum err watch_line_parse(struct arena *arena, const char *line, size_t len, struct line_event *out,
                          struct errinfo *ei) MUST_USE;

/* Fills the metadata part of *out from an object; false if it has no name or no resourceVersion. */
bool watch_object_key(struct json_object *object, struct line_event *out);

/*
 * Adds bytes to what was left of the last ones, and calls fn for each line that is whole (not for
 * empty ones) until it returns false. Returns false when fn did, or when a line is longer than the
 * buffer's maximum (then truncated).
 */
bool watch_lines_feed(struct buf *rest, const char *data, size_t len,
                      bool (*fn)(void *arg, const char *line, size_t len), void *arg);

#endif
