/*
 * Parser of bodies and paths, strict and bounded. Pure; strings live in the arena. Every error is
 * ERR_INVALID with the field and the expected value.
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

/* The body of a webhook or of curl (proto/openapi/gate.yaml). hook: from the query, NULL if none.
 * gate->kind is not set. */
enum err request_webhook(struct arena *arena, const char *body, size_t len, const char *hook,
                         struct gate_name *gate, struct gate_question *question,
                         struct errinfo *ei) MUST_USE;

/* Namespace and name from a path; neither contains a slash. */
enum err request_canary(const char *namespace_, const char *name, struct gate_name *gate,
                        struct errinfo *ei) MUST_USE;

/* Fields allowed in a body of /v1. Others are an error: a misspelt limit would not limit. */
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

/* POST /v1/links: sets all of a link but its id, issuer and `verified`; the name is NULL if
 * missing. Valid for a day by default, 30 at most. */
enum err request_link(struct arena *arena, const char *body, size_t len, int64_t now_ms,
                      struct link *link, struct errinfo *ei) MUST_USE;

/* A whole number >= 0; `missing` if text is NULL. field: for the message. */
enum err request_number(struct arena *arena, const char *field, const char *text,
                        const char *missing, int64_t max, const char **out,
                        struct errinfo *ei) MUST_USE;
/* 1 to REQUEST_MAX_NAME bytes of UTF-8 without control characters. */
enum err request_name(const char *field, const char *text, struct errinfo *ei) MUST_USE;

#endif
