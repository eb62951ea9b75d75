#include "engine/alerts.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/table.h"
#include "decide/act/alerts.h"
#include "engine/outbox.h"

/* One alert to one channel. */
struct parcel {
    struct taken *taken;
    char *channel;
    enum { PARCEL_UNDER_WAY, PARCEL_DELIVERED, PARCEL_GIVEN_UP } state;
};

/* One that somebody listens to. */
struct taken {
    struct taken *next;
    struct folder *folder;
    char *key;
    char *trouble;
    struct parcel parcels[ALERT_CHANNELS_MAX];
    int n_parcels;
    bool owed; /* the status of the Canary has said so */
};

/* Those of one Canary, the oldest first; lives while there are any. */
struct folder {
    struct alerts *alerts;
    char *namespace_, *name;
    struct taken *first;
    bool gone; /* the Canary is */
};

struct alerts {
    struct engine_context *context;
    void (*wake)(void *arg, const char *namespace_, const char *name);
    void *arg;
    struct table folders; /* by namespace and name */
};

static void folder_key(const void *item, const char **namespace_, const char **name)
{
    const struct folder *folder = item;

    *namespace_ = folder->namespace_;
    *name = folder->name;
}

struct alerts *alerts_new(struct engine_context *context,
                          void (*wake)(void *arg, const char *namespace_, const char *name),
                          void *arg)
{
    struct alerts *alerts = heap_alloc(sizeof(*alerts));

    *alerts = (struct alerts){.context = context, .wake = wake, .arg = arg};
    table_init(&alerts->folders, folder_key);
    return alerts;
}

static void drop(struct taken **link)
{
    struct taken *taken = *link;

    *link = taken->next;
    for (int i = 0; i < taken->n_parcels; i++)
        free(taken->parcels[i].channel);
    free(taken->key);
    free(taken->trouble);
    free(taken);
}

static void folder_free(struct folder *folder)
{
    table_take(&folder->alerts->folders, folder->namespace_, folder->name);
    while (folder->first)
        drop(&folder->first);
    free(folder->namespace_);
    free(folder->name);
    free(folder);
}

void alerts_free(struct alerts *alerts)
{
    struct folder *folder;

    if (!alerts)
        return;
    for (size_t i = 0; (folder = table_next(&alerts->folders, &i)); i = 0)
        folder_free(folder);
    table_fini(&alerts->folders);
    free(alerts);
}

static struct folder *folder_of(struct alerts *alerts, const struct canary *canary)
{
    struct folder *folder = table_get(&alerts->folders, canary->namespace_, canary->name);

    if (folder) {
        folder->gone = false; /* a new one of the same name */
        return folder;
    }
    folder = heap_alloc(sizeof(*folder));
    *folder = (struct folder){.alerts = alerts,
                              .namespace_ = heap_strdup(canary->namespace_),
                              .name = heap_strdup(canary->name)};
    table_put(&alerts->folders, folder);
    return folder;
}

/* Frees the folder when nothing is left in it. */
static void clean(struct folder *folder, bool (*is_over)(const struct taken *taken))
{
    struct taken **link = &folder->first;

    while (*link) {
        if (is_over(*link))
            drop(link);
        else
            link = &(*link)->next;
    }
    if (!folder->first)
        folder_free(folder);
}

static bool has(const struct taken *taken, int state)
{
    for (int i = 0; i < taken->n_parcels; i++)
        if ((int)taken->parcels[i].state == state)
            return true;
    return false;
}

static bool is_sent(const struct taken *taken)
{
    return !has(taken, PARCEL_UNDER_WAY);
}

static void on_told(void *arg, const char *trouble, bool ended)
{
    struct parcel *parcel = arg;
    struct taken *taken = parcel->taken;
    struct folder *folder = taken->folder;
    struct alerts *alerts = folder->alerts;

    if (trouble) {
        log_warn("alert_undelivered", folder->name, trouble, LOG_STR("key", taken->key),
                 LOG_STR("state", ended ? "given up" : "tried again"));
        free(taken->trouble);
        taken->trouble = heap_strdup(trouble);
    }
    if (ended)
        parcel->state = trouble ? PARCEL_GIVEN_UP : PARCEL_DELIVERED;
    if (ended && !has(taken, PARCEL_GIVEN_UP)) { /* in the end it was taken */
        free(taken->trouble);
        taken->trouble = NULL;
    }
    if (folder->gone)
        clean(folder, is_sent);
    else if (trouble || is_sent(taken))
        alerts->wake(alerts->arg, folder->namespace_, folder->name);
}

static struct taken *find(const struct folder *folder, const char *key)
{
    for (struct taken *taken = folder->first; taken; taken = taken->next) {
        if (strcmp(taken->key, key) == 0)
            return taken;
    }
    return NULL;
}

static struct taken *add(struct folder *folder, const char *key)
{
    struct taken **last = &folder->first;
    struct taken *taken = heap_alloc(sizeof(*taken));

    while (*last)
        last = &(*last)->next;
    *taken = (struct taken){.folder = folder, .key = heap_strdup(key)};
    *last = taken;
    return taken;
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

/* Unless a process before this one has seen it delivered there. */
static void send_to(struct taken *taken, struct arena *arena, const struct channel *channel,
                    const struct alert *alert, struct json_object *delivered)
{
    struct parcel *parcel = &taken->parcels[taken->n_parcels++];
    struct folder *folder = taken->folder;

    *parcel = (struct parcel){
        .taken = taken, .channel = heap_strdup(channel->name), .state = PARCEL_DELIVERED};
    if (is_among(delivered, channel->name))
        return;
    const char *label = alert_subject(arena, alert);
    parcel->state = PARCEL_UNDER_WAY;
    if (!outbox_alert(folder->alerts->context->outbox, label, channel, alert, on_told, parcel))
        parcel->state = PARCEL_GIVEN_UP;
}

void alerts_take(struct alerts *alerts, struct tick *tick, const struct effect *effect)
{
    struct channel channels[ALERT_CHANNELS_MAX];
    struct alert alert = alerts_message(tick, effect);
    const struct canary *canary = tick->canary;

    if (!effect->key || (canary->analysis.n_alerts == 0 && !tick->settings->alerts))
        return;
    struct folder *folder = folder_of(alerts, canary);
    if (find(folder, effect->key))
        return;
    struct taken *taken = add(folder, effect->key);
    int n = alerts_channels(tick, effect->severity, channels);
    for (int i = 0; i < n; i++)
        send_to(taken, tick->arena, &channels[i], &alert, effect->delivered);
    if (is_sent(taken)) /* nobody listens to it, or nobody who can be told */
        alerts->wake(alerts->arg, canary->namespace_, canary->name);
}

/* --- what the rules know */

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

/* Where the status cannot hold what is owed, as with Flagger's CRD, the oldest go. */
static void shorten(struct folder *folder)
{
    int n = 0;

    for (struct taken *taken = folder->first; taken; taken = taken->next)
        n++;
    for (struct taken **link = &folder->first; *link && n > ALERTS_PENDING_MAX;) {
        if (!is_sent(*link)) {
            link = &(*link)->next;
            continue;
        }
        drop(link);
        n--;
    }
}

/* Names of channels that have all taken it. */
static const char *const *delivered_of(struct arena *arena, const struct taken *taken)
{
    const char **names = arena_array(arena, (size_t)taken->n_parcels + 1, sizeof(*names));
    int n = 0;

    for (int i = 0; i < taken->n_parcels; i++) {
        const char *name = taken->parcels[i].channel;
        bool all = true;
        for (int j = 0; j < taken->n_parcels; j++)
            all = all && (strcmp(taken->parcels[j].channel, name) != 0 ||
                          taken->parcels[j].state == PARCEL_DELIVERED);
        if (all)
            names[n++] = arena_strdup(arena, name);
    }
    return names;
}

const struct alert_state *alerts_states(struct alerts *alerts, struct arena *arena,
                                        const struct canary *canary, int *n)
{
    struct folder *folder = table_get(&alerts->folders, canary->namespace_, canary->name);
    int count = 0;

    *n = 0;
    if (!folder)
        return NULL;
    for (struct taken **link = &folder->first; *link;) {
        bool owed = is_owed(canary, (*link)->key);
        if (is_sent(*link) && (*link)->owed && !owed) {
            drop(link);
            continue;
        }
        (*link)->owed = (*link)->owed || owed;
        link = &(*link)->next;
    }
    shorten(folder);
    for (struct taken *taken = folder->first; taken; taken = taken->next)
        count++;
    if (count == 0) {
        folder_free(folder);
        return NULL;
    }
    struct alert_state *states = arena_array(arena, (size_t)count, sizeof(*states));
    for (struct taken *taken = folder->first; taken; taken = taken->next)
        states[(*n)++] = (struct alert_state){.key = arena_strdup(arena, taken->key),
                                              .done = is_sent(taken),
                                              .delivered = delivered_of(arena, taken),
                                              .trouble = arena_strdup(arena, taken->trouble)};
    return states;
}

void alerts_forget(struct alerts *alerts, const char *namespace_, const char *name)
{
    struct folder *folder = table_get(&alerts->folders, namespace_, name);

    if (!folder)
        return;
    folder->gone = true;
    clean(folder, is_sent);
}
