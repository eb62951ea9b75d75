
#include <string.h>

#include "cluster/context.h"
#include "test/unit.h"

struct world {
    struct loop *loop;
    struct work *work;
    char order[64];
    int again;
};

static void note(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct world *w = arg;
    assert_non_null(arena);
    assert_string_equal(ns, "test");
    strncat(w->order, name, sizeof(w->order) - strlen(w->order) - 1);
    if (strcmp(name, "z") == 0)
        loop_drain(w->loop);
}

static void other(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct world *w = arg;
    (void)arena;
    (void)ns;
    strncat(w->order, "o", sizeof(w->order) - strlen(w->order) - 1);
    if (w->again-- > 0)
        work_add_after(w->work, other, w, "test", name, 0);
}

CASE(keys)
{
    struct world w = {.loop = loop_new(10000), .again = 1};
    w.work = work_new(w.loop);
    work_add_after(w.work, note, &w, "test", "a", 0);
    work_add_after(w.work, note, &w, "test", "b", 0);
    work_add_after(w.work, note, &w, "test", "a", 0);     /* is there already */
    work_add_after(w.work, other, &w, "test", "a", 0);    /* another key; adds itself once more */
    work_add_after(w.work, note, &w, "test", "c", 60000); /* later... */
    work_add_after(w.work, note, &w, "test", "c", 30);    /* ...is made sooner */
    work_add_after(w.work, note, &w, "test", "c", 90000); /* and stays so */
    work_add_after(w.work, note, &w, "test", "z", 60);
    assert_string_equal(w.order, ""); /* nothing runs from within */
    assert_int_equal(loop_run(w.loop), 0);
    assert_string_equal(w.order, "aboocz");
    work_free(w.work);
    loop_free(w.loop);
}
