#include "ctl/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ctl/glance.h"
#include "ctl/read.h"
#include "kube/watch.h"

enum { AGAIN_MS = 5000 };

struct live {
    struct ctl *ctl;
    const char *name; /* NULL: all */
    bool changed, gone;
};

static void print_change(struct ctl *ctl, struct json_object *canary, bool gone)
{
    struct glance at;
    char now[CLOCK_TEXT];

    glance_at(ctl->arena, canary, &at);
    fprintf(ctl->out, "%s  %s/%s  %s  %d%%  %s%s%s\n", clock_rfc3339(clock_wall_ms(), now),
            print_clean(ctl->arena, at.namespace_), print_clean(ctl->arena, at.name),
            gone        ? "deleted"
            : *at.phase ? print_clean(ctl->arena, at.phase)
                        : "-",
            at.weight, print_clean(ctl->arena, at.revision), *at.reason ? "  " : "", at.reason);
}

static void on_change(void *arg, enum watch_event event, struct json_object *object)
{
    struct live *live = arg;
    struct ctl *ctl = live->ctl;

    if (event != WATCH_PUT && event != WATCH_GONE)
        return;
    live->changed = true;
    live->gone = live->gone || (live->name && event == WATCH_GONE);
    if (ctl->width > 0)
        return;
    struct ctl line = *ctl;
    line.arena = arena_new();
    if (ctl->output == CTL_JSON || ctl->output == CTL_YAML) {
        fputs(ctl->output == CTL_YAML ? "---\n" : "", ctl->out);
        print_object(&line, object);
    } else {
        print_change(&line, object, event == WATCH_GONE);
    }
    fflush(ctl->out);
    arena_free(line.arena);
}

static void on_time(void *arg)
{
    struct live *live = arg;

    live->changed = true;
}

/* The screen anew, in one write, so that it does not flicker. */
static int redraw(struct ctl *ctl, int (*draw)(struct ctl *ctl))
{
    char *text = NULL;
    size_t len = 0;
    struct ctl page = *ctl;

    page.arena = arena_new();
    ctl_measure(&page);
    page.out = open_memstream(&text, &len);
    int code = draw(&page);
    fclose(page.out);
    if (code == CTL_DONE)
        fprintf(ctl->out, "\033[H\033[J%s", text);
    fflush(ctl->out);
    free(text);
    arena_free(page.arena);
    return code;
}

int live_run(struct ctl *ctl, const char *name, int (*draw)(struct ctl *ctl))
{
    struct live live = {.ctl = ctl, .name = name, .changed = true};
    const struct watch_spec spec = {
        .resource = &read_canaries,
        .namespace_ = ctl->namespace_,
        .label_selector = ctl->selector,
        .field_selector = name ? arena_printf(ctl->arena, "metadata.name=%s", name) : NULL};
    struct watch *watch = watch_new(ctl->loop, ctl->kube, &spec, on_change, &live);
    struct timer *timer = timer_start(ctl->loop, AGAIN_MS, AGAIN_MS, on_time, &live);
    int code = CTL_DONE;

    while (code == CTL_DONE && !live.gone && !ferror(ctl->out)) {
        if (live.changed && ctl->width > 0)
            code = redraw(ctl, draw);
        live.changed = false;
        while (!live.changed)
            uv_run(loop_uv(ctl->loop), UV_RUN_ONCE);
    }
    timer_stop(timer);
    watch_free(watch);
    if (live.gone)
        return ctl_fail(ctl, CTL_SERVER, "the Canary \"%s\" was deleted", name);
    return code;
}
