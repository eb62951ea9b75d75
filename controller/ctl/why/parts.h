/* Shared by the files in this folder: the facts of a situation, and helpers for its sentence. */
#ifndef CTL_WHY_PARTS_H
#define CTL_WHY_PARTS_H

#include "ctl/state.h"
#include "ctl/why/why.h"
#include "proto/phase.h"

struct why {
    struct arena *arena;
    const char *program;
    const struct facts *facts;
    struct json_object *spec, *status;
    const char *name, *namespace_;
    enum phase phase;
    struct why_answer *out;
};

/* True if the situation applies; its sentence has been set. */
struct why_situation {
    const char *name;
    bool (*holds)(struct why *w);
};

/* Tables of situations, tested in this order; each ends with a row without a name. */
extern const struct why_situation why_control[], why_spec[], why_verdicts[], why_objects[],
    why_gates[], why_pods[], why_checks[], why_phases[];

/* Sets the answer; next may be NULL. Returns true. */
bool why_say(struct why *w, const char *next, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* "kubectl -n shop ..." */
const char *why_kubectl(struct why *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "kubectl canary VERB NAME -n NAMESPACE" */
const char *why_ctl(struct why *w, const char *verb);
/* The condition of this type, if it has this status; else NULL. */
struct json_object *why_condition(const struct why *w, const char *type, const char *status);
/* Its message without a full stop, "" if there is none; and how long it has been so: "5m". */
const char *why_message(struct why *w, struct json_object *condition);
const char *why_since(struct why *w, struct json_object *condition);
bool why_is(const char *text, const char *other);
const char *why_text(const char *text); /* "" if the text is NULL */
/* True if a release is under way, or the Canary is being initialised. */
bool why_under_way(const struct why *w);

#endif
