#include "observe/observer.h"

#include <stdlib.h>
#include <string.h>

#include "decide/decide.h"
#include "observe/judge.h"
#include "tick/wake.h"

/* How many of what was foreseen are kept; how long objects may take to follow
 * the status; how many intervals a release may stay where the rules would move. */
enum { MAX_KEPT = 8, SETTLE_MS = 5000, STAY_INTERVALS = 3, STAY_LEAST_MS = 30000 };

enum stage { STAGE_LOOK, STAGE_JUDGE, STAGE_HINDSIGHT, STAGE_FORESEE };

/* The Canary as it was last seen at a stand. */
struct seen {
    struct arena *arena; /* of its own; NULL: it was not seen */
    struct json_object *canary;
    int64_t first_ms; /* when that stand was first seen */
};

struct observer {
    bool knows, foresaw; /* `at`; and what would come next */
    bool moved;          /* from `from` to `at`, which is not judged yet */
    struct stand at, from;
    struct seen here, before;      /* at `at`; at `from`, while `moved` */
    struct observer_kept *kept;    /* what was foreseen at `at`, newest first */
    struct observer_kept *pending; /* ... at `from`, while `moved` */
    int64_t should_ms; /* since when the rules would move whatever webhooks say; 0: they do not */
    bool told_stay;
    char *trouble; /* how the objects of `pending` differ */
    /* Of the run: */
    enum stage stage;
    bool looked_back; /* STAGE_HINDSIGHT is over */
    struct foresight *foresight;
    const struct canary *live; /* as read, during STAGE_HINDSIGHT */
    const char *live_mistake;
    enum observed observed;
    char *text, *difference;
    int64_t counts[OBSERVED_KINDS];
};

const char *observed_name(enum observed observed)
{
    static const char *const names[] = {[OBSERVED_NOTHING] = "nothing",
                                        [OBSERVED_AGREES] = "agrees",
                                        [OBSERVED_DIFFERS] = "differs",
                                        [OBSERVED_OBJECTS] = "objects",
                                        [OBSERVED_STAYS] = "stays"};
    return names[observed];
}

/* --- what was foreseen */

static void kept_free(struct observer_kept *kept)
{
    while (kept) {
        struct observer_kept *next = kept->next;
        arena_free(kept->arena);
        kept = next;
    }
}

static const struct foreseen *copy_foreseen(struct arena *arena, const struct foreseen *from)
{
    struct foreseen *copy = ARENA_NEW(arena, struct foreseen);
    struct foreseen_write **last = &copy->writes;

    *copy = *from;
    copy->next = NULL;
    copy->plans = arena_strdup(arena, from->plans);
    copy->writes = NULL;
    for (const struct foreseen_write *write = from->writes; write; write = write->next) {
        *last = ARENA_NEW(arena, struct foreseen_write);
        **last = (struct foreseen_write){.resource = write->resource,
                                         .namespace_ = arena_strdup(arena, write->namespace_),
                                         .name = arena_strdup(arena, write->name),
                                         .patch = json_copy(arena, write->patch)};
        last = &(*last)->next;
    }
    return copy;
}

static bool same_writes(const struct foreseen_write *a, const struct foreseen_write *b)
{
    while (a && b && strcmp(a->name, b->name) == 0 && json_same(a->patch, b->patch)) {
        a = a->next;
        b = b->next;
    }
    return !a && !b;
}

static bool same_foreseen(const struct foreseen *a, const struct foreseen *b)
{
    return a->assumed == b->assumed && a->moves == b->moves && stand_same(&a->to, &b->to) &&
           strcmp(a->plans, b->plans) == 0 && same_writes(a->writes, b->writes);
}

/* Takes it out of the list; NULL: it is not in it. */
static struct observer_kept *take_same(struct observer_kept **at, const struct foreseen *foreseen)
{
    for (; *at; at = &(*at)->next) {
        struct observer_kept *kept = *at;
        if (!same_foreseen(kept->foreseen, foreseen))
            continue;
        *at = kept->next;
        return kept;
    }
    return NULL;
}

static void keep(struct observer *o, const struct foreseen *foreseen)
{
    struct observer_kept *kept = take_same(&o->kept, foreseen);
    int count = 1;

    if (!kept) {
        struct arena *arena = arena_new();
        kept = ARENA_NEW(arena, struct observer_kept);
        *kept = (struct observer_kept){.arena = arena, .foreseen = copy_foreseen(arena, foreseen)};
    }
    kept->next = o->kept;
    o->kept = kept;
    while (kept->next && count++ < MAX_KEPT)
        kept = kept->next;
    kept_free(kept->next);
    kept->next = NULL;
}

static bool is_idle(const struct foreseen *foreseen)
{
    return !foreseen->moves && !*foreseen->plans;
}

/* --- what is found */

static void found(struct observer *o, enum observed observed, const char *text)
{
    o->observed = observed;
    o->counts[observed]++;
    free(o->text);
    o->text = heap_strdup(text);
    if (observed == OBSERVED_AGREES)
        return;
    free(o->difference);
    o->difference = heap_strdup(text);
}

static const char *expected_text(struct arena *arena, const struct observer_kept *kept)
{
    const char *text = "";

    for (; kept; kept = kept->next) {
        const struct foreseen *foreseen = kept->foreseen;
        if (!foreseen->moves)
            continue;
        const char *to = stand_text(arena, &foreseen->to);
        if (!strstr(text, to))
            text = arena_printf(arena, "%s%s%s", text, *text ? ", or " : "", to);
    }
    return *text ? text : "that it stays";
}

static const char *move_text(const struct observer *o, struct arena *arena)
{
    return arena_printf(arena, "from %s to %s", stand_text(arena, &o->from),
                        stand_text(arena, &o->at));
}

static void seen_drop(struct seen *seen)
{
    if (seen->arena)
        arena_free(seen->arena);
    *seen = (struct seen){.arena = NULL};
}

static void judged(struct observer *o)
{
    o->moved = false;
    seen_drop(&o->before);
    kept_free(o->pending);
    o->pending = NULL;
    free(o->trouble);
    o->trouble = NULL;
}

static void found_objects(struct observer *o, struct arena *arena)
{
    found(o, OBSERVED_OBJECTS,
          arena_printf(arena, "it went %s as expected, but\n%s", move_text(o, arena), o->trouble));
    judged(o);
}

/* --- the run */

struct observer *observer_new(void)
{
    struct observer *o = heap_alloc(sizeof(*o));

    *o = (struct observer){.knows = false};
    return o;
}

void observer_free(struct observer *o)
{
    if (!o)
        return;
    kept_free(o->kept);
    judged(o);
    seen_drop(&o->here);
    free(o->text);
    free(o->difference);
    free(o);
}

void observer_begin(struct observer *o)
{
    o->stage = STAGE_LOOK;
    o->looked_back = false;
    o->foresight = NULL;
    o->observed = OBSERVED_NOTHING;
}

static void see(struct observer *o, struct tick *tick)
{
    int64_t first_ms = o->here.arena ? o->here.first_ms : tick->now_ms;

    if (o->here.arena && o->here.canary && json_same(o->here.canary, tick->live->json))
        return;
    seen_drop(&o->here);
    o->here.arena = arena_new();
    o->here.canary = json_copy(o->here.arena, tick->live->json);
    o->here.first_ms = first_ms;
}

static void differs(struct observer *o, struct arena *arena)
{
    found(o, OBSERVED_DIFFERS,
          arena_printf(arena, "it went %s; expected %s", move_text(o, arena),
                       expected_text(arena, o->pending)));
    judged(o);
}

/* It stands at `now`. A move that is not judged yet becomes a longer one: what it is judged by may
 * come later than the next. */
static void move(struct observer *o, struct tick *tick, const struct stand *now)
{
    if (o->trouble) /* it moves on, and they are still otherwise */
        found_objects(o, tick->arena);
    else if (o->moved && stand_same(&o->from, now))
        differs(o, tick->arena);
    if (o->moved) {
        seen_drop(&o->here);
        kept_free(o->kept);
    } else {
        o->from = o->at;
        o->before = o->here;
        o->pending = o->kept;
        o->moved = o->foresaw;
    }
    o->here = (struct seen){.arena = NULL};
    o->kept = NULL;
    o->at = *now;
    o->should_ms = 0;
    o->told_stay = false;
    o->knows = true;
    o->foresaw = false;
    if (!o->moved)
        judged(o);
}

static void look(struct observer *o, struct tick *tick)
{
    struct stand now = stand_of(tick->live);

    o->stage = STAGE_JUDGE;
    if (!o->knows || !stand_same(&o->at, &now))
        move(o, tick, &now);
    see(o, tick);
}

/*
 * What moved it may be seen together with the move, or after it: a pod got ready, and the other
 * one was quicker. So the rules are asked again what they would have done with the Canary as
 * it was and everything else as it is now. GO: there is nothing more to ask.
 */
static enum verdict look_back(struct observer *o, struct tick *tick)
{
    struct canary *before = ARENA_NEW(tick->arena, struct canary);
    const char *mistake;
    struct errinfo info;

    o->looked_back = true;
    if (!o->before.arena ||
        accept_view(tick->arena, o->before.canary, before, &mistake, &info) != ERR_OK) {
        differs(o, tick->arena);
        return VERDICT_GO;
    }
    o->stage = STAGE_HINDSIGHT;
    o->live = tick->live;
    o->live_mistake = tick->mistake;
    tick_see(tick, before);
    tick->mistake = mistake;
    o->foresight = foresight_new(tick, &o->at);
    return VERDICT_NEED_FACTS;
}

/* Steps on the way that were missed have taken their time, an interval each at most: who goes two
 * steps at once does otherwise. Other phases end as soon as they can. */
static bool had_time(const struct observer *o, const struct tick *tick,
                     const struct foreseen *foreseen)
{
    int64_t interval = tick_interval_ms(tick), needed = foreseen->passed * interval;

    if (foreseen->after_ms < needed)
        needed = foreseen->after_ms;
    return foreseen->passed == 0 || o->from.phase != PHASE_Progressing ||
           o->here.first_ms - o->before.first_ms >= needed + interval / 2;
}

static void take_hindsight(struct observer *o, struct tick *tick)
{
    const struct foreseen *foreseen = foresight_result(o->foresight);
    struct observer_kept *kept = o->kept;

    o->kept = NULL;
    for (; foreseen; foreseen = foreseen->next)
        if (foreseen->moves && stand_same(&foreseen->to, &o->at) && had_time(o, tick, foreseen))
            keep(o, foreseen);
    if (o->kept) {
        kept_free(o->pending);
        o->pending = o->kept;
    }
    o->kept = kept;
    o->stage = STAGE_JUDGE;
    tick_see(tick, o->live);
    tick->mistake = o->live_mistake;
}

/* GO, or NEED_FACTS. */
static enum verdict judge_move(struct observer *o, struct tick *tick)
{
    const char *trouble = NULL, *differences;
    struct arena *arena = tick->arena;

    if (!o->moved)
        return VERDICT_GO;
    for (const struct observer_kept *kept = o->pending; kept; kept = kept->next) {
        const struct foreseen *foreseen = kept->foreseen;
        if (!foreseen->moves || !stand_same(&foreseen->to, &o->at))
            continue;
        if (judge_writes(tick, foreseen->writes, &differences) == VERDICT_NEED_FACTS)
            return VERDICT_NEED_FACTS;
        if (!*differences) {
            found(o, OBSERVED_AGREES, arena_printf(arena, "it went %s", move_text(o, arena)));
            judged(o);
            return VERDICT_GO;
        }
        trouble = trouble ? trouble : differences;
    }
    if (!trouble && !o->looked_back)
        return look_back(o, tick);
    bool settled = tick->now_ms - o->here.first_ms >= SETTLE_MS;
    free(o->trouble);
    o->trouble = heap_strdup(trouble);
    if (settled && trouble)
        found_objects(o, arena);
    else if (settled)
        differs(o, arena);
    return VERDICT_GO;
}

static void take_foresight(struct observer *o, struct tick *tick)
{
    const struct foreseen *foreseen = foresight_result(o->foresight);
    int64_t stay = STAY_INTERVALS * tick_interval_ms(tick), after = 0;
    bool all = foreseen != NULL;

    o->foresaw = foreseen != NULL;
    for (; foreseen; foreseen = foreseen->next) {
        all = all && foreseen->moves;
        after = foreseen->after_ms > after ? foreseen->after_ms : after;
        if (!is_idle(foreseen))
            keep(o, foreseen);
    }
    stay = after + (stay < STAY_LEAST_MS ? STAY_LEAST_MS : stay);
    if (!all)
        o->should_ms = 0;
    else if (o->should_ms == 0)
        o->should_ms = tick->now_ms;
    else if (!o->told_stay && tick->now_ms - o->should_ms >= stay) {
        o->told_stay = true;
        found(o, OBSERVED_STAYS,
              arena_printf(tick->arena, "it stays at %s; expected %s",
                           stand_text(tick->arena, &o->at), expected_text(tick->arena, o->kept)));
    }
}

/* A release that runs is looked at once an interval, as whoever looks after it does. */
static void plan_look(const struct observer *o, struct tick *tick)
{
    struct plan *plan = tick->plan;

    plan->reads_status = true;
    plan->again = o->should_ms != 0 && !o->told_stay ? AGAIN_INTERVAL
                  : wake_rests(o->at.phase)          ? AGAIN_NEVER
                                                     : AGAIN_INTERVAL;
    if (o->moved)
        plan->wake_ms = SETTLE_MS;
}

/* GO: the move is judged, or has to wait for the objects. */
static enum verdict judge_stage(struct observer *o, struct tick *tick)
{
    for (;;) {
        if (o->stage == STAGE_HINDSIGHT) {
            enum verdict verdict = foresee(o->foresight, tick);
            if (verdict == VERDICT_NEED_FACTS || tick->broken)
                return VERDICT_NEED_FACTS;
            take_hindsight(o, tick);
        }
        enum verdict verdict = judge_move(o, tick);
        if (o->stage != STAGE_HINDSIGHT)
            return verdict;
    }
}

enum verdict observer_decide(struct observer *o, struct tick *tick)
{
    enum verdict verdict = VERDICT_GO;

    if (o->stage == STAGE_LOOK)
        look(o, tick);
    if (o->stage != STAGE_FORESEE) {
        verdict = judge_stage(o, tick);
        if (verdict != VERDICT_GO)
            return verdict;
        o->stage = STAGE_FORESEE;
        o->foresight = foresight_new(tick, NULL);
    }
    verdict = foresee(o->foresight, tick);
    if (verdict == VERDICT_NEED_FACTS || tick->broken)
        return verdict;
    take_foresight(o, tick);
    plan_look(o, tick);
    return verdict;
}

int64_t observer_differences(const struct observer *o)
{
    return o->counts[OBSERVED_DIFFERS] + o->counts[OBSERVED_OBJECTS] + o->counts[OBSERVED_STAYS];
}

void observer_look(const struct observer *o, struct observer_look *out)
{
    *out = (struct observer_look){.observed = o->observed,
                                  .text = o->text,
                                  .difference = o->difference,
                                  .at = o->knows ? &o->at : NULL,
                                  .kept = o->kept};
    memcpy(out->counts, o->counts, sizeof(out->counts));
}
