/*
 * What the judge of a Canary promises (decide/promise.h), for the release page: how small a
 * regression it finds with the traffic of the last release that was counted, on the way of the last
 * one that was promoted.
 *
 * A promise is the result of half a second of simulation, and the loop has other work. So it is
 * searched for in slices of PROMISE_SLICE_MS with a pause after each, in turns that have time left,
 * one promise after the other, and only while a page asks for it. A result depends on the policy,
 * the way and the traffic, each rounded to two digits, and is kept by them: two Canaries with the
 * same have one search, and another look at the same page none.
 */
#ifndef PAGE_PROMISES_H
#define PAGE_PROMISES_H

#include "base/json.h"
#include "net/loop.h"
#include "proto/canary.h"

enum {
    PROMISE_SLICE_MS = 2, /* and PROMISE_LOOKS more */
    PROMISE_PAUSE_MS = 8,
    PROMISE_ASKED_MS = 30 * 1000, /* without a question for so long it is given up */
    PROMISES_KEPT = 128,          /* with those that are being searched for */
    PROMISE_LOOKS = 100,
};

struct promises;

/* now_ms: a clock that never steps back, such as clock_monotonic_ms(). */
struct promises *promises_new(struct loop *loop, int64_t (*now_ms)(void));
/* Also stops searching. NULL is allowed. */
void promises_free(struct promises *promises);

/*
 * [{"metric", "text"}], one for each metric that is judged by counts and whose traffic is known;
 * while it is being searched for with "computing": true in place of the text. NULL if there is
 * none. Owned by the arena.
 */
struct json_object *promises_show(struct promises *promises, struct arena *arena,
                                  const struct canary *canary);

/* One slice, as the timer does it; false if there is nothing to search for. For tests. */
bool promises_slice(struct promises *promises);

#endif
