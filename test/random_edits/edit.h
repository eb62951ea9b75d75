/*
 * What a user may do, as a table, and a list of edits as text: one line each,
 *
 *     APP WHEN+MS EDIT [VERSION]        steps mid+300 push v17
 *
 * WHEN is `now`, `mid` (the app's canary has a share, or a check has passed), `late` (its analysis
 * is about to end, or it is being promoted) or `idle` (its release has ended), MS how long after that. The edits of one app follow each other; those of different
 * apps do not wait for each other. The app `controller` stands for the controller's process.
 */
#ifndef EDITS_EDIT_H
#define EDITS_EDIT_H

#include "kube/kube_client.h"
#include "random_edits/app.h"

enum edit_kind {
    EDIT_PUSH,       /* another version of the target */
    EDIT_PATCH,      /* an RFC 7386 patch */
    EDIT_JSON_PATCH, /* an RFC 6902 patch */
    EDIT_DELETE,
    EDIT_CREATE,   /* from the base, where it is missing */
    EDIT_RECREATE, /* deletes it, and makes it from the text or the base */
    EDIT_RESTORE,  /* the Canary's spec is the base again */
    EDIT_HOOKS,    /* the webhooks NAME of the app answer otherwise: text is "start=403" */
    EDIT_KILL, /* SIGKILL; started again after MS of the text, "0 --flag=value" with these flags */
    EDIT_UNREADY, /* the pods of a Deployment are not ready for so many seconds: "9", "9 one" of them */
    EDIT_POLICY, /* the API server refuses writes of the controller: "422"; "none" any more */
};

enum edit_needs {
    EDIT_ANY,
    EDIT_GATEWAY,
    EDIT_CONFIGS,
    EDIT_SCALER,
    EDIT_UNSCALED,
    EDIT_HOOKED,
    EDIT_CONTROLLER
};

struct edit {
    const char *name;
    enum edit_kind kind;
    enum edit_needs needs;
    int weight; /* how often it is chosen; 0: only in lists */
    const struct kube_resource *resource;
    const char *object; /* name, with NAME for the app */
    const char *text;
    /* Takes the service down whoever the controller is, until it is repaired: the reason. */
    const char *harm;
    bool mid; /* that is so only while the canary serves */
    /* Afterwards the analysis does not tell good from bad, or a person has chosen what runs. */
    bool unjudged;
};

extern struct edit edits[]; /* ends with name NULL; empty before edits_read() */
/* The rows of edits.yaml, as long as the arena lives. */
void edits_read(struct arena *arena);

enum edit_when { WHEN_NOW, WHEN_MID, WHEN_LATE, WHEN_IDLE };

struct line {
    const struct app *app; /* NULL: the controller */
    enum edit_when when;
    int ms;
    const struct edit *edit;
    const char *version; /* NULL if none */
};

/* ERR_INVALID with a sentence. The line's strings live in the arena. */
enum err line_parse(struct arena *arena, const char *text, struct line *out,
                    struct errinfo *ei) MUST_USE;
const char *line_text(struct arena *arena, const struct line *line);

/* One request of an edit. */
struct act {
    enum kube_verb verb;
    const struct kube_resource *resource;
    const char *name;
    struct json_object *body;
    const char *raw, *query; /* a path of the sandbox instead; NULL if none */
};
enum { ACTS_MAX = 3 };
/* The requests of an edit of objects, in order; 0 for hooks and kills. Owned by the arena. */
size_t edit_acts(struct arena *arena, const struct line *line, const char *hooks,
                 struct act acts[ACTS_MAX]);

#endif
