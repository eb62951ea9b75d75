#include "engine/metrics/metric_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/json.h"
#include "base/metrics.h"
#include "base/table.h"
#include "metric/backend.h"
#include "metric/family.h"

enum { MAX_ASKED = 64, KEY_MAX = 80, FORGOTTEN_AFTER = 3 };

/* A workload that is queried repeatedly. */
struct member {
    struct member *next;
    char *namespace_, *name;
    char key[KEY_MAX];
    int64_t asked_ms, interval_ms;
    bool expected; /* queried together with others, and not requested since */
};

/* Queries that differ only in the workload. */
struct group {
    char *text; /* the common part */
    struct member *members;
};

/* One group query under way. */
struct asking {
    struct asking *next, **at;
    struct metric_groups *groups;
    struct arena *arena;
    struct metric_question question;
    struct metric_call *call;
    const char *keys[MAX_ASKED];
    struct metric_member members[MAX_ASKED];
    int n;
};

struct metric_groups {
    const struct metric_ways *ways;
    metric_member_fn answered;
    metric_due_fn due;
    void *arg;
    struct table groups;
    struct asking *under_way;
};

static void text_of(const void *item, const char **first, const char **second)
{
    *first = ((const struct group *)item)->text;
    *second = NULL;
}

static struct metric_groups *metric_groups_new(const struct metric_ways *ways,
                                               metric_member_fn answered, metric_due_fn due,
                                               void *arg)
{
    struct metric_groups *groups = heap_alloc(sizeof(*groups));

    *groups = (struct metric_groups){
        .ways = ways, .answered = answered, .due = due, .arg = arg, .groups = {.key = text_of}};
    return groups;
}

static void member_free(struct member *member)
{
    free(member->namespace_);
    free(member->name);
    free(member);
}

static void asking_free(struct asking *asking)
{
    *asking->at = asking->next;
    if (asking->next)
        asking->next->at = asking->at;
    metric_call_free(asking->call);
    arena_free(asking->arena);
    free(asking);
}

static void metric_groups_free(struct metric_groups *groups)
{
    struct group *group;

    while (groups->under_way)
        asking_free(groups->under_way);
    for (size_t i = 0; (group = table_next(&groups->groups, &i));) {
        while (group->members) {
            struct member *member = group->members;
            group->members = member->next;
            member_free(member);
        }
        free(group->text);
        free(group);
    }
    table_fini(&groups->groups);
    free(groups);
}

/* --- members */

static struct group *group_of(struct metric_groups *groups, const struct metric_question *question)
{
    const struct metric_group *what = question->group;
    struct arena *arena = arena_new();
    const char *text = arena_printf(arena, "%s %s %d %s %s", question->address, what->family->name,
                                    what->kind, what->interval, what->after);
    struct group *group = table_get(&groups->groups, text, NULL);

    if (!group) {
        group = heap_alloc(sizeof(*group));
        *group = (struct group){.text = heap_strdup(text)};
        (void)table_put(&groups->groups, group);
    }
    arena_free(arena);
    return group;
}

static void note_member(struct group *group, const struct metric_member *who, const char *key,
                        int64_t now, int64_t interval_ms)
{
    struct member *member = group->members;

    while (member && strcmp(member->key, key) != 0)
        member = member->next;
    if (!member) {
        member = heap_alloc(sizeof(*member));
        *member = (struct member){.next = group->members,
                                  .namespace_ = heap_strdup(who->namespace_),
                                  .name = heap_strdup(who->key)};
        snprintf(member->key, sizeof(member->key), "%s", key);
        group->members = member;
    }
    member->asked_ms = now;
    member->interval_ms = interval_ms;
    member->expected = false;
}

static void forget_old(struct group *group, int64_t now)
{
    for (struct member **at = &group->members; *at;) {
        struct member *member = *at;
        if (now - member->asked_ms <= FORGOTTEN_AFTER * member->interval_ms) {
            at = &member->next;
            continue;
        }
        *at = member->next;
        member_free(member);
    }
}

/* --- group queries */

static void add(struct asking *asking, const char *namespace_, const char *name, const char *key)
{
    struct arena *arena = asking->arena;

    asking->keys[asking->n] = arena_strdup(arena, key);
    asking->members[asking->n++] =
        (struct metric_member){arena_strdup(arena, namespace_), arena_strdup(arena, name)};
}

static bool clashes(const struct asking *asking, const struct metric_member *who)
{
    for (int i = 0; i < asking->n; i++) {
        if (metric_members_clash(&asking->members[i], who))
            return true;
    }
    return false;
}

static void add_due(struct asking *asking, const struct group *group, int64_t now, int64_t ahead_ms)
{
    struct metric_groups *groups = asking->groups;

    for (struct member *at = group->members; at && asking->n < MAX_ASKED; at = at->next) {
        struct metric_member who = {at->namespace_, at->name};
        if (at->expected || at->asked_ms == now ||
            at->asked_ms + at->interval_ms > now + ahead_ms || clashes(asking, &who) ||
            !groups->due(groups->arg, at->key, ahead_ms))
            continue;
        add(asking, at->namespace_, at->name, at->key);
        at->expected = true;
    }
}

static void on_group_answer(void *arg, const struct metric_answer *answer)
{
    struct asking *asking = arg;
    struct metric_groups *groups = asking->groups;

    asking->call = NULL;
    for (int i = 0; i < asking->n; i++)
        groups->answered(groups->arg, asking->keys[i],
                         answer->outcome == METRIC_ERROR ? answer
                                                         : &asking->question.picks[i].answer);
    asking_free(asking);
}

/* NULL if they belong to several namespaces. */
static const char *owner_of(const struct asking *asking)
{
    for (int i = 1; i < asking->n; i++)
        if (strcmp(asking->members[i].namespace_, asking->members[0].namespace_) != 0)
            return NULL;
    return asking->members[0].namespace_;
}

static bool start(struct asking *asking, const struct metric_question *question, int64_t now_ms)
{
    const struct metric_group *what = question->group;
    struct arena *arena = asking->arena;
    struct metric_answer at_once;
    struct metric_pick *picks = arena_array(arena, (size_t)asking->n, sizeof(*picks));

    for (int i = 0; i < asking->n; i++)
        picks[i] = (struct metric_pick){.namespace_label = what->family->namespace_label,
                                        .namespace_ = asking->members[i].namespace_,
                                        .label = metric_family_key_label(what->family),
                                        .value = asking->members[i].key};
    asking->question = (struct metric_question){
        .id = "group",
        .owner = owner_of(asking),
        .backend = arena_strdup(arena, question->backend),
        .address = arena_strdup(arena, question->address),
        .query = metric_family_group_query(arena, what->family, what->kind, what->after,
                                           what->interval, asking->members, (size_t)asking->n),
        .interval_ms = question->interval_ms,
        .picks = picks,
        .n_picks = asking->n,
    };
    asking->call = metric_call_start(asking->groups->ways, arena, &asking->question, now_ms,
                                     on_group_answer, asking, &at_once);
    return asking->call != NULL;
}

/*
 * Queries for the workload of the question and those due within ahead_ms. `answered` is called
 * once for each, never before this has returned. Returns false if it must be queried by itself.
 */
static bool metric_groups_ask(struct metric_groups *groups, const struct metric_question *question,
                              const char *key, int64_t now_ms, int64_t interval_ms,
                              int64_t ahead_ms)
{
    const struct metric_group *what = question->group;
    struct group *group = group_of(groups, question);
    int64_t now = clock_monotonic_ms();
    struct asking *asking = heap_alloc(sizeof(*asking));

    *asking = (struct asking){.groups = groups,
                              .arena = arena_new(),
                              .next = groups->under_way,
                              .at = &groups->under_way};
    if (asking->next)
        asking->next->at = &asking->next;
    groups->under_way = asking;
    forget_old(group, now);
    note_member(group, &what->member, key, now, interval_ms);
    add(asking, what->member.namespace_, what->member.key, key);
    add_due(asking, group, now, ahead_ms);
    if (asking->n > 1 && start(asking, question, now_ms))
        return true;
    const struct metric_answer none = {.outcome = METRIC_ERROR, .text = "it was not asked"};
    for (int i = 1; i < asking->n; i++)
        groups->answered(groups->arg, asking->keys[i], &none);
    asking_free(asking);
    return false;
}

enum { PART_OF_INTERVAL = 10, MAX_RETRY_MS = 5 * 60 * 1000 };

/* Queries asked are more than queries sent: many may share one answer. */
static struct metrics_family questions = {
    .name = "flagger_metric_questions_total",
    .help = "Questions of checks to metric servers, by who has answered: the server, an answer "
            "that was shared, or a query for many workloads",
    .type = METRICS_COUNTER,
    .labels = {"backend", "answered_by"}};

/* A query and its answer, kept until too old. */
struct entry {
    char key[SHA256_TEXT];
    struct metric_share *share;
    struct arena *arena;
    struct metric_question question; /* a copy */
    struct metric_call *call;        /* NULL if a group asks, or if answered */
    struct metric_wait *waits;
    int64_t asked_ms, keep_ms; /* monotonic; how long the answer is valid */
    bool answered;
    bool settling; /* the waiters are being notified: must not be freed */
    struct metric_answer answer;
    struct timer *timer; /* until it expires */
};

struct metric_wait {
    struct metric_wait *next, **at; /* in the list of waiters for the same query; NULL if in none */
    struct metric_call *alone;      /* a call of its own instead of a list */
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

/*
 * Hashes everything that the answer depends on, including the credentials: other credentials are
 * another query.
 */
static void write_key(const struct metric_question *question, char out[])
{
    struct arena *arena = arena_new();
    struct json_object *secret = json_at(question->secret, "data", NULL);
    const char *text = arena_printf(
        arena, "%s\n%s\n%lld\n%lld\n%d\n%lld\n%g\n%d\n%s\n%s\n%s\n%s\n%s\n%s\n%s",
        question->backend ? question->backend : "", question->address ? question->address : "",
        (long long)question->interval_ms, (long long)question->at_s, question->times,
        (long long)question->every_s, question->bucket, question->histogram,
        question->query ? question->query : "(probe)", question->ca_pem ? question->ca_pem : "",
        question->spec ? json_text_sorted(arena, question->spec) : "",
        secret ? json_text_sorted(arena, secret) : "",
        question->only_namespace ? question->only_namespace : "",
        question->path ? question->path : "", question->body ? question->body : "");

    (void)sha256_hex(text, strlen(text), out);
    arena_free(arena);
}

static struct json_object *held(struct arena *arena, struct json_object *tree)
{
    return tree ? json_own(arena, json_object_get(tree)) : NULL;
}

/* NULL if there are none. */
static const double *numbers_copy(struct arena *arena, const double *numbers, int n)
{
    double *copy = numbers ? arena_array(arena, (size_t)n, sizeof(*copy)) : NULL;

    if (copy)
        memcpy(copy, numbers, (size_t)n * sizeof(*copy));
    return copy;
}

static struct metric_answer answer_for(struct arena *arena, const struct metric_answer *answer)
{
    struct metric_answer copy = *answer;

    copy.text = arena_strdup(arena, answer->text);
    copy.note = arena_strdup(arena, answer->note);
    copy.values = numbers_copy(arena, answer->values, answer->n_values);
    copy.bounds = numbers_copy(arena, answer->bounds, answer->n_bounds);
    return copy;
}

/* --- lists of waiters: a waiter may be freed at any time, also while being notified */

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

/* Notifies the waiters; the answer stays for those that follow shortly. */
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

/* --- queries of their own */

static void on_alone(void *arg, const struct metric_answer *answer)
{
    struct metric_wait *wait = arg;

    wait->done(wait->arg, answer);
    free(wait);
}

/* False if nothing can be sent; *at_once says why. */
static bool ask_alone(struct metric_share *share, struct metric_wait *wait,
                      struct metric_answer *at_once)
{
    wait->alone = metric_call_start(&share->ways, wait->arena, wait->question, wait->now_ms,
                                    on_alone, wait, at_once);
    if (wait->alone)
        metrics_add(&questions, 1, wait->question->backend, "server");
    return wait->alone != NULL;
}

/* A group query has failed: it may be too long, or one member cannot be queried. */
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

/* A member that is not waiting, but will need the answer soon. */
static bool on_due(void *arg, const char *key, int64_t keep_ms)
{
    struct metric_share *share = arg;

    if (table_get(&share->entries, key, NULL))
        return false;
    (void)entry_new(share, key, keep_ms);
    return true;
}

/* --- queries */

static void copy_question(struct entry *entry, const struct metric_question *question)
{
    struct arena *arena = entry->arena;

    entry->question = *question;
    entry->question.id = arena_strdup(arena, question->id);
    entry->question.owner = arena_strdup(arena, question->owner);
    entry->question.backend = arena_strdup(arena, question->backend);
    entry->question.address = arena_strdup(arena, question->address);
    entry->question.query = arena_strdup(arena, question->query);
    entry->question.path = arena_strdup(arena, question->path);
    entry->question.body = arena_strdup(arena, question->body);
    entry->question.spec = held(arena, question->spec);
    entry->question.secret = held(arena, question->secret);
    entry->question.ca_pem = arena_strdup(arena, question->ca_pem);
    entry->question.only_namespace = arena_strdup(arena, question->only_namespace);
    /* it is asked for this member only */
    entry->question.group = NULL;
    entry->question.picks = NULL;
    entry->question.n_picks = 0;
}

/* False if nothing can be sent; *at_once says why. */
static bool ask_first(struct metric_share *share, const char *key, struct metric_wait *wait,
                      int64_t interval_ms, struct metric_answer *at_once)
{
    const struct metric_question *question = wait->question;
    struct entry *entry = entry_new(share, key, interval_ms / PART_OF_INTERVAL);

    wait_enter(&entry->waits, wait);
    if (question->group && metric_groups_ask(share->groups, question, key, wait->now_ms,
                                             interval_ms, entry->keep_ms)) {
        metrics_add(&questions, 1, question->backend, "group");
        return true;
    }
    copy_question(entry, question);
    entry->call = metric_call_start(&share->ways, entry->arena, &entry->question, wait->now_ms,
                                    on_answer, entry, at_once);
    if (entry->call) {
        metrics_add(&questions, 1, question->backend, "server");
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
    char key[SHA256_TEXT];
    write_key(question, key);
    struct entry *entry = table_get(&share->entries, key, NULL);
    int64_t age = entry ? clock_monotonic_ms() - entry->asked_ms : 0;
    bool fresh = entry && (age <= interval_ms / PART_OF_INTERVAL ||
                           (entry->answered && entry->answer.retry_ms > 0 && age < entry->keep_ms));

    if (fresh)
        metrics_add(&questions, 1, question->backend, "shared");
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
        asked = ask_alone(share, wait, at_once); /* the call under way began too long ago */
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
