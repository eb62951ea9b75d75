#include "kube/lease.h"

#include <stdio.h>

#include "kube/fake_api.h"

/* The Lease object of a small server, with preconditions, and faults for one candidate or at one
 * request. */
struct server {
    struct json_object *lease; /* NULL if none */
    struct arena *arena;
    int version;
    const char *cut_off; /* user agent whose requests hang or are rejected */
    bool refuses;
    int fault_at; /* number of the request with the fault; 0 if none */
    enum fault { FAULT_500, FAULT_429, FAULT_403, FAULT_CUT, FAULT_LOST_ANSWER, FAULT_COUNT } fault;
    int creates, patches, gets;
    int64_t asked_ms, gap_ms; /* the last request, and the longest time without one */
};

static void reply_lease(struct server *s, struct http_conn_request *req, int status)
{
    http_reply_json(req, status, json_text(http_req_arena(req), s->lease));
}

static void stamp(struct server *s)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", ++s->version);
    json_set_str(json_sub(s->lease, "metadata"), "resourceVersion", text);
}

static bool apply(struct server *s, struct http_conn_request *req, const struct fake_seen *seen)
{
    struct json_object *body = NULL;

    assert_int_equal(
        json_parse(s->arena, seen->body, strlen(seen->body), JSON_MAX_BYTES, &body, NULL), ERR_OK);
    if (strcmp(seen->method, "POST") == 0) {
        s->creates++;
        if (s->lease) {
            fake_status(req, 409, "exists");
            return false;
        }
        s->lease = body;
    } else {
        s->patches++;
        const char *wanted = json_str_at(body, "metadata", "resourceVersion", NULL);
        assert_non_null(wanted); /* never without the precondition */
        if (!s->lease ||
            strcmp(wanted, json_str_at(s->lease, "metadata", "resourceVersion", NULL)) != 0) {
            fake_status(req, s->lease ? 409 : 404, "changed");
            return false;
        }
        s->lease = json_merge(s->arena, s->lease, body);
    }
    stamp(s);
    return true;
}

static void answer(struct fake_api *api, struct http_conn_request *req,
                   const struct fake_seen *seen)
{
    static const int statuses[FAULT_COUNT] = {500, 429, 403};
    struct server *s = api->arg;
    bool faulty = api->count == s->fault_at;
    int64_t since = clock_monotonic_ms() - s->asked_ms;

    s->asked_ms += since;
    s->gap_ms = since > s->gap_ms ? since : s->gap_ms;
    if (s->cut_off && strcmp(seen->agent, s->cut_off) == 0) {
        if (s->refuses)
            fake_status(req, 503, "away");
        return;
    }
    if (faulty && statuses[s->fault]) {
        fake_status(req, statuses[s->fault], "made to fail");
        return;
    }
    if (strcmp(seen->method, "GET") == 0) {
        s->gets++;
        if (!s->lease)
            fake_status(req, 404, "no lease");
        else
            reply_lease(s, req, 200);
        return;
    }
    if (faulty && s->fault == FAULT_CUT) {
        http_stream_start(req, 200, "application/json", 16);
        fake_cut(req, 16);
    } else if (apply(s, req, seen)) {
        if (!faulty) {
            reply_lease(s, req, 200);
        } else { /* written, but the answer is lost */
            http_stream_start(req, 200, "application/json", 16);
            fake_cut(req, 16);
        }
    }
}

struct candidate {
    struct kube_client *client;
    struct lease *lease;
    int gained, lost;
    bool released;
};

struct fixture {
    struct server server;
    struct fake_api *api;
    struct candidate a, b;
    int64_t duration_ms, deadline_ms, retry_ms, look_ms;
    bool two_at_once;
};

static void on_changed(void *arg, bool leader)
{
    struct candidate *c = arg;

    c->gained += leader;
    c->lost += !leader;
    assert_int_equal(c->gained - c->lost, leader ? 1 : 0);
    if (leader)
        assert_true(lease_is_leader(c->lease));
}

static const char *const notes[] = {"flagger.app/namespaces", "a,b", NULL};

static void compete(struct fixture *f, struct candidate *c, const char *name)
{
    c->client = kube_client_new(f->api->loop, f->api->http, &f->api->config,
                                &(struct kube_client_options){.user_agent = name});
    c->lease = lease_new(f->api->loop, c->client,
                         &(struct lease_spec){.namespace_ = "flagger-system",
                                              .name = "flagger-leader-election",
                                              .identity = name,
                                              .duration_ms = f->duration_ms,
                                              .renew_deadline_ms = f->deadline_ms,
                                              .retry_ms = f->retry_ms,
                                              .look_ms = f->look_ms,
                                              .annotations = notes,
                                              .changed = on_changed,
                                              .arg = c});
}

static void start(struct fixture *f)
{
    f->api = fake_start(answer, &f->server);
    f->server.arena = f->api->arena;
    f->duration_ms = 1000;
    f->deadline_ms = 400;
    f->retry_ms = f->look_ms = 60;
}

/* Uses times that no test reaches, even on a slow machine. */
static void start_slow(struct fixture *f)
{
    start(f);
    f->duration_ms = 30000;
    f->deadline_ms = 15000;
    f->retry_ms = f->look_ms = 1000;
}

static void withdraw(struct candidate *c)
{
    lease_free(c->lease);
    kube_client_free(c->client);
    *c = (struct candidate){0};
}

static void stop(struct fixture *f)
{
    withdraw(&f->a);
    withdraw(&f->b);
    assert_false(f->two_at_once);
    fake_stop(f->api);
}

static bool leads(const struct candidate *c)
{
    return c->lease && lease_is_leader(c->lease);
}

/* Called in every iteration of the loop: records two leaders at once. Returns the condition. */
static bool watched(struct fixture *f, bool condition)
{
    if (leads(&f->a) && leads(&f->b))
        f->two_at_once = true;
    return condition;
}

static const char *holder(const struct fixture *f)
{
    const char *text = json_str_at(f->server.lease, "spec", "holderIdentity", NULL);

    return text ? text : "";
}

CASE(one_candidate_makes_and_renews_it)
{
    struct fixture f = {0};
    start_slow(&f);
    compete(&f, &f.a, "a");
    assert_false(leads(&f.a));
    FAKE_WAIT(f.api, f.a.gained);
    const struct fake_seen *seen = f.api->seen;
    assert_string_equal(
        seen[0].path,
        "/apis/coordination.k8s.io/v1/namespaces/flagger-system/leases/flagger-leader-election");
    assert_string_equal(seen[1].method, "POST");
    assert_string_equal(seen[1].path,
                        "/apis/coordination.k8s.io/v1/namespaces/flagger-system/leases");
    struct json_object *spec = json_at(f.server.lease, "spec", NULL);
    assert_string_equal(json_str_at(f.server.lease, "metadata", "name", NULL),
                        "flagger-leader-election");
    assert_string_equal(
        json_str_at(f.server.lease, "metadata", "annotations", "flagger.app/namespaces", NULL),
        "a,b");
    assert_string_equal(json_str_at(spec, "holderIdentity", NULL), "a");
    assert_int_equal(json_int_at(spec, 0, "leaseDurationSeconds", NULL), 30);
    assert_int_equal(json_int_at(spec, -1, "leaseTransitions", NULL), 0);
    const char *acquired = json_str_at(spec, "acquireTime", NULL);
    assert_int_equal(strlen(acquired), strlen("2026-11-20T19:15:10.123000Z"));
    assert_string_equal(json_str_at(spec, "renewTime", NULL), acquired);
    assert_string_equal(lease_holder(f.a.lease), "a");

    FAKE_WAIT(f.api, f.server.patches >= 2);
    assert_int_equal(f.server.gets, 1); /* a renewal is one request */
    spec = json_at(f.server.lease, "spec", NULL);
    assert_string_equal(json_str_at(spec, "acquireTime", NULL), acquired);
    assert_string_not_equal(json_str_at(spec, "renewTime", NULL), acquired);
    assert_int_equal(json_int_at(spec, -1, "leaseTransitions", NULL), 0);
    assert_int_equal(f.a.gained, 1);
    assert_int_equal(f.a.lost, 0);
    stop(&f);
}

CASE(the_second_waits_while_the_first_renews)
{
    struct fixture f = {0};
    start(&f);
    compete(&f, &f.a, "a");
    FAKE_WAIT(f.api, leads(&f.a));
    compete(&f, &f.b, "b");
    int64_t until = clock_monotonic_ms() + 1500; /* longer than the duration */
    FAKE_WAIT(f.api, watched(&f, clock_monotonic_ms() > until));
    assert_int_equal(f.b.gained, 0);
    assert_int_equal(f.a.lost, 0);
    assert_string_equal(lease_holder(f.b.lease), "a");
    stop(&f);
}

CASE(the_second_need_not_wait_when_the_first_gives_back)
{
    struct fixture f = {0};
    start_slow(&f);
    compete(&f, &f.a, "a");
    FAKE_WAIT(f.api, leads(&f.a));
    compete(&f, &f.b, "b");
    FAKE_WAIT(f.api, lease_holder(f.b.lease)[0]);
    json_set_str(json_sub(f.server.lease, "metadata"), "unknown", "kept");
    lease_release(f.a.lease, NULL, NULL);
    assert_false(leads(&f.a));
    FAKE_WAIT(f.api, watched(&f, leads(&f.b))); /* within 20 s; its duration is 30 s */
    assert_int_equal(f.a.lost, 0);              /* it already knows, since it released the lease */
    assert_int_equal(json_int_at(f.server.lease, 0, "spec", "leaseTransitions", NULL), 1);
    assert_string_equal(json_str_at(f.server.lease, "metadata", "unknown", NULL), "kept");
    stop(&f);
}

CASE(how_soon_the_second_leads_is_not_a_matter_of_how_often_the_first_renews)
{
    struct fixture f = {0};
    start_slow(&f);
    f.duration_ms = 120000;
    f.deadline_ms = 100000;
    f.retry_ms = 60000; /* longer than the test waits */
    f.look_ms = 60;
    compete(&f, &f.a, "a");
    FAKE_WAIT(f.api, leads(&f.a));
    compete(&f, &f.b, "b");
    FAKE_WAIT(f.api, lease_holder(f.b.lease)[0]);
    lease_release(f.a.lease, NULL, NULL);
    FAKE_WAIT(f.api, watched(&f, leads(&f.b)));
    stop(&f);
}

/* The old leader stops long before the other one begins. */
static void stops_before_the_other_starts(bool refuses)
{
    struct fixture f = {.server.refuses = refuses};

    start(&f);
    compete(&f, &f.a, "a");
    FAKE_WAIT(f.api, leads(&f.a));
    compete(&f, &f.b, "b");
    FAKE_WAIT(f.api, f.server.gets >= 4);
    f.server.cut_off = "a";
    int64_t cut = clock_monotonic_ms();
    FAKE_WAIT(f.api, watched(&f, !leads(&f.a)));
    assert_true(clock_monotonic_ms() - cut < 800);
    FAKE_WAIT(f.api, watched(&f, f.a.lost));
    FAKE_WAIT(f.api, watched(&f, leads(&f.b)));
    assert_true(clock_monotonic_ms() - cut >= 800); /* a second after the last renewal it saw */
    f.server.cut_off = NULL;
    int renewed = f.server.patches;
    FAKE_WAIT(f.api, watched(&f, f.server.patches > renewed + 3));
    assert_int_equal(f.a.gained, 1); /* it sees the other and follows */
    assert_string_equal(lease_holder(f.a.lease), "b");
    stop(&f);
}

CASE(a_leader_whose_requests_hang_stops_in_time)
{
    stops_before_the_other_starts(false);
}

CASE(a_leader_whose_requests_are_refused_stops_in_time)
{
    stops_before_the_other_starts(true);
}

/* The server is unavailable until shortly before the leader's deadline: the leader retries and
 * remains. */
static void an_outage_that_ends_in_time_costs_nothing(bool refuses, int64_t longest_gap_ms)
{
    struct fixture f = {.server.refuses = refuses};

    start(&f);
    f.duration_ms = 9000;
    f.deadline_ms = 6000;
    f.retry_ms = 2000;
    compete(&f, &f.a, "a");
    FAKE_WAIT(f.api, leads(&f.a));
    int64_t renewed_ms = clock_monotonic_ms();
    int count = f.api->count, written = f.server.version;
    f.server.cut_off = "a";
    FAKE_WAIT(f.api, f.api->count > count);
    f.server.gap_ms = 0;
    int64_t until = renewed_ms + f.deadline_ms - f.retry_ms / 2;
    FAKE_WAIT(f.api, clock_monotonic_ms() > until);
    f.server.cut_off = NULL;
    FAKE_WAIT(f.api, f.a.lost || f.server.version > written);
    assert_in_range(f.server.gap_ms, 1, longest_gap_ms);
    LOOP_FOR(f.api->loop, f.retry_ms);
    assert_int_equal(f.a.lost, 0);
    assert_true(leads(&f.a));
    stop(&f);
}

CASE(a_server_that_hangs_for_a_while)
{
    an_outage_that_ends_in_time_costs_nothing(false, 2500);
}

CASE(a_server_that_refuses_for_a_while)
{
    an_outage_that_ends_in_time_costs_nothing(true, 1500);
}

/* The loop is stopped, as by SIGSTOP: lease_is_leader() is correct even before any timer has
 * run. */
CASE(the_clock_alone_ends_the_leadership)
{
    struct fixture f = {0};
    start(&f);
    compete(&f, &f.a, "a");
    FAKE_WAIT(f.api, leads(&f.a));
    int64_t start_ms = clock_monotonic_ms();
    while (leads(&f.a))
        assert_true(clock_monotonic_ms() - start_ms < 2000);
    assert_int_equal(f.a.lost, 0);
    FAKE_WAIT(f.api, leads(&f.a)); /* and leads again if the lease was not taken */
    assert_string_equal(holder(&f), "a");
    stop(&f);
}

CASE(somebody_takes_it_by_force)
{
    struct fixture f = {0};
    start_slow(&f);
    compete(&f, &f.a, "a");
    FAKE_WAIT(f.api, leads(&f.a));
    json_set_str(json_sub(f.server.lease, "spec"), "holderIdentity", "an admin");
    json_set_int(json_sub(f.server.lease, "spec"), "leaseDurationSeconds", 1);
    stamp(&f.server);
    int64_t start_ms = clock_monotonic_ms();
    FAKE_WAIT(f.api, f.a.lost);
    assert_true(clock_monotonic_ms() - start_ms < 12000); /* noticed by the conflict, not the
                                                           * deadline */
    assert_string_equal(lease_holder(f.a.lease), "an admin");
    FAKE_WAIT(f.api, f.a.gained == 2); /* never renewed: taken after a second */
    assert_true(clock_monotonic_ms() - start_ms >= 1000);
    stop(&f);
}

CASE(a_lease_that_is_deleted_is_made_anew)
{
    struct fixture f = {0};
    start(&f);
    compete(&f, &f.a, "a");
    FAKE_WAIT(f.api, leads(&f.a));
    f.server.lease = NULL;
    FAKE_WAIT(f.api, f.server.creates == 2 && f.server.lease);
    FAKE_WAIT(f.api, leads(&f.a));
    assert_int_equal(f.a.lost, 0);
    stop(&f);
}

/* Two candidates, and a fault at request n: one of them leads in the end, and never both. */
CASE(every_request_may_fail)
{
    for (enum fault fault = 0; fault < FAULT_COUNT; fault++) {
        for (int n = 1; n <= 6; n++) {
            struct fixture f = {.server = {.fault = fault, .fault_at = n}};
            start(&f);
            compete(&f, &f.a, "a");
            compete(&f, &f.b, "b");
            FAKE_WAIT(f.api, watched(&f, f.api->count > n && (leads(&f.a) || leads(&f.b))));
            struct candidate *first = leads(&f.a) ? &f.a : &f.b;
            struct candidate *second = first == &f.a ? &f.b : &f.a;
            assert_string_equal(holder(&f), lease_identity(first->lease));
            if (n == 3) { /* killed: the other one must wait for the lease's whole duration */
                withdraw(first);
                FAKE_WAIT(f.api, watched(&f, leads(second)));
            }
            stop(&f);
        }
    }
}

static void on_released(void *arg)
{
    struct candidate *c = arg;

    assert_false(c->released);
    c->released = true;
    assert_false(lease_is_leader(c->lease));
}

CASE(is_released_at_any_time)
{
    for (int turns = 0; turns < 40; turns++) {
        struct fixture f = {0};
        start(&f);
        compete(&f, &f.a, "a");
        for (int turn = 0; turn < turns; turn++)
            uv_run(loop_uv(f.api->loop), UV_RUN_ONCE);
        lease_release(f.a.lease, on_released, &f.a);
        assert_false(f.a.released);
        assert_false(leads(&f.a));
        FAKE_WAIT(f.api, f.a.released);
        assert_string_equal(holder(&f), "");
        int count = f.api->count;
        LOOP_FOR(f.api->loop, 10);
        assert_int_equal(f.api->count, count);
        stop(&f);
    }
}

CASE(a_release_that_is_not_heard_ends_all_the_same)
{
    struct fixture f = {0};
    start(&f);
    compete(&f, &f.a, "a");
    FAKE_WAIT(f.api, leads(&f.a));
    f.server.cut_off = "a";
    lease_release(f.a.lease, on_released, &f.a);
    FAKE_WAIT(f.api, f.a.released);
    assert_string_equal(holder(&f), "a");
    stop(&f);
}

CASE(is_freed_at_any_time)
{
    for (int turns = 0; turns < 40; turns++) {
        struct fixture f = {0};
        start(&f);
        compete(&f, &f.a, "a");
        for (int turn = 0; turn < turns; turn++)
            uv_run(loop_uv(f.api->loop), UV_RUN_ONCE);
        if (turns % 2)
            lease_release(f.a.lease, on_released, &f.a);
        stop(&f);
    }
}

CASE(the_default_identity_is_nobody_elses)
{
    struct fixture f = {0};
    start(&f);
    fake_connect(f.api, NULL);
    struct lease_spec spec = {.namespace_ = "n", .name = "l"};
    struct lease *one = lease_new(f.api->loop, f.api->client, &spec);
    struct lease *two = lease_new(f.api->loop, f.api->client, &spec);
    const char *dash = strrchr(lease_identity(one), '_');
    assert_non_null(dash);
    assert_int_equal(strlen(dash), 37);
    assert_int_equal(dash[15], '4');
    assert_string_not_equal(lease_identity(one), lease_identity(two));
    lease_free(one);
    lease_free(two);
    fake_stop(f.api);
}
