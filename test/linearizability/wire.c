#include "linearizability/wire.h"

#include <string.h>

#include "base/json.h"

const char *const wire_hooks[] = {"-", "promote", "rollout"};
const char *const wire_revisions[] = {"-", "r1", "r2"};
const char *const wire_people[] = {"-", "ann", "bob", "cat", "dan"};
const char *const wire_asks[] = {[ASK_CHECK] = "check", [ASK_OPEN] = "open", [ASK_CLOSE] = "close"};

#define NAMESPACE "linear"

const char *wire_path(struct arena *arena, const struct step *step, const char *gate,
                      const char *id)
{
    if (step->ask == ASK_CHECK && step->hook)
        return arena_printf(arena, "/gate/check?hook=%s", wire_hooks[step->hook]);
    if (step->ask == ASK_CHECK || !id)
        return arena_printf(arena, "/gate/%s", wire_asks[step->ask]);
    return arena_printf(arena, "/v1/gates/" NAMESPACE "/%s/%s", gate,
                        step->revision ? "approve" : wire_asks[step->ask]);
}

const char *wire_body(struct arena *arena, const struct step *step, const char *gate,
                      const char *id)
{
    struct json_object *body = json_own(arena, json_object_new_object());
    bool change = step->ask != ASK_CHECK && id;
    if (!change) {
        json_set_str(body, "name", gate);
        json_set_str(body, "namespace", NAMESPACE);
        json_set_str(body, "phase", "Progressing");
        json_set_str(body, "checksum", step->revision ? wire_revisions[step->revision] : NULL);
        return json_text(arena, body);
    }
    json_set_str(body, "hook", step->hook ? wire_hooks[step->hook] : NULL);
    json_set_str(body, "revision", step->revision ? wire_revisions[step->revision] : NULL);
    json_set_str(body, "reason", id);
    return json_text(arena, body);
}

static enum said said(struct json_object *object, const char *key)
{
    return json_bool_at(object, false, key, NULL) ? SAID_YES : SAID_NO;
}

/* {"changed","open","votes","quorum","seq"} */
static void read_result(struct arena *arena, const struct http_result *result,
                        struct wire_answer *answer)
{
    struct json_object *object;
    struct errinfo ei;
    if (json_parse(arena, result->body, result->body_len, HTTP_MAX_BODY, &object, &ei) != ERR_OK ||
        !json_at(object, "changed", NULL) || !json_at(object, "open", NULL)) {
        answer->wrong = true;
        return;
    }
    answer->outcome = OUTCOME_OK;
    answer->said =
        (struct answer){.changed = said(object, "changed"), .open = said(object, "open")};
    if (answer->said.changed == SAID_YES)
        answer->seq = json_int_at(object, -1, "seq", NULL);
}

struct wire_answer wire_read(struct arena *arena, const struct step *step,
                             const struct http_result *result)
{
    struct wire_answer answer = {
        .outcome = OUTCOME_UNKNOWN, .said = {.changed = NOT_TOLD, .open = NOT_TOLD}, .seq = -1};
    bool check = step->ask == ASK_CHECK;
    if (result->err != ERR_OK) {
        if (!result->sent)
            answer.outcome = OUTCOME_FAILED;
    } else if (check && (result->status == 200 || result->status == 403)) {
        answer.outcome = OUTCOME_OK;
        answer.said.open = result->status == 200 ? SAID_YES : SAID_NO;
    } else if (!check && result->status == 202) {
        answer.outcome = OUTCOME_OK;
    } else if (!check && result->status == 200) {
        read_result(arena, result, &answer);
    } else if (!check && result->status == 409 && step->ask == ASK_CLOSE && step->hook) {
        answer.outcome = OUTCOME_OK;
        answer.said.changed = SAID_REFUSED;
    } else if (result->status != 503) {
        answer.wrong = true;
    } else if (check || !strstr(result->body, "not known")) {
        answer.outcome = OUTCOME_FAILED;
    }
    return answer;
}
