/*
 * Alerts: whatever stands in the texts and names of one, its request is whole (JSON in UTF-8); whatever a service answers is "taken" or a sentence without the
 * secrets. The first bytes choose the notifier, the status and where the text goes.
 */
#include <assert.h>
#include <string.h>

#include "base/encoding.h"
#include "base/json.h"
#include "fuzz.h"
#include "notify/notify.h"

enum { MOST = 1024 * 1024 };

static void check_request(struct arena *arena, const struct notifier *notifier,
                          const struct address *address, const struct alert *alert)
{
    struct http_request request;
    struct json_object *body;
    struct errinfo ei;

    if (notify_request(arena, notifier, address, alert, NULL, &request, &ei) != ERR_OK)
        return;
    assert(strlen(request.body) == request.body_len);
    assert(json_parse(arena, request.body, request.body_len, MOST, &body, &ei) == ERR_OK);
}

static void check_answer(struct arena *arena, const struct address *address,
                         const struct http_result *result)
{
    bool again = false, once_more = false;
    const char *said = notify_refusal(arena, address, result, &again);
    const char *said_again = notify_refusal(arena, address, result, &once_more);

    assert((said == NULL) == (said_again == NULL) && again == once_more);
    if (!said)
        return;
    for (const char *c = said; *c; c++)
        assert((unsigned char)*c >= ' ' && *c != 0x7f);
    assert(*said && strcmp(said, said_again) == 0 && strlen(said) < 400);
    assert(!strstr(said, "s3cretpath") && !strstr(said, "t0ken"));
    assert(!utf8_valid(result->body, result->body_len) || utf8_valid(said, strlen(said)));
}

FUZZ_TARGET(arena, data, size)
{
    static const int statuses[] = {200, 204, 404, 503};
    size_t notifiers = 0;

    while (notifier_table[notifiers])
        notifiers++;
    if (size < 3 || notifiers == 0)
        return;
    const struct notifier *notifier = notifier_table[data[0] % notifiers];
    const char *text = arena_strndup(arena, (const char *)data + 3, size - 3);
    struct address address = {.url = "https://h/s3cretpath",
                              .token = "t0ken",
                              .username = data[2] & 1 ? text : "flagger",
                              .channel = data[2] & 2 ? text : "general"};
    struct alert alert = {.canary = "podinfo",
                          .namespace_ = "test",
                          .severity = data[2] & 4 ? "info" : "error",
                          .text = text,
                          .key = "key",
                          .service = "deployment/podinfo",
                          .cluster = data[2] & 8 ? text : NULL,
                          .change = (enum alert_change)(data[2] >> 4 & 3),
                          .image = data[2] & 64 ? text : "",
                          .at = data[2] & 128 ? "2026-11-27T02:15:00Z" : NULL,
                          .fields = {{"Reason", text}},
                          .n_fields = 1};
    const struct http_result result = {
        .status = statuses[data[1] % 4], .body = text, .body_len = strlen(text)};

    check_request(arena, notifier, &address, &alert);
    check_answer(arena, &address, &result);
}
