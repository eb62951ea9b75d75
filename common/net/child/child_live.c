#include "net/child/child_live.h"

#include <stdlib.h>

#include "base/arena.h"
#include "net/child/child_nursery.h"
#include "net/child/child_tree.h"
#include "net/child/child_watch.h"

enum { TICK_MS = 50 };

static struct child_live *first;
static struct timer *tick; /* while somebody is to look */
static int n_watched;

/* One call for all of them: on a machine where nothing is made they all sleep. */
static void on_tick(void *arg)
{
    int64_t number = child_watch_number();

    (void)arg;
    for (struct child_live *live = first; live; live = live->next) {
        bool begun_anew = number < live->number;
        if (live->patience == 0 || (!begun_anew && number - live->number < live->patience))
            continue;
        live->number = number;
        live->look(live->child);
    }
}

void child_live_add(struct loop *loop, struct child_live *live)
{
    live->prev = NULL;
    live->next = first;
    if (first)
        first->prev = live;
    first = live;
    if (live->patience == 0)
        return;
    live->number = child_watch_number();
    if (n_watched++ == 0)
        tick = timer_start(loop, TICK_MS, TICK_MS, on_tick, NULL);
}

void child_live_remove(struct child_live *live)
{
    if (live->prev)
        live->prev->next = live->next;
    else
        first = live->next;
    if (live->next)
        live->next->prev = live->prev;
    if (live->patience > 0 && --n_watched == 0) {
        timer_stop(tick);
        tick = NULL;
    }
}

void child_live_ended(pid_t supervisor)
{
    for (struct child_live *live = first; live; live = live->next)
        if (live->supervisor == supervisor)
            live->supervisor = 0;
}

int child_live_kill_orphans(void)
{
    size_t n = 0;

    for (const struct child_live *live = first; live; live = live->next)
        n++;
    pid_t *keep = heap_array(n + 1, sizeof(*keep));
    n = 0;
    for (const struct child_live *live = first; live; live = live->next)
        if (live->supervisor > 0)
            keep[n++] = live->supervisor;
    int alive = child_tree_kill(keep, n, child_nursery_owns);
    free(keep);
    return alive;
}
