#include "kube/lease_probe.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"

enum { TIMEOUT_MS = 6000, LONGEST_S = 86400 };

struct lease_probe {
    struct loop *loop;
    struct kube_client *client;
    char *namespace_, *name;
    struct lease_probe_spec spec; /* its strings are not used */
    struct kube_call *call;
    struct timer *timer;
    enum lease_life life;
    char *version; /* last read; "" if it does not exist; NULL before the first read */
    int64_t since_ms;
    bool missed; /* the last probe was not answered */
    char *trouble;
    int64_t begun, answered;
    bool freed;
};

static void destroy(struct lease_probe *probe)
{
    free(probe->namespace_);
    free(probe->name);
    free(probe->version);
    free(probe->trouble);
    free(probe);
}

/* Without a holder, another replica is expected soon. */
static int64_t patience_ms(const struct lease_probe *probe, bool held, int64_t seconds)
{
    int64_t patience = probe->spec.patience_ms;

    if (!held)
        return patience / 3;
    return seconds < LONGEST_S && seconds * 1000 > patience ? seconds * 1000 : patience;
}

/* Evaluates a probe; lease is NULL if it does not exist. */
static void evaluate(struct lease_probe *probe, struct json_object *lease)
{
    const char *version = json_str_at(lease, "metadata", "resourceVersion", NULL);
    const char *holder = json_str_at(lease, "spec", "holderIdentity", NULL);
    int64_t seconds = json_int_at(lease, 0, "spec", "leaseDurationSeconds", NULL);
    bool held = holder && *holder, first = !probe->version;
    int64_t now = clock_monotonic_ms();

    if (!version)
        version = "";
    if (first || probe->missed)
        probe->since_ms = now;
    if (first || strcmp(probe->version, version) != 0) {
        free(probe->version);
        probe->version = heap_strdup(version);
        probe->since_ms = now;
        if (!first && held)
            probe->life = LEASE_LIFE_ALIVE;
    } else if (now - probe->since_ms >= patience_ms(probe, held, seconds)) {
        probe->life = LEASE_LIFE_GONE;
    }
}

static void send_probe(void *arg);

static void on_lease(void *arg, const struct kube_result *result)
{
    struct lease_probe *probe = arg;
    enum lease_life before = probe->life;

    probe->call = NULL;
    if (probe->freed) {
        destroy(probe);
        return;
    }
    bool answered = result->err == ERR_OK || result->err == ERR_NOT_FOUND;
    free(probe->trouble);
    probe->trouble = NULL;
    if (answered) {
        evaluate(probe, result->err == ERR_OK ? result->body : NULL);
    } else {
        log_warn("other_lease_read", NULL, "the lease of another controller was not read",
                 LOG_STR("error", result->info->text));
    }
    if (result->err == ERR_DENIED) {
        probe->trouble = heap_strdup(result->info->text);
        probe->life = LEASE_LIFE_ALIVE;
        answered = true;
    }
    probe->missed = !answered || probe->trouble != NULL;
    probe->timer = timer_start(probe->loop, probe->spec.look_ms, 0, send_probe, probe);
    if (!answered)
        return;
    probe->answered = probe->begun;
    probe->spec.seen(probe->spec.arg, result->body, probe->life != before);
}

static void send_probe(void *arg)
{
    struct lease_probe *probe = arg;

    probe->timer = NULL;
    probe->begun++;
    probe->call = kube_send(probe->client,
                            &(struct kube_request){.verb = KUBE_GET,
                                                   .resource = &kube_leases,
                                                   .namespace_ = probe->namespace_,
                                                   .name = probe->name,
                                                   .timeout_ms = TIMEOUT_MS,
                                                   .purpose = KUBE_LEASE},
                            on_lease, probe);
}

struct lease_probe *lease_probe_new(struct loop *loop, struct kube_client *client,
                                    const struct lease_probe_spec *spec)
{
    struct lease_probe *probe = heap_alloc(sizeof(*probe));

    *probe = (struct lease_probe){.loop = loop,
                                  .client = client,
                                  .namespace_ = heap_strdup(spec->namespace_),
                                  .name = heap_strdup(spec->name),
                                  .spec = *spec};
    if (!probe->spec.look_ms)
        probe->spec.look_ms = 6000;
    if (!probe->spec.patience_ms)
        probe->spec.patience_ms = 30000;
    probe->timer = timer_start(loop, 0, 0, send_probe, probe);
    return probe;
}

void lease_probe_free(struct lease_probe *probe)
{
    if (!probe)
        return;
    probe->freed = true;
    timer_stop(probe->timer);
    probe->timer = NULL;
    if (probe->call)
        kube_cancel(probe->call); /* its answer frees it */
    else
        destroy(probe);
}

enum lease_life lease_probe_life(const struct lease_probe *probe)
{
    return probe->life;
}

const char *lease_probe_trouble(const struct lease_probe *probe)
{
    return probe->trouble;
}

int64_t lease_probe_begun(const struct lease_probe *probe)
{
    return probe->begun;
}

int64_t lease_probe_answered(const struct lease_probe *probe)
{
    return probe->answered;
}
