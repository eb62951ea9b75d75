#include "tick/wake.h"

#include <string.h>

#include "base/encoding.h"
#include "base/json.h"

/* This many AGAIN_NOW in a row mean that something undoes the writes. */
enum { MAX_REQUEUE_NOW = 10 };

bool wake_rests(enum phase phase)
{
    return phase == PHASE_Initialized || phase == PHASE_Succeeded || phase == PHASE_Failed;
}

bool wake_releases(enum phase phase)
{
    return phase == PHASE_Progressing || phase == PHASE_WaitingPromotion ||
           phase == PHASE_Promoting || phase == PHASE_Finalising;
}

void wake_ran(struct wake *wake, const struct plan *plan, enum phase phase, int64_t began,
              int64_t interval_ms)
{
    wake->phase = phase;
    wake->reads_status = plan->reads_status;
    wake->requeues_now = plan->requeue == REQUEUE_NOW ? wake->requeues_now + 1 : 0;
    if (plan->stepped)
        wake->next_due = began + interval_ms;
}

void wake_forget(struct wake *wake)
{
    wake->phase = PHASE_NONE;
    wake->reads_status = true;
}

bool wake_is_restless(const struct wake *wake)
{
    return wake->requeues_now > MAX_REQUEUE_NOW;
}

int64_t wake_after(const struct wake *wake, const struct plan *plan, int64_t began, int64_t now,
                   int64_t interval_ms)
{
    int64_t wait = -1;

    if (plan->requeue == REQUEUE_NOW && !wake_is_restless(wake)) {
        wait = 0;
    } else if (plan->requeue != REQUEUE_NEVER) {
        int64_t at = wake->next_due > now ? wake->next_due : began + interval_ms;
        wait = at > now ? at - now : 0;
    }
    if (plan->wake_ms > 0 && (wait < 0 || wait > plan->wake_ms))
        wait = plan->wake_ms;
    return wait;
}

bool wake_is_due(struct wake *wake, enum phase phase, int64_t now, int64_t interval_ms)
{
    if (wake->next_due > now + interval_ms)
        wake->next_due = now + interval_ms;
    return now >= wake->next_due || wake_rests(phase);
}

bool wake_sleeps(const struct plan *plan)
{
    return plan->requeue == REQUEUE_NEVER && plan->wake_ms == 0;
}

bool wake_hears_status(const struct wake *wake)
{
    return !wake_rests(wake->phase) || wake->reads_status;
}

static uint64_t hash_more(uint64_t hash, const char *text)
{
    return hash_byte(hash_text(hash, text), 0xff);
}

static uint64_t hash_member(uint64_t hash, const char *key, struct json_object *value)
{
    hash = hash_more(hash, key);
    return hash_more(hash, json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
}

uint64_t wake_spec_hash(struct json_object *object, const char *news)
{
    /*
     * Metadata written on purpose; the rest (managedFields, resourceVersion, ...) changes with
     * every write.
     */
    static const char *const meaningful[] = {"labels", "annotations", "finalizers",
                                             "ownerReferences", "deletionTimestamp"};
    uint64_t hash = 0xcbf29ce484222325u;

    json_object_object_foreach(object, key, value)
    {
        if (strcmp(key, "status") != 0 && strcmp(key, "metadata") != 0)
            hash = hash_member(hash, key, value);
    }
    for (size_t i = 0; i < sizeof(meaningful) / sizeof(meaningful[0]); i++) {
        struct json_object *written = json_at(object, "metadata", meaningful[i], NULL);
        if (written)
            hash = hash_member(hash, meaningful[i], written);
    }
    if (news)
        hash = hash_member(hash, news, json_at(object, "status", news, NULL));
    return hash ? hash : 1;
}

enum wake_news wake_news(const struct wake_change *change, bool hears_status)
{
    if (change->now == change->known)
        return WAKE_ECHO;
    if (change->now == change->previous)
        return WAKE_PAST;
    if (change->status_only && !change->is_canary && !hears_status)
        return WAKE_STATUS;
    return WAKE_NEWS;
}
