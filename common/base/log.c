#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log_queue.h"
#include "base/utf8.h"

enum { MAX_LINE = 256 * 1024, STALL_MS = 1000 };

static enum log_level least = LOG_INFO;
static int log_fd = STDERR_FILENO;
static bool queued;

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug",
    [LOG_INFO] = "info",
    [LOG_WARN] = "warn",
    [LOG_ERROR] = "error",
};

const char *const log_level_names[] = {"debug", "info",  "warn",  "warning",
                                       "error", "fatal", "panic", NULL};

bool log_set_level(const char *text)
{
    static const enum log_level levels[] = {LOG_DEBUG, LOG_INFO,  LOG_WARN, LOG_WARN,
                                            LOG_ERROR, LOG_ERROR, LOG_ERROR};
    for (size_t i = 0; log_level_names[i]; i++) {
        if (strcasecmp(text, log_level_names[i]) == 0) {
            least = levels[i];
            return true;
        }
    }
    return false;
}

bool log_enabled(enum log_level level)
{
    return level >= least;
}

void log_set_fd(int fd)
{
    log_fd = fd;
}

void log_start(void)
{
    static bool ends;

    log_queue_start(log_fd);
    queued = true;
    if (!ends)
        atexit(log_stop);
    ends = true;
}

/* Lines after a stop that had no end are the thread's as well. */
void log_stop(void)
{
    if (queued)
        queued = !log_queue_stop();
}

static void put_text(struct buf *line, const char *key, const char *value)
{
    size_t len = strlen(value);
    if (len > LOG_MAX_VALUE)
        len = utf8_cut(value, LOG_MAX_VALUE);
    buf_puts(line, line->len > 1 ? "," : "");
    json_quote(line, key, strlen(key));
    buf_puts(line, ":");
    json_quote(line, value, len);
}

static void put_field(struct buf *line, const struct log_field *field)
{
    if (field->str) {
        put_text(line, field->key, field->str);
        return;
    }
    buf_puts(line, ",");
    json_quote(line, field->key, strlen(field->key));
    buf_printf(line, ":%lld", (long long)field->num);
}

/* Without a thread: a reader that has stalled for a second loses the line. */
static void write_line(const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(log_fd, data, len);
        if (n >= 0) {
            data += n;
            len -= (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        struct pollfd ready = {.fd = log_fd, .events = POLLOUT};
        if ((errno != EAGAIN && errno != EWOULDBLOCK) || poll(&ready, 1, STALL_MS) <= 0)
            return;
    }
}

void log_write(enum log_level level, const char *event, const char *canary, const char *msg,
               const struct log_field *fields, int count)
{
    if (!log_enabled(level))
        return;
    int saved = errno; /* a log line between a call and its errno must not hurt */
    struct buf line;
    char ts[CLOCK_TEXT];
    buf_init(&line, MAX_LINE);
    buf_puts(&line, "{");
    put_text(&line, "ts", clock_rfc3339_micro(clock_wall_ms(), ts));
    put_text(&line, "level", level_names[level]);
    put_text(&line, "event", event);
    if (canary)
        put_text(&line, "canary", canary);
    put_text(&line, "msg", msg);
    for (int i = 0; i < count; i++) {
        /* A field that does not fit whole is left out, so that the line stays JSON. */
        size_t before = line.len;
        put_field(&line, &fields[i]);
        if (line.len + 2 > MAX_LINE) {
            line.len = before;
            break;
        }
    }
    line.truncated = false;
    buf_puts(&line, "}\n");
    if (queued)
        log_queue_add(line.data, line.len);
    else
        write_line(line.data, line.len);
    buf_fini(&line);
    errno = saved;
}
