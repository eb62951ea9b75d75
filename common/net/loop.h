/*
 * The event loop of a daemon: one libuv loop, and an orderly end.
 *
 * SIGTERM or SIGINT starts the drain: every on_drain callback is called once, in the order they
 * were added; each part stops taking new work and closes its handles when its work is done. When no
 * handle is left, loop_run() returns 0. When the drain deadline passes, or a second signal comes,
 * loop_run() logs what is left and returns 1. SIGPIPE is ignored. Nothing in the program may block
 * this loop.
 *
 * Whatever is started and answers later keeps one contract. Its callback is called exactly once, by
 * the loop, never before the function that started it has returned. X_cancel(x) ends it early: the
 * callback still follows, with ERR_CANCELLED. X_free(x) is for an owner that goes away: nothing
 * follows, and x may not be used any more; it may be called in any callback.
 */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct loop;
typedef void (*loop_drain_fn)(void *arg);

struct loop *loop_new(int64_t drain_deadline_ms);
void loop_free(struct loop *loop); /* after loop_run(); closes what is left */
uv_loop_t *loop_uv(struct loop *loop);
int loop_run(struct loop *loop);
/* Starts the drain as a signal would; safe to call more than once. */
void loop_drain(struct loop *loop);
bool loop_draining(const struct loop *loop);
void loop_on_drain(struct loop *loop, loop_drain_fn fn, void *arg);
/* Removes a callback that was not called yet, for a part that is freed before the loop. */
void loop_off_drain(struct loop *loop, loop_drain_fn fn, void *arg);

/*
 * SIGHUP no longer ends the program: it is logged, and files that are watched are checked at once.
 * `restart` says in one sentence which changes need a restart; borrowed.
 */
void loop_take_hangup(struct loop *loop, const char *restart);
/* Calls fn at every SIGHUP until it is removed. fn may remove itself, but no other callback. */
void loop_on_hangup(struct loop *loop, loop_drain_fn fn, void *arg);
void loop_off_hangup(struct loop *loop, loop_drain_fn fn, void *arg);

/*
 * A one-shot or repeating timer on the heap, so that its owner may go at any time. fn is never
 * called after timer_stop(). timer_stop(NULL) is allowed. after_ms 0 is the next turn of the loop,
 * in the order of the calls; a chain of such timers does not keep the loop from its other work.
 */
struct timer;
typedef void (*timer_fn)(void *arg);
struct timer *timer_start(struct loop *loop, int64_t after_ms, int64_t repeat_ms, timer_fn fn,
                          void *arg);
/* Also frees; a one-shot timer frees itself after fn returned. */
void timer_stop(struct timer *timer);

#endif
