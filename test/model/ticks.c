#include "ticks.h"

#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/claims.h"
#include "looks.h"
#include "pool.h"
#include "prose.h"
#include "proto/webhook_message.h"
#include "tick/wake.h"

/* REWORDED: of so many clusters, one is decided on once more in other words; with all of them a
 * walk takes twice as long, and finds no more. */
enum { MAX_NEEDS = 32, MAX_ROUNDS = 64, REWORDED = 8 };

const int64_t ticks_now_ms = 1700000000000;
const char ticks_now[] = "2023-11-14T22:13:20Z";
const char ticks_lately[] = "2023-11-14T22:08:20Z";
const char ticks_past[] = "2023-11-01T00:00:00Z";

struct asked_about {
    uint32_t cluster;
    uint32_t due;
    /* --- identity ends */
    uint32_t first, count;
};

struct known_need {
    struct need need;
    int place;
};

/* As the engine reads the Canary. */
struct viewed {
    const struct canary *canary;
    const char *mistake;
};

struct ticks {
    struct objects *objects;
    int canary;
    int conflict;          /* the place of another Canary, -1: none */
    int flags, refusals;   /* those of ticks.h, -1: none */
    struct arena *arena;   /* for ever */
    struct arena *scratch; /* for one decide() */
    struct settings settings;
    struct known_need needs[MAX_NEEDS];
    int n_needs;
    struct viewed *canaries; /* by version */
    uint32_t n_canaries;
    uint8_t allowed[QUESTIONS];
    bool remembers;  /* outcomes of releases are a part of the status */
    bool leads_back; /* and of which revisions they were */
    bool dates;      /* when an analysis began is a part of the status */
    bool rewords;    /* what is asked about now is asked once more in other words */
    struct pool clusters;
    struct pool asked;
    struct cluster last;    /* the cluster that was asked about last */
    uint32_t last_asked[2]; /* its number in asked + 1, by due; 0 if unknown */
    struct outcome *outcomes;
    uint32_t n_outcomes, outcome_capacity;
    struct step *steps;
    uint32_t n_steps, step_capacity;
    uint64_t calls;
};

static const char *const labels[] = {"app", "name", "app.kubernetes.io/name", NULL};

struct ticks *ticks_new(struct objects *objects, int canary)
{
    struct ticks *ticks = heap_alloc(sizeof(*ticks));

    *ticks = (struct ticks){.objects = objects,
                            .canary = canary,
                            .conflict = -1,
                            .flags = -1,
                            .refusals = -1,
                            .arena = arena_new(),
                            .scratch = arena_new(),
                            .settings = {.mesh_provider = "istio",
                                         .metrics_server = "http://prometheus:9090",
                                         .selector_labels = labels,
                                         .cluster_name = "",
                                         .config_tracking = true,
                                         .min_analysis_interval_ms = 10000}};
    memset(ticks->allowed, 0xff, sizeof(ticks->allowed));
    pool_init(&ticks->clusters, sizeof(struct cluster), sizeof(struct cluster));
    pool_init(&ticks->asked, offsetof(struct asked_about, first), sizeof(struct asked_about));
    return ticks;
}

void ticks_free(struct ticks *ticks)
{
    pool_fini(&ticks->clusters);
    pool_fini(&ticks->asked);
    free(ticks->canaries);
    free(ticks->outcomes);
    free(ticks->steps);
    arena_free(ticks->arena);
    arena_free(ticks->scratch);
    free(ticks);
}

void ticks_rival(struct ticks *ticks, int place)
{
    ticks->conflict = place;
}

void ticks_flags(struct ticks *ticks, int place)
{
    ticks->flags = place;
}

void ticks_remember(struct ticks *ticks)
{
    ticks->remembers = true;
}

void ticks_lead_back(struct ticks *ticks)
{
    ticks->leads_back = true;
}

void ticks_date(struct ticks *ticks)
{
    ticks->dates = true;
}

void ticks_refusals(struct ticks *ticks, int place)
{
    ticks->refusals = place;
}

void ticks_allow(struct ticks *ticks, const uint8_t allowed[QUESTIONS])
{
    memcpy(ticks->allowed, allowed, sizeof(ticks->allowed));
}

uint64_t ticks_calls(const struct ticks *ticks)
{
    return ticks->calls;
}

static struct viewed view(struct ticks *ticks, uint16_t version)
{
    struct json_object *tree = objects_tree(ticks->objects, ticks->canary, version);
    struct errinfo ei;

    if (!tree)
        return (struct viewed){0};
    if (version >= ticks->n_canaries) {
        uint32_t more = 2u * version + 64;
        ticks->canaries = heap_grow(ticks->canaries, more * sizeof(struct viewed));
        for (uint32_t i = ticks->n_canaries; i < more; i++)
            ticks->canaries[i] = (struct viewed){0};
        ticks->n_canaries = more;
    }
    struct viewed *viewed = &ticks->canaries[version];
    if (!viewed->canary) {
        struct canary *canary = ARENA_NEW(ticks->arena, struct canary);
        if (accept_view(ticks->arena, tree, canary, &viewed->mistake, &ei) != ERR_OK)
            return (struct viewed){0};
        viewed->canary = canary;
    }
    return *viewed;
}

const struct canary *ticks_canary(struct ticks *ticks, uint16_t version)
{
    return view(ticks, version).canary;
}

/* --- one decide(), with given answers */

struct attempt {
    const struct cluster *cluster;
    const struct canary *reworded; /* NULL: as it is in the cluster */
    const uint8_t *given;          /* answers in the order of the questions */
    int n_given;
    int used;
    enum question asks; /* the first question that no answer was given to */
    bool wants_more;
    bool broken;
    uint8_t answers[QUESTIONS];
    int64_t look_from, look_to;
    char about[SPECHASH_TEXT];
};

static sigjmp_buf broke;

static void on_abort(int signal)
{
    siglongjmp(broke, signal);
}

static enum question question_of(const struct tick *tick, const struct need *need)
{
    if (need->kind == NEED_METRIC)
        return looks_asks(need) ? Q_LOOK : Q_METRIC;
    const struct canary_webhook *hook = &tick->canary->analysis.webhooks[need->webhook];
    if (webhook_is_load(hook->metadata) &&
        (need->phase == PHASE_Succeeded || need->phase == PHASE_Failed))
        return Q_LOAD_END;
    switch (hook->type) {
    case HOOK_CONFIRM_ROLLOUT:
        return Q_CONFIRM_ROLLOUT;
    case HOOK_PRE_ROLLOUT:
        return Q_PRE_ROLLOUT;
    case HOOK_CONFIRM_TRAFFIC_INCREASE:
        return Q_MORE_TRAFFIC;
    case HOOK_CONFIRM_PROMOTION:
        return Q_CONFIRM_PROMOTION;
    case HOOK_ROLLBACK:
        return Q_ROLLBACK;
    default:
        return Q_ROLLOUT;
    }
}

/* Both sides always have requests (decide/metrics.h): nothing follows from them. */
static bool asks_requests(const struct need *need)
{
    static const char begin[] = "requests.";

    return need->metric.id && strncmp(need->metric.id, begin, strlen(begin)) == 0;
}

static void answer_metric(struct tick *tick, const struct need *need, uint8_t answer)
{
    struct metric_answer fact = {.outcome = METRIC_VALUE, .value = answer == PASS ? 100 : 1};

    if (answer == NONE)
        fact = (struct metric_answer){.outcome = METRIC_NO_VALUES, .text = "no values found"};
    if (answer == ERROR)
        fact = (struct metric_answer){
            .outcome = METRIC_ERROR, .text = "connection refused", .unreachable = true};
    fact_metric(tick, need, fact);
}

static void answer_hook(struct tick *tick, const struct need *need, uint8_t answer,
                        struct attempt *attempt)
{
    if (question_of(tick, need) != Q_LOAD_END) /* which lets nothing in */
        snprintf(attempt->about, sizeof(attempt->about), "%s", need->checksum);
    fact_hook(
        tick, need,
        (struct hook_answer){.passed = answer == PASS, .text = answer == PASS ? "OK" : "refused"});
}

/* A list is asked for seldom, and then not among what every tick is given; but for that of scalers. */
static void give_list(struct ticks *ticks, const struct cluster *cluster, struct tick *tick,
                      const struct need *need)
{
    struct json_object *list = json_own(ticks->scratch, json_object_new_object());
    struct json_object *items = json_object_new_array();
    size_t len = strlen(need->resource->plural);

    json_object_object_add(list, "items", items);
    for (int place = 0; place < objects_places(ticks->objects); place++) {
        const char *key = objects_key(ticks->objects, place);
        struct json_object *tree = objects_tree(ticks->objects, place, cluster->at[place]);
        if (tree && strncmp(key, need->resource->plural, len) == 0 && key[len] == '/')
            json_object_array_add(items, json_object_get(tree));
    }
    fact_object(tick, need, list);
}

static void give_object(struct ticks *ticks, const struct cluster *cluster, struct tick *tick,
                        const struct known_need *known)
{
    if (known->place < 0) {
        give_list(ticks, cluster, tick, &known->need);
        return;
    }
    fact_object(tick, &known->need,
                objects_tree(ticks->objects, known->place, cluster->at[known->place]));
}

static void learn_need(struct ticks *ticks, const struct need *need)
{
    struct known_need *known = &ticks->needs[ticks->n_needs];
    const char *name = need->name ? need->name : "";
    const char *key = arena_printf(ticks->scratch, "%s/%s", need->resource->plural, name);

    assert(ticks->n_needs < MAX_NEEDS);
    known->place = need->scales ? -1 : objects_place(ticks->objects, key);
    known->need = (struct need){.kind = NEED_OBJECT,
                                .resource = need->resource,
                                .scales = need->scales ? "" : NULL,
                                .key = arena_strdup(ticks->arena, need->key)};
    ticks->n_needs++;
}

/* The answer to a question that rules ask the world. False: none was given for it. */
static bool take_answer(struct attempt *attempt, enum question question, uint8_t *answer)
{
    /* all questions of a look have one */
    bool is_given = question == Q_LOOK && attempt->answers[Q_LOOK] != NOT_ASKED;

    if (!is_given && attempt->used == attempt->n_given) {
        attempt->asks = question;
        attempt->wants_more = true;
        return false;
    }
    *answer = is_given ? attempt->answers[question] : attempt->given[attempt->used++];
    attempt->answers[question] = *answer;
    return true;
}

static bool answer_question(struct tick *tick, const struct need *need, struct attempt *attempt)
{
    enum question question = question_of(tick, need);
    bool probe = need->kind == NEED_METRIC &&
                 (!need->metric.query || looks_asks_before(need) || asks_requests(need));
    uint8_t answer = PASS;

    if (!probe && !take_answer(attempt, question, &answer))
        return false;
    if (question == Q_LOOK) {
        if (!probe)
            looks_window(need, &attempt->look_from, &attempt->look_to);
        fact_metric(tick, need, looks_answer(need, answer));
    } else if (need->kind == NEED_METRIC) {
        answer_metric(tick, need, answer);
    } else {
        answer_hook(tick, need, answer, attempt);
    }
    return true;
}

/* Answers what was asked. False: a question is left for which no answer was given. */
static bool answer_needs(struct ticks *ticks, struct tick *tick, struct attempt *attempt)
{
    for (const struct need *need = tick->needs; need; need = need->next) {
        if (need->kind == NEED_OBJECT && !need->name && !need->scales) {
            give_list(ticks, attempt->cluster, tick, need);
            continue;
        }
        if (need->kind == NEED_OBJECT) {
            learn_need(ticks, need);
            give_object(ticks, attempt->cluster, tick, &ticks->needs[ticks->n_needs - 1]);
            continue;
        }
        if (!answer_question(tick, need, attempt))
            return false;
    }
    return true;
}

static void judge(struct ticks *ticks, const struct cluster *cluster, struct tick *tick)
{
    struct json_object *other =
        objects_tree(ticks->objects, ticks->conflict, cluster->at[ticks->conflict]);
    struct claims *claims = claims_new();
    struct claim_set *set = claim_set_read(other);

    if (other)
        claims_add(claims, set);
    struct claim_conflict claim_conflict =
        claims_check(claims, ticks->scratch,
                     objects_tree(ticks->objects, ticks->canary, cluster->at[ticks->canary]));
    tick->conflict = claim_conflict.conflict;
    tick->locked_out = claim_conflict.locked_out;
    tick->successor = claim_conflict.successor;
    if (other)
        claims_drop(claims, set);
    claim_set_free(set);
    claims_free(claims);
}

/* As the process was started. */
static void take_flags(struct ticks *ticks, const struct cluster *cluster)
{
    struct json_object *list =
        ticks->flags < 0
            ? NULL
            : json_at(objects_tree(ticks->objects, ticks->flags, cluster->at[ticks->flags]),
                      "selectorLabels", NULL);
    const char **names = arena_alloc(ticks->scratch, (json_len(list) + 1) * sizeof(*names));
    size_t n = 0;

    for (; n < json_len(list); n++)
        names[n] = json_object_get_string(json_elem(list, n));
    names[n] = NULL;
    ticks->settings.selector_labels = n > 0 ? names : labels;
}

/* Tells of a write that was refused a moment ago, as the engine does. */
static void show_refusal(struct ticks *ticks, const struct cluster *cluster, struct tick *tick)
{
    struct json_object *known = ticks->refusals < 0 ? NULL
                                                    : objects_tree(ticks->objects, ticks->refusals,
                                                                   cluster->at[ticks->refusals]);
    const char *met = json_str_at(known, "met", NULL), *name = met ? strchr(met, '/') : NULL;

    if (!name || !json_bool_at(known, false, "tells", NULL))
        return;
    tick->refused_write = (struct refused_write){
        .resource = arena_printf(ticks->scratch, "%.*s", (int)(name - met), met),
        .name = name + 1,
        .text = arena_printf(ticks->scratch, "%s: a policy does not like it", met)};
}

static struct tick *decide_on(struct ticks *ticks, struct attempt *attempt, bool due)
{
    const struct viewed viewed = view(ticks, attempt->cluster->at[ticks->canary]);

    arena_reset(ticks->scratch);
    assert(viewed.canary);
    take_flags(ticks, attempt->cluster);
    struct tick *tick =
        tick_new(ticks->scratch, attempt->reworded ? attempt->reworded : viewed.canary,
                 &ticks->settings, ticks_now_ms, due);
    tick->mistake = viewed.mistake;
    if (ticks->conflict >= 0)
        judge(ticks, attempt->cluster, tick);
    show_refusal(ticks, attempt->cluster, tick);
    for (int i = 0; i < ticks->n_needs; i++)
        give_object(ticks, attempt->cluster, tick, &ticks->needs[i]);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        tick_reset(tick);
        ticks->calls++;
        enum rule_result verdict = decide(tick);
        attempt->broken = tick->broken != NULL;
        if (verdict != RULE_NEEDS_FACTS || attempt->broken)
            return tick;
        if (!answer_needs(ticks, tick, attempt))
            return tick;
    }
    attempt->broken = true;
    return tick;
}

/* As decide_on(), and comes back from an assertion that fails. */
static struct tick *decide_safely(struct ticks *ticks, struct attempt *attempt, bool due)
{
    struct sigaction now = {.sa_handler = on_abort, .sa_flags = SA_NODEFER}, before;
    struct tick *tick = NULL;

    sigaction(SIGABRT, &now, &before);
    if (sigsetjmp(broke, 1) == 0)
        tick = decide_on(ticks, attempt, due);
    else
        attempt->broken = true;
    sigaction(SIGABRT, &before, NULL);
    return tick;
}

/* --- what it left */

static bool is_write(const struct effect *effect)
{
    return effect->kind == EFFECT_CREATE || effect->kind == EFFECT_PATCH ||
           effect->kind == EFFECT_DELETE || effect->kind == EFFECT_STATUS;
}

static int place_of(struct ticks *ticks, const struct effect *effect)
{
    if (effect->kind == EFFECT_STATUS)
        return ticks->canary;
    return objects_place(ticks->objects, arena_printf(ticks->scratch, "%s/%s",
                                                      effect->resource->plural, effect->name));
}

/* Leaves of a release of which revisions it was; when is the same for all. */
static void keep_way(struct json_object *to, struct json_object *release)
{
    static const char *const keys[] = {"revision", "before"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (json_str_at(release, keys[i], NULL))
            json_set_str(to, keys[i], json_str_at(release, keys[i], NULL));
    if (json_str_at(release, "ended", NULL))
        json_set_str(to, "ended", "1970-01-01T00:00:00Z");
}

static void keep_release(struct ticks *ticks, struct json_object *status,
                         struct json_object *release)
{
    struct json_object *kept = json_own(ticks->scratch, json_object_new_object());

    keep_way(kept, release);
    json_set(status, "release", kept);
}

static struct json_object *outcomes_of(struct ticks *ticks, struct json_object *history)
{
    enum { OUTCOMES = 3 };
    struct json_object *list = json_own(ticks->scratch, json_object_new_array());

    for (size_t i = 0; i < json_len(history) && i < OUTCOMES; i++) {
        struct json_object *entry = json_own(ticks->scratch, json_object_new_object());
        json_set_str(entry, "outcome", json_str_at(json_elem(history, i), "outcome", NULL));
        if (ticks->leads_back)
            keep_way(entry, json_elem(history, i));
        json_object_array_add(list, json_object_get(entry));
    }
    return list;
}

/* Leaves of the release that runs when its analysis began. */
static void keep_date(struct ticks *ticks, struct json_object *status)
{
    static const char key[] = "analysisBegan";
    struct json_object *release, *began = NULL;

    if (!json_object_object_get_ex(status, "release", &release))
        return;
    bool ends = !release, dated = !ends && json_object_object_get_ex(release, key, &began);
    began = began ? json_copy(ticks->scratch, began) : NULL;
    json_object_object_del(status, "release");
    if (ends)
        json_set(status, "release", NULL);
    else if (dated)
        json_set(json_sub(status, "release"), key, began);
}

/* But for the outcomes, no rule reads what is remembered of releases: to the model, two states that
 * differ in nothing else are one. Of evidence only the verdict counts. */
static struct json_object *without_memory(struct ticks *ticks, const struct effect *effect)
{
    if (effect->kind != EFFECT_STATUS)
        return effect->body;
    struct json_object *body = json_copy(ticks->scratch, effect->body);
    struct json_object *status = json_at(body, "status", NULL);
    if (status) {
        struct json_object *release = json_copy(ticks->scratch, json_at(status, "release", NULL));
        const char *revision = json_str_at(release, "revision", NULL);
        bool ends = json_object_object_get_ex(status, "release", NULL) && !release;
        if (ticks->dates)
            keep_date(ticks, status);
        else if (!(ticks->remembers || ticks->leads_back) || !ends)
            json_object_object_del(status, "release");
        if (ticks->leads_back && release)
            keep_release(ticks, status, release);
        else if (ticks->remembers && revision)
            json_set_str(json_sub(status, "release"), "revision", revision);
        struct json_object *history = json_at(status, "history", NULL);
        if ((ticks->remembers || ticks->leads_back) && history)
            json_set(status, "history", outcomes_of(ticks, history));
        else
            json_object_object_del(status, "history");
        looks_abstract(ticks->scratch, status);
    }
    return body;
}

static void add_step(struct ticks *ticks, const struct effect *effect)
{
    const char *expected = json_str_at(effect->body, "metadata", "resourceVersion", NULL);

    if (ticks->n_steps == ticks->step_capacity) {
        ticks->step_capacity = ticks->step_capacity ? 2 * ticks->step_capacity : 1024;
        ticks->steps = heap_grow(ticks->steps, ticks->step_capacity * sizeof(*ticks->steps));
    }
    ticks->steps[ticks->n_steps++] = (struct step){
        .kind = (uint8_t)effect->kind,
        .place = (uint8_t)place_of(ticks, effect),
        .expects = expected ? (uint16_t)strtol(expected, NULL, 10) : ABSENT,
        .patch = effect->kind == EFFECT_DELETE
                     ? 0
                     : objects_patch(ticks->objects, without_memory(ticks, effect)),
    };
}

static uint32_t places_of(const struct ticks *ticks, const struct kube_resource *resource)
{
    size_t len = strlen(resource->plural);
    uint32_t places = 0;

    for (int place = 0; place < objects_places(ticks->objects); place++) {
        const char *key = objects_key(ticks->objects, place);
        if (strncmp(key, resource->plural, len) == 0 && key[len] == '/')
            places |= 1u << place;
    }
    return places;
}

/* What a change of is news after this tick. */
static uint32_t read_in(const struct ticks *ticks, const struct tick *tick,
                        const struct outcome *outcome)
{
    uint32_t reads = 1u << ticks->canary;

    const int always[] = {ticks->conflict, ticks->flags};

    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        reads |= always[i] >= 0 ? 1u << always[i] : 0;
    for (int i = 0; i < ticks->n_needs; i++) {
        if (ticks->needs[i].place < 0)
            reads |= places_of(ticks, ticks->needs[i].need.resource);
        else if (fact_is_used(tick, ticks->needs[i].need.key))
            reads |= 1u << ticks->needs[i].place;
    }
    for (int i = 0; i < outcome->steps; i++)
        reads |= 1u << ticks_step(ticks, outcome, i)->place;
    return reads;
}

static void add_outcome(struct ticks *ticks, const struct attempt *attempt, const struct tick *tick)
{
    struct outcome outcome = {.first_step = ticks->n_steps,
                              .broken = attempt->broken,
                              .look_from = attempt->look_from,
                              .look_to = attempt->look_to};

    memcpy(outcome.answers, attempt->answers, sizeof(outcome.answers));
    memcpy(outcome.about, attempt->about, sizeof(outcome.about));
    for (const struct effect *effect = outcome.broken ? NULL : tick->plan->first; effect;
         effect = effect->next) {
        if (effect->kind == EFFECT_EVENT && strcmp(effect->event_type, "Warning") == 0)
            outcome.warned = true;
        if (is_write(effect)) {
            add_step(ticks, effect);
            outcome.steps++;
        }
    }
    if (!outcome.broken) {
        outcome.sleeps = wake_sleeps(tick->plan);
        outcome.held = tick->plan->held;
        outcome.reads_status = tick->plan->reads_status;
        outcome.reads = read_in(ticks, tick, &outcome);
        outcome.requeue = (uint8_t)tick->plan->requeue;
        outcome.stepped = tick->plan->stepped;
        outcome.wakes = tick->plan->wake_ms > 0;
    }
    assert(outcome.steps <= MAX_STEPS);
    if (ticks->n_outcomes == ticks->outcome_capacity) {
        ticks->outcome_capacity = ticks->outcome_capacity ? 2 * ticks->outcome_capacity : 1024;
        ticks->outcomes =
            heap_grow(ticks->outcomes, ticks->outcome_capacity * sizeof(*ticks->outcomes));
    }
    ticks->outcomes[ticks->n_outcomes++] = outcome;
}

/* The same question, with other words in the conditions of the Canary. */
static bool reads_prose(struct ticks *ticks, const struct attempt *attempt, const struct tick *tick,
                        bool due)
{
    struct json_object *tree =
        objects_tree(ticks->objects, ticks->canary, attempt->cluster->at[ticks->canary]);
    struct arena *arena = arena_new();
    struct json_object *reworded = prose_reworded(arena, tree);
    struct canary canary;
    const char *mistake;
    struct errinfo ei;
    bool differs = false;

    if (reworded && accept_view(arena, reworded, &canary, &mistake, &ei) == ERR_OK) {
        const char *decided = prose_decision(arena, tick, tree);
        struct attempt other = {.cluster = attempt->cluster,
                                .reworded = &canary,
                                .given = attempt->given,
                                .n_given = attempt->n_given};
        const struct tick *requeue = decide_safely(ticks, &other, due);
        differs = other.broken || other.wants_more ||
                  strcmp(decided, prose_decision(arena, requeue, reworded)) != 0;
    }
    arena_free(arena);
    return differs;
}

/* Asks with the answers given so far, and then with each answer to the next question. */
static void ask(struct ticks *ticks, const struct cluster *cluster, bool due, uint8_t *given,
                int n_given)
{
    struct attempt attempt = {.cluster = cluster, .given = given, .n_given = n_given};
    const struct tick *tick = decide_safely(ticks, &attempt, due);

    if (attempt.broken || !attempt.wants_more) {
        add_outcome(ticks, &attempt, tick);
        if (ticks->rewords && !attempt.broken)
            ticks->outcomes[ticks->n_outcomes - 1].reads_prose =
                reads_prose(ticks, &attempt, tick, due);
        return;
    }
    assert(n_given < MAX_ANSWERS);
    uint8_t last = attempt.asks == Q_METRIC || attempt.asks == Q_LOOK ? ERROR : FAIL;
    for (uint8_t answer = PASS; answer <= last; answer++) {
        if (!(ticks->allowed[attempt.asks] >> answer & 1))
            continue;
        given[n_given] = answer;
        ask(ticks, cluster, due, given, n_given + 1);
    }
}

/* The number of what is known of a cluster. It is asked about for each move from a state in turn. */
static uint32_t find_asked(struct ticks *ticks, const struct cluster *cluster, bool due)
{
    struct asked_about identity = {.due = due};
    bool is_new;

    if (memcmp(&ticks->last, cluster, sizeof(*cluster)) != 0) {
        ticks->last = *cluster;
        memset(ticks->last_asked, 0, sizeof(ticks->last_asked));
    }
    if (ticks->last_asked[due])
        return ticks->last_asked[due] - 1;
    identity.cluster = pool_put(&ticks->clusters, cluster, NULL);
    uint32_t number = pool_put(&ticks->asked, &identity, &is_new);
    struct asked_about *asked = pool_at(&ticks->asked, number);
    if (is_new) {
        uint8_t given[MAX_ANSWERS];
        asked->first = ticks->n_outcomes;
        ticks->rewords = identity.cluster % REWORDED == 0;
        ask(ticks, cluster, due, given, 0);
        asked->count = ticks->n_outcomes - asked->first;
    }
    ticks->last_asked[due] = number + 1;
    return number;
}

const struct outcome *ticks_outcomes(struct ticks *ticks, const struct cluster *cluster, bool due,
                                     int *count)
{
    const struct asked_about *asked = pool_at(&ticks->asked, find_asked(ticks, cluster, due));

    *count = (int)asked->count;
    return ticks->outcomes + asked->first;
}

const struct step *ticks_step(const struct ticks *ticks, const struct outcome *outcome, int i)
{
    assert(i < outcome->steps);
    return &ticks->steps[outcome->first_step + (uint32_t)i];
}

/* --- in words */

static const char *const question_names[QUESTIONS] = {
    [Q_CONFIRM_ROLLOUT] = "confirm-rollout",
    [Q_PRE_ROLLOUT] = "pre-rollout",
    [Q_ROLLOUT] = "rollout",
    [Q_MORE_TRAFFIC] = "confirm-traffic-increase",
    [Q_CONFIRM_PROMOTION] = "confirm-promotion",
    [Q_ROLLBACK] = "rollback",
    [Q_METRIC] = "metric",
    [Q_LOOK] = "look",
    [Q_LOAD_END] = "end of the load tests",
};
static const char *const answer_names[] = {"not asked", "passes", "fails", "no values", "error"};

/* The answers of an outcome again in the order in which they were asked for. */
static void ask_again(struct ticks *ticks, struct attempt *attempt, bool due,
                      const struct outcome *outcome, uint8_t *given)
{
    for (int n = 0;; n++) {
        attempt->n_given = n;
        attempt->used = 0;
        attempt->wants_more = false;
        if (!decide_safely(ticks, attempt, due) || !attempt->wants_more || n == MAX_ANSWERS)
            return;
        given[n] = outcome->answers[attempt->asks];
    }
}

const char *ticks_tell(struct ticks *ticks, struct arena *arena, const struct cluster *cluster,
                       bool due, const struct outcome *outcome)
{
    uint8_t given[MAX_ANSWERS + 1] = {0};
    struct attempt attempt = {.cluster = cluster, .given = given};
    const char *text = due ? "tick" : "tick that is not due";

    for (int q = 0; q < QUESTIONS; q++) {
        if (outcome->answers[q] != NOT_ASKED)
            text = arena_printf(arena, "%s, %s %s", text, question_names[q],
                                answer_names[outcome->answers[q]]);
    }
    if (outcome->broken)
        return arena_printf(arena, "%s:\nan assertion of the rules fails\n", text);
    ask_again(ticks, &attempt, due, outcome, given);
    attempt.used = 0;
    struct tick *tick = decide_safely(ticks, &attempt, due);
    return arena_printf(arena, "%s:\n%s", text, tick ? plan_print(tick) : "");
}
