#include "router/common_cookie.h"

#include <string.h>

#define TAKE_BACK "Max-Age=-1"

/* Attributes in the order of their names, as Flagger has them. */
static const char *set_cookie(struct tick *tick, const char *cookie, const char *max_age)
{
    const struct canary_affinity *affinity = &tick->canary->analysis.affinity;
    const struct {
        const char *name, *value;
        bool is_set;
    } attributes[] = {
        {"; Domain=", affinity->domain, affinity->domain},
        {"; HttpOnly", "", affinity->http_only},
        {"; Partitioned", "", affinity->partitioned},
        {"; Path=", affinity->path, affinity->path},
        {"; SameSite=", affinity->same_site, affinity->same_site},
        {"; Secure", "", affinity->secure},
    };
    const char *text = arena_printf(tick->arena, "%s; %s", cookie, max_age);

    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        if (attributes[i].is_set)
            text =
                arena_printf(tick->arena, "%s%s%s", text, attributes[i].name, attributes[i].value);
    }
    return text;
}

const char *cookie_given(struct tick *tick, const char *cookie, int64_t max_age_s)
{
    if (!cookie)
        return NULL;
    return set_cookie(tick, cookie,
                      arena_printf(tick->arena, "Max-Age=%lld", (long long)max_age_s));
}

const char *cookie_taken_back(struct tick *tick, const char *cookie)
{
    return cookie ? set_cookie(tick, cookie, TAKE_BACK) : NULL;
}

const char *cookie_read(struct arena *arena, const char *value, bool taken_back)
{
    if (!value || (strstr(value, TAKE_BACK) != NULL) != taken_back)
        return NULL;
    return arena_strndup(arena, value, strcspn(value, ";"));
}

/* The text as a regular expression that stands for this text and no other. */
static const char *quoted(struct arena *arena, const char *text, size_t len)
{
    char *out = arena_alloc(arena, 2 * len + 1);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (strchr("\\.+*?()|[]{}^$", text[i]))
            out[n++] = '\\';
        out[n++] = text[i];
    }
    out[n] = '\0';
    return out;
}

const char *cookie_pattern(struct arena *arena, const char *cookie)
{
    const char *value = strchr(cookie, '=');
    size_t len = value ? (size_t)(value - cookie) : strlen(cookie);

    return arena_printf(arena, ".*%s.*%s.*", quoted(arena, cookie, len),
                        value ? quoted(arena, value + 1, strlen(value + 1)) : "");
}
