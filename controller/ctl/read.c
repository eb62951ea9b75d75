#include "ctl/read.h"

#include <string.h>

const struct kube_resource read_canaries = {
    .group = "flagger.app", .version = "v1beta1", .plural = "canaries", .kind = "Canary"};

struct waiting {
    struct ctl *ctl;
    struct read_answer *answer;
    struct json_object *items; /* of a list */
    size_t *left;
    bool full;
};

static void on_answer(void *arg, const struct kube_result *result)
{
    struct waiting *w = arg;

    w->answer->err = result->err;
    w->answer->status = result->status;
    if (result->info)
        w->answer->info = *result->info;
    if (result->body)
        w->answer->body = json_own(w->ctl->arena, json_object_get(result->body));
    --*w->left;
}

static void start(struct waiting *w, const struct kube_request *request)
{
    struct kube_request timed = *request;

    if (w->ctl->timeout_ms > 0)
        timed.timeout_ms = w->ctl->timeout_ms;
    *w->answer = (struct read_answer){0};
    kube_send(w->ctl->kube, &timed, on_answer, w);
}

static void wait_for(struct ctl *ctl, const size_t *left)
{
    while (*left > 0)
        uv_run(loop_uv(ctl->loop), UV_RUN_ONCE);
}

void read_calls(struct ctl *ctl, const struct kube_request *requests, struct read_answer *answers,
                size_t count)
{
    struct waiting *waiting = arena_array(ctl->arena, count, sizeof(*waiting));
    size_t left = count;

    for (size_t i = 0; i < count; i++) {
        waiting[i] = (struct waiting){.ctl = ctl, .answer = &answers[i], .left = &left};
        start(&waiting[i], &requests[i]);
    }
    wait_for(ctl, &left);
}

enum err read_call(struct ctl *ctl, const struct kube_request *request, struct json_object **body,
                   struct errinfo *ei)
{
    struct read_answer answer;

    read_calls(ctl, request, &answer, 1);
    *body = answer.body;
    if (answer.err != ERR_OK && ei)
        *ei = answer.info;
    return answer.err;
}

enum err read_get(struct ctl *ctl, const struct kube_resource *resource, const char *namespace_,
                  const char *name, struct json_object **out, struct errinfo *ei)
{
    const struct kube_request request = {
        .verb = KUBE_GET, .resource = resource, .namespace_ = namespace_, .name = name};

    return read_call(ctl, &request, out, ei);
}

/* --- lists, page by page */

static bool on_item(void *arg, struct json_object *item, bool whole)
{
    struct waiting *w = arg;

    w->full = json_len(w->items) >= READ_MOST;
    if (!w->full && whole)
        json_object_array_add(w->items, json_object_get(item));
    return !w->full;
}

static const char *list_query(struct ctl *ctl, const char *selector, const char *fields,
                              const char *after)
{
    const char *query = "limit=500";

    if (selector)
        query = arena_printf(ctl->arena, "%s&labelSelector=%s", query,
                             url_encode(ctl->arena, selector));
    if (fields)
        query =
            arena_printf(ctl->arena, "%s&fieldSelector=%s", query, url_encode(ctl->arena, fields));
    if (after)
        query = arena_printf(ctl->arena, "%s&continue=%s", query, url_encode(ctl->arena, after));
    return query;
}

enum err read_list(struct ctl *ctl, const struct read_what *what, struct json_object **out,
                   struct errinfo *ei)
{
    const char *after = NULL;
    struct read_answer answer;

    *out = json_own(ctl->arena, json_object_new_array());
    do {
        const struct kube_request request = {
            .verb = KUBE_LIST,
            .resource = what->resource,
            .namespace_ = what->namespace_,
            .query = list_query(ctl, what->selector, what->fields, after),
            .on_item = on_item};
        size_t left = 1;
        struct waiting w = {.ctl = ctl, .answer = &answer, .items = *out, .left = &left};
        start(&w, &request);
        wait_for(ctl, &left);
        if (w.full)
            return err_set(ei, ERR_INVALID,
                           "there are more than %d %s: ask for those of one "
                           "namespace, or with a selector",
                           READ_MOST, what->resource->plural);
        if (answer.err != ERR_OK) {
            *ei = answer.info;
            return answer.err;
        }
        after = json_str_at(answer.body, "metadata", "continue", NULL);
    } while (after && *after);
    return ERR_OK;
}

/* --- errors for people */

int read_fail(const struct ctl *ctl, enum err err, const struct errinfo *ei)
{
    const char *hint = "";

    if (err == ERR_RETRY && ei->status == 0)
        hint = arena_printf(ctl->arena, " (is %s the right server? --context names another one)",
                            ctl->config->server);
    else if (err == ERR_DENIED && ei->status == 401)
        hint = " (the server does not know who asks: log in again)";
    else if (err == ERR_DENIED)
        hint = " (ask whoever gives rights in this cluster)";
    return ctl_fail(ctl, CTL_SERVER, "%s%s", ei->text, hint);
}

int read_canary_fail(const struct ctl *ctl, const char *name, enum err err,
                     const struct errinfo *ei)
{
    if (err != ERR_NOT_FOUND)
        return read_fail(ctl, err, ei);
    if (strstr(ei->text, "could not find the requested resource"))
        return ctl_fail(ctl, CTL_SERVER,
                        "the cluster has no Canaries: their CRD is not installed (%s crds | "
                        "kubectl apply -f -)",
                        ctl->program);
    return ctl_fail(ctl, CTL_SERVER,
                    "there is no Canary \"%s\" in namespace \"%s\"; %s get -A lists all", name,
                    ctl->namespace_, ctl->program);
}

int read_canary(struct ctl *ctl, const char *name, struct json_object **out)
{
    struct errinfo ei = {0};
    enum err err = read_get(ctl, &read_canaries, ctl->namespace_, name, out, &ei);

    return err == ERR_OK ? CTL_DONE : read_canary_fail(ctl, name, err, &ei);
}

static void on_pause(void *arg)
{
    *(bool *)arg = true;
}

void read_pause(struct ctl *ctl, int64_t ms)
{
    bool over = false;

    timer_start(ctl->loop, ms, 0, on_pause, &over);
    while (!over)
        uv_run(loop_uv(ctl->loop), UV_RUN_ONCE);
}

static const struct kube_resource reviews = {.group = "authentication.k8s.io",
                                             .version = "v1",
                                             .plural = "selfsubjectreviews",
                                             .kind = "SelfSubjectReview",
                                             .cluster_scoped = true};

enum err person_name(struct ctl *ctl, const char *as_name, const char **out, struct errinfo *ei)
{
    struct json_object *body = json_own(ctl->arena, json_object_new_object()), *answer = NULL;
    const struct kube_request request = {.verb = KUBE_CREATE, .resource = &reviews, .body = body};

    *out = as_name;
    if (as_name)
        return ERR_OK;
    json_set_str(body, "apiVersion", "authentication.k8s.io/v1");
    json_set_str(body, "kind", "SelfSubjectReview");
    enum err err = read_call(ctl, &request, &answer, ei);
    if (err != ERR_OK && err != ERR_NOT_FOUND)
        return err;
    *out = json_str_at(answer, "status", "userInfo", "username", NULL);
    if (err == ERR_OK && *out)
        return ERR_OK;
    return err_set(ei, ERR_NOT_FOUND,
                   "the API server cannot say who you are (SelfSubjectReview is of Kubernetes 1.28 "
                   "and later): give --as-name");
}
