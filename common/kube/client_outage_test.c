#include "kube/fake_api.h"
#include "kube/kube_internal.h"
#include "test/unit.h"

/* Behaviour while the server gives no answers, and afterwards. */

static const struct kube_resource pods = {
    .group = "", .version = "v1", .plural = "pods", .kind = "Pod"};

static void answer_if_up(struct fake_api *api, struct http_conn_request *req,
                         const struct fake_seen *seen)
{
    const bool *up = api->arg;

    (void)seen;
    if (*up)
        http_reply_json(req, 200, "{}");
    else
        fake_status(req, 503, "no backend");
}

static struct kube_request request_of(enum kube_verb verb)
{
    return (struct kube_request){
        .verb = verb, .resource = &pods, .namespace_ = "a", .name = "p", .timeout_ms = 60000};
}

static double tokens(struct fake_api *api, enum kube_purpose purpose)
{
    struct kube_client_snapshot look;

    kube_client_snapshot(api->client, &look);
    return look.of[purpose].tokens;
}

/* Sends writes, which are not retried, until the breaker opens. */
static void wait_until_away(struct fake_api *api)
{
    struct kube_request request = request_of(KUBE_DELETE);

    while (tokens(api, KUBE_READ) >= 100) {
        struct fake_result out = {0};
        kube_send(api->client, &request, fake_done, &out);
        FAKE_WAIT(api, out.calls);
        assert_int_equal(out.err, ERR_RETRY);
        api->count = 0;
    }
}

CASE(what_waited_for_the_server_does_not_come_at_once)
{
    enum { WAITING = 300, PER_SECOND = 200 };
    bool up = false;
    struct fake_api *api = fake_start(answer_if_up, &up);
    struct kube_request request = request_of(KUBE_GET);
    struct fake_result out = {0};

    fake_connect(api, &(struct kube_client_options){.qps = PER_SECOND, .burst = 1000});
    wait_until_away(api);
    int64_t start = clock_monotonic_ms();
    for (int i = 0; i < WAITING; i++)
        kube_send(api->client, &request, fake_done, &out);
    FAKE_WAIT(api, api->count == 2); /* one request a second is sent */
    assert_true(clock_monotonic_ms() - start >= 900);
    up = true;
    start = clock_monotonic_ms();
    FAKE_WAIT(api, out.calls == WAITING);
    assert_int_equal(out.err, ERR_OK);
    /* 12, 25, 50, 100 in the first four seconds, instead of 1000 at once */
    assert_true(clock_monotonic_ms() - start >= 3500);
    fake_stop(api);
}

/* Leases and watches are not throttled, and notice that the server is back. */
CASE(whoever_has_no_budget_ends_the_outage)
{
    bool up = false;
    struct fake_api *api = fake_start(answer_if_up, &up);
    struct kube_request request = request_of(KUBE_DELETE);
    struct fake_result out = {0};

    fake_connect(api, &(struct kube_client_options){.qps = 200, .burst = 1000});
    wait_until_away(api);
    up = true;
    request.purpose = KUBE_LEASE;
    kube_send(api->client, &request, fake_done, &out);
    FAKE_WAIT(api, out.calls);
    assert_int_equal(out.err, ERR_OK);
    FAKE_WAIT(api, tokens(api, KUBE_READ) >= 100);
    fake_stop(api);
}

CASE(many_in_a_row_for_some_time)
{
    struct circuit_breaker o = {0};
    /* many failures at the same time count as one */
    for (int i = 0; i < 100; i++)
        assert_false(circuit_breaker_record(&o, false, 1000));
    assert_false(circuit_breaker_record(&o, false, 3999));
    assert_true(circuit_breaker_record(&o, false, 4000));
    assert_true(o.open);
    assert_false(circuit_breaker_record(&o, false, 5000)); /* reported once */
    assert_true(circuit_breaker_record(&o, true, 6000));
    assert_false(o.open);
    assert_false(circuit_breaker_record(&o, true, 6000));
}

CASE(few_are_none_however_long)
{
    struct circuit_breaker o = {0};
    for (int i = 0; i < 7; i++)
        assert_false(circuit_breaker_record(&o, false, i * INT64_C(60000)));
    assert_true(circuit_breaker_record(&o, false, 7 * INT64_C(60000)));
}

CASE(an_answer_between_them_begins_anew)
{
    struct circuit_breaker o = {0};
    for (int i = 0; i < 100; i++) {
        assert_false(circuit_breaker_record(&o, false, i * INT64_C(1000)));
        if (i % 7 == 6)
            assert_false(circuit_breaker_record(&o, true, i * INT64_C(1000)));
    }
}

CASE(what_is_an_answer)
{
    assert_false(circuit_breaker_is_answer(0));
    assert_true(circuit_breaker_is_answer(200));
    assert_true(circuit_breaker_is_answer(429));
    assert_true(circuit_breaker_is_answer(500));
    assert_true(circuit_breaker_is_answer(501));
    assert_false(circuit_breaker_is_answer(502));
    assert_false(circuit_breaker_is_answer(503));
    assert_false(circuit_breaker_is_answer(504));
    assert_true(circuit_breaker_is_answer(505));
}
