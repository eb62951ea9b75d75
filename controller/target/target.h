/*
 * A target: the workload that is released. One file per kind, pure.
 */
#ifndef TARGET_TARGET_H
#define TARGET_TARGET_H

#include "proto/spechash.h"
#include "tick/tick.h"

struct config_ref; /* target/common_configs.h */

/*
 * A target is pinned to a revision: it makes pods of that one alone, whatever is pushed. `object`,
 * `template` and `hash` are then those of the pinned revision. BROKEN: somebody has resumed it, and
 * they are the live ones.
 */
enum pin { PIN_NONE, PIN_HOLDS, PIN_BROKEN };

/* What of the target the other rules need. Lives in the tick's arena. */
struct target_info {
    struct json_object *object;   /* the target, as read */
    struct json_object *primary;  /* NULL: not created yet */
    struct json_object *template; /* its pod template as it is released, without nulls; NULL: the
                                   * kind has none */
    const char *revision;         /* name of the target's, where revisions are objects */
    struct json_object *latest;   /* that object; NULL: none */
    const char *label;            /* selector label, e.g. "app" */
    const char *label_value;      /* its value in the target, e.g. "podinfo" */
    char hash[SPECHASH_TEXT];     /* of the live pod template */
    struct json_object
        *configs; /* as status.trackedConfigs: "configmap/NAME" to hash; NULL: tracking is off */
    const struct config_ref *config_refs;
    const char *unusable; /* there is nothing to release, or not in this way: the sentence */
    const char *missing; /* a config that the target cannot do without is not there: the sentence */
    struct json_object
        *ports; /* discovered Service ports, array of {name, protocol, port, targetPort} or NULL */
    bool at_zero;         /* the target is scaled to zero */
    bool primary_at_zero; /* so is the primary (which exists) */
    /* The target's number, where it was given more for its share of a release; 0: it was not. */
    int own_replicas;
    int most_replicas; /* that the target's autoscaler allows; 0: any. Known in a deletion */
    /* An autoscaler of others scales that side: its replicas are theirs. */
    bool primary_scaled, target_scaled;
    bool
        stopped; /* at zero, and its pods are gone; always for a kind that has no pods of its own */
    bool paused; /* a person wants that it makes no pods of its template */
    enum pin pin;
    struct json_object *live; /* the target with what pins it; NULL: nothing does */
    char next[SPECHASH_TEXT]; /* of the template that waits behind the pin; "": none does */
};

enum side { SIDE_PRIMARY, SIDE_CANARY };
enum readiness {
    READY,
    NOT_READY_YET,
    NOT_READY_EVER
}; /* EVER: waiting on is pointless (deadline passed) */

/* What the primary carries of a promotion: nothing of it, some of its configs or nobody can tell,
 * everything. */
enum carried { CARRIED_NOTHING, CARRIED_PART, CARRIED_ALL };

/* The condition of the Canary that says since when a release has waited for this side:
 * "PrimaryReady". */
const char *side_condition(enum side side);

struct target {
    const char *kind;
    const char *group; /* of apiVersion; NULL: any, as in Flagger */
    const struct kube_resource *resource;
    const char *pod_suffix; /* regular expression of what its pods' names have behind its own */
    bool has_replicas;      /* an autoscaler may scale it */
    /* Its own status does not tell since when it waits: the rules keep side_condition(). */
    bool deadline_by_condition;
    /* What the kind asks of a spec: NULL, or one sentence with the field's path. NULL: nothing. */
    const char *(*check)(struct arena *arena, const struct canary *canary);
    /* What the API server would refuse of the objects that are made from this one; *sentence NULL: nothing. NULL:
     * the kind makes none. */
    enum verdict (*refuse)(struct tick *tick, struct json_object *object, const char **sentence);
    /*
     * The kind brings the Services of both sides itself (info.label is NULL then), and this is how
     * that of the canary follows the target. NULL: those of router/common_services.h select its
     * pods.
     */
    enum verdict (*own_services)(struct tick *tick, const struct target_info *info);
    /* Reads target and primary and no more: nothing is told, what is missing is NULL. (A target
     * that is itself being deleted is missing.) Neither hash nor configs are known then. */
    enum verdict (*find)(struct tick *tick, struct target_info *out);
    /* Reads target, primary and tracked configs. STOP: out->unusable says why. */
    enum verdict (*read)(struct tick *tick, struct target_info *out);
    /* Creates the primary if it is missing (with the primary copies of tracked configs). */
    enum verdict (*ensure_primary)(struct tick *tick, const struct target_info *info);
    /* The primary to create, as a promotion of the revision of this hash made it, from what the cluster
     * keeps of the target's former revisions; *out NULL: it keeps none of that, or lets nobody read it.
     * NULL: the kind has none. */
    enum verdict (*recall)(struct tick *tick, const struct target_info *info, const char *hash,
                           struct json_object **out);
    /* Readiness of one side (the primary must exist), with a sentence in *why
     * (target/OBJECTS.md). Nobody who asks for no pods, or has none that answers, is ready. */
    enum readiness (*ready)(struct tick *tick, const struct target_info *info, enum side side,
                            const char **why);
    /* How many pods of a side answer. NULL, as raise_primary, where the kind has no replicas. */
    int (*available)(const struct target_info *info, enum side side);
    /* The primary gets at least so many replicas. */
    void (*raise_primary)(struct tick *tick, const struct target_info *info, int replicas);
    /* ... the target, which is not at zero. */
    void (*raise_target)(struct tick *tick, const struct target_info *info, int replicas);
    /* The release is over: the primary gets the target's number where that is less, which a
     * promotion does not take from it while traffic moves. */
    void (*settle_primary)(struct tick *tick, const struct target_info *info);
    void (*scale_to_zero)(struct tick *tick, const struct target_info *info);
    /* Nothing when it is not at zero; replicas 0: as many as the primary has. */
    void (*scale_from_zero)(struct tick *tick, const struct target_info *info, int replicas);
    /* The target, which nobody has paused, keeps to its template as it was read; false: that is too large
     * to be noted. `unpin` lets it go on with what was pushed since. NULL: the kind cannot be pinned. */
    bool (*pin)(struct tick *tick, const struct target_info *info);
    void (*unpin)(struct tick *tick, const struct target_info *info);
    /*
     * Copies the target onto the primary. The caller has checked that it is the analysed revision.
     * Planning it again after it was done plans nothing: the primary's `flagger-id` follows from
     * what was promoted.
     */
    enum verdict (*promote)(struct tick *tick, const struct target_info *info);
    /* A promotion takes all pods of the primary away before new ones are ready. NULL: never. */
    bool (*replaces_all)(const struct target_info *info);
    /* The primary (which must exist) says that it carries just this revision: template and configs.
     */
    bool (*is_promoted)(struct tick *tick, const struct target_info *info);
    /*
     * How far a promotion of this revision (info's hash and configs) has come that was cut off,
     * where `before` is the hash of the one promoted before. NULL: one write promotes, and
     * is_promoted() tells.
     */
    enum verdict (*carried)(struct tick *tick, const struct target_info *info, const char *before,
                            enum carried *out);
    /* *same: the primary (which must exist) runs just what a promotion would give it now, whoever
     * put it there: template and configs, but for its `flagger-id`. */
    enum verdict (*compare)(struct tick *tick, const struct target_info *info, bool *same);

    /* The hash of what the target (an object that was read) has to release now, from outside of a
     * tick. NULL: it cannot be told from the object alone. */
    enum err (*revision)(struct arena *arena, struct json_object *object, char hash[SPECHASH_TEXT],
                         struct errinfo *ei);

    /* --- for a Canary that is being deleted (decide/revert.c), on what find() gave --- */

    /* Some of its pods answer, and were not told to go: they would be missed. (The primary must
     * exist.) */
    bool (*serves)(const struct target_info *info, enum side side);
    /*
     * What lets the target carry everything again: at least as much as the primary has; without a
     * primary, when at zero, `replicas` or one. Takes nothing away, and plans nothing where it is
     * so.
     */
    void (*restore)(struct tick *tick, const struct target_info *info, int replicas);
    /* For a status that another version of Flagger left; NULL where the kind cannot tell.
     * The hash of the revision that the primary (which must exist) carries, as the target had it;
     * "" when it cannot be told. */
    const char *(*primary_hash)(struct tick *tick, const struct target_info *info);
    /* Nobody has written the target's revision since the wall clock's ms. False when in doubt. */
    bool (*untouched_since)(struct tick *tick, const struct target_info *info, int64_t ms);
};

extern const struct target *const target_table[];
/* That of a targetRef; NULL: its kind is not released. */
const struct target *target_find(const char *api_version, const char *kind);
/* For read(): the sentence into out->unusable. Returns STOP. */
enum verdict target_unusable(struct tick *tick, struct target_info *out, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Why a kind without a row is not released: one sentence, owned by the arena. */
const char *target_refusal(struct arena *arena, const char *api_version, const char *kind);

#endif
