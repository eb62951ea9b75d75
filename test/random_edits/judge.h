/*
 * What must hold, for each app: no request fails, but while somebody's own edit has taken the
 * service down and it cannot have been repaired yet; no other workload answers; the route's weights
 * add up; what the primary runs has passed an analysis, and what is analysed its gate; what
 * invariant.h says; every release ends.
 *
 * After its first violation an app is judged no more in this round: what follows is not its own.
 */
#ifndef EDITS_JUDGE_H
#define EDITS_JUDGE_H

#include "random_edits/clients.h"
#include "random_edits/edit.h"
#include "random_edits/view.h"

enum { JUDGE_MAX = 16 };

struct violation {
    const struct app *app; /* NULL: the controller */
    const char *kind;      /* one word: "failed", "unrepaired", "weights", "unanalysed", ... */
    const char *text;
    struct json_object *state; /* of its Canary and route then */
    int edits;                 /* made when it was seen */
    int moment;                /* of the round, as judge_moment() last said */
};

struct judge;

/* control: an app that nobody edits; when its requests fail, the machine is to blame. */
struct judge *judge_new(struct arena *arena, const struct view *view, const struct app *control);
void judge_add(struct judge *judge, const struct app *app);
/* A person takes it down now. */
void judge_harm(struct judge *judge, const struct app *app);
/* The API server takes all writes from now on. */
void judge_allow(struct judge *judge, const struct app *app);
/* An edit is made; edits: how many before. */
void judge_edit(struct judge *judge, const struct line *line, int edits_made);
/* How far the round is. */
void judge_moment(struct judge *judge, int moment);
/* The controller does not run, or does again; leads: under a lease. */
void judge_controller(struct judge *judge, bool runs, bool leads);
void judge_failure(struct judge *judge, const struct failure *failure);
/* An object has changed; see view.h. */
void judge_change(struct judge *judge, const struct kube_resource *resource,
                  struct json_object *before, struct json_object *now);
/* A webhook of an app was asked about this revision, configs included. */
void judge_hook(struct judge *judge, const char *app, const char *hook, const char *checksum,
                bool passes);
/* Looks at everything; to be called a few times a second. */
void judge_add_sample(struct judge *judge);
/* The app has come to rest: whether its route is as its status says. */
void judge_rest(struct judge *judge, const struct app *app);

void judge_break(struct judge *judge, const struct app *app, const char *kind, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Whether the app is judged no more. */
bool judge_broken(const struct judge *judge, const struct app *app);
const struct violation *judge_violations(const struct judge *judge, size_t *count);
/* Requests that failed while they may; that failed though they must not. */
uint64_t judge_allowed(const struct judge *judge);
uint64_t judge_failed(const struct judge *judge);
/* Requests that failed together with those of the app that nobody edits. */
uint64_t judge_machine(const struct judge *judge);

/* How often there was something that could have broken an invariant. */
struct judge_seen {
    int64_t statuses, services, steps, numbers, gates, shares, refusals;
};
struct judge_seen judge_seen(const struct judge *judge);

/* Whether somebody is told what the release waits for: a condition, or a Warning since then or as
 * the last that was said. */
bool judge_says_why(const struct judge *judge, const struct app *app, int64_t since_ms);

#endif
