#include "kube/reply.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MESSAGE = 300 };

/* Counted per process: a tree may outlive the client that has read it. */
static size_t kept, kept_large;

static void count(size_t tree, int sign)
{
    size_t *of_large = tree > REPLY_SMALL_TREE ? &kept_large : NULL;

    kept += sign > 0 ? tree : -tree;
    if (of_large)
        *of_large += sign > 0 ? tree : -tree;
}

/* Called by json-c when the last reference is dropped. */
static void on_dropped(struct json_object *tree, void *size)
{
    (void)tree;
    count(*(size_t *)size, -1);
    free(size);
}

static void keep(struct json_object *tree, size_t bytes)
{
    size_t *size = heap_alloc(sizeof(*size));

    if (!json_object_is_type(tree, json_type_object)) {
        free(size); /* not an object of the API */
        return;
    }
    *size = bytes;
    count(bytes, 1);
    json_object_set_userdata(tree, size, on_dropped);
}

size_t reply_kept_bytes(void)
{
    return kept;
}

static size_t room(size_t most, size_t taken)
{
    return taken < most ? most - taken : 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The maximum size of a tree: a large one is limited by what is left for large trees and for all
 * trees, a small one only by the latter. */
static size_t most_of_one(enum reply_use use)
{
    if (use != REPLY_KEPT_IF_ROOM)
        return REPLY_MAX_TREE;
    size_t all = room(REPLY_MAX_KEPT, kept), large = least(room(REPLY_MAX_LARGE, kept_large), all);
    size_t small = least(REPLY_SMALL_TREE, all);

    return large > small ? large : small;
}

enum err reply_parse(struct arena *arena, const char *text, size_t len, enum reply_use use,
                     struct json_object **out, enum reply_shape *shape, struct errinfo *ei)
{
    struct json_bounds bounds = {.max_text = REPLY_MAX_TEXT, .max_tree = most_of_one(use)};
    struct errinfo why = {0};
    enum err err = json_parse_within(arena, text, len, &bounds, out, &why);

    *shape = REPLY_WHOLE;
    if (err == ERR_OK && use != REPLY_TRANSIENT)
        keep(*out, bounds.tree);
    if (err == ERR_OK || bounds.tree <= bounds.max_tree) {
        if (ei)
            *ei = why;
        return err;
    }
    *shape = bounds.max_tree < REPLY_MAX_TREE ? REPLY_NO_ROOM : REPLY_TOO_LARGE;
    bounds.outline = true;
    bounds.max_tree = REPLY_MAX_TREE;
    return json_parse_within(arena, text, len, &bounds, out, ei);
}

enum err reply_items(struct arena *arena, const char *text, size_t len,
                     bool (*item)(void *arg, struct json_object *item, bool whole), void *arg,
                     struct json_object **out, struct errinfo *ei)
{
    struct json_bounds bounds = {
        .max_text = REPLY_MAX_TEXT, .max_tree = REPLY_MAX_TREE, .item = item, .arg = arg};

    return json_parse_within(arena, text, len, &bounds, out, ei);
}

enum err kube_status_err(int status)
{
    if (status >= 200 && status < 300)
        return ERR_OK;
    switch (status) {
    case 401:
    case 403:
        return ERR_DENIED;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
    case 410:
        return ERR_CONFLICT;
    case 408:
    case 429:
        return ERR_RETRY;
    default:
        return status >= 500 ? ERR_RETRY : ERR_INVALID;
    }
}

/* Length of the first line, without trailing blanks, at most MAX_MESSAGE. */
static int first_line(const char *text)
{
    size_t len = strcspn(text, "\r\n");

    if (len > MAX_MESSAGE)
        len = MAX_MESSAGE;
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        len--;
    /* Does not cut within a UTF-8 character. */
    if (len == MAX_MESSAGE)
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
            len--;
    return (int)len;
}

bool kube_status_unserved(int status, struct json_object *body)
{
    const char *name = json_str_at(body, "details", "name", NULL);

    return status == 404 && !(name && name[0]);
}

/* Recognizes the text of the API server's authorizers, which nothing else uses. */
static bool is_of_role(const char *text)
{
    const char *user = strstr(text, "User \"");

    return user && strstr(user, " cannot ");
}

bool kube_status_forbidden(const struct errinfo *info)
{
    return info->status == 403;
}

bool kube_status_refused(const struct errinfo *info)
{
    return info->status == 400 || info->status == 422 ||
           (info->status == 403 && !is_of_role(info->text));
}

enum err kube_status_fill(struct errinfo *ei, const char *what, int status,
                          struct json_object *body, const char *text, int64_t retry_after_ms)
{
    enum err err = kube_status_err(status);
    const char *message = json_str_at(body, "message", NULL);

    if (err == ERR_OK)
        return ERR_OK;
    if (!message || !message[0])
        message = body ? NULL : text;
    if (message)
        message += strspn(message, " \t\r\n");
    if (message && message[0])
        err_set(ei, err, "%s: %s: %.*s", what, err_name(err), first_line(message), message);
    else
        err_set(ei, err, "%s: %s: the server answered HTTP %d", what, err_name(err), status);
    if (!ei)
        return err;
    ei->status = status;
    ei->retry_after_ms = retry_after_ms;
    int64_t seconds = json_int_at(body, 0, "details", "retryAfterSeconds", NULL);
    if (ei->retry_after_ms <= 0 && seconds > 0 && seconds < 3600)
        ei->retry_after_ms = seconds * 1000;
    return err;
}
