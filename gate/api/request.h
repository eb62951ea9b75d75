/*
 * What requests say: bodies and paths, read strictly and within bounds. Pure; texts live in the
 * arena. Every error is ERR_INVALID with the field and what was expected.
 */
#ifndef GATE_REQUEST_H
#define GATE_REQUEST_H

#include "base/arena.h"
#include "gate/links/link.h"
#include "gate/rules/gates.h"

enum {
    REQUEST_MAX_NAME = 253, /* bytes of a namespace, name, hook or person */
    REQUEST_MAX_REVISION = 128,
    REQUEST_MAX_REASON = 1000,
    REQUEST_MAX_APPROVERS = 100,
};

/* The body of a webhook or of curl (proto/openapi/gate.yaml). hook: of the query, NULL if none.
 * gate->kind is left alone. */
enum err request_webhook(struct arena *arena, const char *body, size_t len, const char *hook,
                         struct gate_name *gate, struct gate_question *question,
                         struct errinfo *ei) MUST_USE;

/* Namespace and name as a path says them; neither holds a slash. */
enum err request_canary(const char *namespace_, const char *name, struct gate_name *gate,
                        struct errinfo *ei) MUST_USE;

/* Which fields a body of /v1 may have; another one is an error, since a misspelt limit would be no
 * limit. */
enum request_verb { REQUEST_OPEN, REQUEST_APPROVE, REQUEST_CLOSE };

/* Fills kind, hook, revision, expires, for_ms, reason and who (NULL if the body has none) of a
 * change. An empty body is an empty object. */
enum err request_change(struct arena *arena, const char *body, size_t len, enum request_verb verb,
                        struct gate_change *change, struct errinfo *ei) MUST_USE;
enum err request_policy(struct arena *arena, const char *body, size_t len,
                        struct gate_change *change, struct gate_policy *policy,
                        struct errinfo *ei) MUST_USE;
enum err request_freeze(struct arena *arena, const char *body, size_t len,
                        struct gate_change *change, struct gate_freeze *freeze,
                        struct errinfo *ei) MUST_USE;

/* POST /v1/links: all of a link but its id, issuer and `verified`; who is NULL if the body does not
 * say in whose name. Valid for a day, at most 30. */
enum err request_link(struct arena *arena, const char *body, size_t len, int64_t now_ms,
                      struct link *link, struct errinfo *ei) MUST_USE;

/* A whole number from 0 on; missing when text is NULL. field: for the sentence. */
enum err request_number(struct arena *arena, const char *field, const char *text,
                        const char *missing, int64_t max, const char **out,
                        struct errinfo *ei) MUST_USE;
/* 1 to REQUEST_MAX_NAME bytes of UTF-8 without control characters. */
enum err request_name(const char *field, const char *text, struct errinfo *ei) MUST_USE;

#endif
