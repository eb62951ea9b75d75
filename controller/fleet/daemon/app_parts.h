/* Shared by app.c and app_record.c. */
#ifndef MEMBERS_APP_PARTS_H
#define MEMBERS_APP_PARTS_H

#include "fleet/daemon/app.h"

/* The write of the inventory. */
struct app_recorder {
    struct tracked_request *ask;
    struct timer *timer; /* to the next one */
    struct backoff backoff;
    bool due;
};

struct app_teller {
    struct tracked_request *ask;
    struct timer *timer;
    struct backoff backoff;
    bool due, ever;
    char *sent;      /* the last text that was accepted; NULL if none by this process */
    char *sending;   /* of the one under way */
    int64_t sent_ms; /* monotonic */
};

struct app {
    struct place_owner owner; /* the first: places get a pointer to it */
    struct fleet_daemon *fleet;
    char *namespace_, *name, *label;
    TAILQ_HEAD(, place) places;
    struct view *view; /* NULL if not read since it changed */
    uint64_t view_content;
    int64_t generation;
    char *uid;
    char *mistake; /* of its spec, one sentence */
    char *trouble; /* why a policy has no clusters */
    char *keeper;  /* another controller that manages it, one sentence */
    bool releases; /* it has a rollout, as far as can be seen */
    bool begun;    /* its inventory has been read */
    bool lost;     /* ... and was not there, though something was made */
    bool ours;     /* it has our finalizer */
    bool deleting;
    int64_t deleted_ms; /* wall clock */
    int64_t begun_ms;   /* wall clock: when this process began to manage it */
    struct timer *abandon_timer;
    struct app_recorder recorder;
    struct app_teller teller;
};

/* --- app.c */

void app_event(const struct app *app, const char *type, const char *reason, const char *text);
/* The object, in the arena; NULL if it is gone, or if there is no memory for it now. */
struct json_object *app_tree(const struct app *app, struct arena *arena);

/* --- app_record.c */

void app_record(struct app *app);
void app_recorder_end(struct app *app);
/* True if the annotation is up to date. */
bool app_is_recorded(const struct app *app, struct json_object *tree);

#endif
