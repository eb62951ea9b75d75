/*
 * The demo app: a small HTTP service that behaves as it is told, so that a release of it can go
 * well or badly.
 *
 *   GET /               a greeting with version and pod name      GET /version   the same facts
 * alone ANY /echo           the body that was sent                    GET /headers   the request
 * headers ANY /status/CODE    that status                               ANY /delay/SECONDS   an
 * answer that takes so long /healthz  200 while it lives   /readyz  200 when ready, 503 before and
 * while it ends   /metrics   Prometheus   POST /unready/SECONDS   /readyz says 503 for so long
 *
 * Error share and latency apply to all but /status, /delay, /unready, /healthz, /readyz and /metrics. The
 * last four are not counted in http_request_duration_seconds: the histogram speaks about users'
 * requests.
 */
#ifndef SANDBOX_DEMO_H
#define SANDBOX_DEMO_H

#include "app/behaviour.h"
#include "net/server/server.h"

struct demo_options {
    const char *address;
    int port; /* 0: a free one */
    const char *pod;
    struct behaviour behaviour;
    int64_t ready_delay_ms;
};

struct demo;

/* Listens at once. options' texts are kept. */
enum err demo_new(struct loop *loop, const struct demo_options *options, struct demo **out,
                  struct errinfo *ei) MUST_USE;
int demo_port(const struct demo *demo);
void demo_free(struct demo *demo); /* after the loop has ended */

#endif
