/* What the client does while nobody answers, and after that. */
#include "kube/fake_api.h"

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
    struct kube_client_look look;

    kube_client_look(api->client, &look);
    return look.of[purpose].tokens;
}

/* Writes, which are not repeated, until the client has noticed. */
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
    FAKE_WAIT(api, api->count == 2); /* one a second looks whether it is back */
    assert_true(clock_monotonic_ms() - start >= 900);
    up = true;
    start = clock_monotonic_ms();
    FAKE_WAIT(api, out.calls == WAITING);
    assert_int_equal(out.err, ERR_OK);
    /* 12, 25, 50, 100 in the first four seconds, where 1000 were allowed to come at once */
    assert_true(clock_monotonic_ms() - start >= 3500);
    fake_stop(api);
}

/* Leases and watches are not held back, and notice that it is back. */
CASE(whoever_has_no_budget_ends_the_outage)
{
    bool up = false;
    struct fake_api *api = fake_start(answer_if_up, &up);
    struct kube_request request = request_of(KUBE_DELETE);
    struct fake_result out = {0};

    fake_connect(api, &(struct kube_client_options){.qps = 200, .burst = 1000});
    wait_until_away(api);
    up = true;
    request.purpose = KUBE_APART;
    kube_send(api->client, &request, fake_done, &out);
    FAKE_WAIT(api, out.calls);
    assert_int_equal(out.err, ERR_OK);
    FAKE_WAIT(api, tokens(api, KUBE_READ) >= 100);
    fake_stop(api);
}
