/*
 * A target: the workload that is released. One file per kind, pure; code for several kinds is in
 * shared/.
 */
#ifndef TARGET_TARGET_H
#define TARGET_TARGET_H

#include "proto/spechash.h"
#include "tick/tick.h"

struct config_ref; /* target/shared/configs.h */

/*
 * A pinned target creates pods of one revision only, whatever is pushed in the meantime. `object`,
 * `template` and `hash` describe the pinned revision. BROKEN: somebody else has resumed it, and
 * they describe the live revision. PLACED: other revisions wait in its queue, and its pods are
 * created from the live template, which is the pinned revision's unless `queue` says otherwise.
 */
enum pin { PIN_NONE, PIN_HOLDS, PIN_PLACED, PIN_BROKEN };

enum { QUEUE_MOST = 10 }; /* limit for revisions that wait behind the one being released */

/* analysis.onNewRevision: queue. The revisions that wait behind the one with hash `hash`. */
struct target_queue {
    bool kept;      /* the target has a queue, which may be empty */
    bool news;      /* the live template is not in the queue, or not its last one: it was pushed */
    bool overtaken; /* PLACED, and the live template is the queue's last: it was written back */
    int n;
    char waiting[QUEUE_MOST][SPECHASH_TEXT]; /* n hashes, the next revision first */
    struct json_object *templates;           /* their templates; NULL if there is no queue */
};

enum queue_deed {
    QUEUE_NOTE,  /* appends what was pushed to the queue; starts a queue if there is none */
    QUEUE_HOLD,  /* PLACED, and all pods have its revision: pins it */
    QUEUE_PLACE, /* HOLDS: lets pods be created from its template again */
    QUEUE_NEXT,  /* places the next revision, which is then released */
    QUEUE_DROP,  /* HOLDS: drops all waiting revisions but the newest, which is live */
};
/* REPLACED: the queue was full, and what was pushed has replaced its last revision. TOO_LARGE: the
 * result exceeds the limit for the annotations of an object; nothing is planned. */
enum queue_result { QUEUE_WRITTEN, QUEUE_REPLACED, QUEUE_TOO_LARGE };

/* Facts about the target for other rules. Lives in the tick's arena. */
struct target_info {
    struct json_object *object;  /* the target, as read */
    struct json_object *primary; /* NULL if not created yet */
    /* Its pod template in released form, without nulls; NULL if the kind has no pod template. */
    struct json_object *template;
    const char *revision;       /* name of the target's revision, if revisions are objects */
    struct json_object *latest; /* the object of that revision; NULL if none */
    const char *label;          /* selector label, e.g. "app" */
    const char *label_value;    /* its value in the target, e.g. "podinfo" */
    char hash[SPECHASH_TEXT];   /* hash of the live pod template */
    /* In the form of status.trackedConfigs: "configmap/NAME" to hash; NULL if tracking is off. */
    struct json_object *configs;
    const struct config_ref *config_refs;
    const char *unusable; /* why it cannot be released, a sentence */
    const char *missing;  /* a required config that is missing, as a sentence */
    /* Discovered Service ports, array of {name, protocol, port, targetPort} or NULL. */
    struct json_object *ports;
    bool at_zero;         /* the target is scaled to zero */
    bool primary_at_zero; /* the primary (which exists) is scaled to zero */
    /* The target's own replicas, if a release has raised them for its share; else 0. */
    int own_replicas;
    int most_replicas; /* maximum of the target's autoscaler; 0: none. Set during a deletion */
    /* An autoscaler that is not ours scales that side and owns its replicas. */
    bool primary_scaled, target_scaled;
    /* At zero, with all pods deleted; always true for a kind without its own pods. */
    bool stopped;
    bool paused; /* a user has paused its rollout */
    enum pin pin;
    struct json_object *live; /* the pinned target including its pin; NULL if not pinned */
    char next
        [SPECHASH_TEXT]; /* hash of a live template that was pushed after the pinned one; else "" */
    struct target_queue queue;
};

enum side { SIDE_PRIMARY, SIDE_CANARY };
enum readiness { READY, NOT_READY_YET, NOT_READY_EVER }; /* EVER: the deadline has passed */

/* How much of a promotion the primary has: nothing; some of its configs, or unknown; everything. */
enum carried { CARRIED_NOTHING, CARRIED_PART, CARRIED_ALL };

/* Condition of the Canary that records since when a release has been waiting for this side:
 * "PrimaryReady". */
const char *side_condition(enum side side);

struct target {
    const char *kind;
    const char *group; /* of apiVersion; NULL for any, as in Flagger */
    const struct kube_resource *resource;
    const char *pod_suffix; /* regular expression for the suffix of its pods' names */
    bool has_replicas;      /* an autoscaler may scale it */
    /* Its own status does not show how long it has been waiting: the rules use side_condition(). */
    bool deadline_by_condition;
    /* Checks a spec: NULL, or a sentence with the field's path. The function is NULL if there are
     * no checks. */
    const char *(*check)(struct arena *arena, const struct canary *canary);
    /* The part of the objects to be created that the API server would reject; *sentence is NULL if
     * there is none. The function is NULL if the kind creates no objects. */
    enum rule_result (*refuse)(struct tick *tick, struct json_object *object,
                               const char **sentence);
    /*
     * The kind provides the Services of both sides itself (info.label is NULL then); updates the
     * canary's Service from the target. NULL: the Services of router/shared/services.h are used.
     */
    enum rule_result (*own_services)(struct tick *tick, const struct target_info *info);
    /* Reads only target and primary, and reports no errors: a missing object is NULL. (A target
     * that is being deleted counts as missing.) Does not set hash and configs. */
    enum rule_result (*find)(struct tick *tick, struct target_info *out);
    /* Reads target, primary and tracked configs. DONE: out->unusable says why it cannot be
     * released. */
    enum rule_result (*read)(struct tick *tick, struct target_info *out);
    /* Creates the primary if it is missing (with the primary copies of tracked configs). */
    enum rule_result (*ensure_primary)(struct tick *tick, const struct target_info *info);
    /* The primary to create, as it was after the promotion of the revision with this hash, from the
     * target's former revisions in the cluster; *out is NULL if there is none, or it cannot be
     * read. The function is NULL if the kind keeps no former revisions. */
    enum rule_result (*recall)(struct tick *tick, const struct target_info *info, const char *hash,
                               struct json_object **out);
    /* Readiness of one side (the primary must exist), with a sentence in *why (target/OBJECTS.md).
     * A side without wanted or ready pods is not ready. */
    enum readiness (*ready)(struct tick *tick, const struct target_info *info, enum side side,
                            const char **why);
    /* Number of ready pods of a side. NULL, like raise_primary, if the kind has no replicas. */
    int (*available)(const struct target_info *info, enum side side);
    /* Raises the primary to at least this number of replicas. */
    void (*raise_primary)(struct tick *tick, const struct target_info *info, int replicas);
    /* the same for the target, which is not at zero */
    void (*raise_target)(struct tick *tick, const struct target_info *info, int replicas);
    /* Sets the number of replicas of the target, which has no traffic. NULL, like raise_target. */
    void (*size_target)(struct tick *tick, const struct target_info *info, int replicas);
    /* The release is over: lowers the primary to the target's number of replicas, which a promotion
     * does not do while traffic moves. */
    void (*settle_primary)(struct tick *tick, const struct target_info *info);
    void (*scale_to_zero)(struct tick *tick, const struct target_info *info);
    /* Does nothing if the target is not at zero; replicas 0: as many as the primary has. */
    void (*scale_from_zero)(struct tick *tick, const struct target_info *info, int replicas);
    /* Pins the target, which is not paused, to its template as read; returns false if the template
     * is too large for the annotation. `unpin` releases the latest template. NULL: the kind cannot
     * be pinned. */
    bool (*pin)(struct tick *tick, const struct target_info *info);
    void (*unpin)(struct tick *tick, const struct target_info *info);
    /* Changes the queue behind a revision, in one write. NULL if `pin` is NULL. */
    enum queue_result (*queue)(struct tick *tick, const struct target_info *info,
                               enum queue_deed deed);
    /*
     * Copies the target to the primary. The caller has checked that the target is at the analysed
     * revision. Repeating a finished promotion plans nothing: the primary's `flagger-id` is derived
     * from the promoted content.
     */
    enum rule_result (*promote)(struct tick *tick, const struct target_info *info);
    /* True if a promotion deletes all pods of the primary before new pods are ready. NULL:
     * never. */
    bool (*replaces_all)(const struct target_info *info);
    /* True if the primary (which must exist) has exactly this revision: template and configs. */
    bool (*is_promoted)(struct tick *tick, const struct target_info *info);
    /*
     * Progress of an interrupted promotion of this revision (info's hash and configs); `before` is
     * the hash of the previous one. NULL if a promotion is one write, so that is_promoted() is
     * enough.
     */
    enum rule_result (*carried)(struct tick *tick, const struct target_info *info,
                                const char *before, enum carried *out);
    /* *same: the primary (which must exist) equals what a promotion would produce now, whatever has
     * changed: template and configs, but not its `flagger-id`. */
    enum rule_result (*compare)(struct tick *tick, const struct target_info *info, bool *same);

    /* The hash of the target's current revision, from an object outside a tick. NULL if the object
     * alone is not enough. */
    enum err (*revision)(struct arena *arena, struct json_object *object, char hash[SPECHASH_TEXT],
                         struct errinfo *ei);

    /* --- for a Canary that is being deleted (decide/revert.c), given the result of find() --- */

    /* True if the side has pods that are ready and not being deleted, so that deleting them would
     * be noticed. (The primary must exist.) */
    bool (*serves)(const struct target_info *info, enum side side);
    /*
     * Makes the target able to carry all traffic again: at least as many replicas as the primary;
     * if there is no primary and the target is at zero, `replicas` or one. Never lowers the number,
     * and plans nothing if this is already done.
     */
    void (*restore)(struct tick *tick, const struct target_info *info, int replicas);
    /* For a status of another version of Flagger; NULL if the kind cannot find out. The hash of the
     * primary's revision (the primary must exist) in the target's form; "" if unknown. */
    const char *(*primary_hash)(struct tick *tick, const struct target_info *info);
    /* True if the target's revision was not written since this wall clock time in ms. False if in
     * doubt. */
    bool (*untouched_since)(struct tick *tick, const struct target_info *info, int64_t ms);
};

extern const struct target *const target_table[];
/* The target of a targetRef; NULL if its kind is not released. */
const struct target *target_find(const char *api_version, const char *kind);
/* For read(): sets out->unusable to the sentence. Returns DONE. */
enum rule_result target_unusable(struct tick *tick, struct target_info *out, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Why a kind without a row is not released: a sentence, owned by the arena. */
const char *target_refusal(struct arena *arena, const char *api_version, const char *kind);

#endif
