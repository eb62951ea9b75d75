/* Faults that a test asked for: rules that match requests, each for a number of times; see api.h. A
 * list of them is an array of objects, as GET /sandbox/faults shows it. Pure. */
#ifndef SANDBOX_APIFAULTS_H
#define SANDBOX_APIFAULTS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum { APIFAULTS_MAX = 1000 };

/* What to do with a request: wait, then drop the connection, or answer, or (all zero) serve it as
 * usual. */
struct apifault {
    int64_t delay_ms;
    bool drop;
    int status; /* 0 if none */
    int retry_after_s;
};

/* Adds the rules of {"faults": [...]} or of one bare rule to list. */
enum err apifaults_add(struct json_object *list, struct arena *arena, struct json_object *body,
                       struct errinfo *ei) MUST_USE;
/* Takes the first rule that matches; false when none does. agent may be NULL. */
bool apifaults_take(struct json_object *list, const char *method, const char *verb,
                    const char *path, const char *agent, struct apifault *out);
/* Those whose path has this in it; NULL for all. */
void apifaults_forget(struct json_object *list, const char *path);

#endif
