/* The stream of a watch: its lines are the same however it is cut, and a line that is understood
 * has what it needs. */
#include <assert.h>
#include <string.h>

#include "fuzz.h"
#include "kube/kube_internal.h"

enum { LINE_MAX_HERE = 512 };

static bool collect(void *arg, const char *line, size_t len)
{
    assert(strlen(line) <= len);
    buf_add(arg, line, len);
    buf_add(arg, "\n", 1);
    return true;
}

/* The lines, when the stream comes in pieces of this size. */
static bool feed(const uint8_t *data, size_t size, size_t piece, struct buf *lines)
{
    struct buf rest;
    bool whole = true;

    buf_init(&rest, LINE_MAX_HERE);
    buf_init(lines, 1024 * 1024);
    for (size_t at = 0; at < size && whole; at += piece)
        whole = watch_lines_feed(&rest, (const char *)data + at,
                                 size - at < piece ? size - at : piece, collect, lines);
    assert(rest.len <= LINE_MAX_HERE);
    buf_fini(&rest);
    return whole;
}

static void check_line(const char *text, size_t len)
{
    struct arena *arena = arena_new();
    struct line_event event;
    struct errinfo ei = {0};

    if (watch_line_parse(arena, text, len, &event, &ei) == ERR_OK) {
        assert(event.object);
        assert(event.type == LINE_ERROR || event.resource_version[0]);
        assert((event.type != LINE_PUT && event.type != LINE_GONE) || event.name[0]);
    } else {
        assert(ei.text[0]);
    }
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf all, some;

    if (size == 0)
        return 0;
    bool whole = feed(data + 1, size - 1, size, &all);
    bool same = feed(data + 1, size - 1, (size_t)data[0] % 16 + 1, &some);
    assert(whole == same);
    assert(all.len == some.len && memcmp(all.data, some.data, all.len) == 0);
    (void)whole, (void)same;
    for (const char *at = all.data; *at; at += strcspn(at, "\n"), at += *at == '\n')
        check_line(at, strcspn(at, "\n"));
    buf_fini(&all);
    buf_fini(&some);
    return 0;
}
