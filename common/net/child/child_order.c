#define _GNU_SOURCE /* environ */
#include "net/child/child_order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "net/child/child_limits.h"

/* Behind the length, each ended by a zero byte: grace, cwd, limits, number of words, words,
 * environment. */
const char *child_order_text(struct arena *arena, const struct child_spec *spec, int64_t grace_ms,
                             size_t *len)
{
    const char *const *env = spec->env ? spec->env : (const char *const *)environ;
    char limits[CHILD_LIMITS_TEXT];
    struct buf text;
    size_t words = 0;
    uint32_t size = 0;

    while (spec->argv[words])
        words++;
    buf_init(&text, ORDER_MAX);
    buf_add(&text, (const char *)&size, sizeof(size));
    buf_printf(&text, "%lld%c%s%c%s%c%zu%c", (long long)grace_ms, 0, spec->cwd ? spec->cwd : "", 0,
               child_limits_text(spec->limits, limits), 0, words, 0);
    for (size_t i = 0; i < words; i++)
        buf_add(&text, spec->argv[i], strlen(spec->argv[i]) + 1);
    for (size_t i = 0; env[i]; i++)
        buf_add(&text, env[i], strlen(env[i]) + 1);
    size = (uint32_t)(text.len - sizeof(size));
    *len = text.len;
    char *kept = text.truncated ? NULL : arena_alloc(arena, text.len);
    if (kept) {
        memcpy(kept, text.data, text.len);
        memcpy(kept, &size, sizeof(size));
    }
    buf_fini(&text);
    return kept;
}

static bool read_all(int fd, char *to, size_t len)
{
    while (len > 0) {
        ssize_t n = read(fd, to, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        len -= (size_t)n;
    }
    return true;
}

/* The texts from *at to end as a NULL-ended list, at most max of them. */
static char **take_list(char **at, const char *end, size_t max)
{
    size_t n = 0, room = 16;
    char **list = heap_array(room, sizeof(*list));

    for (; n < max && *at < end; *at += strlen(*at) + 1) {
        if (n + 1 == room)
            list = heap_grow(list, (room *= 2) * sizeof(*list));
        list[n++] = *at;
    }
    list[n] = NULL;
    return list;
}

static char *take(char **at, const char *end)
{
    char *text = *at < end ? *at : NULL;

    if (text)
        *at += strlen(text) + 1;
    return text;
}

bool child_order_receive(int fd, struct child_order *out)
{
    uint32_t size;

    if (!read_all(fd, (char *)&size, sizeof(size)) || size == 0 || size > ORDER_MAX)
        return false;
    char *at = heap_alloc(size), *end = at + size;
    out->text = at;
    out->text_len = size;
    if (!read_all(fd, at, size) || end[-1] != '\0')
        return false;
    const char *grace = take(&at, end), *cwd = take(&at, end), *limits = take(&at, end);
    const char *words = take(&at, end);
    if (!words || !child_limits_read(limits, &out->limits))
        return false;
    out->grace_ms = strtoll(grace, NULL, 10);
    out->cwd = cwd;
    size_t n_words = strtoul(words, NULL, 10);
    out->argv = take_list(&at, end, n_words);
    out->env = take_list(&at, end, SIZE_MAX);
    for (size_t i = 0; i < n_words; i++)
        if (!out->argv[i])
            return false;
    return n_words > 0;
}

void child_order_fini(struct child_order *order)
{
    free(order->argv);
    free(order->env);
    explicit_bzero(order->text, order->text_len);
    free(order->text);
}
