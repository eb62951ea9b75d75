/* proto/: webhook messages, Canaries, Applications, and what is hashed. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "proto/application.h"
#include "proto/canary.h"
#include "proto/releaseplan.h"
#include "proto/spechash.h"
#include "proto/webhook_message.h"

/* What was read can be written, and then be read again as the same. */
static void check_webhook(struct arena *arena, const char *text, size_t len)
{
    struct webhook_message first, second;
    if (webhook_parse(arena, text, len, &first, NULL) != ERR_OK)
        return;
    const char *written = webhook_text(arena, &first);
    if (webhook_parse(arena, written, strlen(written), &second, NULL) != ERR_OK ||
        strcmp(written, webhook_text(arena, &second)) != 0)
        abort();
}

static void check_hook(const struct canary_webhook *hook)
{
    bool gate = hook_type_is_gate(hook->type);
    if (!hook->name || !hook->url || hook->timeout_ms <= 0 || hook->retries < 0 ||
        hook->deadline_ms < 0 || (hook->deadline_ms > 0 && !gate) ||
        (hook->approve_at_deadline && hook->deadline_ms == 0))
        abort();
    for (int i = 0; i < hook->n_headers_from; i++)
        if (!hook->headers_from[i] || !*hook->headers_from[i])
            abort();
}

/* A Canary that was accepted keeps what canary.h promises. */
static void check_canary(struct arena *arena, struct json_object *obj)
{
    struct canary canary;
    if (canary_view(arena, obj, &canary, NULL) != ERR_OK)
        return;
    const struct canary_analysis *analysis = &canary.analysis;
    if (!canary.name || !canary.target.name || !canary.service.primary_name ||
        analysis->max_weight < 1 || analysis->max_weight > WEIGHT_ALL || analysis->threshold < 1)
        abort();
    for (int i = 1; i < analysis->n_step_weights; i++) {
        if (analysis->step_weights[i] <= analysis->step_weights[i - 1])
            abort();
    }
    for (int i = 0; i < analysis->n_webhooks; i++)
        check_hook(&analysis->webhooks[i]);
}

/* So does an Application. */
static void check_rollout(const struct rollout *rollout)
{
    const struct rollout_analysis *analysis = &rollout->analysis;
    if (!rollout->provider || !rollout->workload.name || !rollout->workload.namespace_ ||
        !rollout->service_name || rollout->port < 1 || rollout->port > 65535 ||
        (rollout->routing.weighted && rollout->routing.iterations > 0) || analysis->interval_s < 1)
        abort();
    for (int i = 0; i < analysis->n_metrics; i++)
        if (!analysis->metrics[i].name || analysis->metrics[i].interval_s < 1)
            abort();
    for (int i = 0; i < analysis->n_commands; i++)
        if (!*analysis->commands[i].text || analysis->commands[i].timeout_s < 1)
            abort();
}

static void check_application(struct arena *arena, struct json_object *obj)
{
    struct application app;
    if (application_view(arena, obj, &app, NULL) != ERR_OK)
        return;
    if (!app.name || !app.namespace_ || app.n_policies > APPLICATION_MAX_POLICIES)
        abort();
    for (int i = 0; i < app.n_policies; i++) {
        if (!app.policies[i].name)
            abort();
        if (app.policies[i].rollout)
            check_rollout(app.policies[i].rollout);
    }
}

/* Names of waves are unique, and the next opening time, if any, is in the future. */
static void check_plan(struct arena *arena, struct json_object *obj)
{
    struct releaseplan plan;
    int64_t until = 0;
    const char *why = NULL;
    if (releaseplan_view(arena, obj, &plan, NULL) != ERR_OK)
        return;
    if (!plan.name || !plan.namespace_ || plan.n_waves < 1 ||
        plan.n_waves > RELEASEPLAN_MAX_WAVES || !plan.waves[plan.n_waves - 1].name ||
        plan.waves[0].max_concurrent > 0 || !plan.application == !plan.canaries_namespace)
        abort();
    for (int64_t now = 0; now < 10 * (int64_t)86400000; now += 7777777)
        if (!releaseplan_is_open(arena, &plan, now, &until, &why) && (until <= now || !why))
            abort();
}

FUZZ_TARGET(arena, data, size)
{
    const char *text = (const char *)data;
    struct json_object *obj;
    check_webhook(arena, text, size);
    if (json_parse(arena, text, size, JSON_MAX_BYTES, &obj, NULL) == ERR_OK) {
        char hash[SPECHASH_TEXT], config[CONFIG_HASH_TEXT];
        check_canary(arena, obj);
        check_application(arena, obj);
        check_plan(arena, obj);
        enum err pod = spechash_pod_template(arena, obj, hash, NULL);
        enum err service = spechash_service(arena, obj, hash, NULL);
        (void)pod;
        (void)service;
        if (json_object_is_type(obj, json_type_object))
            confighash(arena, obj, config);
    }
}
