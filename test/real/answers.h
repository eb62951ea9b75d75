/*
 * The metric server and the webhooks of the tests: one HTTP server whose answers the test sets.
 *
 *   PUT  /rules/NAME  {"match": [TEXT...], "status": 200, "value": "50"}   the rule NAME, set anew
 *   DELETE /rules/NAME                                                     back to the default
 *   GET  /rules/NAME                                                       {"count": N}: answered
 *                                                                          so often
 *   GET or POST /api/v1/query   a Prometheus: the value of the rule whose texts all occur in the
 *                               query, the newest first; "" answers that there are no values. By
 *                               default 0.01 for a quantile and 100 for all else.
 *   POST /hooks/...             the status of the rule whose texts occur in the path; 200 by default
 */
#ifndef REAL_ANSWERS_H
#define REAL_ANSWERS_H

#include "net/server/server.h"
#include "real/recorder.h"

struct answers;

enum err answers_new(struct loop *loop, int port, struct answers **out,
                     struct errinfo *ei) MUST_USE;
/* Calls of webhooks become lines of the history; the recorder is borrowed. */
void answers_record(struct answers *answers, struct recorder *recorder);
int answers_port(const struct answers *answers);
void answers_free(struct answers *answers); /* after the loop has ended */

#endif
