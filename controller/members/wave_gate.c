/* The gate behind a wave, asked as a confirm hook of a Canary is. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "members/wave_parts.h"
#include "proto/webhook.h"

enum { MAX_ANSWER = 64 * 1024, MAX_SAYS = 400 };

struct wave_gate {
    struct http_call *call;
    wave_gate_fn done;
    void *arg;
    bool freed;
};

static void on_reply(void *arg, const struct http_result *result)
{
    struct wave_gate *gate = arg;
    struct arena *arena = arena_new();
    bool open = result->err == ERR_OK && webhook_passes(result->status);
    const char *says = result->err != ERR_OK ? result->info->text : result->body;

    if (!says || !*says)
        says = arena_printf(arena, "it answered %d", result->status);
    if (strlen(says) > MAX_SAYS)
        says = arena_strndup(arena, says, utf8_cut(says, MAX_SAYS));
    if (!gate->freed)
        gate->done(gate->arg, open, says);
    arena_free(arena);
    free(gate);
}

static const char *message(struct arena *arena, const struct releaseplan *plan,
                           const struct releaseplan_wave *wave, const char *revision)
{
    struct json_object *metadata = json_own(arena, json_object_new_object());

    if (wave->gate->metadata) {
        json_object_object_foreach(wave->gate->metadata, key, value)
        {
            json_set(metadata, key, value);
        }
    }
    json_set_str(metadata, "wave", wave->name);
    const struct webhook_message what = {.name = plan->name,
                                         .namespace_ = plan->namespace_,
                                         .phase = phase_name(PHASE_WaitingPromotion),
                                         .checksum = revision,
                                         .metadata = metadata};
    return webhook_text(arena, &what);
}

struct wave_gate *wave_gate_ask(struct members_context *context, const struct releaseplan *plan,
                                const struct releaseplan_wave *wave, const char *revision,
                                wave_gate_fn done, void *arg)
{
    static const struct http_header headers[] = {{"Content-Type", "application/json"}, {0}};
    struct wave_gate *gate = heap_alloc(sizeof(*gate));
    struct arena *arena = arena_new();
    const char *body = message(arena, plan, wave, revision);
    const struct http_request request = {.method = "POST",
                                         .url = wave->gate->url,
                                         .headers = headers,
                                         .body = body,
                                         .body_len = strlen(body),
                                         .timeout_ms = wave->gate->timeout_ms,
                                         .max_body = MAX_ANSWER,
                                         .owner = plan->namespace_,
                                         .secret_path = true};

    *gate = (struct wave_gate){.done = done, .arg = arg};
    gate->call = http_send(context->outside, &request, on_reply, gate);
    arena_free(arena);
    return gate;
}

void wave_gate_free(struct wave_gate *gate)
{
    if (!gate)
        return;
    gate->freed = true;
    http_cancel(gate->call);
}
