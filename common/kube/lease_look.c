#include "kube/lease_look.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"

enum { TIMEOUT_MS = 6000, LONGEST_S = 86400 };

struct lease_look {
    struct loop *loop;
    struct kube_client *client;
    char *namespace_, *name;
    struct lease_look_spec spec; /* its strings are not used */
    struct kube_call *call;
    struct timer *timer;
    enum lease_life life;
    char *version; /* as seen last; "": there is none; NULL: nothing was seen yet */
    int64_t since_ms;
    bool missed; /* the last look was not answered */
    char *trouble;
    int64_t begun, answered;
    bool freed;
};

static void destroy(struct lease_look *look)
{
    free(look->namespace_);
    free(look->name);
    free(look->version);
    free(look->trouble);
    free(look);
}

/* Of one that nobody holds: another replica is expected soon. */
static int64_t patience_ms(const struct lease_look *look, bool held, int64_t seconds)
{
    int64_t patience = look->spec.patience_ms;

    if (!held)
        return patience / 3;
    return seconds < LONGEST_S && seconds * 1000 > patience ? seconds * 1000 : patience;
}

/* NULL: there is none. */
static void judge(struct lease_look *look, struct json_object *lease)
{
    const char *version = json_str_at(lease, "metadata", "resourceVersion", NULL);
    const char *holder = json_str_at(lease, "spec", "holderIdentity", NULL);
    int64_t seconds = json_int_at(lease, 0, "spec", "leaseDurationSeconds", NULL);
    bool held = holder && *holder, first = !look->version;
    int64_t now = clock_monotonic_ms();

    if (!version)
        version = "";
    if (first || look->missed)
        look->since_ms = now;
    if (first || strcmp(look->version, version) != 0) {
        free(look->version);
        look->version = heap_strdup(version);
        look->since_ms = now;
        if (!first && held)
            look->life = LEASE_LIVES;
    } else if (now - look->since_ms >= patience_ms(look, held, seconds)) {
        look->life = LEASE_GONE;
    }
}

static void look_at_it(void *arg);

static void on_lease(void *arg, const struct kube_result *result)
{
    struct lease_look *look = arg;
    enum lease_life before = look->life;

    look->call = NULL;
    if (look->freed) {
        destroy(look);
        return;
    }
    bool answered = result->err == ERR_OK || result->err == ERR_NOT_FOUND;
    free(look->trouble);
    look->trouble = NULL;
    if (answered) {
        judge(look, result->err == ERR_OK ? result->body : NULL);
    } else {
        log_warn("other_lease_read", NULL, "the lease of another controller was not read",
                 LOG_STR("error", result->info->text));
    }
    if (result->err == ERR_DENIED) {
        look->trouble = heap_strdup(result->info->text);
        look->life = LEASE_LIVES;
        answered = true;
    }
    look->missed = !answered || look->trouble != NULL;
    look->timer = timer_start(look->loop, look->spec.look_ms, 0, look_at_it, look);
    if (!answered)
        return;
    look->answered = look->begun;
    look->spec.seen(look->spec.arg, result->body, look->life != before);
}

static void look_at_it(void *arg)
{
    struct lease_look *look = arg;

    look->timer = NULL;
    look->begun++;
    look->call = kube_send(look->client,
                           &(struct kube_request){.verb = KUBE_GET,
                                                  .resource = &kube_leases,
                                                  .namespace_ = look->namespace_,
                                                  .name = look->name,
                                                  .timeout_ms = TIMEOUT_MS,
                                                  .purpose = KUBE_APART},
                           on_lease, look);
}

struct lease_look *lease_look_new(struct loop *loop, struct kube_client *client,
                                  const struct lease_look_spec *spec)
{
    struct lease_look *look = heap_alloc(sizeof(*look));

    *look = (struct lease_look){.loop = loop,
                                .client = client,
                                .namespace_ = heap_strdup(spec->namespace_),
                                .name = heap_strdup(spec->name),
                                .spec = *spec};
    if (!look->spec.look_ms)
        look->spec.look_ms = 6000;
    if (!look->spec.patience_ms)
        look->spec.patience_ms = 30000;
    look->timer = timer_start(loop, 0, 0, look_at_it, look);
    return look;
}

void lease_look_free(struct lease_look *look)
{
    if (!look)
        return;
    look->freed = true;
    timer_stop(look->timer);
    look->timer = NULL;
    if (look->call)
        kube_cancel(look->call); /* its answer frees it */
    else
        destroy(look);
}

enum lease_life lease_look_life(const struct lease_look *look)
{
    return look->life;
}

const char *lease_look_trouble(const struct lease_look *look)
{
    return look->trouble;
}

int64_t lease_look_begun(const struct lease_look *look)
{
    return look->begun;
}

int64_t lease_look_answered(const struct lease_look *look)
{
    return look->answered;
}
