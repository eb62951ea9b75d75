#include "cluster/podspec.h"

#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "object/meta.h"

enum { MAX_VALUE = 128 * 1024 };

struct build {
    struct arena *arena;
    const struct podenv_in *in;
    struct json_object *vars; /* name -> value, in order of definition */
};

/* $(NAME) becomes the value of an earlier variable, $$ a dollar; unknown names stay as they are. */
static const char *expand(struct arena *arena, struct json_object *vars, const char *text)
{
    struct buf out;
    buf_init(&out, MAX_VALUE);
    while (*text) {
        const char *end = text[0] == '$' && text[1] == '(' ? strchr(text, ')') : NULL;
        const char *value =
            end ? json_str_at(vars, arena_strndup(arena, text + 2, (size_t)(end - text - 2)), NULL)
                : NULL;
        if (value) {
            buf_puts(&out, value);
            text = end + 1;
        } else {
            if (text[0] == '$' && text[1] == '$')
                text++;
            buf_add(&out, text++, 1);
        }
    }
    const char *result = arena_strdup(arena, out.data);
    buf_fini(&out);
    return result;
}

static const char *data_of(struct arena *arena, struct json_object *obj, bool secret,
                           const char *key)
{
    const char *text = json_str_at(obj, "data", key, NULL);
    if (!text || !secret)
        return text;
    char *plain;
    return base64_decode(arena, text, &plain, NULL, NULL) == ERR_OK ? plain : NULL;
}

/* The object that a reference names, of the pod's namespace; NULL when there is none. */
static struct json_object *look_up(struct build *b, struct json_object *ref, bool secret)
{
    const char *name = json_str_at(ref, "name", NULL);
    return name ? b->in->lookup(b->in->arg, b->arena, secret, name) : NULL;
}

static enum err missing(const char *what, struct json_object *ref, struct errinfo *ei)
{
    const char *name = json_str_at(ref, "name", NULL);
    if (json_bool_at(ref, false, "optional", NULL))
        return ERR_OK;
    return err_set(ei, ERR_NOT_FOUND, "%s \"%s\" not found", what, name ? name : "");
}

static enum err from_key(struct build *b, const char *name, struct json_object *ref, bool secret,
                         struct errinfo *ei)
{
    const char *what = secret ? "secret" : "configmap", *key = json_str_at(ref, "key", NULL);
    struct json_object *obj = look_up(b, ref, secret);
    const char *value = obj && key ? data_of(b->arena, obj, secret, key) : NULL;
    if (value)
        json_set_str(b->vars, name, value);
    if (value || !obj || json_bool_at(ref, false, "optional", NULL))
        return value ? ERR_OK : missing(what, ref, ei);
    return err_set(ei, ERR_NOT_FOUND, "couldn't find key %s in %s %s/%s", key ? key : "", what,
                   meta_ns(b->in->pod), json_str_at(ref, "name", NULL));
}

/* The address is not in the pod yet, when its process is started. */
static enum err from_field(struct build *b, const char *name, struct json_object *ref)
{
    const char *path = json_str_at(ref, "fieldPath", NULL);
    bool address = path && strcmp(path, "status.podIP") == 0;
    struct json_object *value = path ? jsonpath_first(b->arena, b->in->pod, path) : NULL;
    json_set_str(b->vars, name, address ? b->in->address : json_object_get_string(value) ?: "");
    return ERR_OK;
}

static enum err add_var(struct build *b, struct json_object *var, struct errinfo *ei)
{
    const char *name = json_str_at(var, "name", NULL), *value = json_str_at(var, "value", NULL);
    struct json_object *from = json_at(var, "valueFrom", NULL), *ref;

    if (!name)
        return err_set(ei, ERR_INVALID, "a variable without a name");
    if ((ref = json_at(from, "configMapKeyRef", NULL)))
        return from_key(b, name, ref, false, ei);
    if ((ref = json_at(from, "secretKeyRef", NULL)))
        return from_key(b, name, ref, true, ei);
    if ((ref = json_at(from, "fieldRef", NULL)))
        return from_field(b, name, ref);
    json_set_str(b->vars, name, expand(b->arena, b->vars, value ? value : ""));
    return ERR_OK;
}

static enum err add_all(struct build *b, struct json_object *source, struct errinfo *ei)
{
    struct json_object *ref = json_at(source, "configMapRef", NULL);
    bool secret = !ref;
    ref = secret ? json_at(source, "secretRef", NULL) : ref;
    const char *prefix = json_str_at(source, "prefix", NULL);
    struct json_object *obj = look_up(b, ref, secret), *data = json_at(obj, "data", NULL);

    if (!obj)
        return missing(secret ? "secret" : "configmap", ref, ei);
    if (!data)
        return ERR_OK;
    json_object_object_foreach(data, key, unused)
    {
        (void)unused;
        json_set_str(b->vars, arena_printf(b->arena, "%s%s", prefix ? prefix : "", key),
                     data_of(b->arena, obj, secret, key));
    }
    return ERR_OK;
}

enum err podenv_make(struct arena *arena, const struct podenv_in *in, const char *const **env,
                     struct errinfo *ei)
{
    struct build b = {.arena = arena, .in = in, .vars = json_own(arena, json_object_new_object())};
    struct json_object *sources = json_at(in->container, "envFrom", NULL);
    struct json_object *vars = json_at(in->container, "env", NULL);
    enum err err = ERR_OK;

    json_set_str(b.vars, "HOSTNAME", meta_name(in->pod));
    for (size_t i = 0; i < json_len(sources) && err == ERR_OK; i++)
        err = add_all(&b, json_elem(sources, i), ei);
    for (size_t i = 0; i < json_len(vars) && err == ERR_OK; i++)
        err = add_var(&b, json_elem(vars, i), ei);
    if (err != ERR_OK)
        return err;

    size_t count = (size_t)json_object_object_length(b.vars), at = 0;
    const char **list = arena_array(arena, count + 1, sizeof(*list));
    json_object_object_foreach(b.vars, key, value) list[at++] =
        arena_printf(arena, "%s=%s", key, json_object_get_string(value));
    *env = list;
    return ERR_OK;
}

const char *const *podenv_args(struct arena *arena, struct json_object *container,
                               const char *const *env)
{
    struct json_object *args = json_at(container, "args", NULL);
    struct json_object *vars = json_own(arena, json_object_new_object());
    const char **list = arena_array(arena, json_len(args) + 1, sizeof(*list));

    for (size_t i = 0; env[i]; i++) {
        const char *eq = strchr(env[i], '=');
        json_set_str(vars, arena_strndup(arena, env[i], (size_t)(eq - env[i])), eq + 1);
    }
    for (size_t i = 0; i < json_len(args); i++) {
        const char *text = json_object_get_string(json_elem(args, i));
        list[i] = expand(arena, vars, text ? text : "");
    }
    return list;
}
