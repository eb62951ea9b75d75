/*
 * ngrinder: starts a clone of a performance test on an nGrinder controller and polls its state
 * until it has ended. REST API of nGrinder 3.5 (wiki "REST API PerfTest"): clone_and_start returns
 * the new test, {id}/status a list whose first element has a status_id, and PUT {id}?action=stop
 * ends it. Basic authentication; success:false in an answer is an error.
 */
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/json.h"
#include "loadtester/task.h"

enum { POLL_MS = 1000, MAX_ANSWER = 256 * 1024 };

struct ngrinder {
    const char *server; /* without a trailing slash */
    const char *clone;
    const char *authorization;
    int64_t poll_ms;
    int64_t id; /* id of the running test, -1 if not known yet */
};

/* metadata.passwd is base64, so that it is not readable at a glance. */
static enum err read_login(struct arena *arena, const struct webhook_message *message,
                           struct ngrinder *ngrinder, struct errinfo *ei)
{
    const char *user, *password;
    char *clear;
    size_t len;
    enum err err = task_need(arena, message, "username", &user, ei);

    if (err == ERR_OK)
        err = task_need(arena, message, "passwd", &password, ei);
    if (err != ERR_OK)
        return err;
    if (base64_decode(arena, password, &clear, &len, NULL) != ERR_OK || strlen(clear) != len)
        return err_set(ei, ERR_INVALID, "metadata.passwd: expected base64");
    const char *login = arena_printf(arena, "%s:%s", user, clear);
    ngrinder->authorization =
        arena_printf(arena, "Basic %s", base64_encode(arena, login, strlen(login)));
    return ERR_OK;
}

static enum err read_clone(struct arena *arena, const struct webhook_message *message,
                           struct ngrinder *ngrinder, struct errinfo *ei)
{
    enum err err = task_need(arena, message, "clone", &ngrinder->clone, ei);

    if (err == ERR_OK && (strspn(ngrinder->clone, "0123456789") != strlen(ngrinder->clone) ||
                          strlen(ngrinder->clone) > 18))
        err = err_set(ei, ERR_INVALID,
                      "metadata.clone: expected the number of a test, found \"%.80s\"",
                      ngrinder->clone);
    return err;
}

static enum err read_poll(const struct webhook_message *message, struct ngrinder *ngrinder,
                          struct errinfo *ei)
{
    const char *text = webhook_metadata(message, "pollInterval");

    ngrinder->poll_ms = POLL_MS;
    if (!text)
        return ERR_OK;
    if (duration_parse_ms(text, &ngrinder->poll_ms, NULL) != ERR_OK || ngrinder->poll_ms < 100)
        return err_set(ei, ERR_INVALID,
                       "metadata.pollInterval: expected a duration of at least 100ms, found "
                       "\"%.80s\"",
                       text);
    return ERR_OK;
}

static void request(const struct ngrinder *ngrinder, const char *method, const char *url,
                    struct remote_request *out)
{
    *out = (struct remote_request){
        .method = method, .url = url, .authorization = ngrinder->authorization};
}

/* The answer as JSON; success:false is an error with a message. */
static struct json_object *read_answer(struct arena *arena, const struct remote_answer *answer,
                                       struct errinfo *ei)
{
    struct json_object *tree = NULL;

    if (answer->status == 0)
        err_set(ei, ERR_RETRY, "nGrinder: %s", answer->text);
    else if (answer->status / 100 != 2)
        err_set(ei, ERR_RETRY, "nGrinder answered %d",
                answer->status); /* without the body, which may be any server's page */
    else if (json_parse(arena, answer->text, strlen(answer->text), MAX_ANSWER, &tree, ei) != ERR_OK)
        err_wrap(ei, ERR_INVALID, "nGrinder's answer");
    else if (!json_bool_at(tree, true, "success", NULL)) {
        err_set(ei, ERR_RETRY, "nGrinder answered that it had no success");
        tree = NULL;
    } else if (!tree)
        err_set(ei, ERR_INVALID, "nGrinder answered null");
    return tree;
}

static enum remote_next request_status(struct ngrinder *ngrinder, struct arena *arena,
                                       struct remote_request *out)
{
    request(ngrinder, "GET",
            arena_printf(arena, "%s/perftest/api/%lld/status", ngrinder->server,
                         (long long)ngrinder->id),
            out);
    out->wait_ms = ngrinder->poll_ms;
    return REMOTE_SEND;
}

static enum remote_next hear_status(struct ngrinder *ngrinder, struct arena *arena,
                                    struct json_object *tree, struct remote_request *out,
                                    struct errinfo *ei)
{
    static const char *const failures[] = {"STOP_BY_ERROR", "STOP_ON_ERROR", "CANCELED", "UNKNOWN",
                                           NULL};
    struct json_object *list = json_at(tree, "status", NULL);
    struct json_object *test = json_elem(list ? list : tree, 0);
    const char *state = json_str_at(test, "status_id", NULL);

    if (!state) {
        err_set(ei, ERR_INVALID, "nGrinder's answer has no status_id");
        return REMOTE_FAILED;
    }
    if (strcmp(state, "FINISHED") == 0)
        return REMOTE_DONE;
    for (int i = 0; failures[i]; i++) {
        if (strcmp(state, failures[i]) == 0) {
            err_set(ei, ERR_RETRY, "nGrinder test %lld ended as %s", (long long)ngrinder->id,
                    state);
            return REMOTE_FAILED;
        }
    }
    return request_status(ngrinder, arena, out);
}

static enum remote_next next(void *state, struct arena *arena, const char *secret,
                             const struct remote_answer *answer, struct remote_request *out,
                             struct errinfo *ei)
{
    struct ngrinder *ngrinder = state;

    (void)secret;
    if (!answer) {
        request(ngrinder, "POST",
                arena_printf(arena, "%s/perftest/api/%s/clone_and_start", ngrinder->server,
                             ngrinder->clone),
                out);
        return REMOTE_SEND;
    }
    struct json_object *tree = read_answer(arena, answer, ei);
    if (!tree)
        return REMOTE_FAILED;
    if (ngrinder->id >= 0)
        return hear_status(ngrinder, arena, tree, out, ei);
    ngrinder->id = json_int_at(tree, -1, "id", NULL);
    if (ngrinder->id < 0) {
        err_set(ei, ERR_INVALID, "nGrinder's answer has no id");
        return REMOTE_FAILED;
    }
    return request_status(ngrinder, arena, out);
}

static bool cancel(void *state, struct arena *arena, const char *secret, struct remote_request *out)
{
    struct ngrinder *ngrinder = state;

    (void)secret;
    if (ngrinder->id < 0)
        return false;
    request(ngrinder, "PUT",
            arena_printf(arena, "%s/perftest/api/%lld?action=stop", ngrinder->server,
                         (long long)ngrinder->id),
            out);
    return true;
}

static const struct remote remote = {.next = next, .cancel = cancel};

static enum err make(struct arena *arena, const struct webhook_message *message,
                     const struct task_policy *policy, struct task_plan *out, struct errinfo *ei)
{
    struct ngrinder *ngrinder = ARENA_NEW(arena, struct ngrinder);
    const char *server;
    enum err err = task_need(arena, message, "server", &server, ei);

    ngrinder->id = -1;
    if (err == ERR_OK)
        err = task_url(arena, "server", server, &ngrinder->server, ei);
    if (err == ERR_OK)
        err = task_service(policy, "ngrinder", ngrinder->server, ei);
    if (err == ERR_OK)
        err = read_clone(arena, message, ngrinder, ei);
    if (err == ERR_OK)
        err = read_login(arena, message, ngrinder, ei);
    if (err == ERR_OK)
        err = read_poll(message, ngrinder, ei);
    if (err == ERR_OK)
        err = task_read_bounds(message, &out->bounds, ei);
    if (err != ERR_OK)
        return err;
    out->remote = &remote;
    out->remote_state = ngrinder;
    out->text = out->key =
        arena_printf(arena, "ngrinder clone %s of %s", ngrinder->clone, ngrinder->server);
    return ERR_OK;
}

const struct task_type task_type_ngrinder = {.name = "ngrinder", .make = make};
