/* What the files of an Application share; nobody else includes this. */
#ifndef MEMBERS_APP_PARTS_H
#define MEMBERS_APP_PARTS_H

#include "members/app.h"

/* The write of the inventory. */
struct app_recorder {
    struct ask *ask;
    struct timer *timer; /* to the next one */
    struct backoff backoff;
    bool due;
};

struct app_teller {
    struct ask *ask;
    struct timer *timer;
    struct backoff backoff;
    bool due, ever;
    char *sent;      /* the text of the last one that was taken; NULL: none by this process */
    char *sending;   /* of the one under way */
    int64_t sent_ms; /* monotonic */
};

struct app {
    struct place_owner owner; /* the first: places get a pointer to it */
    struct hub *hub;
    char *namespace_, *name, *label;
    TAILQ_HEAD(, place) places;
    struct view *view; /* NULL: not read since it changed */
    uint64_t view_content;
    int64_t generation;
    char *uid;
    char *mistake; /* why its spec cannot be read */
    char *trouble; /* why a policy of it has no clusters */
    char *keeper;  /* who else looks after it */
    bool releases; /* it has a rollout, as far as can be seen */
    bool begun;    /* its inventory has been read */
    bool lost;     /* ... and was not there, though something was made */
    bool ours;     /* it has our finalizer */
    bool deleting;
    int64_t deleted_ms; /* wall clock */
    int64_t begun_ms;   /* wall clock: since when this process looks after it */
    struct timer *abandon_timer;
    struct app_recorder recorder;
    struct app_teller teller;
};

/* app_object.c */
void app_event(const struct app *app, const char *type, const char *reason, const char *text);
/* The object, in the arena; NULL: gone, or there is no room for it now. */
struct json_object *app_tree(const struct app *app, struct arena *arena);
bool app_has_finalizer(struct json_object *tree, const char *name);

/* app_record.c */
void app_record(struct app *app);
void app_recorder_end(struct app *app);
/* The annotation is not what the places say. */
bool app_is_recorded(const struct app *app, struct json_object *tree);

/* app_status.c */
void app_teller_end(struct app *app);

#endif
