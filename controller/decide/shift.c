/* Steps of spec.analysis.promotion and spec.analysis.rollback. */
#include "decide/shift.h"

#include <string.h>

#include "base/clock.h"
#include "decide/status.h"
#include "proto/weight.h"
#include "tick/edit.h"

bool shift_may_be_slow(struct release *r)
{
    const char *why;

    /* matches are no share of all */
    return !release_is_at_match(r) && !status_weight_was_matched(r) &&
           strcmp(r->info.hash, r->canary->status.last_applied_spec) == 0 &&
           release_ready(r, SIDE_CANARY, &why) == READY;
}

int shift_next(const struct shift *shift, int left)
{
    for (int i = 0; i < shift->way->n_steps; i++) {
        if (shift->way->steps[i].weight > WEIGHT_ALL - left)
            return WEIGHT_ALL - shift->way->steps[i].weight;
    }
    return 0;
}

void shift_note(struct release *r, const struct shift *shift, int primary)
{
    struct json_object *out = edit_object(r->tick->arena);
    char text[CLOCK_TEXT];

    weight_put(r->tick->arena, out, "weight", primary);
    json_set_str(out, "since", clock_rfc3339(r->tick->now_ms, text));
    status_object(r, shift->field, out);
}

int64_t shift_left_ms(struct release *r, const struct shift *shift, int primary)
{
    struct json_object *noted = json_at(r->canary->status.json, shift->field, NULL);
    const char *began = json_str_at(noted, "since", NULL);
    int64_t since, weight, lasts_ms = 0;

    for (int i = 0; i < shift->way->n_steps; i++) {
        int64_t for_ms = shift->way->steps[i].for_ms;
        if (shift->way->steps[i].weight == primary)
            lasts_ms = for_ms > 0 ? for_ms : shift->default_ms;
    }
    if (lasts_ms == 0)
        return 0;
    if (!began || !weight_read(json_at(noted, "weight", NULL), WEIGHT_ALL, &weight) ||
        weight != primary || clock_parse(began, &since, NULL) != ERR_OK ||
        since > r->tick->now_ms) {
        shift_note(r, shift, primary);
        return lasts_ms;
    }
    int64_t left = lasts_ms - (r->tick->now_ms - since);
    return left > 0 ? left : 0;
}
