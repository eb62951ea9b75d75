#include "engine/trace_headers.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "net/file_watch.h"

enum { MAX_FILE = 64 * 1024 };

struct trace_headers {
    struct file_watch *file_watch; /* NULL without a file */
    char *path;
    struct arena *arena; /* of the list */
    struct secret_headers list;
};

static enum err read_text(struct trace_headers *headers, const char *text, struct errinfo *ei)
{
    struct secret_headers list = {0};
    struct arena *arena = arena_new();

    enum err err = secret_headers_parse(&list, arena, text, ei);
    if (err == ERR_OK && list.count == 0)
        err = err_set(ei, ERR_INVALID, "there is no header in it");
    if (err != ERR_OK) {
        arena_free(arena);
        return err;
    }
    arena_free(headers->arena);
    headers->arena = arena;
    headers->list = list;
    return ERR_OK;
}

static enum err read_file(struct trace_headers *headers, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    char *text = NULL;
    size_t len = 0;

    enum err err = file_read(arena, headers->path, MAX_FILE, &text, &len, ei);
    if (err == ERR_OK && strlen(text) != len)
        err = err_set(ei, ERR_INVALID, "%s: expected text, found a byte 0", headers->path);
    else if (err == ERR_OK && (err = read_text(headers, text, ei)) != ERR_OK)
        err = err_wrap(ei, err, "%s", headers->path);
    if (text)
        OPENSSL_cleanse(text, len);
    arena_free(arena);
    return err;
}

static bool on_changed(void *arg)
{
    struct trace_headers *headers = arg;
    struct errinfo info = {0};

    if (read_file(headers, &info) != ERR_OK) {
        log_warn("trace_headers_unread", NULL, info.text);
        return false;
    }
    log_info("trace_headers_read", NULL, "the headers for the collector of traces have changed",
             LOG_INT("headers", headers->list.count));
    return true;
}

enum err trace_headers_new(struct loop *loop, const char *path, const char *text,
                           struct trace_headers **out, struct errinfo *ei)
{
    struct trace_headers *headers = heap_alloc(sizeof(*headers));

    *headers = (struct trace_headers){.arena = arena_new()};
    if (path) {
        headers->path = heap_strdup(path);
        headers->file_watch = file_watch_start(loop, &path, 1, on_changed, headers);
    }
    enum err err = path ? read_file(headers, ei) : read_text(headers, text, ei);
    if (err != ERR_OK) {
        trace_headers_free(headers);
        return err;
    }
    *out = headers;
    return ERR_OK;
}

const struct secret_headers *trace_headers_list(const struct trace_headers *headers)
{
    static const struct secret_headers none = {.count = 0};

    return headers ? &headers->list : &none;
}

void trace_headers_stop(struct trace_headers *headers)
{
    if (!headers)
        return;
    file_watch_stop(headers->file_watch);
    headers->file_watch = NULL;
}

void trace_headers_free(struct trace_headers *headers)
{
    if (!headers)
        return;
    file_watch_stop(headers->file_watch);
    arena_free(headers->arena);
    free(headers->path);
    free(headers);
}

void trace_headers_reload(struct trace_headers *headers)
{
    file_watch_check(headers->file_watch);
}
