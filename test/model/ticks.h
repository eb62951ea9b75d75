/*
 * What one tick can lead to: decide(), the real one, asked about a cluster with every answer that
 * its webhooks and metrics can give. Each cluster is asked about once.
 */
#ifndef MODEL_TICKS_H
#define MODEL_TICKS_H

#include "decide/decide.h"
#include "objects.h"
#include "proto/spechash.h"

/* The kinds of questions that a tick may ask the world; a scenario has at most one of each. */
enum question {
    Q_CONFIRM_ROLLOUT,
    Q_PRE_ROLLOUT,
    Q_ROLLOUT,
    Q_MORE_TRAFFIC,
    Q_CONFIRM_PROMOTION,
    Q_ROLLBACK,
    Q_METRIC,
    Q_LOOK,     /* of the judge: looks.h */
    Q_LOAD_END, /* sent to the webhook that runs load tests */
    QUESTIONS
};
/* How it was answered. NONE and ERROR are a metric's: no values, and a server that is away. */
enum answer { NOT_ASKED, PASS, FAIL, NONE, ERROR };
enum { MAX_STEPS = 24, MAX_ANSWERS = 8 };

/* One write of a plan. */
struct step {
    uint8_t kind; /* enum effect_kind */
    uint8_t place;
    uint16_t expects; /* the version it must meet, ABSENT: any */
    uint32_t patch;
};

struct outcome {
    uint32_t first_step;
    uint8_t steps;
    uint8_t requeue; /* enum again */
    bool stepped;
    bool wakes;                 /* after a while, without any event */
    bool warned;                /* a Warning event tells why nothing goes on */
    bool sleeps;                /* nothing but an event brings the next tick */
    bool held;                  /* nothing of the plan is done but to tell that */
    bool reads_status;          /* of an object */
    uint32_t reads;             /* the places that it asked for or writes, a bit each */
    bool reads_prose;           /* with other words in its conditions, it would be another one */
    bool broken;                /* an assertion of the rules failed, or they asked without end */
    uint8_t answers[QUESTIONS]; /* enum answer */
    int64_t look_from, look_to; /* the window of its look, in Unix seconds; 0: it takes none */
    char about[SPECHASH_TEXT];  /* the checksum that its webhooks were asked about, "" without */
};

struct ticks;

/* canary is its place. What decide() reads and writes must be places, or become some. */
struct ticks *ticks_new(struct objects *objects, int canary);
void ticks_free(struct ticks *ticks);

/* The place of another Canary, whose own rules do not run: from now on both are judged by what they
 * claim, as the engine does. */
void ticks_rival(struct ticks *ticks, int place);
/* A rule reads how the last releases ended: their outcomes stay in the status, of three of them. */
void ticks_remember(struct ticks *ticks);
/* A rule reads which revisions they were and replaced: these stay as well. */
void ticks_lead_back(struct ticks *ticks);
/* A rule reads when the analysis began: that stays in the status. */
void ticks_date(struct ticks *ticks);
/* The place of what the process was started with: {selectorLabels: [...]}. */
void ticks_flags(struct ticks *ticks, int place);
/* The place of what the API server refuses, and of what the engine knows of that: {refuses: KEY, met:
 * KEY, tells: true}. */
void ticks_refusals(struct ticks *ticks, int place);
/* All outcomes; the Canary must exist. Valid until the next call. */
const struct outcome *ticks_outcomes(struct ticks *ticks, const struct cluster *cluster, bool due,
                                     int *count);
const struct step *ticks_step(const struct ticks *ticks, const struct outcome *outcome, int i);
/* The outcome in words: what was asked, and plan_print(). Owned by the arena. */
const char *ticks_tell(struct ticks *ticks, struct arena *arena, const struct cluster *cluster,
                       bool due, const struct outcome *outcome);
/* The Canary of a cluster, as the rules see it; NULL: absent or not readable. */
const struct canary *ticks_canary(struct ticks *ticks, uint16_t version);
/* How often decide() was called. */
uint64_t ticks_calls(const struct ticks *ticks);

/* Answers that a scenario cannot give are left out: bit `answer` of answers[question]. */
void ticks_allow(struct ticks *ticks, const uint8_t allowed[QUESTIONS]);

/* The only time there is; one more than an interval before it, and one before every deadline. */
extern const int64_t ticks_now_ms;
extern const char ticks_now[], ticks_lately[], ticks_past[];

#endif
