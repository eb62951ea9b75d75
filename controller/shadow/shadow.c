#include "shadow/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "decide/decide.h"
#include "tick/edit.h"
#include "tick/need.h"
#include "tick/wake.h"

enum { MAX_LINES = 20 };

struct judging {
    struct arena *arena;
    const char *object; /* "httproutes test/app" */
    const char *lines;
    int count;
};

static const char *shown(struct arena *arena, struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_null:
        return "missing";
    case json_type_object:
        return "an object";
    case json_type_array:
        return arena_printf(arena, "a list of %zu", json_len(value));
    case json_type_string:
        return "a text";
    default:
        return json_object_get_string(value);
    }
}

static void tell(struct judging *j, const char *path, struct json_object *is,
                 struct json_object *expected)
{
    const char *one = shown(j->arena, is), *other = shown(j->arena, expected);

    if (++j->count > MAX_LINES)
        return;
    j->lines = arena_printf(j->arena, "%s%s: %s is %s, expected %s\n", j->lines, j->object, path,
                            one, strcmp(one, other) == 0 ? "another" : other);
}

/*
 * Fields that only this controller writes, or that each controller writes in its own way: Flagger's
 * id of the primary is random, ours a hash of the promoted revision; an object has the API version
 * that it was requested in.
 */
static bool is_note(const char *path)
{
    static const char *const notes[] = {
        "apiVersion", "metadata.resourceVersion", "metadata.annotations." APPLIED,
        "metadata.annotations." OWNER, "spec.template.metadata.annotations.flagger-id"};

    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
        if (strcmp(path, notes[i]) == 0)
            return true;
    return false;
}

/* A tree is at most as deep as its text may be (JSON_MAX_DEPTH). */
static void judge(struct judging *j, const char *path, struct json_object *is,
                  struct json_object *expected) // NOLINT(misc-no-recursion)
{
    if (is_note(path))
        return;
    if (json_object_is_type(expected, json_type_object)) {
        json_object_object_foreach(expected, key, value)
        {
            judge(j, *path ? arena_printf(j->arena, "%s.%s", path, key) : key,
                  json_at(is, key, NULL), value);
        }
    } else if (json_object_is_type(expected, json_type_array) &&
               json_len(expected) == json_len(is)) {
        for (size_t i = 0; i < json_len(expected); i++)
            judge(j, arena_printf(j->arena, "%s[%zu]", path, i), json_elem(is, i),
                  json_elem(expected, i));
    } else if (!json_same(is, expected)) {
        tell(j, path, is, expected);
    }
}

/*
 * Compares the prediction with the current cluster. CONTINUE: *differences has a line for each
 * difference ("httproutes test/app: spec.rules[0].weight is 20, expected 10"), "" if none. Other
 * contents of the objects do not count, nor do records that only this controller makes. Texts are
 * not shown, since they may be secret. NEEDS_FACTS: as for decide().
 */
static enum rule_result judge_writes(struct tick *tick, const struct foreseen_write *writes,
                                     const char **differences)
{
    struct judging j = {.arena = tick->arena, .lines = ""};
    struct json_object *live;
    bool all = true;

    for (const struct foreseen_write *write = writes; write; write = write->next) {
        if (!need_object(tick, write->resource, write->namespace_, write->name, &live)) {
            all = false;
            continue;
        }
        j.object = arena_printf(tick->arena, "%s %s/%s", write->resource->plural, write->namespace_,
                                write->name);
        if (!write->patch && live)
            j.lines =
                arena_printf(tick->arena, "%s%s: it exists, expected none\n", j.lines, j.object);
        else if (write->patch && !live)
            j.lines = arena_printf(tick->arena, "%s%s: it does not exist\n", j.lines, j.object);
        else if (write->patch)
            judge(&j, "", live, write->patch);
    }
    if (j.count > MAX_LINES)
        j.lines = arena_printf(tick->arena, "%s... and %d more\n", j.lines, j.count - MAX_LINES);
    *differences = j.lines;
    return all ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

/*
 * Limits: predictions kept; time in which objects must follow the status; number of intervals for
 * which a release may stay where the rules would move.
 */
enum { MAX_KEPT = 8, SETTLE_MS = 5000, STAY_INTERVALS = 3, STAY_LEAST_MS = 30000 };

enum stage { STAGE_LOOK, STAGE_JUDGE, STAGE_HINDSIGHT, STAGE_FORESEE };

/* The Canary as last seen at a position. */
struct seen {
    struct arena *arena; /* of its own; NULL if not seen */
    struct json_object *canary;
    int64_t first_ms; /* when the position was first seen */
};

struct shadow {
    bool knows, foresaw; /* knows `at`; has predicted the next step */
    bool moved;          /* has moved from `from` to `at`, and the move is not judged yet */
    struct position at, from;
    struct seen here, before;   /* at `at`; at `from`, while `moved` */
    struct prediction *kept;    /* predictions made at `at`, newest first */
    struct prediction *pending; /* predictions made at `from`, while `moved` */
    /* The time since when the rules would move for every answer of webhooks; 0: they would not. */
    int64_t should_ms;
    bool told_stay;
    char *trouble; /* differences of the objects of `pending` */
    /* Of the current run: */
    enum stage stage;
    bool has_hindsight; /* STAGE_HINDSIGHT is complete */
    struct foresight *foresight;
    const struct canary *live; /* as read, during STAGE_HINDSIGHT */
    const char *live_mistake;
    enum observed observed;
    char *text, *difference;
    char *waits, *waited; /* the wait that the rules expect at `at`, and at `from` */
    bool waits_anew;
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

/* --- predictions */

static void kept_free(struct prediction *kept)
{
    while (kept) {
        struct prediction *next = kept->next;
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
    return a->assumed == b->assumed && a->moves == b->moves && position_same(&a->to, &b->to) &&
           strcmp(a->plans, b->plans) == 0 && same_writes(a->writes, b->writes);
}

/* Removes the prediction from the list; NULL if it is not in the list. */
static struct prediction *take_same(struct prediction **at, const struct foreseen *foreseen)
{
    for (; *at; at = &(*at)->next) {
        struct prediction *kept = *at;
        if (!same_foreseen(kept->foreseen, foreseen))
            continue;
        *at = kept->next;
        return kept;
    }
    return NULL;
}

static void keep(struct shadow *o, const struct foreseen *foreseen)
{
    struct prediction *kept = take_same(&o->kept, foreseen);
    int count = 1;

    if (!kept) {
        struct arena *arena = arena_new();
        kept = ARENA_NEW(arena, struct prediction);
        *kept = (struct prediction){.arena = arena, .foreseen = copy_foreseen(arena, foreseen)};
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

/* --- findings */

static void found(struct shadow *o, enum observed observed, const char *text)
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

static const char *expected_text(struct arena *arena, const struct prediction *kept,
                                 const struct position *from, const char *waits)
{
    const char *text = "";

    for (; kept; kept = kept->next) {
        const struct foreseen *foreseen = kept->foreseen;
        if (!foreseen->moves)
            continue;
        const char *to = position_text(arena, &foreseen->to);
        if (!strstr(text, to))
            text = arena_printf(arena, "%s%s%s", text, *text ? ", or " : "", to);
    }
    if (*text)
        return text;
    return arena_printf(arena, "it to stay at %s%s%s", position_text(arena, from),
                        waits ? ", since " : "", waits ? waits : "");
}

static const char *move_text(const struct shadow *o, struct arena *arena)
{
    return arena_printf(arena, "from %s to %s", position_text(arena, &o->from),
                        position_text(arena, &o->at));
}

static void seen_drop(struct seen *seen)
{
    if (seen->arena)
        arena_free(seen->arena);
    *seen = (struct seen){.arena = NULL};
}

static void judged(struct shadow *o)
{
    o->moved = false;
    seen_drop(&o->before);
    kept_free(o->pending);
    o->pending = NULL;
    free(o->trouble);
    o->trouble = NULL;
}

static void found_objects(struct shadow *o, struct arena *arena)
{
    found(o, OBSERVED_OBJECTS,
          arena_printf(arena, "it went %s as expected, but\n%s", move_text(o, arena), o->trouble));
    judged(o);
}

/* --- the run */

struct shadow *shadow_new(void)
{
    struct shadow *o = heap_alloc(sizeof(*o));

    *o = (struct shadow){.knows = false};
    return o;
}

void shadow_free(struct shadow *o)
{
    if (!o)
        return;
    kept_free(o->kept);
    judged(o);
    seen_drop(&o->here);
    free(o->text);
    free(o->difference);
    free(o->waits);
    free(o->waited);
    free(o);
}

void shadow_begin(struct shadow *o)
{
    o->stage = STAGE_LOOK;
    o->has_hindsight = false;
    o->foresight = NULL;
    o->observed = OBSERVED_NOTHING;
    o->waits_anew = false;
}

static void see(struct shadow *o, struct tick *tick)
{
    int64_t first_ms = o->here.arena ? o->here.first_ms : tick->now_ms;

    if (o->here.arena && o->here.canary && json_same(o->here.canary, tick->live->json))
        return;
    seen_drop(&o->here);
    o->here.arena = arena_new();
    o->here.canary = json_copy(o->here.arena, tick->live->json);
    o->here.first_ms = first_ms;
}

static void differs(struct shadow *o, struct arena *arena)
{
    found(o, OBSERVED_DIFFERS,
          arena_printf(arena, "it went %s; expected %s", move_text(o, arena),
                       expected_text(arena, o->pending, &o->from, o->waited)));
    judged(o);
}

/*
 * The release is at `now`. A move that is not judged yet is extended: its evidence may arrive later
 * than the next move.
 */
static void move(struct shadow *o, struct tick *tick, const struct position *now)
{
    if (o->trouble) /* the release moves on, and the objects still differ */
        found_objects(o, tick->arena);
    else if (o->moved && position_same(&o->from, now))
        differs(o, tick->arena);
    if (o->moved) {
        seen_drop(&o->here);
        kept_free(o->kept);
    } else {
        o->from = o->at;
        o->before = o->here;
        o->pending = o->kept;
        o->moved = o->foresaw;
        free(o->waited);
        o->waited = o->waits;
        o->waits = NULL;
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

static void predict_next(struct shadow *o, struct tick *tick)
{
    struct position now = position_of(tick->live);

    o->stage = STAGE_JUDGE;
    if (!o->knows || !position_same(&o->at, &now))
        move(o, tick, &now);
    see(o, tick);
}

/*
 * The cause of a move may become visible with the move or after it: a pod got ready, and the other
 * controller noticed first. So the rules decide again about the former Canary, with all other
 * objects in their current state. CONTINUE: there is nothing more to fetch.
 */
static enum rule_result decide_in_hindsight(struct shadow *o, struct tick *tick)
{
    struct canary *before = ARENA_NEW(tick->arena, struct canary);
    const char *mistake;
    struct errinfo info;

    o->has_hindsight = true;
    if (!o->before.arena ||
        accept_view(tick->arena, o->before.canary, before, &mistake, &info) != ERR_OK) {
        differs(o, tick->arena);
        return RULE_CONTINUE;
    }
    o->stage = STAGE_HINDSIGHT;
    o->live = tick->live;
    o->live_mistake = tick->mistake;
    tick_see(tick, before);
    tick->mistake = mistake;
    o->foresight = foresight_new(tick, &o->at);
    return RULE_NEEDS_FACTS;
}

/*
 * Positions that were missed on the way have taken at most an interval each: two steps at once are
 * a difference. Other phases end as soon as possible.
 */
static bool had_time(const struct shadow *o, const struct tick *tick,
                     const struct foreseen *foreseen)
{
    int64_t interval = tick_interval_ms(tick), needed = foreseen->passed * interval;

    if (foreseen->after_ms < needed)
        needed = foreseen->after_ms;
    return foreseen->passed == 0 || o->from.phase != PHASE_Progressing ||
           o->here.first_ms - o->before.first_ms >= needed + interval / 2;
}

static void take_hindsight(struct shadow *o, struct tick *tick)
{
    const struct foreseen *foreseen = foresight_result(o->foresight);
    struct prediction *kept = o->kept;

    o->kept = NULL;
    for (; foreseen; foreseen = foreseen->next)
        if (foreseen->moves && position_same(&foreseen->to, &o->at) && had_time(o, tick, foreseen))
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

/* CONTINUE, or NEEDS_FACTS. */
static enum rule_result judge_move(struct shadow *o, struct tick *tick)
{
    const char *trouble = NULL, *differences;
    struct arena *arena = tick->arena;

    if (!o->moved)
        return RULE_CONTINUE;
    for (const struct prediction *kept = o->pending; kept; kept = kept->next) {
        const struct foreseen *foreseen = kept->foreseen;
        if (!foreseen->moves || !position_same(&foreseen->to, &o->at))
            continue;
        if (judge_writes(tick, foreseen->writes, &differences) == RULE_NEEDS_FACTS)
            return RULE_NEEDS_FACTS;
        if (!*differences) {
            found(o, OBSERVED_AGREES, arena_printf(arena, "it went %s", move_text(o, arena)));
            judged(o);
            return RULE_CONTINUE;
        }
        trouble = trouble ? trouble : differences;
    }
    if (!trouble && !o->has_hindsight)
        return decide_in_hindsight(o, tick);
    bool settled = tick->now_ms - o->here.first_ms >= SETTLE_MS;
    free(o->trouble);
    o->trouble = heap_strdup(trouble);
    if (settled && trouble)
        found_objects(o, arena);
    else if (settled)
        differs(o, arena);
    return RULE_CONTINUE;
}

/* The wait of these rules at this place, NULL if there is none; reported anew if only a person can
 * end it. */
static void set_waits(struct shadow *o, const char *text, bool person)
{
    if (text && o->waits && strcmp(text, o->waits) == 0)
        return;
    free(o->waits);
    o->waits = text ? heap_strdup(text) : NULL;
    o->waits_anew = text && person;
}

void shadow_refuse(struct shadow *o, const char *mistake)
{
    char *text = heap_printf("its spec is refused: %s", mistake);

    set_waits(o, text, true);
    free(text);
}

static void take_foresight(struct shadow *o, struct tick *tick)
{
    const struct foreseen *foreseen = foresight_result(o->foresight);
    int64_t stay = STAY_INTERVALS * tick_interval_ms(tick), after = 0;
    bool all = foreseen != NULL;

    o->foresaw = foreseen != NULL;
    const struct waiting *waits = foreseen ? &foreseen->waits : NULL;
    set_waits(o, waits && waits->kind >= WAITING_WAITS ? waits->text : NULL,
              waits && waits->kind == WAITING_PERSON);
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
                           position_text(tick->arena, &o->at),
                           expected_text(tick->arena, o->kept, &o->at, o->waits)));
    }
}

/* A running release is checked once per interval, as its controller does. */
static void plan_check(const struct shadow *o, struct tick *tick)
{
    struct plan *plan = tick->plan;

    plan->reads_status = true;
    plan->requeue = o->should_ms != 0 && !o->told_stay ? REQUEUE_INTERVAL
                    : wake_rests(o->at.phase)          ? REQUEUE_NEVER
                                                       : REQUEUE_INTERVAL;
    if (o->moved)
        plan->wake_ms = SETTLE_MS;
}

/* CONTINUE: the move is judged, or waits for the objects. */
static enum rule_result judge_stage(struct shadow *o, struct tick *tick)
{
    for (;;) {
        if (o->stage == STAGE_HINDSIGHT) {
            enum rule_result verdict = foresee(o->foresight, tick);
            if (verdict == RULE_NEEDS_FACTS || tick->broken)
                return RULE_NEEDS_FACTS;
            take_hindsight(o, tick);
        }
        enum rule_result verdict = judge_move(o, tick);
        if (o->stage != STAGE_HINDSIGHT)
            return verdict;
    }
}

enum rule_result shadow_decide(struct shadow *o, struct tick *tick)
{
    enum rule_result verdict = RULE_CONTINUE;

    if (o->stage == STAGE_LOOK)
        predict_next(o, tick);
    if (o->stage != STAGE_FORESEE) {
        verdict = judge_stage(o, tick);
        if (verdict != RULE_CONTINUE)
            return verdict;
        o->stage = STAGE_FORESEE;
        o->foresight = foresight_new(tick, NULL);
    }
    verdict = foresee(o->foresight, tick);
    if (verdict == RULE_NEEDS_FACTS || tick->broken)
        return verdict;
    take_foresight(o, tick);
    plan_check(o, tick);
    return verdict;
}

int64_t shadow_differences(const struct shadow *o)
{
    return o->counts[OBSERVED_DIFFERS] + o->counts[OBSERVED_OBJECTS] + o->counts[OBSERVED_STAYS];
}

void shadow_snapshot(const struct shadow *o, struct shadow_snapshot *out)
{
    *out = (struct shadow_snapshot){.observed = o->observed,
                                    .text = o->text,
                                    .difference = o->difference,
                                    .waits = o->waits,
                                    .waits_anew = o->waits_anew,
                                    .at = o->knows ? &o->at : NULL,
                                    .kept = o->kept};
    memcpy(out->counts, o->counts, sizeof(out->counts));
}
