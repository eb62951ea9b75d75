#include "engine/metrics/metric_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/sha.h>

#include "base/clock.h"
#include "base/expo.h"
#include "base/json.h"
#include "base/table.h"
#include "engine/metrics/metric_group.h"
#include "metric/backend.h"

enum { PART_OF_INTERVAL = 10, MAX_RETRY_MS = 5 * 60 * 1000 };

/* What was asked of whom is not what arrived there: many may have one answer. */
static struct expo_metric questions = {
    .name = "flagger_metric_questions_total",
    .help = "Questions of checks to metric servers, by who has answered: the server, an answer "
            "that was shared, or a query for many workloads",
    .type = EXPO_COUNTER,
    .labels = {"backend", "answered_by"}};

/* One question and its answer. Lives until it is too old. */
struct entry {
    char key[2 * SHA256_DIGEST_LENGTH + 1];
    struct metric_share *share;
    struct arena *arena;
    struct metric_question question; /* a copy */
    struct metric_call *call;        /* NULL: a group asks, or it has been answered */
    struct metric_wait *waits;
    int64_t asked_ms, keep_ms; /* monotonic; how long its answer is good */
    bool answered;
    bool settling; /* those who wait are being told: it must stay */
    struct metric_answer answer;
    struct timer *timer; /* to its end */
};

struct metric_wait {
    struct metric_wait *next, **at; /* in the list of those who wait for the same; NULL: in none */
    struct metric_call *alone;      /* instead of a list */
    struct arena *arena;
    const struct metric_question *question;
    int64_t now_ms;
    metric_done_fn done;
    void *arg;
};

struct metric_share {
    struct metric_ways ways;
    struct table entries;
    struct metric_groups *groups;
};

static void key_of(const void *item, const char **first, const char **second)
{
    *first = ((const struct entry *)item)->key;
    *second = NULL;
}

/* All that an answer depends on, and who may have it: with other credentials it is another one. */
static void write_key(const struct metric_question *question, char out[])
{
    unsigned char sum[SHA256_DIGEST_LENGTH];
    struct arena *arena = arena_new();
    struct json_object *secret = json_at(question->secret, "data", NULL);
    const char *text = arena_printf(
        arena, "%s\n%s\n%lld\n%lld\n%g\n%s\n%s\n%s\n%s\n%s",
        question->backend ? question->backend : "", question->address ? question->address : "",
        (long long)question->interval_ms, (long long)question->at_s, question->bucket,
        question->query ? question->query : "(probe)", question->ca_pem ? question->ca_pem : "",
        question->spec ? json_text_sorted(arena, question->spec) : "",
        secret ? json_text_sorted(arena, secret) : "",
        question->only_namespace ? question->only_namespace : "");

    SHA256((const unsigned char *)text, strlen(text), sum);
    for (size_t i = 0; i < sizeof(sum); i++)
        snprintf(out + 2 * i, 3, "%02x", sum[i]);
    arena_free(arena);
}

static struct json_object *held(struct arena *arena, struct json_object *tree)
{
    return tree ? json_own(arena, json_object_get(tree)) : NULL;
}

static struct metric_answer answer_for(struct arena *arena, const struct metric_answer *answer)
{
    struct metric_answer copy = *answer;

    copy.text = arena_strdup(arena, answer->text);
    copy.note = arena_strdup(arena, answer->note);
    return copy;
}

/* --- lists of those who wait: who is in one may be freed at any time, also while it is told */

static void wait_enter(struct metric_wait **list, struct metric_wait *wait)
{
    wait->next = *list;
    wait->at = list;
    if (wait->next)
        wait->next->at = &wait->next;
    *list = wait;
}

static void wait_leave(struct metric_wait *wait)
{
    if (!wait->at)
        return;
    *wait->at = wait->next;
    if (wait->next)
        wait->next->at = wait->at;
    wait->at = NULL;
}

/* --- entries */

static void drop(struct entry *entry)
{
    table_take(&entry->share->entries, entry->key, NULL);
    timer_stop(entry->timer);
    metric_call_free(entry->call);
    arena_free(entry->arena);
    free(entry);
}

static void on_old(void *arg)
{
    struct entry *entry = arg;

    entry->timer = NULL;
    drop(entry);
}

static struct entry *entry_new(struct metric_share *share, const char *key, int64_t keep_ms)
{
    struct entry *entry = heap_alloc(sizeof(*entry));

    *entry = (struct entry){
        .share = share, .arena = arena_new(), .asked_ms = clock_monotonic_ms(), .keep_ms = keep_ms};
    snprintf(entry->key, sizeof(entry->key), "%s", key);
    (void)table_put(&share->entries, entry);
    return entry;
}

/* Who waits is told; the answer stays for those who come soon. */
static void settle(struct entry *entry, const struct metric_answer *answer)
{
    int64_t age = clock_monotonic_ms() - entry->asked_ms, left = entry->keep_ms - age;
    int64_t retry = answer->retry_ms < MAX_RETRY_MS ? answer->retry_ms : MAX_RETRY_MS;

    entry->call = NULL;
    entry->answered = true;
    entry->answer = answer_for(entry->arena, answer);
    if (retry > left) {
        entry->keep_ms = age + retry;
        left = retry;
    }
    entry->timer = timer_start(entry->share->ways.loop, left > 0 ? left : 0, 0, on_old, entry);
    entry->settling = true;
    while (entry->waits) {
        struct metric_wait *wait = entry->waits;
        struct metric_answer its = answer_for(wait->arena, &entry->answer);
        wait_leave(wait);
        wait->done(wait->arg, &its);
        free(wait);
    }
    entry->settling = false;
}

static void on_answer(void *arg, const struct metric_answer *answer)
{
    settle(arg, answer);
}

/* --- alone */

static void on_alone(void *arg, const struct metric_answer *answer)
{
    struct metric_wait *wait = arg;

    wait->done(wait->arg, answer);
    free(wait);
}

/* False: *at_once says why nothing can be asked. */
static bool ask_alone(struct metric_share *share, struct metric_wait *wait,
                      struct metric_answer *at_once)
{
    wait->alone = metric_call_start(&share->ways, wait->arena, wait->question, wait->now_ms,
                                    on_alone, wait, at_once);
    if (wait->alone)
        expo_add(&questions, 1, wait->question->backend, "server");
    return wait->alone != NULL;
}

/* A query for many has failed: it may be too long, or one of them cannot be asked. */
static void each_by_itself(struct entry *entry)
{
    struct metric_wait *left = NULL;
    struct metric_share *share = entry->share;

    while (entry->waits) {
        struct metric_wait *wait = entry->waits;
        wait_leave(wait);
        wait_enter(&left, wait);
    }
    drop(entry);
    while (left) {
        struct metric_wait *wait = left;
        struct metric_answer at_once;
        wait_leave(wait);
        if (!ask_alone(share, wait, &at_once))
            on_alone(wait, &at_once);
    }
}

/* --- groups */

static void on_member(void *arg, const char *key, const struct metric_answer *answer)
{
    struct metric_share *share = arg;
    struct entry *entry = table_get(&share->entries, key, NULL);

    if (!entry || entry->answered || entry->call)
        return;
    if (answer->outcome == METRIC_ERROR)
        each_by_itself(entry);
    else
        settle(entry, answer);
}

/* Nobody asks for this one yet, but will soon. */
static bool on_due(void *arg, const char *key, int64_t keep_ms)
{
    struct metric_share *share = arg;

    if (table_get(&share->entries, key, NULL))
        return false;
    (void)entry_new(share, key, keep_ms);
    return true;
}

/* --- asking */

static void copy_question(struct entry *entry, const struct metric_question *question)
{
    struct arena *arena = entry->arena;

    entry->question = *question;
    entry->question.id = arena_strdup(arena, question->id);
    entry->question.owner = arena_strdup(arena, question->owner);
    entry->question.backend = arena_strdup(arena, question->backend);
    entry->question.address = arena_strdup(arena, question->address);
    entry->question.query = arena_strdup(arena, question->query);
    entry->question.spec = held(arena, question->spec);
    entry->question.secret = held(arena, question->secret);
    entry->question.ca_pem = arena_strdup(arena, question->ca_pem);
    entry->question.only_namespace = arena_strdup(arena, question->only_namespace);
    /* it is asked for nobody else */
    entry->question.group = NULL;
    entry->question.picks = NULL;
    entry->question.n_picks = 0;
}

/* False: *at_once says why nothing can be asked. */
static bool ask_first(struct metric_share *share, const char *key, struct metric_wait *wait,
                      int64_t interval_ms, struct metric_answer *at_once)
{
    const struct metric_question *question = wait->question;
    struct entry *entry = entry_new(share, key, interval_ms / PART_OF_INTERVAL);

    wait_enter(&entry->waits, wait);
    if (question->group && metric_groups_ask(share->groups, question, key, wait->now_ms,
                                             interval_ms, entry->keep_ms)) {
        expo_add(&questions, 1, question->backend, "group");
        return true;
    }
    copy_question(entry, question);
    entry->call = metric_call_start(&share->ways, entry->arena, &entry->question, wait->now_ms,
                                    on_answer, entry, at_once);
    if (entry->call) {
        expo_add(&questions, 1, question->backend, "server");
        return true;
    }
    *at_once = answer_for(wait->arena, at_once);
    drop(entry);
    return false;
}

struct metric_wait *metric_share_ask(struct metric_share *share, struct arena *arena,
                                     const struct metric_question *question, int64_t now_ms,
                                     int64_t interval_ms, metric_done_fn done, void *arg,
                                     struct metric_answer *at_once)
{
    char key[2 * SHA256_DIGEST_LENGTH + 1];
    write_key(question, key);
    struct entry *entry = table_get(&share->entries, key, NULL);
    int64_t age = entry ? clock_monotonic_ms() - entry->asked_ms : 0;
    bool fresh = entry && (age <= interval_ms / PART_OF_INTERVAL ||
                           (entry->answered && entry->answer.retry_ms > 0 && age < entry->keep_ms));

    if (fresh)
        expo_add(&questions, 1, question->backend, "shared");
    if (fresh && entry->answered) {
        *at_once = answer_for(arena, &entry->answer);
        return NULL;
    }
    struct metric_wait *wait = heap_alloc(sizeof(*wait));
    *wait = (struct metric_wait){
        .arena = arena, .question = question, .now_ms = now_ms, .done = done, .arg = arg};
    if (fresh) {
        wait_enter(&entry->waits, wait);
        return wait;
    }
    bool asked;
    if (entry && (!entry->answered || entry->settling)) {
        asked = ask_alone(share, wait, at_once); /* what is under way began too long ago */
    } else {
        if (entry)
            drop(entry);
        asked = ask_first(share, key, wait, interval_ms, at_once);
    }
    if (asked)
        return wait;
    free(wait);
    return NULL;
}

void metric_wait_free(struct metric_wait *wait)
{
    if (!wait)
        return;
    metric_call_free(wait->alone);
    wait_leave(wait);
    free(wait);
}

struct metric_share *metric_share_new(const struct metric_ways *ways)
{
    struct metric_share *share = heap_alloc(sizeof(*share));

    *share = (struct metric_share){.ways = *ways, .entries = {.key = key_of}};
    share->ways.kept = metric_kept_new();
    share->groups = metric_groups_new(&share->ways, on_member, on_due, share);
    return share;
}

void metric_share_free(struct metric_share *share)
{
    struct entry *entry;

    metric_groups_free(share->groups);
    for (size_t i = 0; (entry = table_next(&share->entries, &i)); i = 0)
        drop(entry);
    table_fini(&share->entries);
    metric_kept_free(share->ways.kept);
    free(share);
}
