#include "kube/lease.h"

#include <stdio.h>

#include "kube/fake_api.h"

/* The server's answers, one letter per probe. */
enum {
    RENEWED = 'r', /* written since the last probe */
    SAME = '=',    /* unchanged */
    FREE = 'f',    /* written, without a holder */
    NONE = '-',    /* 404 */
    DENIED = 'd',  /* 403 */
    OUT = 'x',     /* 500 */
};

struct script {
    const char *answers;
    int seconds; /* leaseDurationSeconds */
    struct lease_probe *look;
    int version;
    char holder;
    char seen[16]; /* the life after each probe; " " without an answer */
    bool wrong;    /* changed had a wrong value */
};

static void answer(struct fake_api *api, struct http_conn_request *req,
                   const struct fake_seen *seen)
{
    struct script *script = api->arg;
    size_t at = script->look ? (size_t)lease_probe_begun(script->look) - 1 : 0;
    char text[256], what = at < strlen(script->answers) ? script->answers[at] : SAME;

    assert_string_equal(seen->path, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/theirs");
    if (what == NONE || what == DENIED || what == OUT) {
        fake_status(req, what == NONE ? 404 : what == DENIED ? 403 : 500, "as the test says");
        return;
    }
    script->version += what != SAME;
    if (what != SAME)
        script->holder = what == FREE ? '\0' : 'a';
    snprintf(text, sizeof(text),
             "{\"metadata\":{\"resourceVersion\":\"%d\"},"
             "\"spec\":{\"holderIdentity\":\"%.1s\",\"leaseDurationSeconds\":%d}}",
             script->version, &script->holder, script->seconds);
    http_reply_json(req, 200, text);
}

static void on_seen(void *arg, struct json_object *lease, bool changed)
{
    struct script *script = arg;
    size_t at = (size_t)lease_probe_answered(script->look) - 1;
    char life = "?LG"[lease_probe_life(script->look)];
    char before = '?';

    if (at >= strlen(script->answers))
        return;
    for (size_t i = 0; i < at; i++)
        before = script->seen[i] == ' ' ? before : script->seen[i];
    script->wrong |= changed != (life != before);
    script->seen[at] = life;
}

static void play(const char *answers, const char *seen, int seconds, int64_t patience_ms)
{
    struct script script = {.answers = answers, .seconds = seconds, .seen = "               "};
    struct fake_api *api = fake_start(answer, &script);
    size_t looks = strlen(answers);

    fake_connect(api, &(struct kube_client_options){0});
    script.look = lease_probe_new(api->loop, api->client,
                                  &(struct lease_probe_spec){.namespace_ = "ns",
                                                             .name = "theirs",
                                                             .look_ms = 5,
                                                             .patience_ms = patience_ms,
                                                             .seen = on_seen,
                                                             .arg = &script});
    FAKE_WAIT(api, lease_probe_begun(script.look) > (int64_t)looks);
    assert_int_equal(lease_probe_trouble(script.look) != NULL, answers[looks - 1] == DENIED);
    lease_probe_free(script.look);
    script.look = NULL; /* a request may be in progress */
    script.seen[looks] = '\0';
    if (strcmp(script.seen, seen) != 0 || script.wrong)
        fail_msg("%s: \"%s\", and not \"%s\"", answers, script.seen, seen);
    fake_stop(api);
}

CASE(only_changes_count)
{
    enum { AT_ONCE = 1, NEVER = 3600 * 1000 };
    static const struct {
        const char *answers, *seen;
        int seconds;
        int64_t patience_ms;
    } rows[] = {
        {"r=", "?G", 0, AT_ONCE},      {"rr=", "?LG", 0, AT_ONCE}, {"rr==r", "?LLLL", 0, NEVER},
        {"r==", "???", 3600, AT_ONCE}, /* the holder's duration allows it */
        {"r=r", "?GL", 0, AT_ONCE},    /* it came back */
        {"rf=", "??G", 0, AT_ONCE},    /* released: a write, but not alive */
        {"rrf", "?LL", 0, NEVER},      /* released, but another replica may take it */
        {"--", "?G", 0, AT_ONCE},      {"-r", "?L", 0, AT_ONCE},   {"r--", "??G", 0, AT_ONCE},
        {"r=-", "?GG", 0, AT_ONCE},   /* cleared away */
        {"rx==", "? ?G", 0, AT_ONCE}, /* the holder could not renew it either */
        {"dd", "LL", 0, AT_ONCE},      {"dr=", "LLG", 0, AT_ONCE},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        play(rows[i].answers, rows[i].seen, rows[i].seconds, rows[i].patience_ms);
}

CASE(it_may_be_freed_at_any_time)
{
    for (int requests = 0; requests < 2; requests++) {
        struct script script = {.answers = "r"};
        struct fake_api *api = fake_start(answer, &script);
        fake_connect(api, &(struct kube_client_options){0});
        script.look = lease_probe_new(
            api->loop, api->client,
            &(struct lease_probe_spec){
                .namespace_ = "ns", .name = "theirs", .seen = on_seen, .arg = &script});
        FAKE_WAIT(api, lease_probe_begun(script.look) == requests);
        lease_probe_free(script.look);
        script.look = NULL;
        fake_stop(api);
    }
    lease_probe_free(NULL);
}
