#include "health.h"

#include <string.h>

#include "base/clock.h"

static const char *const phases[] = {"Initializing",     "Initialized", "Waiting",    "Progressing",
                                     "WaitingPromotion", "Promoting",   "Finalising", "Succeeded",
                                     "Failed",           "Terminating", "Terminated"};

static bool is_one_of(const char *text, const char *const *list, size_t n)
{
    for (size_t i = 0; text && i < n; i++)
        if (strcmp(text, list[i]) == 0)
            return true;
    return false;
}

/* An API server takes reasons of this form alone. */
static bool is_word(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return text && *text && strchr(letters, *text) &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_,:") ==
               strlen(text);
}

static bool is_time(struct json_object *condition, const char *key)
{
    const char *text = json_str_at(condition, key, NULL);
    int64_t at;

    return text && clock_parse(text, &at, NULL) == ERR_OK;
}

static const char *condition_fault(struct json_object *conditions, size_t index)
{
    static const char *const statuses[] = {"True", "False", "Unknown"};
    /* whose meaning is fixed for every kind: a release that goes on is none of them */
    static const char *const fixed[] = {"Ready", "Reconciling", "Stalled"};
    struct json_object *condition = json_elem(conditions, index);
    const char *type = json_str_at(condition, "type", NULL);

    if (!type || !*type)
        return "a condition has a type";
    if (is_one_of(type, fixed, sizeof(fixed) / sizeof(fixed[0])))
        return "no condition has a name with which kstatus means something else";
    if (!is_one_of(json_str_at(condition, "status", NULL), statuses,
                   sizeof(statuses) / sizeof(statuses[0])))
        return "a condition is True, False or Unknown";
    if (!is_word(json_str_at(condition, "reason", NULL)))
        return "a condition has a reason of one word";
    if (!json_object_is_type(json_at(condition, "message", NULL), json_type_string))
        return "a condition has a message";
    if (!is_time(condition, "lastTransitionTime"))
        return "a condition says since when";
    for (size_t i = 0; i < index; i++)
        if (is_one_of(json_str_at(json_elem(conditions, i), "type", NULL), &type, 1))
            return "there is one condition of a type";
    return NULL;
}

/* A number of this range; `required`, or none. */
static bool is_count(struct json_object *status, const char *key, int64_t least, int64_t most,
                     bool required)
{
    struct json_object *value = json_at(status, key, NULL);
    int64_t number;

    if (!value)
        return !required;
    return json_object_is_type(value, json_type_int) && json_to_int(value, &number) &&
           number >= least && number <= most;
}

const char *health_fault(struct json_object *canary)
{
    struct json_object *status = json_at(canary, "status", NULL);
    struct json_object *conditions = json_at(status, "conditions", NULL);
    int64_t generation = json_int_at(canary, INT64_MAX, "metadata", "generation", NULL);
    const char *fault = NULL;

    if (json_count(status) == 0)
        return NULL;
    if (!is_one_of(json_str_at(status, "phase", NULL), phases, sizeof(phases) / sizeof(phases[0])))
        return "a status has one of the known phases";
    if (!is_count(status, "canaryWeight", 0, 100, true))
        return "a status has a weight from 0 to 100";
    /* Flagger counts iterations from -1 on where it starts over */
    if (!is_count(status, "failedChecks", 0, INT32_MAX, false) ||
        !is_count(status, "iterations", -1, INT32_MAX, false))
        return "failedChecks and iterations are numbers";
    if (!is_count(status, "observedGeneration", 0, generation, false))
        return "observedGeneration is a generation that there was";
    if (conditions && !json_object_is_type(conditions, json_type_array))
        return "conditions are a list";
    for (size_t i = 0; !fault && i < json_len(conditions); i++)
        fault = condition_fault(conditions, i);
    return fault;
}
