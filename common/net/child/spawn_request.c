/* The message from a daemon to a supervisor: a command, its environment, limits and descriptors. */
#define _GNU_SOURCE /* environ */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "net/child/child_internal.h"

#define FIELDS(l)                                                                                  \
    &(l)->memory, &(l)->processes, &(l)->user_processes, &(l)->cpu_s, &(l)->files,                 \
        &(l)->file_size, &(l)->nice, &(l)->uid, &(l)->gid, &(l)->group

enum { FLAG_NO_NEW_PRIVILEGES = 1, FLAG_FILTER = 2, FLAG_FIRST_VICTIM = 4 };

char *child_limits_text(const struct child_limits *limits, char text[CHILD_LIMITS_TEXT])
{
    struct child_limits copy = limits ? *limits : (struct child_limits){0};
    const int64_t *fields[] = {FIELDS(&copy)};
    int flags = (copy.no_new_privileges ? FLAG_NO_NEW_PRIVILEGES : 0) |
                (copy.filter ? FLAG_FILTER : 0) | (copy.first_victim ? FLAG_FIRST_VICTIM : 0);
    int len = snprintf(text, CHILD_LIMITS_TEXT, "%d", flags);

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        len += snprintf(text + len, (size_t)(CHILD_LIMITS_TEXT - len), ",%" PRId64, *fields[i]);
    return text;
}

bool child_limits_read(const char *text, struct child_limits *out)
{
    *out = (struct child_limits){0};
    int64_t *fields[] = {FIELDS(out)};
    char *end;
    long flags = strtol(text, &end, 10);

    out->no_new_privileges = flags & FLAG_NO_NEW_PRIVILEGES;
    out->filter = flags & FLAG_FILTER;
    out->first_victim = flags & FLAG_FIRST_VICTIM;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (*end != ',')
            return false;
        *fields[i] = strtoll(end + 1, &end, 10);
    }
    return *end == '\0';
}

void fd_message_init(struct fd_message *fd_message)
{
    *fd_message = (struct fd_message){0};
    fd_message->iov = (struct iovec){.iov_base = &fd_message->byte, .iov_len = 1};
    fd_message->msg = (struct msghdr){.msg_iov = &fd_message->iov,
                                      .msg_iovlen = 1,
                                      .msg_control = fd_message->control,
                                      .msg_controllen = sizeof(fd_message->control)};
}

/* The format: the length, then fields that end with a zero byte: grace period, cwd, limits, number
 * of words, words, environment. */
const char *spawn_request_text(struct arena *arena, const struct child_spec *spec, int64_t grace_ms,
                               size_t *len)
{
    const char *const *env = spec->env ? spec->env : (const char *const *)environ;
    char limits[CHILD_LIMITS_TEXT];
    struct buf text;
    size_t words = 0;
    uint32_t size = 0;

    while (spec->argv[words])
        words++;
    buf_init(&text, SPAWN_REQUEST_MAX);
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

/* The texts from *at to end, at most max, as a NULL-ended list. */
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

bool spawn_request_receive(int fd, struct spawn_request *out)
{
    uint32_t size;

    if (!read_all(fd, (char *)&size, sizeof(size)) || size == 0 || size > SPAWN_REQUEST_MAX)
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

void spawn_request_fini(struct spawn_request *request)
{
    free(request->argv);
    free(request->env);
    explicit_bzero(request->text, request->text_len);
    free(request->text);
}
