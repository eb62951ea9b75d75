#include "proto/weight.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *weight_text(struct arena *arena, int64_t weight)
{
    int rest = (int)(weight % WEIGHT_PERCENT);
    long long whole = weight / WEIGHT_PERCENT;

    if (rest == 0)
        return arena_printf(arena, "%lld", whole);
    return rest % 10 == 0 ? arena_printf(arena, "%lld.%d", whole, rest / 10)
                          : arena_printf(arena, "%lld.%02d", whole, rest);
}

/* A decimal is read as the nearest double, which is also what dividing its hundredths gives. */
bool weight_read(struct json_object *value, int64_t most, int64_t *out)
{
    int64_t whole;

    if (json_to_int(value, &whole)) {
        if (whole < 0 || whole > most / WEIGHT_PERCENT)
            return false;
        *out = whole * WEIGHT_PERCENT;
        return true;
    }
    if (!json_object_is_type(value, json_type_double))
        return false;
    double percent = json_object_get_double(value);
    if (!(percent >= 0) || percent * WEIGHT_PERCENT > (double)most)
        return false;
    *out = llround(percent * WEIGHT_PERCENT);
    return percent == (double)*out / WEIGHT_PERCENT;
}

struct json_object *weight_json(struct arena *arena, int64_t weight)
{
    if (weight % WEIGHT_PERCENT == 0)
        return json_own(arena, json_object_new_int64(weight / WEIGHT_PERCENT));
    return json_own(arena, json_object_new_double_s((double)weight / WEIGHT_PERCENT,
                                                    weight_text(arena, weight)));
}

void weight_put(struct arena *arena, struct json_object *object, const char *key, int64_t weight)
{
    json_set(object, key, weight_json(arena, weight));
}

int weight_percent(int weight)
{
    if (weight < WEIGHT_ALL && weight > WEIGHT_ALL - WEIGHT_PERCENT)
        return WEIGHT_ALL / WEIGHT_PERCENT - 1;
    return (weight + WEIGHT_PERCENT - 1) / WEIGHT_PERCENT;
}

int weight_relative(int weight)
{
    if (weight % WEIGHT_PERCENT == 0)
        return weight / WEIGHT_PERCENT;
    return weight % 10 == 0 ? weight / 10 : weight;
}

int weight_of_total(int64_t part, int64_t total)
{
    if (total <= 0 || part <= 0)
        return 0;
    if (part >= total)
        return WEIGHT_ALL;
    int64_t weight = (part * WEIGHT_ALL + total / 2) / total;
    if (weight == 0)
        return 1;
    return weight == WEIGHT_ALL ? WEIGHT_ALL - 1 : (int)weight;
}

int weight_rounded(int weight, int finest)
{
    int nearest = (weight + finest / 2) / finest * finest;

    if (weight == 0 || weight == WEIGHT_ALL)
        return weight;
    if (nearest == 0)
        return finest;
    return nearest == WEIGHT_ALL ? WEIGHT_ALL - finest : nearest;
}

/* --- the status */

static const char share_field[] = "canaryShare";

/* -1 if the text is not a weight. */
static int weight_of_text(const char *text)
{
    char *end;

    if (text == NULL || *text == '\0' || text[strspn(text, "0123456789.")] != '\0')
        return -1;
    double percent = strtod(text, &end);
    if (*end != '\0' || !(percent <= (double)WEIGHT_ALL / WEIGHT_PERCENT))
        return -1;
    int weight = (int)lround(percent * WEIGHT_PERCENT);
    return percent == (double)weight / WEIGHT_PERCENT ? weight : -1;
}

int weight_of_status(struct json_object *status)
{
    const int most = WEIGHT_ALL / WEIGHT_PERCENT;
    int64_t percent = json_int_at(status, 0, "canaryWeight", NULL);
    int share = weight_of_text(json_str_at(status, share_field, NULL));

    percent = percent < 0 ? 0 : percent > most ? most : percent;
    return share >= 0 && weight_percent(share) == percent ? share : (int)percent * WEIGHT_PERCENT;
}

void weight_to_status(struct arena *arena, struct json_object *patch, struct json_object *before,
                      int weight)
{
    json_set_int(patch, "canaryWeight", weight_percent(weight));
    if (weight % WEIGHT_PERCENT != 0) {
        json_set(patch, share_field, NULL);
        json_set_str(patch, share_field, weight_text(arena, weight));
    } else if (json_at(before, share_field, NULL) != NULL ||
               json_at(patch, share_field, NULL) != NULL) {
        json_set(patch, share_field, NULL);
    }
}
