#include "net/server/debug.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"

bool debug_admits(struct http_conn_request *req)
{
    const char *site = http_req_header(req, "sec-fetch-site");

    if (!http_req_header(req, "origin") && (!site || strcasecmp(site, "none") == 0))
        return true;
    http_reply_error(req, 403,
                     "a page of another site sent this request (Origin, Sec-Fetch-Site); it is "
                     "shown nothing");
    return false;
}

bool debug_read_page(struct http_conn_request *req, struct debug_page *out)
{
    const char *limit = http_req_param(req, "limit"), *after = http_req_param(req, "continue");
    char *rest = NULL;
    long number = limit && *limit >= '0' && *limit <= '9' ? strtol(limit, &rest, 10) : 0;

    *out = (struct debug_page){.limit = DEBUG_PAGE, .after = after && *after ? after : NULL};
    if (!limit)
        return true;
    if (number < 1 || number > DEBUG_MAX_PAGE || *rest) {
        http_reply_error(req, 400,
                         arena_printf(http_req_arena(req),
                                      "limit: expected a number from 1 to %d, found %.40s",
                                      DEBUG_MAX_PAGE, limit));
        return false;
    }
    out->limit = (int)number;
    return true;
}

static const char *key_of(struct http_conn_request *req)
{
    return arena_printf(http_req_arena(req), "%s?%s", http_req_path(req), http_req_query(req));
}

bool debug_shared(struct http_conn_request *req)
{
    http_reply_header(req, "Cache-Control", "no-store");
    return http_reply_shared(req, key_of(req));
}

void debug_reply(struct http_conn_request *req, struct json_object *object)
{
    http_reply_share_json(req, key_of(req), json_text(http_req_arena(req), object));
}

/* 0 if unknown. */
static int64_t resident_bytes(void)
{
    char text[128] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    const char *second = n > 0 ? strchr(text, ' ') : NULL;
    return second ? strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

static void set_memory(struct json_object *memory)
{
    struct mallinfo2 heap = mallinfo2();

    json_set_int(memory, "residentBytes", resident_bytes());
    json_set_int(memory, "heapUsedBytes", (int64_t)(heap.uordblks + heap.hblkhd));
    json_set_int(memory, "heapFreeBytes", (int64_t)heap.fordblks);
}

static void set_server(struct json_object *out, const struct http_server *server)
{
    struct http_server_snapshot snapshot;

    http_server_snapshot(server, &snapshot);
    json_set_int(out, "connections", snapshot.connections);
    json_set_int(out, "maxConnections", snapshot.max_connections);
    json_set_int(out, "answering", snapshot.busy);
    json_set_int(out, "maxAnswering", snapshot.max_busy);
    json_set_int(out, "heldBytes", (int64_t)snapshot.held);
    json_set_int(out, "maxHeldBytes", (int64_t)snapshot.max_held);
}

void debug_process(const struct http_server *server, struct json_object *out)
{
    json_set_str(out, "version", FLAGGER_VERSION);
    debug_set_time(out, "now", clock_monotonic_ms());
    set_memory(json_sub(out, "memory"));
    set_server(json_sub(out, "server"), server);
}

void debug_set_time(struct json_object *object, const char *key, int64_t monotonic_ms)
{
    char text[CLOCK_TEXT];
    int64_t ago = clock_monotonic_ms() - monotonic_ms;

    json_set_str(object, key, clock_rfc3339(clock_wall_ms() - ago, text));
}
