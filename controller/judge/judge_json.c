/* Evidence in the status of a Canary: a list of numbers under each name. */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "judge/judge.h"

enum { COUNTS = 2 };
static const double MOST = 1e30; /* squares of sums of 10^12 */

/* The fields besides the number of looks; each a list of so many numbers. */
struct field {
    const char *name;
    size_t at;
    int count;
    bool negative; /* may be */
};

#define FIELD(name_, field_, count_, negative_)                                                    \
    {                                                                                              \
        .name = (name_), .at = offsetof(struct judge_evidence, field_), .count = (count_),         \
        .negative = (negative_)                                                                    \
    }

static const struct field fields[] = {
    FIELD("canary", canary, COUNTS, false),
    FIELD("primary", primary, COUNTS, false),
    FIELD("recentCanary", recent_canary, COUNTS, false),
    FIELD("recentPrimary", recent_primary, COUNTS, false),
    FIELD("lastCanary", last_canary, COUNTS, false),
    FIELD("lastPrimary", last_primary, COUNTS, false),
    FIELD("scatter", scatter, 3, false), /* chance and squares behind it */
    FIELD("worse", worse, JUDGE_WORSE_BETS, true),
    FIELD("notWorse", not_worse, JUDGE_NOT_WORSE_BETS, true),
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

_Static_assert(sizeof(struct judge_counts) == COUNTS * sizeof(double), "counts are two numbers");
_Static_assert(offsetof(struct judge_evidence, squares) ==
                   offsetof(struct judge_evidence, scatter) + 2 * sizeof(double),
               "scatter, chance and squares are one field");

/* Whole numbers as such; of the others nine digits, which is more than they are worth. */
static struct json_object *number(double value)
{
    char text[32];

    if (value == floor(value) && fabs(value) < 9e15)
        return json_object_new_int64((int64_t)value);
    snprintf(text, sizeof(text), "%.9g", value);
    return json_object_new_double_s(value, text);
}

struct json_object *judge_write(struct arena *arena, const struct judge_evidence *evidence)
{
    struct json_object *json = json_own(arena, json_object_new_object());

    json_set_int(json, "looks", evidence->looks);
    for (int i = 0; i < FIELDS; i++) {
        const double *values = (const double *)((const char *)evidence + fields[i].at);
        struct json_object *list = json_object_new_array();
        for (int j = 0; j < fields[i].count; j++)
            json_object_array_add(list, number(values[j]));
        json_object_object_add(json, fields[i].name, list);
    }
    return json;
}

static bool read_field(struct json_object *json, const struct field *field, double values[])
{
    struct json_object *list = json_at(json, field->name, NULL);

    if (!json_object_is_type(list, json_type_array) || json_len(list) != (size_t)field->count)
        return false;
    for (int i = 0; i < field->count; i++) {
        struct json_object *value = json_elem(list, (size_t)i);
        if (!json_object_is_type(value, json_type_int) &&
            !json_object_is_type(value, json_type_double))
            return false;
        values[i] = json_object_get_double(value);
        if (!(fabs(values[i]) <= MOST) || (values[i] < 0 && !field->negative))
            return false;
    }
    return true;
}

static bool can_be(struct judge_counts counts)
{
    return counts.bad <= counts.total;
}

static bool read_all(struct json_object *json, struct judge_evidence *evidence)
{
    if (!json_to_int(json_at(json, "looks", NULL), &evidence->looks) || evidence->looks < 0 ||
        evidence->looks > JUDGE_MAX_LOOKS)
        return false;
    for (int i = 0; i < FIELDS; i++) {
        if (!read_field(json, &fields[i], (double *)((char *)evidence + fields[i].at)))
            return false;
    }
    return can_be(evidence->canary) && can_be(evidence->primary) &&
           can_be(evidence->recent_canary) && can_be(evidence->recent_primary) &&
           can_be(evidence->last_canary) && can_be(evidence->last_primary);
}

bool judge_read(struct json_object *json, struct judge_evidence *evidence)
{
    judge_begin(evidence);
    if (!read_all(json, evidence)) {
        judge_begin(evidence);
        return false;
    }
    return true;
}
