#include "real/podserve.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "net/child/child.h"

enum { GRACE_MS = 1000 };

struct podserve {
    struct child *child;
    bool listens, ending;
};

/* The first that it logs is that it listens. */
static void on_output(void *arg, const char *data, size_t len)
{
    struct podserve *serve = arg;
    (void)data;
    if (len > 0)
        serve->listens = true;
}

static void on_ended(void *arg, const struct child_result *result)
{
    struct podserve *serve = arg;
    serve->child = NULL;
    serve->listens = false;
    if (!serve->ending)
        log_error("pod_ended", NULL, result->err == ERR_OK ? result->output : result->info->text);
    else
        free(serve);
}

struct podserve *podserve_new(struct loop *loop, const char *program, const char *address,
                              const char *image, const char *pod)
{
    struct podserve *serve = heap_alloc(sizeof(*serve));
    char port[16];
    *serve = (struct podserve){0};
    snprintf(port, sizeof(port), "%d", PODSERVE_PORT);
    const char *const argv[] = {program,   "--address", address, "--port", port,
                                "--image", image,       "--pod", pod,      NULL};
    serve->child = child_spawn(
        loop, &(struct child_spec){.argv = argv, .grace_ms = GRACE_MS, .on_output = on_output},
        on_ended, serve);
    return serve;
}

bool podserve_listens(const struct podserve *serve)
{
    return serve->listens;
}

void podserve_end(struct podserve *serve)
{
    if (!serve)
        return;
    serve->ending = true;
    if (serve->child)
        child_stop(serve->child);
    else
        free(serve);
}
