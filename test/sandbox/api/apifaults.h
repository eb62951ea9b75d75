/* Faults that a test asked for: rules that match requests, each for a number of times. Pure but for
 * the heap. */
#ifndef SANDBOX_APIFAULTS_H
#define SANDBOX_APIFAULTS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum { APIFAULTS_MAX = 1000 };

struct apifaults;

/* What to do with a request: wait, then drop the connection, or answer, or (all zero) serve it as
 * usual. */
struct apifault {
    int64_t delay_ms;
    bool drop;
    int status; /* 0: none */
    int retry_after_s;
};

struct apifaults *apifaults_new(void);
void apifaults_free(struct apifaults *faults);
/* Adds the rules of {"faults": [...]} or of one bare rule; see api.h. */
enum err apifaults_add(struct apifaults *faults, struct arena *arena, struct json_object *body,
                       struct errinfo *ei) MUST_USE;
void apifaults_clear(struct apifaults *faults);
/* The rules with what is left of them, owned by the arena. */
struct json_object *apifaults_list(const struct apifaults *faults, struct arena *arena);
/* Takes the first rule that matches; false when none does. agent may be NULL. */
bool apifaults_take(struct apifaults *faults, const char *method, const char *verb,
                    const char *path, const char *agent, struct apifault *out);

#endif
