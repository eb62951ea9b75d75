#include "base/log_queue.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/process.h"

enum {
    PIECE = 16 * 1024,
    STACK = 256 * 1024,
    GATHER_MS = 5 /* lines that come soon after one another wake the thread once */
};

/* A ring; all of it under the lock. */
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

/* Before the line that follows the gap. */
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
    /* Nothing comes between the gap and the line that tells of it. */
    if (queue.told < queue.dropped || queue.len + len > LOG_QUEUE_BYTES)
        queue.dropped++;
    else
        put(line, len);
    pthread_mutex_unlock(&queue.lock);
    pthread_cond_signal(&queue.added); /* not before: it would wake only to wait for the lock */
}

/* An error that waiting does not mend loses the piece: there is nobody to tell. */
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

/* Under the lock, which others may have meanwhile. Whoever adds a line finds nobody to wake. */
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
    process_wait_turn(true);
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

/* Signals are for the loop. */
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

/* The thread that a stalled reader holds keeps the ring: it ends with the process. */
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
