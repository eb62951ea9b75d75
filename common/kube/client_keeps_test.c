/* Kept answers, and the limit of their memory. */
#include "kube/kube_client.h"

#include <stdio.h>

#include "kube/fake_api.h"
#include "kube/reply.h"
#include "test/kinds.h"

/* Replies with a list of one object that contains `n` empty ones. */
static void answer_empties(struct fake_api *api, struct http_conn_request *req,
                           const struct fake_seen *seen)
{
    const int *empties = api->arg;
    struct buf text;

    buf_init(&text, REPLY_MAX_TEXT);
    buf_puts(&text, "{\"items\":[{\"spec\":[{}");
    for (int i = 1; i < *empties; i++)
        buf_puts(&text, ",{}");
    buf_puts(&text, "]}]}");
    http_reply(req, 200, "application/json", text.data, text.len);
    buf_fini(&text);
}

struct keeper {
    struct fake_result result;
    struct json_object *tree;
    bool outline;
};

static void keep_tree(void *arg, const struct kube_result *result)
{
    struct keeper *keeper = arg;

    keeper->result.calls++;
    keeper->result.err = result->err;
    keeper->outline = result->outline;
    snprintf(keeper->result.text, sizeof(keeper->result.text), "%s", result->info->text);
    keeper->tree = json_object_get(result->body);
}

CASE(what_is_kept_waits_for_room)
{
    static const struct {
        int empties;
        enum kube_verb verb;
        bool keeps;
        enum err err;
        bool outline;
    } cases[] = {
        {15000, KUBE_GET, true, ERR_OK, false},   /* kept until the end */
        {15000, KUBE_GET, true, ERR_RETRY, true}, /* there is no room for another */
        {15000, KUBE_GET, false, ERR_OK, false},  /* a tree that is not kept needs no room */
        {10, KUBE_GET, true, ERR_OK, false},      /* nor does a small one */
        {100000, KUBE_GET, false, ERR_INVALID, true},
        {100000, KUBE_LIST, false, ERR_OK, true},       /* a page of a watch */
        {15000, KUBE_LIST, true, ERR_RETRY, true},      /* other calls get no outlines */
        {15000, KUBE_MERGE_PATCH, true, ERR_OK, false}, /* it has already been written */
    };
    enum { CASES = sizeof(cases) / sizeof(cases[0]) };
    struct keeper keepers[CASES] = {0};
    int empties = 0;
    struct fake_api *api = fake_start(answer_empties, &empties);

    fake_connect(api, NULL);
    for (int i = 0; i < CASES; i++) {
        struct kube_request request = {.verb = cases[i].verb,
                                       .resource = &kube_pods,
                                       .namespace_ = "a",
                                       .name = cases[i].verb == KUBE_LIST ? NULL : "p",
                                       .keeps = cases[i].keeps};
        empties = cases[i].empties;
        request.timeout_ms = cases[i].err == ERR_RETRY ? 2000 : 0; /* its retries fail too */
        kube_send(api->client, &request, keep_tree, &keepers[i]);
        FAKE_WAIT(api, keepers[i].result.calls);
        if (keepers[i].result.err != cases[i].err)
            fail_msg("case %d: %s", i, keepers[i].result.text);
        assert_int_equal(keepers[i].outline, cases[i].outline);
        assert_int_equal(keepers[i].result.err == ERR_RETRY,
                         strstr(keepers[i].result.text, "leave room for it") != NULL);
    }
    for (int i = 0; i < CASES; i++)
        json_object_put(keepers[i].tree);
    assert_int_equal(reply_kept_bytes(), 0);
    fake_stop(api);
}
