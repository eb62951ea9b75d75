/* What became of a revision: a pure function of the Canary and of what the target has now. */
#ifndef CTL_VERDICT_H
#define CTL_VERDICT_H

#include "base/json.h"
#include "ctl/ctl.h"

struct verdict_question {
    struct json_object *canary;
    struct json_object *target;  /* NULL: not known */
    struct json_object *primary; /* the same */
    const char *live;            /* hash of the revision that the target has, NULL: not known */
    const char *revision;        /* asked for by its hash, NULL: by image, or the target's newest */
    const char *image;           /* asked for by an image, NULL: not so */
};

struct verdict_answer {
    /* CTL_DONE: promoted; CTL_FAILED; CTL_PERSON: it waits until somebody acts; CTL_SUPERSEDED;
     * CTL_TIMED_OUT: it is under way, or has not begun. */
    enum ctl_exit outcome;
    const char *revision; /* that it is about, "" where nobody knows */
    const char *sentence; /* for people */
};

/* "promoted", "failed", "waiting", "superseded", "progressing". */
const char *verdict_name(enum ctl_exit outcome);
void verdict_of(struct arena *arena, const struct verdict_question *question,
                struct verdict_answer *out);

#endif
