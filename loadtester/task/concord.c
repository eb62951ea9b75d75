/*
 * concord: runs a process on a Concord server (concord.walmartlabs.com, API "Process") and waits
 * for its end: a multipart POST to /api/v1/process returns instanceId, GET /api/v1/process/{id} the
 * status. The content of the file metadata.apiKeyPath is sent as Authorization.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "loadtester/task.h"

enum { POLL_S = 5, TIMEOUT_S = 30, MAX_ANSWER = 256 * 1024, MAX_FORM = 1024 * 1024, MAX_ID = 64 };
#define ARGUMENTS "arguments."

struct concord {
    const char *server;
    const char *content_type;
    const char *form; /* the multipart body */
    int64_t poll_ms;
    char id[MAX_ID + 1]; /* id of the process, "" if not known yet */
};

/* Header and value of a part are checked, so that no value can add a part. */
static enum err add_part(struct buf *form, const char *boundary, const char *name,
                         const char *value, struct errinfo *ei)
{
    if (strpbrk(name, "\r\n\"\\") || strstr(value, boundary))
        return err_set(ei, ERR_INVALID,
                       "metadata.%.80s: cannot be sent to Concord as a part of a form", name);
    buf_printf(form, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n", boundary, name);
    buf_puts(form, value);
    buf_puts(form, "\r\n");
    return ERR_OK;
}

static enum err add_arguments(struct buf *form, const char *boundary, struct json_object *metadata,
                              struct errinfo *ei)
{
    json_object_object_foreach(metadata, key, value)
    {
        (void)value;
        if (strncmp(key, ARGUMENTS, strlen(ARGUMENTS)) != 0 ||
            strcmp(key, ARGUMENTS "endpoint") == 0)
            continue;
        const char *text = json_str_at(metadata, key, NULL);
        enum err err = add_part(form, boundary, key, text ? text : "", ei);
        if (err != ERR_OK)
            return err;
    }
    return ERR_OK;
}

static enum err build_form(struct arena *arena, const struct webhook_message *message,
                           struct concord *concord, struct errinfo *ei)
{
    static const struct {
        const char *key, *part;
    } parts[] = {{"org", "org"},
                 {"project", "project"},
                 {"repo", "repo"},
                 {"entrypoint", "entryPoint"},
                 {"endpoint", ARGUMENTS "endpoint"}};
    static const char boundary[] = "flagger-c-5f2b7c1e9a";
    enum err err = ERR_OK;
    struct buf form;

    buf_init(&form, MAX_FORM);
    for (size_t i = 0; err == ERR_OK && i < sizeof(parts) / sizeof(parts[0]); i++) {
        const char *value;
        err = task_need(arena, message, parts[i].key, &value, ei);
        if (err == ERR_OK)
            err = add_part(&form, boundary, parts[i].part, value, ei);
    }
    if (err == ERR_OK)
        err = add_arguments(&form, boundary, message->metadata, ei);
    buf_printf(&form, "--%s--\r\n", boundary);
    if (err == ERR_OK && form.truncated)
        err = err_set(ei, ERR_INVALID, "metadata is longer than %d bytes", MAX_FORM);
    concord->form = arena_strndup(arena, form.data, form.len);
    concord->content_type = arena_printf(arena, "multipart/form-data; boundary=%s", boundary);
    buf_fini(&form);
    return err;
}

static enum err read_seconds(const struct webhook_message *message, const char *key, int missing,
                             int64_t *ms, struct errinfo *ei)
{
    const char *text = webhook_metadata(message, key);
    int64_t seconds = missing;

    if (text) {
        seconds = 0;
        if (strlen(text) > 6 || strspn(text, "0123456789") != strlen(text))
            seconds = -1;
        for (const char *at = text; *at && seconds >= 0; at++)
            seconds = seconds * 10 + (*at - '0');
        if (seconds <= 0)
            return err_set(ei, ERR_INVALID,
                           "metadata.%s: expected whole seconds above 0, found \"%.80s\"", key,
                           text);
    }
    *ms = seconds * 1000;
    return ERR_OK;
}

static void request(const char *method, const char *url, const char *secret,
                    struct remote_request *out)
{
    *out = (struct remote_request){.method = method, .url = url, .authorization = secret};
}

static enum remote_next request_status(struct concord *concord, struct arena *arena,
                                       const char *secret, struct remote_request *out)
{
    request("GET", arena_printf(arena, "%s/api/v1/process/%s", concord->server, concord->id),
            secret, out);
    out->wait_ms = concord->poll_ms;
    return REMOTE_SEND;
}

static struct json_object *read_answer(struct arena *arena, const struct remote_answer *answer,
                                       struct errinfo *ei)
{
    struct json_object *tree = NULL;

    if (answer->status == 0)
        err_set(ei, ERR_RETRY, "Concord: %s", answer->text);
    else if (answer->status / 100 != 2)
        err_set(ei, ERR_RETRY, "Concord answered %d", answer->status);
    else if (json_parse(arena, answer->text, strlen(answer->text), MAX_ANSWER, &tree, ei) != ERR_OK)
        err_wrap(ei, ERR_INVALID, "Concord's answer");
    else if (!tree)
        err_set(ei, ERR_INVALID, "Concord answered null");
    return tree;
}

/* An id becomes part of URLs: only characters of Concord's ids (UUIDs) are accepted. */
static bool is_id(const char *id)
{
    size_t len = id ? strlen(id) : 0;

    return len > 0 && len <= MAX_ID && strspn(id, "0123456789abcdefABCDEF-") == len;
}

static enum remote_next hear_status(struct concord *concord, struct arena *arena,
                                    const char *secret, struct json_object *tree,
                                    struct remote_request *out, struct errinfo *ei)
{
    static const char *const failures[] = {"FAILED", "CANCELLED", "TIMED_OUT", NULL};
    const char *status = json_str_at(tree, "status", NULL);

    if (status && strcmp(status, "FINISHED") == 0)
        return REMOTE_DONE;
    for (int i = 0; status && failures[i]; i++) {
        if (strcmp(status, failures[i]) == 0) {
            err_set(ei, ERR_RETRY, "Concord process %s ended as %s", concord->id, status);
            return REMOTE_FAILED;
        }
    }
    return request_status(concord, arena, secret, out);
}

/* A file ends with a line break, which a header must not. */
static const char *key_of(struct arena *arena, const char *secret)
{
    return arena_strndup(arena, secret, strcspn(secret, "\r\n"));
}

static enum remote_next next(void *state, struct arena *arena, const char *secret,
                             const struct remote_answer *answer, struct remote_request *out,
                             struct errinfo *ei)
{
    struct concord *concord = state;
    const char *key = key_of(arena, secret);

    if (!answer) {
        request("POST", arena_printf(arena, "%s/api/v1/process", concord->server), key, out);
        out->content_type = concord->content_type;
        out->body = concord->form;
        return REMOTE_SEND;
    }
    struct json_object *tree = read_answer(arena, answer, ei);
    if (!tree)
        return REMOTE_FAILED;
    if (*concord->id)
        return hear_status(concord, arena, key, tree, out, ei);
    const char *id = json_str_at(tree, "instanceId", NULL);
    if (!is_id(id)) {
        err_set(ei, ERR_INVALID, "Concord's answer has no instanceId");
        return REMOTE_FAILED;
    }
    snprintf(concord->id, sizeof(concord->id), "%s", id);
    return request_status(concord, arena, key, out);
}

/* DELETE /api/v1/process/{id} kills a process. */
static bool cancel(void *state, struct arena *arena, const char *secret, struct remote_request *out)
{
    struct concord *concord = state;

    if (!*concord->id)
        return false;
    request("DELETE", arena_printf(arena, "%s/api/v1/process/%s", concord->server, concord->id),
            key_of(arena, secret), out);
    return true;
}

static const struct remote remote = {.next = next, .cancel = cancel};

static enum err make(struct arena *arena, const struct webhook_message *message,
                     const struct task_policy *policy, struct task_plan *out, struct errinfo *ei)
{
    struct concord *concord = ARENA_NEW(arena, struct concord);
    const char *server, *path;
    enum err err = task_need(arena, message, "server", &server, ei);

    if (err == ERR_OK)
        err = task_url(arena, "server", server, &concord->server, ei);
    if (err == ERR_OK)
        err = task_service(policy, "concord", concord->server, ei);
    if (err == ERR_OK)
        err = task_need(arena, message, "apiKeyPath", &path, ei);
    if (err == ERR_OK)
        err = task_file(policy, "apiKeyPath", path, &out->remote_secret, ei);
    if (err == ERR_OK)
        err = build_form(arena, message, concord, ei);
    if (err == ERR_OK)
        err = read_seconds(message, "pollInterval", POLL_S, &concord->poll_ms, ei);
    if (err == ERR_OK)
        err = read_seconds(message, "pollTimeout", TIMEOUT_S, &out->timeout_ms, ei);
    if (err != ERR_OK)
        return err;
    out->remote = &remote;
    out->remote_state = concord;
    out->remote_secret_dir = policy->key_dir;
    out->text = arena_printf(arena, "concord %s %s of %s", webhook_metadata(message, "project"),
                             webhook_metadata(message, "entrypoint"), concord->server);
    /* other arguments, or another key, mean another process */
    out->key = arena_printf(arena, "%s %s %s", concord->server, out->remote_secret, concord->form);
    return ERR_OK;
}

const struct task_type task_type_concord = {.name = "concord", .blocking = true, .make = make};
