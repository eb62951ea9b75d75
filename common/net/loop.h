/*
 * The event loop of a daemon: one libuv loop, and an orderly end.
 *
 * SIGTERM or SIGINT starts the drain: every on_drain callback is called once, in the order they
 * were added; each part stops taking new work and closes its handles when its work is done. When no
 * handle is left, loop_run() returns 0. When the drain deadline passes, or a second signal arrives,
 * loop_run() logs the open handles and returns 1. SIGPIPE is ignored. Nothing in the program may
 * block this loop.
 *
 * Every asynchronous function keeps one contract. Its callback is called exactly once, by the loop,
 * never before the function has returned. X_cancel(x) ends it early: the callback is still called,
 * with ERR_CANCELLED. X_free(x) is for an owner that is being freed: the callback is not called,
 * and x must no longer be used; it may be called in any callback.
 */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct loop;
typedef void (*loop_drain_fn)(void *arg);

struct loop *loop_new(int64_t drain_deadline_ms);
/* After loop_run(), and after the owners of what is still open: closes it without a word to them. */
void loop_free(struct loop *loop);
uv_loop_t *loop_uv(struct loop *loop);
int loop_run(struct loop *loop);
/* Starts the drain as a signal would; idempotent. */
void loop_drain(struct loop *loop);
bool loop_draining(const struct loop *loop);
void loop_on_drain(struct loop *loop, loop_drain_fn fn, void *arg);
/* Removes a callback that has not been called yet, for a part that is freed before the loop. */
void loop_off_drain(struct loop *loop, loop_drain_fn fn, void *arg);

/*
 * Handles SIGHUP: it is logged, and watched files are checked at once. `restart`: one sentence for
 * the log about changes that need a restart; borrowed.
 */
void loop_take_hangup(struct loop *loop, const char *restart);
/* Calls fn at every SIGHUP until it is removed. fn may remove itself, but no other callback. */
void loop_on_hangup(struct loop *loop, loop_drain_fn fn, void *arg);
void loop_off_hangup(struct loop *loop, loop_drain_fn fn, void *arg);

/*
 * A one-shot or repeating timer on the heap, so that its owner may be freed at any time. fn is
 * never called after timer_stop(). timer_stop(NULL) is allowed. after_ms 0 is the next iteration of
 * the loop, in the order of the calls; a chain of such timers does not starve other handles.
 */
struct timer;
typedef void (*timer_fn)(void *arg);
struct timer *timer_start(struct loop *loop, int64_t after_ms, int64_t repeat_ms, timer_fn fn,
                          void *arg);
/* Also frees the timer; a one-shot timer frees itself after fn has returned. */
void timer_stop(struct timer *timer);

/*
 * A turn: the work done between two polls for I/O. Work that can add up (runs, answers, requests)
 * is divided into pieces, and a turn begins no piece after its first milliseconds, so that a client
 * never waits for more than one turn and its last piece. Timers with after_ms 0 are such pieces:
 * those for which a turn has no time are called in later turns, in order.
 *
 * A callback that does several pieces calls loop_has_time() before each one; if it returns false,
 * the rest is left to a timer with after_ms 0. An I/O callback calls loop_may_work() before it
 * begins a piece: it also returns false if timers wait, which must not be overtaken.
 */
bool loop_has_time(struct loop *loop);
bool loop_may_work(struct loop *loop);

/*
 * --- Watches files that are replaced while the program runs, such as mounted Secrets: a callback
 * reads the new content. The content is compared every 10 seconds and at SIGHUP. (Time stamps do
 * not suffice: a mounted Secret is a link to a link, and some tools keep the time stamp of a file
 * that they write in place.)
 */
enum { FILE_WATCH_MS = 10000, FILE_WATCH_MAX_FILE = 1024 * 1024 };

struct file_watch;

/* Called if the content differs from the content accepted last, or cannot be read. Returns true
 * to accept it; false if it cannot be used: fn is called again at each check. */
typedef bool (*file_watch_fn)(void *arg);

/* Accepts the content at this moment: read the files after this call, so that no change is
 * missed. The `n` paths are copied and may be NULL. */
struct file_watch *file_watch_start(struct loop *loop, const char *const *paths, int n,
                                    file_watch_fn fn, void *arg);
/* Stops checking, so that the loop can end, and frees the watch. NULL is allowed. */
void file_watch_stop(struct file_watch *watch);
/* Checks now; for tests. */
void file_watch_check(struct file_watch *watch);

#endif
