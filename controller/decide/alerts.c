#include "decide/alerts.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/json.h"
#include "decide/condition.h"
#include "decide/rules.h"
#include "decide/status.h"
#include "metric/template.h"
#include "tick/edit.h"

enum { MAX_TEXT = 1024 };

/* --- receivers */

/* "slack" and its address; false if alerts cannot be sent to it: *mistake says why. */
static bool read_provider(struct tick *tick, const struct canary_alert *alert, struct channel *out,
                          const char **mistake)
{
    const char *namespace_ = alert->provider.namespace_;
    struct json_object *provider;
    const char *denied;

    if (!namespace_ || !*namespace_)
        namespace_ = tick->canary->namespace_;
    const char *label = arena_printf(tick->arena, "%s.%s", alert->provider.name, namespace_);
    if (!need_object_if_allowed(tick, &alert_providers, namespace_, alert->provider.name, &provider,
                                &denied))
        return false;
    if (!provider) {
        *mistake =
            denied ? arena_printf(tick->arena, "AlertProvider %s cannot be read: %s", label, denied)
                   : arena_printf(tick->arena, "there is no AlertProvider %s", label);
        return false;
    }
    struct json_object *spec = json_at(provider, "spec", NULL);
    const char *type = json_str_at(spec, "type", NULL);
    const char *username = json_str_at(spec, "username", NULL);
    const char *channel = json_str_at(spec, "channel", NULL);
    const char *proxy = json_str_at(spec, "proxy", NULL);
    *out = (struct channel){
        .name = alert->name,
        .notifier = notifier_find(type),
        .address = {.url = json_str_at(spec, "address", NULL),
                    .proxy = proxy && *proxy ? proxy : NULL,
                    .username = username && *username ? username : "flagger",
                    .channel = channel && *channel ? channel : "general",
                    .template = json_str_at(spec, "body", NULL)},
        .secret = json_str_at(spec, "secretRef", "name", NULL),
        .secret_namespace = namespace_,
    };
    if (!out->notifier)
        *mistake = arena_printf(tick->arena,
                                "AlertProvider %s: spec.type \"%s\" is not known, expected %s",
                                label, type ? type : "", notifier_names(tick->arena));
    else if (!out->secret && (!out->address.url || !*out->address.url))
        *mistake = arena_printf(tick->arena,
                                "AlertProvider %s: expected spec.address or spec.secretRef", label);
    return !*mistake;
}

/* "info" receives every alert; "warn" includes errors. */
static bool listens(const char *alert, const char *severity)
{
    return strcmp(alert, "info") == 0 || strcmp(alert, severity) == 0 ||
           (strcmp(alert, "warn") == 0 && strcmp(severity, "error") == 0);
}

int alerts_channels(struct tick *tick, const char *severity, struct channel *out)
{
    const struct canary_analysis *analysis = &tick->canary->analysis;
    int n = 0;

    if (analysis->n_alerts == 0 && tick->settings->alerts) {
        out[0] = *tick->settings->alerts;
        return 1;
    }
    for (int i = 0; i < analysis->n_alerts && n < ALERT_CHANNELS_MAX; i++) {
        const char *mistake = NULL;
        if (listens(analysis->alerts[i].severity, severity) &&
            read_provider(tick, &analysis->alerts[i], &out[n], &mistake))
            n++;
    }
    return n;
}

/* --- contents */

static void add_field(struct alert *alert, const char *name, const char *value)
{
    if (value && *value && alert->n_fields < ALERT_FIELDS_MAX)
        alert->fields[alert->n_fields++] = (struct alert_field){name, value};
}

static const char *list_steps(struct arena *arena, const struct canary_analysis *analysis)
{
    const char *all = "";

    for (int i = 0; i < analysis->n_step_weights; i++)
        all = arena_printf(arena, "%s%s%s", all, i > 0 ? "," : "",
                           weight_text(arena, analysis->step_weights[i]));
    return all;
}

/* Worded as in Flagger, the maximum as written in the spec. */
static const char *traffic_routing(struct arena *arena, const struct canary *canary)
{
    const struct canary_analysis *analysis = &canary->analysis;

    if (canary->strategy == STRATEGY_AB_TESTING)
        return "A/B Testing";
    if (canary->strategy == STRATEGY_BLUE_GREEN)
        return "Blue/Green";
    if (analysis->step_weight > 0)
        return arena_printf(arena, "Weight step: %s max: %s",
                            weight_text(arena, analysis->step_weight),
                            weight_text(arena, analysis->max_weight_given));
    if (analysis->n_step_weights > 0)
        return arena_printf(arena, "Weight steps: %s max: %s", list_steps(arena, analysis),
                            weight_text(arena, analysis->max_weight_given));
    return NULL;
}

static void add_metadata(struct arena *arena, struct alert *alert, const struct canary *canary)
{
    add_field(alert, "Target",
              arena_printf(arena, "%s/%s.%s", canary->target.kind, canary->target.name,
                           canary->namespace_));
    add_field(alert, "Failed checks threshold",
              arena_printf(arena, "%d", canary->analysis.threshold));
    add_field(alert, "Progress deadline", arena_printf(arena, "%ds", canary->progress_deadline_s));
    add_field(alert, "Traffic routing", traffic_routing(arena, canary));
}

static const char *details_url(const struct tick *tick)
{
    const char *before = tick->settings->canaries_url;

    return before ? arena_printf(tick->arena, "%s%s/%s", before, tick->canary->namespace_,
                                 tick->canary->name)
                  : NULL;
}

/* "deployment/podinfo" */
static const char *service_of(struct arena *arena, const struct canary *canary)
{
    char *kind = arena_strdup(arena, canary->target.kind);

    for (char *at = kind; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return arena_printf(arena, "%s/%s", kind, canary->target.name);
}

struct alert alerts_message(struct tick *tick, const struct effect *effect)
{
    struct arena *arena = tick->arena;
    const struct canary *canary = tick->canary;
    struct alert alert = {.canary = canary->name,
                          .namespace_ = canary->namespace_,
                          .severity = effect->severity,
                          .text = effect->text,
                          .key = effect->key,
                          .service = service_of(arena, canary),
                          .cluster = tick->settings->cluster_name,
                          .change = alert_change_find(effect->change),
                          .image = effect->image,
                          .at = effect->at};

    add_field(&alert, "Cluster", tick->settings->cluster_name);
    if (effect->with_metadata)
        add_metadata(arena, &alert, canary);
    add_field(&alert, ALERT_REASON, effect->reason);
    add_field(&alert, "Details", details_url(tick));
    return alert;
}

/*
 * A message about the first unusable entry of analysis.alerts; NULL if none, or if not all
 * AlertProviders are known yet.
 */
static const char *alerts_mistake(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    const char *first = NULL;

    for (int i = 0; i < analysis->n_alerts; i++) {
        const char *mistake = NULL;
        struct channel channel;
        if (!read_provider(r->tick, &analysis->alerts[i], &channel, &mistake) && mistake && !first)
            first = arena_printf(r->tick->arena, "spec.analysis.alerts[%d]: %s", i, mistake);
    }
    return first;
}

/* --- pending alerts */

static const struct alert_state *state_of(const struct tick *tick, const char *key)
{
    for (int i = 0; i < tick->n_alerts; i++) {
        if (strcmp(tick->alerts[i].key, key) == 0)
            return &tick->alerts[i];
    }
    return NULL;
}

/* True if this Canary's alerts have a receiver. */
static bool is_heard(const struct release *r)
{
    return r->canary->analysis.n_alerts > 0 || r->tick->settings->alerts;
}

static struct json_object *pending_of(const struct release *r)
{
    return json_at(r->tick->canary->status.json, "pendingAlerts", NULL);
}

static void tell_again(struct tick *tick, struct json_object *owed)
{
    const char *severity = json_str_at(owed, "severity", NULL);
    struct effect *alert = plan_alert(tick, severity ? severity : "info",
                                      json_object_get_boolean(json_at(owed, "metadata", NULL)),
                                      "%s", json_str_at(owed, "text", NULL));

    alert->key = json_str_at(owed, "key", NULL);
    alert->reason = json_str_at(owed, "reason", NULL);
    alert->delivered = json_at(owed, "delivered", NULL);
    alert->change = json_str_at(owed, "change", NULL);
    alert->image = json_str_at(owed, "image", NULL);
    alert->at = json_str_at(owed, "at", NULL);
}

/*
 * Plans the pending alerts of an earlier process that no process is sending now. Called after the
 * receivers are known, and before any rule that reports something, since these alerts are older.
 */
static void alerts_repeat(struct release *r)
{
    struct json_object *pending = pending_of(r);

    for (size_t i = 0; is_heard(r) && i < json_len(pending); i++) {
        struct json_object *owed = json_elem(pending, i);
        const char *key = json_str_at(owed, "key", NULL);
        if (key && json_str_at(owed, "text", NULL) && !state_of(r->tick, key))
            tell_again(r->tick, owed);
    }
}

/* The next process need not send the alert to these channels again. Returns a reference. */
static struct json_object *with_delivered(struct arena *arena, struct json_object *owed,
                                          const struct alert_state *state)
{
    if (!state || !state->delivered || !state->delivered[0])
        return json_object_get(owed);
    struct json_object *out = json_copy(arena, owed), *names = json_object_new_array();
    for (const char *const *name = state->delivered; *name; name++)
        json_object_array_add(names, json_object_new_string(*name));
    json_object_object_add(out, "delivered", names);
    return json_object_get(out);
}

/* The pending alerts of the status that are not done; *done: true if some were. */
static struct json_object *still_owed(struct release *r, bool heard, bool *done)
{
    struct json_object *pending = pending_of(r);
    struct json_object *out = json_own(r->tick->arena, json_object_new_array());

    for (size_t i = 0; i < json_len(pending); i++) {
        struct json_object *owed = json_elem(pending, i);
        const char *key = json_str_at(owed, "key", NULL);
        const struct alert_state *state = key ? state_of(r->tick, key) : NULL;
        if (!heard || !key || !json_str_at(owed, "text", NULL) || (state && state->done)) {
            *done = true;
            continue;
        }
        json_object_array_add(out, with_delivered(r->tick->arena, owed, state));
    }
    return out;
}

/* Webhook answers may be long; a repeated alert carries the same text. */
static const char *shortened(struct arena *arena, const char *text)
{
    return text && strlen(text) > MAX_TEXT ? arena_strndup(arena, text, utf8_cut(text, MAX_TEXT))
                                           : text;
}

static struct json_object *owed_of(const struct tick *tick, const struct effect *effect)
{
    struct json_object *out = edit_object(tick->arena);

    json_set_str(out, "key", effect->key);
    json_set_str(out, "severity", effect->severity);
    json_set_str(out, "text", effect->text);
    if (effect->reason)
        json_set_str(out, "reason", effect->reason);
    if (effect->with_metadata)
        json_object_object_add(out, "metadata", json_object_new_boolean(true));
    if (effect->change) {
        json_set_str(out, "change", effect->change);
        json_set_str(out, "image", effect->image);
        json_set_str(out, "at", effect->at);
    }
    return out;
}

/* The image of the first container of the version that serves after the change; "" if it has
 * none. */
static const char *serving_image(const struct release *r)
{
    bool back = alert_change_find(r->tick->plan->change) == ALERT_ROLLED_BACK;
    struct json_object *workload = back ? r->info.primary : r->info.object;
    struct json_object *containers =
        json_at(workload, "spec", "template", "spec", "containers", NULL);
    const char *image = json_str_at(json_elem(containers, 0), "image", NULL);

    return image ? image : "";
}

/* The last new alert of the plan reports the change of the serving version. */
static void add_change(struct release *r)
{
    struct effect *last = NULL;
    char time[CLOCK_TEXT];

    for (struct effect *effect = r->tick->plan->first; effect; effect = effect->next) {
        if (effect->kind == EFFECT_ALERT && !effect->key)
            last = effect;
    }
    if (!last || !r->tick->plan->change)
        return;
    last->change = r->tick->plan->change;
    last->image = shortened(r->tick->arena, serving_image(r));
    last->at = arena_strdup(r->tick->arena, clock_rfc3339(r->tick->now_ms, time));
}

/*
 * Adds the alerts planned by this tick. A key contains the resource version before this tick: the
 * alert is sent once, since the status written with it is a newer version.
 */
static int add_new(struct release *r, struct json_object *pending)
{
    const struct tick *tick = r->tick;
    int n = 0;

    add_change(r);
    for (struct effect *effect = tick->plan->first; effect; effect = effect->next) {
        if (effect->kind != EFFECT_ALERT || effect->key)
            continue;
        effect->key = arena_printf(tick->arena, "%s-%s-%d", tick->canary->uid,
                                   tick->canary->resource_version, n++);
        effect->text = shortened(tick->arena, effect->text);
        effect->reason = shortened(tick->arena, effect->reason);
        json_object_array_add(pending, json_object_get(owed_of(tick, effect)));
    }
    return n;
}

void alerts_owe(struct release *r)
{
    bool done = false, heard = is_heard(r);
    struct json_object *pending = still_owed(r, heard, &done);

    if (heard && add_new(r, pending) > 0)
        done = true;
    else if (!r->status && !release_is_idle(r))
        return; /* the next status patch removes them */
    if (!done &&
        !status_differs(r)) /* deliveries are recorded with the next write that happens anyway */
        return;
    size_t n = json_len(pending);
    if (n > ALERTS_PENDING_MAX) {
        event_warning(r, "More than %d alerts are not delivered, the oldest is dropped",
                      ALERTS_PENDING_MAX);
        json_object_array_del_idx(pending, 0, n - ALERTS_PENDING_MAX);
    }
    status_object(r, "pendingAlerts", n > 0 ? pending : NULL);
}

/*
 * Receivers of a Canary's alerts. A missing or wrong AlertProvider, or a service that refuses
 * alerts, does not block a release: the condition AlertsDelivered reports it.
 */

/* An alert that could not be delivered so far; *delivered: true if another one was. */
static const char *find_trouble(const struct tick *tick, bool *delivered)
{
    const char *trouble = NULL;

    for (int i = 0; i < tick->n_alerts; i++) {
        if (tick->alerts[i].trouble)
            trouble = tick->alerts[i].trouble;
        else
            *delivered = *delivered || tick->alerts[i].done;
    }
    return trouble;
}

static void tell(struct release *r, const char *reason, const char *text)
{
    if (!condition_has_reason(r, CONDITION_ALERTS, reason))
        event_warning(r, "%s", text);
    condition_set(r, CONDITION_ALERTS, reason, text);
}

enum rule_result alerts_know(struct release *r)
{
    bool delivered = false;
    const char *mistake = alerts_mistake(r);
    const char *trouble = find_trouble(r->tick, &delivered);

    if (r->tick->needs)
        return RULE_NEEDS_FACTS;
    if (mistake)
        tell(r, "ProviderUnusable", mistake);
    else if (trouble)
        tell(r, "NotDelivered", trouble);
    else if (delivered || !condition_has_reason(r, CONDITION_ALERTS, "NotDelivered"))
        condition_clear(r, CONDITION_ALERTS);
    alerts_repeat(r);
    return RULE_CONTINUE;
}

enum { BODY_MAX = 64 * 1024 };

static void add_quoted(struct arena *arena, struct json_object *map, const char *name,
                       const char *text)
{
    json_set_str(map, name, json_text(arena, json_own(arena, json_object_new_string(text))));
}

enum err alert_template_render(struct arena *arena, const struct channel *channel,
                               const struct alert *alert, const char **out, struct errinfo *ei)
{
    struct json_object *fields = json_own(arena, json_object_new_object());
    struct json_object *quoted = json_own(arena, json_object_new_object());
    const struct template_function functions[] = {{"key", alert->key, NULL},
                                                  {"canary", alert->canary, NULL},
                                                  {"namespace", alert->namespace_, NULL},
                                                  {"severity", alert->severity, NULL},
                                                  {"text", alert->text, NULL},
                                                  {"fields", NULL, fields},
                                                  {"json", NULL, quoted},
                                                  {NULL, NULL, NULL}};

    *out = NULL;
    if (!channel->address.template || !channel->notifier->takes_template)
        return ERR_OK;
    for (int i = 0; i < alert->n_fields; i++) {
        const char *name = alert_identifier(arena, alert->fields[i].name);
        json_set_str(fields, name, alert->fields[i].value);
        add_quoted(arena, quoted, name, alert->fields[i].value);
    }
    for (const struct template_function *f = functions; f->text; f++)
        add_quoted(arena, quoted, f->name, f->text);
    return template_render(arena, channel->address.template, functions, BODY_MAX, NULL, out, ei);
}
