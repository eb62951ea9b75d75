/*
 * States of a candidate:
 *
 *   FOLLOWING   reads the lease every look_ms, and takes it if it is free or has not changed for its
 *               duration
 *   LEADING     renews every retry_ms with the resourceVersion of its last write as precondition;
 *               failures are retried until the deadline
 *   RELEASING   releases the lease, if it holds it
 *   ENDED       no longer takes part
 *
 * Times in the Lease object are for people; decisions are based on the time without a change by our
 * own clock.
 */
#include "kube/lease.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "kube/rate_limit.h"

enum lease_state { LEASE_NEW, LEASE_FOLLOWING, LEASE_LEADING, LEASE_RELEASING, LEASE_ENDED };

struct lease {
    struct loop *loop;
    struct kube_client *client;
    char *namespace_, *name, *identity;
    struct lease_spec spec; /* its namespace, name and identity are not used */
    enum lease_state state;
    struct kube_call *call;
    struct timer *timer;    /* fires at the next read or renewal */
    struct timer *deadline; /* fires at the end of the leadership */
    int64_t sent_ms;        /* when the write in progress was sent */
    int64_t valid_until_ms; /* end of the leadership */
    /* the lease as last read */
    char *version; /* NULL before the first read; "" if it does not exist */
    char *holder;
    int64_t duration_ms;
    int64_t transitions;
    int64_t seen_ms; /* when this version was first read */
    char *acquire_time;
    void (*released)(void *arg);
    void *released_arg;
    bool freed;
};

static void read_or_renew(void *arg);
static void write_lease(struct lease *l);

/* Reads a clock that runs during a suspend, like those of the other candidates. */
static int64_t now_ms(void)
{
    struct timespec ts = {0};

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static const struct machine_state states[] = {
    [LEASE_NEW] = {.name = "new", .next = 1u << LEASE_FOLLOWING},
    [LEASE_FOLLOWING] = {.name = "following", .next = 1u << LEASE_LEADING | 1u << LEASE_RELEASING},
    [LEASE_LEADING] = {.name = "leading", .next = 1u << LEASE_FOLLOWING | 1u << LEASE_RELEASING},
    [LEASE_RELEASING] = {.name = "releasing", .next = 1u << LEASE_ENDED},
    [LEASE_ENDED] = {.name = "ended"},
};
static const struct machine machine = {MACHINE_STATES(states), .event = "leader_election",
                                       .level = LOG_INFO};

static void lease_set_state(struct lease *l, enum lease_state state)
{
    machine_step(&machine, l->state, state, NULL, "candidate changed state",
                 LOG_STR("lease", l->name), LOG_STR("identity", l->identity),
                 LOG_STR("holder", l->holder));
    l->state = state;
}

static void set_text(char **at, const char *text)
{
    char *copy = heap_strdup(text);

    free(*at);
    *at = copy;
}

static void lease_destroy(struct lease *l)
{
    free(l->namespace_);
    free(l->name);
    free(l->identity);
    free(l->version);
    free(l->holder);
    free(l->acquire_time);
    free(l);
}

static void start_timer(struct lease *l, int64_t after_ms)
{
    timer_stop(l->timer);
    l->timer = timer_start(l->loop, after_ms, 0, read_or_renew, l);
}

/* Schedules the next read, with jitter, so that candidates started together spread out. */
static void read_after(struct lease *l, int64_t ms)
{
    start_timer(l, ms + backoff_random(ms / 5 + 1));
}

/* Schedules the next renewal; jitter makes it earlier, never later. */
static void renew_later(struct lease *l)
{
    start_timer(l, l->spec.retry_ms - backoff_random(l->spec.retry_ms / 5 + 1));
}

/* Time until the leadership expires, 0 if not leading. */
static int64_t time_left(const struct lease *l)
{
    int64_t left = l->state == LEASE_LEADING ? l->valid_until_ms - now_ms() : 0;

    return left > 0 ? left : 0;
}

/* Schedules a retry after a failure; a leader retries until just before its deadline. */
static void retry_soon(struct lease *l)
{
    int64_t soon = l->spec.retry_ms / 10, left = time_left(l);

    if (left > 0)
        start_timer(l, soon < left / 2 ? soon : left / 2);
    else
        read_after(l, l->spec.retry_ms);
}

/* Leaves a leader enough time for another request if this one hangs. */
static int64_t timeout(const struct lease *l)
{
    int64_t left = time_left(l);

    return left > 1 && left / 2 < l->spec.retry_ms ? left / 2 : l->spec.retry_ms;
}

static void lose(struct lease *l, const char *why)
{
    log_warn("leader_lost", NULL, why, LOG_STR("lease", l->name), LOG_STR("holder", l->holder));
    timer_stop(l->deadline);
    l->deadline = NULL;
    l->valid_until_ms = 0;
    lease_set_state(l, LEASE_FOLLOWING);
    if (l->spec.changed)
        l->spec.changed(l->spec.arg, false);
}

static void deadline_passed(void *arg)
{
    struct lease *l = arg;
    int64_t left = l->valid_until_ms - now_ms();

    l->deadline = NULL;
    if (left > 0)
        l->deadline = timer_start(l->loop, left, 0, deadline_passed, l);
    else
        lose(l, "the lease could not be renewed in time");
}

/* Saves the server's state, and the time since which it is unchanged. */
static void save_state(struct lease *l, struct json_object *object)
{
    const char *version = json_str_at(object, "metadata", "resourceVersion", NULL);
    const char *holder = json_str_at(object, "spec", "holderIdentity", NULL);
    const char *acquired = json_str_at(object, "spec", "acquireTime", NULL);
    int64_t seconds = json_int_at(object, 0, "spec", "leaseDurationSeconds", NULL);

    if (!l->version || strcmp(l->version, version ? version : "") != 0)
        l->seen_ms = now_ms();
    set_text(&l->version, version ? version : "");
    set_text(&l->holder, holder ? holder : "");
    set_text(&l->acquire_time, acquired);
    l->duration_ms = seconds > 0 && seconds < 86400 ? seconds * 1000 : l->spec.duration_ms;
    l->transitions = json_int_at(object, 0, "spec", "leaseTransitions", NULL);
}

/* Our write was confirmed: the leadership counts from the time when it was sent. */
static void confirmed(struct lease *l)
{
    int64_t until = l->sent_ms + l->spec.renew_deadline_ms;

    if (now_ms() >= until)
        return; /* the answer came too late */
    l->valid_until_ms = until;
    if (!l->deadline)
        l->deadline = timer_start(l->loop, until - now_ms(), 0, deadline_passed, l);
    if (l->state == LEASE_LEADING)
        return;
    lease_set_state(l, LEASE_LEADING);
    if (l->spec.changed)
        l->spec.changed(l->spec.arg, true);
}

/* Returns true, and frees the lease, if lease_free() was called meanwhile. */
static bool was_freed(struct lease *l)
{
    l->call = NULL;
    if (!l->freed)
        return false;
    lease_destroy(l);
    return true;
}

static bool is_over(const struct lease *l)
{
    return l->state == LEASE_RELEASING || l->state == LEASE_ENDED;
}

static void release_now(struct lease *l);

static void write_done(void *arg, const struct kube_result *result)
{
    struct lease *l = arg;

    if (was_freed(l))
        return;
    if (result->err == ERR_OK)
        save_state(l, result->body);
    if (is_over(l)) {
        release_now(l);
        return;
    }
    if (result->err == ERR_OK) {
        /* Before changed(), which may release or free the lease. */
        renew_later(l);
        confirmed(l);
        return;
    }
    log_warn("leader_election_write", NULL, "the lease was not written, it is tried again",
             LOG_STR("error", result->info->text));
    /* The write may have been applied, or lost a race: read before the next write. */
    set_text(&l->version, NULL);
    if (result->err == ERR_CONFLICT)
        start_timer(l, 0);
    else
        retry_soon(l);
}

static struct json_object *lease_body(struct arena *arena, struct lease *l)
{
    struct json_object *body = json_own(arena, json_object_new_object());
    struct json_object *metadata = json_sub(body, "metadata");
    struct json_object *spec = json_sub(body, "spec");
    bool create = !l->version || !l->version[0];
    bool renew = l->holder && strcmp(l->holder, l->identity) == 0;
    char text[CLOCK_TEXT];

    clock_rfc3339_micro(clock_wall_ms(), text);
    if (create) {
        json_set_str(body, "apiVersion", "coordination.k8s.io/v1");
        json_set_str(body, "kind", "Lease");
        json_set_str(metadata, "name", l->name);
        json_set_str(metadata, "namespace", l->namespace_);
    } else {
        json_set_str(metadata, "resourceVersion", l->version);
    }
    json_set_str(spec, "holderIdentity", l->identity);
    json_set_int(spec, "leaseDurationSeconds", (l->spec.duration_ms + 999) / 1000);
    json_set_str(spec, "renewTime", text);
    if (!renew) {
        for (const char *const *at = l->spec.annotations; at && *at; at += 2)
            json_set_str(json_sub(metadata, "annotations"), at[0], at[1]);
        json_set_str(spec, "acquireTime", text);
        json_set_int(spec, "leaseTransitions", create ? 0 : l->transitions + 1);
    }
    return body;
}

static struct kube_call *send_lease(struct lease *l, enum kube_verb verb, struct json_object *body,
                                    kube_done_fn done)
{
    return kube_send(l->client,
                     &(struct kube_request){.verb = verb,
                                            .resource = &kube_leases,
                                            .namespace_ = l->namespace_,
                                            .name = verb == KUBE_CREATE ? NULL : l->name,
                                            .body = body,
                                            .timeout_ms = timeout(l),
                                            .purpose = KUBE_LEASE},
                     done, l);
}

static void write_lease(struct lease *l)
{
    struct arena *arena = arena_new();
    enum kube_verb verb = l->version && l->version[0] ? KUBE_MERGE_PATCH : KUBE_CREATE;

    l->sent_ms = now_ms();
    l->call = send_lease(l, verb, lease_body(arena, l), write_done);
    arena_free(arena);
}

/* Returns true if the lease is free, ours, or not renewed for its duration. */
static bool may_take(const struct lease *l)
{
    if (!l->holder[0] || strcmp(l->holder, l->identity) == 0)
        return true;
    return now_ms() >= l->seen_ms + l->duration_ms;
}

static void look_done(void *arg, const struct kube_result *result)
{
    struct lease *l = arg;

    if (was_freed(l))
        return;
    if (result->err == ERR_OK)
        save_state(l, result->body);
    else if (result->err == ERR_NOT_FOUND)
        save_state(l, NULL);
    if (is_over(l)) {
        release_now(l);
    } else if (result->err != ERR_OK && result->err != ERR_NOT_FOUND) {
        log_warn("leader_election_read", NULL, "the lease was not read, it is tried again",
                 LOG_STR("error", result->info->text));
        retry_soon(l);
    } else if (may_take(l)) {
        write_lease(l);
    } else {
        read_after(l, l->spec.look_ms);
        /* Another candidate has the lease: do not wait for the deadline. */
        if (l->state == LEASE_LEADING)
            lose(l, "another candidate holds the lease");
    }
}

/* Renews if it leads and knows the version of its last write; otherwise reads first. */
static void read_or_renew(void *arg)
{
    struct lease *l = arg;

    l->timer = NULL;
    if (l->state == LEASE_LEADING && l->version)
        write_lease(l);
    else
        l->call = send_lease(l, KUBE_GET, NULL, look_done);
}

/* ---- public functions */

static char *make_identity(void)
{
    unsigned char bits[16] = {0};
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    /* Two candidates with the same identity would both lead, so random bits are required. */
    if (getentropy(bits, sizeof(bits)) != 0) {
        log_error("leader_election", NULL, "the system gives no random bits for an identity");
        abort();
    }
    bits[6] = (unsigned char)((bits[6] & 0x0f) | 0x40);
    bits[8] = (unsigned char)((bits[8] & 0x3f) | 0x80);
    return heap_printf("%s_%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                       host, bits[0], bits[1], bits[2], bits[3], bits[4], bits[5], bits[6], bits[7],
                       bits[8], bits[9], bits[10], bits[11], bits[12], bits[13], bits[14],
                       bits[15]);
}

struct lease *lease_new(struct loop *loop, struct kube_client *client,
                        const struct lease_spec *spec)
{
    struct lease *l = heap_alloc(sizeof(*l));

    *l = (struct lease){
        .loop = loop,
        .client = client,
        .namespace_ = heap_strdup(spec->namespace_),
        .name = heap_strdup(spec->name),
        .identity = spec->identity ? heap_strdup(spec->identity) : make_identity(),
        .holder = heap_strdup(""),
        .spec = *spec,
    };
    if (!l->spec.duration_ms)
        l->spec.duration_ms = 30000;
    if (!l->spec.renew_deadline_ms)
        l->spec.renew_deadline_ms = 15000;
    if (!l->spec.retry_ms)
        l->spec.retry_ms = 5000;
    if (!l->spec.look_ms)
        l->spec.look_ms = 1000;
    assert(l->spec.retry_ms < l->spec.renew_deadline_ms);
    assert(l->spec.renew_deadline_ms < l->spec.duration_ms);
    lease_set_state(l, LEASE_FOLLOWING);
    start_timer(l, 0);
    return l;
}

bool lease_is_leader(const struct lease *l)
{
    return l->state == LEASE_LEADING && now_ms() < l->valid_until_ms;
}

const char *lease_identity(const struct lease *l)
{
    return l->identity;
}

const char *lease_holder(const struct lease *l)
{
    return l->holder;
}

static void ended(void *arg)
{
    struct lease *l = arg;
    void (*released)(void *arg) = l->released;

    l->timer = NULL;
    l->released = NULL;
    if (released)
        released(l->released_arg); /* may free the lease */
}

static void end(struct lease *l)
{
    lease_set_state(l, LEASE_ENDED);
    timer_stop(l->timer);
    l->timer = timer_start(l->loop, 0, 0, ended, l);
}

static void give_back_done(void *arg, const struct kube_result *result)
{
    struct lease *l = arg;

    if (was_freed(l))
        return;
    if (result->err != ERR_OK)
        log_warn("leader_election_release", NULL, "others must wait until the lease runs out",
                 LOG_STR("error", result->info->text));
    end(l);
}

/* Writes an empty holder, if we hold the lease. No call may be in progress. */
static void release_now(struct lease *l)
{
    struct arena *arena = NULL;
    char text[CLOCK_TEXT];

    if (!l->version || !l->version[0] || strcmp(l->holder, l->identity) != 0) {
        end(l);
        return;
    }
    arena = arena_new();
    struct json_object *body = json_own(arena, json_object_new_object());
    struct json_object *spec = json_sub(body, "spec");
    json_set_str(json_sub(body, "metadata"), "resourceVersion", l->version);
    json_set_str(spec, "holderIdentity", "");
    json_set_int(spec, "leaseDurationSeconds", 1);
    json_set_str(spec, "renewTime", clock_rfc3339_micro(clock_wall_ms(), text));
    l->call = send_lease(l, KUBE_MERGE_PATCH, body, give_back_done);
    arena_free(arena);
}

void lease_release(struct lease *l, void (*done)(void *arg), void *arg)
{
    assert(!l->released && !is_over(l));
    l->released = done;
    l->released_arg = arg;
    timer_stop(l->timer);
    timer_stop(l->deadline);
    l->timer = l->deadline = NULL;
    l->valid_until_ms = 0;
    lease_set_state(l, LEASE_RELEASING);
    /* Waits for a write in progress: its answer has the version to release. */
    if (!l->call)
        release_now(l);
}

void lease_leave(struct lease *l, bool quiet, void (*done)(void *arg), void *arg)
{
    if (l && quiet)
        lease_release(l, done, arg);
    else
        done(arg);
}

void lease_lost(struct loop *loop)
{
    if (loop_draining(loop))
        return;
    log_error("lease_lost", NULL,
              "the lease was lost; ending so that a fresh replica takes its place");
    loop_drain(loop);
}

void lease_free(struct lease *l)
{
    if (!l || l->freed)
        return;
    l->freed = true;
    timer_stop(l->timer);
    timer_stop(l->deadline);
    l->timer = l->deadline = NULL;
    if (l->call)
        kube_cancel(l->call); /* its done callback destroys it */
    else
        lease_destroy(l);
}

/* --- probes of leases of other programs */

enum { PROBE_TIMEOUT_MS = 6000, LONGEST_S = 86400 };

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

static void probe_destroy(struct lease_probe *probe)
{
    free(probe->namespace_);
    free(probe->name);
    free(probe->version);
    free(probe->trouble);
    free(probe);
}

/* Without a holder, another replica is expected soon. */
static int64_t probe_patience_ms(const struct lease_probe *probe, bool held, int64_t seconds)
{
    int64_t patience = probe->spec.patience_ms;

    if (!held)
        return patience / 3;
    return seconds < LONGEST_S && seconds * 1000 > patience ? seconds * 1000 : patience;
}

/* Evaluates a probe; lease is NULL if it does not exist. */
static void probe_evaluate(struct lease_probe *probe, struct json_object *lease)
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
    } else if (now - probe->since_ms >= probe_patience_ms(probe, held, seconds)) {
        probe->life = LEASE_LIFE_GONE;
    }
}

static void send_probe(void *arg);

static void on_probed(void *arg, const struct kube_result *result)
{
    struct lease_probe *probe = arg;
    enum lease_life before = probe->life;

    probe->call = NULL;
    if (probe->freed) {
        probe_destroy(probe);
        return;
    }
    bool answered = result->err == ERR_OK || result->err == ERR_NOT_FOUND;
    free(probe->trouble);
    probe->trouble = NULL;
    if (answered) {
        probe_evaluate(probe, result->err == ERR_OK ? result->body : NULL);
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
                                                   .timeout_ms = PROBE_TIMEOUT_MS,
                                                   .purpose = KUBE_LEASE},
                            on_probed, probe);
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
        probe_destroy(probe);
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
