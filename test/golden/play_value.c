#include <string.h>

#include "play.h"
#include "test/expect.h"
#include "world_kind.h"

static struct json_object *find(void *arg, const char *name)
{
    struct play *play = arg;
    struct json_object *value = NULL;

    if (!json_object_object_get_ex(play->vars, name, &value) &&
        !json_object_object_get_ex(play->kept, name, &value) &&
        !json_object_object_get_ex(play->columns, name, &value) &&
        !json_object_object_get_ex(json_at(play->head, "values", NULL), name, &value))
        play_fail(play, "nothing is called $%s here", name);
    return value;
}

static void refuse(void *arg, const char *why)
{
    play_fail(arg, "%s", why);
}

struct json_object *play_value(struct play *play, struct json_object *given)
{
    const struct expect_names names = {
        .arena = play->arena, .find = find, .refuse = refuse, .arg = play};

    return expect_named(&names, given);
}

const char *play_quoted(struct play *play, struct json_object *value)
{
    const char *text = value ? json_text(play->arena, value) : NULL, *quote;

    /* The world reads a single quote as a double one; written as a number it stays what it is. */
    while (text && (quote = strchr(text, '\'')))
        text = arena_printf(play->arena, "%.*s\\u0027%s", (int)(quote - text), text, quote + 1);
    return text;
}

const char *play_key(struct play *play, const char *key)
{
    static const char target[] = "target/";

    if (strncmp(key, target, strlen(target)) != 0)
        return key;
    return world_key(play->world, key + strlen(target));
}
