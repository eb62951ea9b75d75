/*
 * What the metric backends have in common: an address, the keys of a Secret, headers, whom TLS
 * believes; and what a reply says. Pure; everything lives in the arena.
 *
 * A request is written step by step into a struct ask. The first mistake stays, ask_end() returns
 * it, and until then the functions may go on: a missing text is "".
 */
#ifndef METRIC_ASK_H
#define METRIC_ASK_H

#include "base/json.h"
#include "metric/backend.h"

enum { ASK_TIMEOUT_MS = 5000, ASK_MAX_ANSWER = 256 * 1024, ASK_SAID_MAX = 300, ASK_WINDOW = 10 };

struct ask {
    struct arena *arena;
    const struct metric_question *question;
    struct metric_request *out;
    struct errinfo *ei;
    enum err err;
    const char *base; /* the address without slashes at its end */
    int headers;
};

/* A GET of the address, with the headers of spec.provider. if_none: the provider's own host, where the
 * template gives no address or the credentials are those of the process; NULL: it must. */
struct ask ask_begin(struct arena *arena, const struct metric_question *question,
                     const char *if_none, struct metric_request *out, struct errinfo *ei);
enum err ask_end(struct ask *ask) MUST_USE;
void ask_fail(struct ask *ask, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Path and query behind the address. */
void ask_url(struct ask *ask, const char *fmt, ...) PRINTF_LIKE(2, 3);
void ask_header(struct ask *ask, const char *name, const char *value);
/* --no-cross-namespace-refs: whether the question may read objects of this namespace with the rights of
 * the controller; if not, *ei says so. */
bool ask_may_read(const struct metric_question *question, const char *namespace_,
                  struct errinfo *ei);
/* Makes it a POST. type: its Content-Type. */
void ask_body(struct ask *ask, const char *type, const char *body);
/* "Basic ..." of the Secret's username and password; false: it lacks one of them. */
bool ask_basic(struct ask *ask);
/* What a key of the Secret says; it must be there. */
const char *ask_secret(struct ask *ask, const char *key);
/* From where to look: now less ASK_WINDOW intervals, as in Flagger. The metric must have an interval. */
int64_t ask_from_ms(struct ask *ask, int64_t now_ms);

/* A sentence when spec.provider sets a header that nobody may set (net/client.h); NULL: it does not. */
const char *ask_headers_refusal(struct arena *arena, struct json_object *spec);
/* A key of the Secret as text; NULL when it has none. */
const char *ask_secret_or(struct arena *arena, struct json_object *secret, const char *key);
/* What a variable of metric_backend.ambient has given; NULL: nothing, or the Secret takes its place. */
const char *ask_ambient(const struct metric_question *question, const char *variable);
/* Every run of white space becomes one space, so that a query written over several lines is one
 * line. */
const char *ask_one_line(struct arena *arena, const char *query);
/* A copy of the text with every `from` that begins it or stands in it for the first time replaced.
 */
const char *ask_replace_first(struct arena *arena, const char *text, const char *from,
                              const char *to);

/* --- replies */

struct metric_answer ask_failure(const char *text);
/* note: what there was instead; NULL. */
struct metric_answer ask_no_values(const char *note);
/* The answer with a note that it is "the last of 3 series"; none when there is just one. */
struct metric_answer ask_chosen(struct arena *arena, struct metric_answer answer, const char *which,
                                size_t n, const char *of);
/* Of a reply that has no list where the API of the backend has one. */
struct metric_answer ask_unlike(struct arena *arena, const struct metric_question *question,
                                const char *list);
/* A number of JSON or a text of one; null and NaN are no values. */
struct metric_answer ask_number(struct arena *arena, const struct metric_question *question,
                                struct json_object *number);
struct metric_answer ask_number_text(struct arena *arena, const struct metric_question *question,
                                     const char *text);
/* A time of JSON in units of so many ms, as ms; 0: it is none. */
int64_t ask_time_ms(struct json_object *time, int unit_ms);
/* "error response: ..." with the beginning of what it says, or its status. */
struct metric_answer ask_refused(struct arena *arena, const struct http_result *result);

typedef struct metric_answer (*ask_read_fn)(struct arena *arena,
                                            const struct metric_question *question,
                                            struct json_object *reply);
/* Reads a reply that is JSON; the tree goes at once, for the arena lives as long as the tick. Any
 * status but 2xx is an error. The answer to a probe is a value. */
struct metric_answer ask_read_json(struct arena *arena, const struct metric_question *question,
                                   const struct http_result *result, ask_read_fn read);

#endif
