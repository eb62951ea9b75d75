#include "engine/alert_deliveries.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/table.h"
#include "decide/alerts.h"
#include "engine/outbox.h"

/* One alert to one channel. */
struct delivery {
    struct tracked_alert *tracked;
    char *channel;
    enum { DELIVERY_PENDING, DELIVERY_DONE, DELIVERY_GIVEN_UP } state;
};

/* An alert with at least one channel. */
struct tracked_alert {
    struct tracked_alert *next;
    struct canary_alerts *owner;
    char *key;
    char *trouble;
    struct delivery deliveries[ALERT_CHANNELS_MAX];
    int n_deliveries;
    bool owed; /* the status of the Canary lists it */
};

/* The alerts of one Canary, oldest first; freed when empty. */
struct canary_alerts {
    struct alert_deliveries *alerts;
    char *namespace_, *name;
    struct tracked_alert *first;
    bool gone; /* the Canary was deleted */
};

struct alert_deliveries {
    struct engine_context *context;
    void (*wake)(void *arg, const char *namespace_, const char *name);
    void *arg;
    struct table canaries; /* by namespace and name */
};

static void canary_alerts_key(const void *item, const char **namespace_, const char **name)
{
    const struct canary_alerts *owner = item;

    *namespace_ = owner->namespace_;
    *name = owner->name;
}

struct alert_deliveries *
alert_deliveries_new(struct engine_context *context,
                     void (*wake)(void *arg, const char *namespace_, const char *name), void *arg)
{
    struct alert_deliveries *alerts = heap_alloc(sizeof(*alerts));

    *alerts = (struct alert_deliveries){.context = context, .wake = wake, .arg = arg};
    table_init(&alerts->canaries, canary_alerts_key);
    return alerts;
}

static void drop(struct tracked_alert **link)
{
    struct tracked_alert *tracked = *link;

    *link = tracked->next;
    for (int i = 0; i < tracked->n_deliveries; i++)
        free(tracked->deliveries[i].channel);
    free(tracked->key);
    free(tracked->trouble);
    free(tracked);
}

static void canary_alerts_free(struct canary_alerts *owner)
{
    table_take(&owner->alerts->canaries, owner->namespace_, owner->name);
    while (owner->first)
        drop(&owner->first);
    free(owner->namespace_);
    free(owner->name);
    free(owner);
}

void alert_deliveries_free(struct alert_deliveries *alerts)
{
    struct canary_alerts *owner;

    if (!alerts)
        return;
    for (size_t i = 0; (owner = table_next(&alerts->canaries, &i)); i = 0)
        canary_alerts_free(owner);
    table_fini(&alerts->canaries);
    free(alerts);
}

static struct canary_alerts *canary_alerts_of(struct alert_deliveries *alerts,
                                              const struct canary *canary)
{
    struct canary_alerts *owner = table_get(&alerts->canaries, canary->namespace_, canary->name);

    if (owner) {
        owner->gone = false; /* a new Canary of the same name */
        return owner;
    }
    owner = heap_alloc(sizeof(*owner));
    *owner = (struct canary_alerts){.alerts = alerts,
                                    .namespace_ = heap_strdup(canary->namespace_),
                                    .name = heap_strdup(canary->name)};
    table_put(&alerts->canaries, owner);
    return owner;
}

/* Drops the alerts that are over; frees the owner when none is left. */
static void clean(struct canary_alerts *owner, bool (*is_over)(const struct tracked_alert *tracked))
{
    struct tracked_alert **link = &owner->first;

    while (*link) {
        if (is_over(*link))
            drop(link);
        else
            link = &(*link)->next;
    }
    if (!owner->first)
        canary_alerts_free(owner);
}

static bool has(const struct tracked_alert *tracked, int state)
{
    for (int i = 0; i < tracked->n_deliveries; i++)
        if ((int)tracked->deliveries[i].state == state)
            return true;
    return false;
}

static bool is_sent(const struct tracked_alert *tracked)
{
    return !has(tracked, DELIVERY_PENDING);
}

static void on_report(void *arg, const char *trouble, bool ended)
{
    struct delivery *delivery = arg;
    struct tracked_alert *tracked = delivery->tracked;
    struct canary_alerts *owner = tracked->owner;
    struct alert_deliveries *alerts = owner->alerts;

    if (trouble) {
        log_warn("alert_undelivered", owner->name, trouble, LOG_STR("key", tracked->key),
                 LOG_STR("state", ended ? "given up" : "tried again"));
        free(tracked->trouble);
        tracked->trouble = heap_strdup(trouble);
    }
    if (ended)
        delivery->state = trouble ? DELIVERY_GIVEN_UP : DELIVERY_DONE;
    if (ended && !has(tracked, DELIVERY_GIVEN_UP)) { /* in the end, every channel has accepted it */
        free(tracked->trouble);
        tracked->trouble = NULL;
    }
    if (owner->gone)
        clean(owner, is_sent);
    else if (trouble || is_sent(tracked))
        alerts->wake(alerts->arg, owner->namespace_, owner->name);
}

static struct tracked_alert *find(const struct canary_alerts *owner, const char *key)
{
    for (struct tracked_alert *tracked = owner->first; tracked; tracked = tracked->next) {
        if (strcmp(tracked->key, key) == 0)
            return tracked;
    }
    return NULL;
}

static struct tracked_alert *add(struct canary_alerts *owner, const char *key)
{
    struct tracked_alert **last = &owner->first;
    struct tracked_alert *tracked = heap_alloc(sizeof(*tracked));

    while (*last)
        last = &(*last)->next;
    *tracked = (struct tracked_alert){.owner = owner, .key = heap_strdup(key)};
    *last = tracked;
    return tracked;
}

static bool is_among(struct json_object *names, const char *name)
{
    for (size_t i = 0; i < json_len(names); i++) {
        const char *one = json_object_get_string(json_elem(names, i));
        if (one && strcmp(one, name) == 0)
            return true;
    }
    return false;
}

/* Skips a channel to which an earlier process has delivered it. */
static void send_to(struct tracked_alert *tracked, struct arena *arena,
                    const struct channel *channel, const struct alert *alert,
                    struct json_object *delivered)
{
    struct delivery *delivery = &tracked->deliveries[tracked->n_deliveries++];
    struct canary_alerts *owner = tracked->owner;

    *delivery = (struct delivery){
        .tracked = tracked, .channel = heap_strdup(channel->name), .state = DELIVERY_DONE};
    if (is_among(delivered, channel->name))
        return;
    const char *label = alert_subject(arena, alert);
    delivery->state = DELIVERY_PENDING;
    if (!outbox_alert(owner->alerts->context->outbox, label, channel, alert, on_report, delivery))
        delivery->state = DELIVERY_GIVEN_UP;
}

void alert_deliveries_take(struct alert_deliveries *alerts, struct tick *tick,
                           const struct effect *effect)
{
    struct channel channels[ALERT_CHANNELS_MAX];
    struct alert alert = alerts_message(tick, effect);
    const struct canary *canary = tick->canary;

    if (!effect->key || (canary->analysis.n_alerts == 0 && !tick->settings->alerts))
        return;
    struct canary_alerts *owner = canary_alerts_of(alerts, canary);
    if (find(owner, effect->key))
        return;
    struct tracked_alert *tracked = add(owner, effect->key);
    int n = alerts_channels(tick, effect->severity, channels);
    for (int i = 0; i < n; i++)
        send_to(tracked, tick->arena, &channels[i], &alert, effect->delivered);
    if (is_sent(tracked)) /* no channel listens, or none can be reached */
        alerts->wake(alerts->arg, canary->namespace_, canary->name);
}

/* --- alert states for the rules */

static bool is_owed(const struct canary *canary, const char *key)
{
    struct json_object *pending = json_at(canary->status.json, "pendingAlerts", NULL);

    for (size_t i = 0; i < json_len(pending); i++) {
        const char *owed = json_str_at(json_elem(pending, i), "key", NULL);
        if (owed && strcmp(owed, key) == 0)
            return true;
    }
    return false;
}

/* If the status cannot list pending alerts (Flagger's CRD), the oldest are dropped. */
static void shorten(struct canary_alerts *owner)
{
    int n = 0;

    for (struct tracked_alert *tracked = owner->first; tracked; tracked = tracked->next)
        n++;
    for (struct tracked_alert **link = &owner->first; *link && n > ALERTS_PENDING_MAX;) {
        if (!is_sent(*link)) {
            link = &(*link)->next;
            continue;
        }
        drop(link);
        n--;
    }
}

/* Names of the channels that have accepted the alert. */
static const char *const *delivered_of(struct arena *arena, const struct tracked_alert *tracked)
{
    const char **names = arena_array(arena, (size_t)tracked->n_deliveries + 1, sizeof(*names));
    int n = 0;

    for (int i = 0; i < tracked->n_deliveries; i++) {
        const char *name = tracked->deliveries[i].channel;
        bool all = true;
        for (int j = 0; j < tracked->n_deliveries; j++)
            all = all && (strcmp(tracked->deliveries[j].channel, name) != 0 ||
                          tracked->deliveries[j].state == DELIVERY_DONE);
        if (all)
            names[n++] = arena_strdup(arena, name);
    }
    return names;
}

const struct alert_state *alert_deliveries_states(struct alert_deliveries *alerts,
                                                  struct arena *arena, const struct canary *canary,
                                                  int *n)
{
    struct canary_alerts *owner = table_get(&alerts->canaries, canary->namespace_, canary->name);
    int count = 0;

    *n = 0;
    if (!owner)
        return NULL;
    for (struct tracked_alert **link = &owner->first; *link;) {
        bool owed = is_owed(canary, (*link)->key);
        if (is_sent(*link) && (*link)->owed && !owed) {
            drop(link);
            continue;
        }
        (*link)->owed = (*link)->owed || owed;
        link = &(*link)->next;
    }
    shorten(owner);
    for (struct tracked_alert *tracked = owner->first; tracked; tracked = tracked->next)
        count++;
    if (count == 0) {
        canary_alerts_free(owner);
        return NULL;
    }
    struct alert_state *states = arena_array(arena, (size_t)count, sizeof(*states));
    for (struct tracked_alert *tracked = owner->first; tracked; tracked = tracked->next)
        states[(*n)++] = (struct alert_state){.key = arena_strdup(arena, tracked->key),
                                              .done = is_sent(tracked),
                                              .delivered = delivered_of(arena, tracked),
                                              .trouble = arena_strdup(arena, tracked->trouble)};
    return states;
}

void alert_deliveries_forget(struct alert_deliveries *alerts, const char *namespace_,
                             const char *name)
{
    struct canary_alerts *owner = table_get(&alerts->canaries, namespace_, name);

    if (!owner)
        return;
    owner->gone = true;
    clean(owner, is_sent);
}
