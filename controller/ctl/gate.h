/*
 * The gate of a Canary's confirm hooks: its address, and requests to it. A gate in the cluster is
 * reached through the API server's proxy of Services, with the person's own rights; any other gate,
 * and a named one, directly.
 */
#ifndef CTL_GATE_H
#define CTL_GATE_H

#include "ctl/ctl.h"
#include "ctl/read.h"

struct gate {
    const char *url; /* "http://flagger-gate.flagger:80", for people */
    /* "/api/v1/namespaces/flagger/services/flagger-gate:80/proxy"; NULL if url is asked directly.
     */
    const char *proxy_path;
    const char *token; /* sent to the url; NULL if none */
    bool insecure;     /* no certificate is verified there */
};

/*
 * Of the Canary's hooks of the confirm types and of type rollback, those of the name (NULL for any)
 * that have their gate in common. ERR_NOT_FOUND: it has none; ERR_INVALID: there are several gates.
 */
enum err gate_find(struct ctl *ctl, struct json_object *canary, const char *hook, struct gate *out,
                   struct errinfo *ei) MUST_USE;
/* The gate that a URL names. Pure but for the arena; exposed for its test. */
struct gate gate_of_url(struct arena *arena, const char *namespace_, const char *url);

/* body NULL: GET, else POST. path: "/v1/gates/test/podinfo". *out is NULL where the answer has no
 * JSON. The sentence of an error is the gate's own where it gives one. */
enum err gate_call(struct ctl *ctl, const struct gate *gate, const char *path,
                   struct json_object *body, struct json_object **out, struct errinfo *ei) MUST_USE;
/* The gate's answer about one Canary: {"gates": [...], "history": [...]}. */
enum err gate_read(struct ctl *ctl, const struct gate *gate, const char *namespace_,
                   const char *name, struct json_object **out, struct errinfo *ei) MUST_USE;
/* Of such an answer the gate of a kind, "gate" or "rollback"; NULL if none. */
struct json_object *gate_of_kind(struct json_object *answer, const char *kind);
/* The Canary has a hook of type rollback at this gate. */
bool gate_rolls_back(struct arena *arena, struct json_object *canary, const struct gate *gate);

#endif
