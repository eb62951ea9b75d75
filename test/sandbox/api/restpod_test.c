#include "api/tryapi.h"

#define PODS "/api/v1/namespaces/default/pods"

struct log {
    const char *text;
    int calls, more; /* says "more" for so many calls, and adds a line each time */
};

static bool on_log(void *arg, const char *ns, const char *pod, const char *container, bool previous,
                   size_t offset, struct buf *out)
{
    struct log *log = arg;
    assert_string_equal(ns, "default");
    assert_string_equal(pod, "p");
    assert_true(!container || strcmp(container, "c") == 0);
    if (previous) {
        buf_puts(out, "before\n");
        return false;
    }
    buf_puts(out, offset == 0 ? log->text : "more\n");
    return log->calls++ < log->more;
}

static void make(struct tryapi *a)
{
    ask_for(a, 201, "POST", PODS,
            "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i'}]}}");
}

static void test_log(void **state)
{
    static const struct {
        const char *query, *wanted;
    } cases[] = {
        {"", "one\ntwo\nthree\n"},
        {"?tailLines=2", "two\nthree\n"},
        {"?tailLines=0", ""},
        {"?tailLines=9", "one\ntwo\nthree\n"},
        {"?container=c&tailLines=1", "three\n"},
        {"?previous=true", "before\n"},
        {"?follow=true", "one\ntwo\nthree\n"},
    };
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    struct log log = {.text = "one\ntwo\nthree\n"};
    make(&a);
    assert_string_equal(ask(&a, "GET", PODS "/p/log", NULL).text, ""); /* nobody knows logs yet */
    api_on_pod_log(a.api, on_log, &log);
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct answer answer =
            ask(&a, "GET", arena_printf(a.t.arena, PODS "/p/log%s", cases[i].query), NULL);
        assert_int_equal(answer.status, 200);
        assert_string_equal(answer.text, cases[i].wanted);
        assert_string_equal(answer.content_type, "text/plain");
    }
    ask_for(&a, 400, "GET", PODS "/p/log?container=d", NULL);
    ask_for(&a, 404, "GET", PODS "/q/log", NULL);
    ask_for(&a, 405, "POST", PODS "/p/log", NULL);
}

static void test_follow(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    struct log log = {.text = "one\n", .more = 2};
    make(&a);
    api_on_pod_log(a.api, on_log, &log);
    assert_string_equal(ask(&a, "GET", PODS "/p/log?follow=true", NULL).text, "one\nmore\nmore\n");
}

static void test_evict(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    make(&a);
    ask_for(&a, 405, "GET", PODS "/p/eviction", NULL);
    ask_for(&a, 201, "POST", PODS "/p/eviction", "{'apiVersion':'policy/v1','kind':'Eviction'}");
    ask_for(&a, 404, "GET", PODS "/p", NULL);
    ask_for(&a, 404, "POST", PODS "/p/eviction", "{}");
}

UNIT_MAIN(cmocka_unit_test(test_log), cmocka_unit_test(test_follow), cmocka_unit_test(test_evict))
