/* What the tests of the REST layer share: an API on a free port, and who talks with it. */
#ifndef SANDBOX_TRYAPI_H
#define SANDBOX_TRYAPI_H

#include "api/api.h"
#include "api/trystore.h"
#include "object/test_talk.h"

struct tryapi {
    struct trystore t;
    struct api *api;
    struct talk talk;
};

/* drain: somebody ends the server; leave: all clients go. */
UNIT_HELPER void tryapi_act(void *arg, const char *word)
{
    struct tryapi *a = arg;
    if (strcmp(word, "drain") == 0) {
        loop_drain(a->t.loop);
        return;
    }
    assert_string_equal(word, "leave");
    talk_close(&a->talk);
    talk_open(&a->talk);
}

UNIT_HELPER void tryapi_open(struct tryapi *a)
{
    struct errinfo ei = {0};
    *a = (struct tryapi){.t = try_open()};
    struct api_options options = {.https_port = -1, .token = "secret", .directory = unit_folder()};
    if (api_new(a->t.loop, a->t.store, &options, &a->api, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    a->talk = (struct talk){.loop = a->t.loop,
                            .arena = a->t.arena,
                            .port = api_http_port(a->api),
                            .token = "secret",
                            .act = tryapi_act,
                            .arg = a};
    talk_open(&a->talk);
}

UNIT_HELPER void tryapi_close(struct tryapi *a)
{
    talk_close(&a->talk);
    loop_drain(a->t.loop);
    (void)!loop_run(a->t.loop);
    api_free(a->api);
    try_close(&a->t);
}

#endif
