#include "app/behaviour.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* "registry:5000/team/demo-app:2.0.0@sha256:..." -> where the name begins and ends, and the tag
 * (NULL if none). */
static void split(struct arena *arena, const char *image, const char **name, const char **tag)
{
    const char *slash = strrchr(image, '/');
    const char *start = slash ? slash + 1 : image;
    size_t len = strcspn(start, "@");
    size_t colon = strcspn(start, ":");

    *tag = colon < len ? arena_strndup(arena, start + colon + 1, len - colon - 1) : NULL;
    *name = arena_strndup(arena, start, colon < len ? colon : len);
}

bool behaviour_is_named(const char *image, const char *name)
{
    const char *slash = image ? strrchr(image, '/') : NULL;
    const char *start = slash ? slash + 1 : image;
    return start && strcspn(start, ":@") == strlen(name) && strncmp(start, name, strlen(name)) == 0;
}

bool behaviour_is_demo(const char *image)
{
    return behaviour_is_named(image, "demo-app");
}

static enum err read_errors(const char *name, const char *text, struct behaviour *out,
                            struct errinfo *ei)
{
    char *end;
    long percent = *text ? strtol(text, &end, 10) : BEHAVIOUR_ERROR_PERCENT;
    if (*text && (*end || percent < 0 || percent > 100))
        return err_set(ei, ERR_INVALID, "-%s%s: expected a percentage from 0 to 100", name, text);
    out->error_percent = percent;
    out->by_chance = strcmp(name, "chance") == 0;
    return ERR_OK;
}

/* A whole number up to 1000. */
static enum err read_number(const char *name, const char *text, long missing, long least,
                            int64_t *out, struct errinfo *ei)
{
    char *end;
    long number = *text ? strtol(text, &end, 10) : missing;
    if (*text && (*end || number < least || number > 1000))
        return err_set(ei, ERR_INVALID, "-%s%s: expected a number from %ld to 1000", name, text,
                       least);
    *out = number;
    return ERR_OK;
}

static enum err read_load(const char *name, const char *text, struct behaviour *out,
                          struct errinfo *ei)
{
    return read_number(name, text, BEHAVIOUR_AT_ONCE, 1, &out->most_at_once, ei);
}

static enum err read_leak(const char *name, const char *text, struct behaviour *out,
                          struct errinfo *ei)
{
    return read_number(name, text, BEHAVIOUR_LEAK_KB, 0, &out->leak_kb, ei);
}

static enum err read_median(const char *name, const char *text, struct behaviour *out,
                            struct errinfo *ei)
{
    out->latency_varies = true;
    out->latency_ms = BEHAVIOUR_SLOW_MS;
    enum err err = *text ? duration_parse_ms(text, &out->latency_ms, ei) : ERR_OK;
    return err == ERR_OK ? ERR_OK : err_wrap(ei, err, "-%s%s", name, text);
}

static enum err read_native(const char *name, const char *text, struct behaviour *out,
                            struct errinfo *ei)
{
    if (*text)
        return err_set(ei, ERR_INVALID, "-%s%s: expected no value", name, text);
    out->native = true;
    return ERR_OK;
}

/* Takes one suffix (without its dash); *known tells whether it is ours. */
static enum err read_suffix(const char *suffix, struct behaviour *out, bool *known,
                            struct errinfo *ei)
{
    const struct {
        const char *name;
        int64_t *ms, missing; /* ms NULL: `read` reads it */
        enum err (*read)(const char *name, const char *text, struct behaviour *out,
                         struct errinfo *ei);
    } rows[] = {{"errors", NULL, 0, read_errors},
                {"chance", NULL, 0, read_errors},
                {"load", NULL, 0, read_load},
                {"leak", NULL, 0, read_leak},
                {"median", NULL, 0, read_median},
                {"native", NULL, 0, read_native},
                {"slow", &out->latency_ms, BEHAVIOUR_SLOW_MS, NULL},
                {"crash", &out->crash_after_ms, 0, NULL}};
    const size_t count = sizeof(rows) / sizeof(rows[0]);
    size_t i = 0;
    while (i < count && strncmp(suffix, rows[i].name, strlen(rows[i].name)) != 0)
        i++;
    *known = i < count;
    if (!*known)
        return ERR_OK;
    const char *value = suffix + strlen(rows[i].name);
    if (!rows[i].ms)
        return rows[i].read(rows[i].name, value, out, ei);
    *rows[i].ms = rows[i].missing;
    enum err err = *value ? duration_parse_ms(value, rows[i].ms, ei) : ERR_OK;
    return err == ERR_OK ? ERR_OK : err_wrap(ei, err, "-%s", suffix);
}

enum err behaviour_of_image(struct arena *arena, const char *image, struct behaviour *out,
                            struct errinfo *ei)
{
    const char *name, *found_tag;
    split(arena, image, &name, &found_tag);
    *out = (struct behaviour){.version = "latest", .crash_after_ms = -1};
    if (!found_tag || !*found_tag)
        return ERR_OK;

    char *tag = arena_strdup(arena, found_tag);
    for (char *dash = strrchr(tag, '-'); dash; dash = strrchr(tag, '-')) {
        bool known;
        enum err err = read_suffix(dash + 1, out, &known, ei);
        if (err != ERR_OK)
            return err_wrap(ei, err, "image %s", image);
        if (!known)
            break;
        *dash = '\0';
    }
    if (*tag)
        out->version = tag;
    return ERR_OK;
}

bool behaviour_fails(int64_t percent, int64_t *state)
{
    *state += percent;
    if (*state < 100)
        return false;
    *state -= 100;
    return true;
}

/* SplitMix64 (Steele, Lea, Flood 2014): good for any seed, also for neighbours. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

bool behaviour_fails_by_chance(int64_t percent, uint64_t *state)
{
    return (int64_t)(next(state) % 100) < percent;
}

/* In (0, 1). */
static double unit(uint64_t *state)
{
    return ((double)(next(state) >> 11) + 0.5) / 9007199254740992.0; /* 2^53 */
}

int64_t behaviour_latency_by_chance(int64_t median_ms, uint64_t *state)
{
    static const double WIDTH = 0.7;
    double far = sqrt(-2 * log(unit(state)));

    return (int64_t)round((double)median_ms * exp(WIDTH * far * cos(2 * M_PI * unit(state))));
}
