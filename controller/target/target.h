/*
 * A target: the released workload. One file per kind, pure; code for several kinds is in shared/.
 */
#ifndef TARGET_TARGET_H
#define TARGET_TARGET_H

#include "proto/spechash.h"
#include "tick/tick.h"

struct config_ref; /* target/shared/configs.h */

/*
 * A pinned target creates pods of one revision only, whatever is pushed. `object`, `template` and
 * `hash` are those of the pinned revision. BROKEN: it was resumed by others, and they are the live
 * ones. PLACED: others wait in its queue, and its pods are made of the live template, which is that
 * of the pinned revision unless `queue` says otherwise.
 */
enum pin { PIN_NONE, PIN_HOLDS, PIN_PLACED, PIN_BROKEN };

enum { QUEUE_MOST = 10 }; /* revisions that wait behind one that is released */

/* analysis.onNewRevision: queue. The revisions that wait behind that of `hash`. */
struct target_queue {
    bool kept;      /* the target has a queue, which may be empty */
    bool news;      /* the live template is none of them, or not the last one: it was pushed */
    bool overtaken; /* PLACED, and the live template is the last of them: it was written back */
    int n;
    char waiting[QUEUE_MOST][SPECHASH_TEXT]; /* n of them, the next one first */
    struct json_object *templates;           /* of them; NULL if there is no queue */
};

enum queue_deed {
    QUEUE_NOTE,  /* puts what was pushed behind the others; begins a queue where there is none */
    QUEUE_HOLD,  /* PLACED, and all pods are of its revision: pins it */
    QUEUE_PLACE, /* HOLDS: makes pods of its template again */
    QUEUE_NEXT,  /* places the next one, whose release follows */
    QUEUE_DROP,  /* HOLDS: forgets those that wait, but the newest, which is live */
};
/* REPLACED: as many wait as may, what was pushed has taken the place of the last one. TOO_LARGE: for
 * the annotations of an object; nothing is planned. */
enum queue_result { QUEUE_WRITTEN, QUEUE_REPLACED, QUEUE_TOO_LARGE };

/* Facts about the target for other rules. Lives in the tick's arena. */
struct target_info {
    struct json_object *object;  /* the target, as read */
    struct json_object *primary; /* NULL if not created yet */
    /* Its pod template in released form, without nulls; NULL if the kind has none. */
    struct json_object *template;
    const char *revision;       /* name of the target's revision, if revisions are objects */
    struct json_object *latest; /* that object; NULL if none */
    const char *label;          /* selector label, e.g. "app" */
    const char *label_value;    /* its value in the target, e.g. "podinfo" */
    char hash[SPECHASH_TEXT];   /* of the live pod template */
    /* As status.trackedConfigs: "configmap/NAME" to hash; NULL if tracking is off. */
    struct json_object *configs;
    const struct config_ref *config_refs;
    const char *unusable; /* reason that it cannot be released, a sentence */
    const char *missing;  /* a required config that is missing, as a sentence */
    /* Discovered Service ports, array of {name, protocol, port, targetPort} or NULL. */
    struct json_object *ports;
    bool at_zero;         /* the target is scaled to zero */
    bool primary_at_zero; /* the primary (which exists) is scaled to zero */
    /* The target's own replicas, if raised for its share of a release; else 0. */
    int own_replicas;
    int most_replicas; /* maximum of the target's autoscaler; 0 for any. Known in a deletion */
    /* An autoscaler of others scales that side and owns its replicas. */
    bool primary_scaled, target_scaled;
    /* At zero, and its pods are deleted; always true for a kind without pods of its own. */
    bool stopped;
    bool paused; /* a person has paused its rollout */
    enum pin pin;
    struct json_object *live; /* the pinned target with its pin; NULL if not pinned */
    char next
        [SPECHASH_TEXT]; /* of the live template, if it was pushed behind the pinned one; else "" */
    struct target_queue queue;
};

enum side { SIDE_PRIMARY, SIDE_CANARY };
enum readiness { READY, NOT_READY_YET, NOT_READY_EVER }; /* EVER: the deadline has passed */

/* State of a promotion on the primary: nothing; some of its configs, or unknown; everything. */
enum carried { CARRIED_NOTHING, CARRIED_PART, CARRIED_ALL };

/* Condition of the Canary that records since when a release has waited for this side:
 * "PrimaryReady". */
const char *side_condition(enum side side);

struct target {
    const char *kind;
    const char *group; /* of apiVersion; NULL for any, as in Flagger */
    const struct kube_resource *resource;
    const char *pod_suffix; /* regular expression of the suffix of its pods' names */
    bool has_replicas;      /* an autoscaler may scale it */
    /* Its own status does not tell since when it waits: the rules use side_condition(). */
    bool deadline_by_condition;
    /* Checks a spec: NULL, or a sentence with the field's path. NULL function: no checks. */
    const char *(*check)(struct arena *arena, const struct canary *canary);
    /* Part of the objects to be created that the API server would refuse; *sentence is NULL if
     * none. NULL function: the kind creates none. */
    enum rule_result (*refuse)(struct tick *tick, struct json_object *object,
                               const char **sentence);
    /*
     * The kind provides the Services of both sides itself (info.label is NULL then); updates that
     * of the canary from the target. NULL: the Services of router/shared/services.h are used.
     */
    enum rule_result (*own_services)(struct tick *tick, const struct target_info *info);
    /* Reads target and primary only: no errors, a missing object is NULL. (A target that is being
     * deleted counts as missing.) Hash and configs are not set. */
    enum rule_result (*find)(struct tick *tick, struct target_info *out);
    /* Reads target, primary and tracked configs. DONE: out->unusable is the reason. */
    enum rule_result (*read)(struct tick *tick, struct target_info *out);
    /* Creates the primary if it is missing (with the primary copies of tracked configs). */
    enum rule_result (*ensure_primary)(struct tick *tick, const struct target_info *info);
    /* The primary to create, as promoted with the revision of this hash, from the target's former
     * revisions in the cluster; *out is NULL if there is none, or it cannot be read. NULL function:
     * the kind has none. */
    enum rule_result (*recall)(struct tick *tick, const struct target_info *info, const char *hash,
                               struct json_object **out);
    /* Readiness of one side (the primary must exist), with a sentence in *why (target/OBJECTS.md).
     * A side without wanted or ready pods is not ready. */
    enum readiness (*ready)(struct tick *tick, const struct target_info *info, enum side side,
                            const char **why);
    /* Number of ready pods of a side. NULL, as raise_primary, if the kind has no replicas. */
    int (*available)(const struct target_info *info, enum side side);
    /* Raises the primary to at least this number. */
    void (*raise_primary)(struct tick *tick, const struct target_info *info, int replicas);
    /* the same for the target, which is not at zero */
    void (*raise_target)(struct tick *tick, const struct target_info *info, int replicas);
    /* Sets the number of the target, which has no traffic. NULL, as raise_target. */
    void (*size_target)(struct tick *tick, const struct target_info *info, int replicas);
    /* The release is over: lowers the primary to the target's number, which a promotion does not do
     * while traffic moves. */
    void (*settle_primary)(struct tick *tick, const struct target_info *info);
    void (*scale_to_zero)(struct tick *tick, const struct target_info *info);
    /* Does nothing if it is not at zero; replicas 0: as many as the primary has. */
    void (*scale_from_zero)(struct tick *tick, const struct target_info *info, int replicas);
    /* Pins the target, which is not paused, to its template as read; false if that is too large for
     * the annotation. `unpin` releases the latest template. NULL: the kind cannot be pinned. */
    bool (*pin)(struct tick *tick, const struct target_info *info);
    void (*unpin)(struct tick *tick, const struct target_info *info);
    /* Changes the queue behind a revision, in one write. NULL: as pin. */
    enum queue_result (*queue)(struct tick *tick, const struct target_info *info,
                               enum queue_deed deed);
    /*
     * Copies the target to the primary. The caller has checked that it is the analysed revision.
     * Repeating it after it was done plans nothing: the primary's `flagger-id` is derived from the
     * promoted content.
     */
    enum rule_result (*promote)(struct tick *tick, const struct target_info *info);
    /* True if a promotion deletes all pods of the primary before new ones are ready. NULL:
     * never. */
    bool (*replaces_all)(const struct target_info *info);
    /* True if the primary (which must exist) carries exactly this revision: template and
     * configs. */
    bool (*is_promoted)(struct tick *tick, const struct target_info *info);
    /*
     * Progress of an interrupted promotion of this revision (info's hash and configs); `before` is
     * the hash of the previous one. NULL if one write promotes, and is_promoted() is enough.
     */
    enum rule_result (*carried)(struct tick *tick, const struct target_info *info,
                                const char *before, enum carried *out);
    /* *same: the primary (which must exist) equals the result of a promotion now, by whatever
     * change: template and configs, except its `flagger-id`. */
    enum rule_result (*compare)(struct tick *tick, const struct target_info *info, bool *same);

    /* The hash of the target's current revision, from an object outside of a tick. NULL if the
     * object alone is not enough. */
    enum err (*revision)(struct arena *arena, struct json_object *object, char hash[SPECHASH_TEXT],
                         struct errinfo *ei);

    /* --- for a Canary that is being deleted (decide/revert.c), on what find() gave --- */

    /* True if some of its pods are ready and not being deleted: deleting them would be noticed.
     * (The primary must exist.) */
    bool (*serves)(const struct target_info *info, enum side side);
    /*
     * Lets the target carry all traffic again: at least as many replicas as the primary; without a
     * primary, if at zero, `replicas` or one. Never lowers, and plans nothing if it is done.
     */
    void (*restore)(struct tick *tick, const struct target_info *info, int replicas);
    /* For a status of another version of Flagger; NULL if the kind cannot tell. The hash of the
     * primary's revision (which must exist) in the target's form; "" if unknown. */
    const char *(*primary_hash)(struct tick *tick, const struct target_info *info);
    /* True if the target's revision was not written since the wall clock's ms. False if in
     * doubt. */
    bool (*untouched_since)(struct tick *tick, const struct target_info *info, int64_t ms);
};

extern const struct target *const target_table[];
/* The target of a targetRef; NULL if its kind is not released. */
const struct target *target_find(const char *api_version, const char *kind);
/* For read(): sets out->unusable to the sentence. Returns DONE. */
enum rule_result target_unusable(struct tick *tick, struct target_info *out, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Reason that a kind without a row is not released: a sentence, owned by the arena. */
const char *target_refusal(struct arena *arena, const char *api_version, const char *kind);

#endif
