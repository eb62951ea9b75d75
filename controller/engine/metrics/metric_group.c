#include "engine/metrics/metric_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/table.h"
#include "metric/backend.h"
#include "metric/family.h"

enum { MAX_ASKED = 64, KEY_MAX = 80, FORGOTTEN_AFTER = 3 };

/* A workload that asks again and again. */
struct member {
    struct member *next;
    char *namespace_, *name;
    char key[KEY_MAX];
    int64_t asked_ms, interval_ms;
    bool expected; /* it was asked for with others, and has not asked since */
};

/* Those who differ in nothing but the workload. */
struct group {
    char *text; /* what they have in common */
    struct member *members;
};

/* One query under way. */
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

struct metric_groups *metric_groups_new(const struct metric_ways *ways, metric_member_fn answered,
                                        metric_due_fn due, void *arg)
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

void metric_groups_free(struct metric_groups *groups)
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

/* --- who asks */

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

/* --- asking */

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

static void on_answer(void *arg, const struct metric_answer *answer)
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

/* NULL: they are of several namespaces. */
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
                                     on_answer, asking, &at_once);
    return asking->call != NULL;
}

bool metric_groups_ask(struct metric_groups *groups, const struct metric_question *question,
                       const char *key, int64_t now_ms, int64_t interval_ms, int64_t ahead_ms)
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
