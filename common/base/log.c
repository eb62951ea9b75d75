/* Log lines, and the thread that writes them. */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "base/json.h"
#include "base/process.h"

enum {
    PIECE = 16 * 1024,
    STACK = 256 * 1024,
    GATHER_MS = 5 /* a burst of lines wakes the thread once */
};

/* A ring buffer; protected by the lock. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t added, written, ended;
    char *data;
    size_t first, len;
    uint64_t dropped, told;
    int fd;
    bool running, writing, ending;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .added = PTHREAD_COND_INITIALIZER,
           .written = PTHREAD_COND_INITIALIZER,
           .ended = PTHREAD_COND_INITIALIZER};

static void put(const char *data, size_t len)
{
    size_t at = (queue.first + queue.len) % LOG_QUEUE_BYTES;
    size_t room = LOG_QUEUE_BYTES - at;
    size_t now = len < room ? len : room;

    memcpy(queue.data + at, data, now);
    memcpy(queue.data, data + now, len - now);
    queue.len += len;
}

/* Writes the number of dropped lines in front of the next line. */
static void tell_dropped(void)
{
    char line[256], ts[CLOCK_TEXT];
    unsigned long long lines = queue.dropped - queue.told;

    int len =
        snprintf(line, sizeof(line),
                 "{\"ts\":\"%s\",\"level\":\"warn\",\"event\":\"log_dropped\",\"msg\":\"lines "
                 "were dropped because nobody read the log\",\"lines\":%llu}\n",
                 clock_rfc3339_micro(clock_wall_ms(), ts), lines);
    if (queue.len + (size_t)len > LOG_QUEUE_BYTES)
        return;
    put(line, (size_t)len);
    queue.told = queue.dropped;
}

void log_queue_add(const char *line, size_t len)
{
    pthread_mutex_lock(&queue.lock);
    if (queue.told < queue.dropped)
        tell_dropped();
    /* The line about dropped lines is the first one after the gap. */
    if (queue.told < queue.dropped || queue.len + len > LOG_QUEUE_BYTES)
        queue.dropped++;
    else
        put(line, len);
    pthread_mutex_unlock(&queue.lock);
    pthread_cond_signal(&queue.added); /* after the unlock: otherwise the thread would wake only
                                        * to wait for the lock */
}

/* A permanent error loses the piece: there is nowhere to report it. */
static void write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        if (n >= 0) {
            data += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            (void)poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
    }
}

/* Waits a moment for more lines, which then need no signal. Called with the lock held; releases
 * it while waiting. */
static void gather(void)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += GATHER_MS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000L;
    end.tv_nsec %= 1000000000L;
    while (!queue.ending && pthread_cond_timedwait(&queue.ended, &queue.lock, &end) == 0)
        ;
}

static void *run(void *arg)
{
    static char piece[PIECE];

    (void)arg;
    process_set_batch(true);
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        bool idle = queue.len == 0 && queue.told == queue.dropped;
        while (queue.len == 0 && queue.told == queue.dropped && !queue.ending)
            pthread_cond_wait(&queue.added, &queue.lock);
        if (idle)
            gather();
        if (queue.len == 0 && queue.told < queue.dropped)
            tell_dropped();
        if (queue.len == 0)
            break;
        size_t len = LOG_QUEUE_BYTES - queue.first;
        if (len > queue.len)
            len = queue.len;
        if (len > PIECE)
            len = PIECE;
        memcpy(piece, queue.data + queue.first, len);
        queue.writing = true;
        pthread_mutex_unlock(&queue.lock);
        write_all(queue.fd, piece, len);
        pthread_mutex_lock(&queue.lock);
        queue.writing = false;
        queue.first = (queue.first + len) % LOG_QUEUE_BYTES;
        queue.len -= len;
        pthread_cond_signal(&queue.written);
    }
    queue.running = false;
    pthread_cond_signal(&queue.written);
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

/* The loop handles signals, not the thread. */
void log_queue_start(int fd)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;

    queue.data = heap_alloc(LOG_QUEUE_BYTES);
    queue.fd = fd;
    queue.first = queue.len = 0;
    queue.ending = false;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    queue.running = pthread_create(&thread, &attr, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (!queue.running)
        abort();
}

/* A thread blocked by a stalled reader keeps the ring, until the process ends. */
bool log_queue_stop(void)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LOG_END_MS / 1000;
    pthread_mutex_lock(&queue.lock);
    queue.ending = true;
    pthread_cond_signal(&queue.added);
    pthread_cond_signal(&queue.ended);
    while (queue.running && pthread_cond_timedwait(&queue.written, &queue.lock, &end) == 0)
        ;
    bool ended = !queue.running;
    if (ended) {
        free(queue.data);
        queue.data = NULL;
    }
    pthread_mutex_unlock(&queue.lock);
    return ended;
}

uint64_t log_queue_dropped(void)
{
    pthread_mutex_lock(&queue.lock);
    uint64_t dropped = queue.dropped;
    pthread_mutex_unlock(&queue.lock);
    return dropped;
}

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

/* If log_stop() has timed out, the thread still owns the queue and gets later lines too. */
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

/* Writes without the thread: drops the line if the reader stalls for a second. */
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
    int saved = errno; /* logging must not change errno */
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
        /* A field that does not fit is left out, so that the line stays JSON. */
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
