#include "judge/looks.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "proto/weight.h"

/* As of samples of counts (judge/judge.c); of these there are fewer, and each covers more. */
static const double WHOLE_SHARE = 0.25, OTHER_STEP = 16, MOST_VALUE = 1e100;

enum { HEAD = 3, MOST_SECONDS = 1000000000 };

static const int64_t most_step = INT64_C(100) * 1000000000;

/* --- joining */

static void join(struct judge_look *look, const struct judge_look *next, bool sums, int width)
{
    double one = (double)look->looks, other = (double)next->looks;

    for (int i = 0; i < width; i++)
        look->values[i] = sums ? look->values[i] + next->values[i]
                               : (look->values[i] * one + next->values[i] * other) / (one + other);
    look->at_s = next->at_s > look->at_s ? next->at_s : look->at_s;
    look->step = next->step;
    look->looks += next->looks;
    if (look->looks > LOOK_JOINED)
        look->looks = LOOK_JOINED;
}

/* The part of the looks until its end that the joined one would be. */
static double coarseness(const struct judge_look *one, const struct judge_look *next,
                         double until_next, double whole)
{
    double both = (double)(one->looks + next->looks);

    return both / (1 + until_next + whole * WHOLE_SHARE) *
           (one->step == next->step ? 1 : OTHER_STEP);
}

static void join_two(struct judge_looks *looks, bool sums)
{
    double whole = 0, until = 0, least = INFINITY;
    int best = 0;

    for (int i = 0; i < looks->n; i++)
        whole += (double)looks->looks[i].looks;
    for (int i = 0; i + 1 < looks->n; i++) {
        const struct judge_look *one = &looks->looks[i];
        until += (double)one->looks;
        double found = coarseness(one, one + 1, until + (double)one[1].looks, whole);
        if (found < least) {
            least = found;
            best = i;
        }
    }
    join(&looks->looks[best], &looks->looks[best + 1], sums, looks->width);
    looks->n--;
    memmove(&looks->looks[best + 1], &looks->looks[best + 2],
            (size_t)(looks->n - best - 1) * sizeof(looks->looks[0]));
}

static bool is_finite(const double values[], int width)
{
    for (int i = 0; i < width; i++)
        if (!(fabs(values[i]) <= MOST_VALUE))
            return false;
    return true;
}

void judge_looks_add(struct judge_looks *looks, int most, bool sums, int width,
                     const struct judge_look *look)
{
    if (!is_finite(look->values, width) || look->looks < 1)
        return;
    if (looks->width != width)
        *looks = (struct judge_looks){.width = width};
    if (looks->n > 0 && look->at_s <= looks->looks[looks->n - 1].at_s) {
        join(&looks->looks[looks->n - 1], look, sums, width);
        return;
    }
    while (looks->n > 1 && (looks->n >= most || looks->n >= LOOKS_NUMBERS))
        join_two(looks, sums);
    looks->looks[looks->n++] = *look;
}

/* --- JSON */

struct json_object *judge_looks_write(struct arena *arena, const struct judge_looks *looks)
{
    struct json_object *list = json_own(arena, json_object_new_array());

    for (int i = 0; i < looks->n; i++) {
        const struct judge_look *look = &looks->looks[i];
        struct json_object *row = json_object_new_array();
        json_object_array_add(row, json_object_new_int64(look->at_s));
        json_object_array_add(row, json_object_get(weight_json(arena, look->step)));
        json_object_array_add(row, json_object_new_int64(look->looks));
        for (int j = 0; j < looks->width; j++)
            json_object_array_add(row, judge_number_json(look->values[j]));
        json_object_array_add(list, row);
    }
    return list;
}

bool judge_look_read(struct json_object *row, int width, struct judge_look *out)
{
    if (!json_object_is_type(row, json_type_array) || json_len(row) != (size_t)(HEAD + width) ||
        !json_to_int(json_elem(row, 0), &out->at_s) ||
        !weight_read(json_elem(row, 1), most_step, &out->step) ||
        !json_to_int(json_elem(row, 2), &out->looks) || out->at_s < 0 || out->at_s > MOST_SECONDS ||
        out->looks < 1 || out->looks > LOOK_JOINED)
        return false;
    for (int i = 0; i < width; i++) {
        struct json_object *value = json_elem(row, (size_t)(HEAD + i));
        if (!json_object_is_type(value, json_type_int) &&
            !json_object_is_type(value, json_type_double))
            return false;
        out->values[i] = json_object_get_double(value);
    }
    return is_finite(out->values, width);
}

bool judge_looks_read(struct json_object *json, int most, struct judge_looks *out)
{
    size_t len = json_len(json), width = json_len(json_elem(json, 0));

    *out = (struct judge_looks){0};
    if (!json_object_is_type(json, json_type_array) || len == 0 || len > (size_t)most ||
        len > LOOKS_NUMBERS || width <= HEAD || width > HEAD + LOOK_VALUES)
        return false;
    out->width = (int)width - HEAD;
    for (size_t i = 0; i < len; i++) {
        if (!judge_look_read(json_elem(json, i), out->width, &out->looks[i]) ||
            (i > 0 && out->looks[i].at_s <= out->looks[i - 1].at_s)) {
            *out = (struct judge_looks){0};
            return false;
        }
    }
    out->n = (int)len;
    return true;
}
