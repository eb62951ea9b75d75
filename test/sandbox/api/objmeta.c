/* The metadata of objects: what the server gives, takes away, and allows. */
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "api/objinternal.h"
#include "object/pattern.h"
#include "object/selector.h"

static void random_bytes(unsigned char *out, size_t len)
{
    if (uv_random(NULL, NULL, out, len, 0, NULL) != 0)
        memset(out, 0x5a, len);
}

char *objmeta_uid(char text[37])
{
    unsigned char b[16];
    random_bytes(b, sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    (void)snprintf(text, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                   b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
                   b[13], b[14], b[15]);
    return text;
}

char *objmeta_generate_name(struct arena *arena, const char *base)
{
    /* Without vowels and what looks alike, as Kubernetes does. */
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    enum { SUFFIX = 5, BASE_MAX = 63 - SUFFIX };
    unsigned char bytes[SUFFIX];
    char suffix[SUFFIX + 1] = "";
    random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < SUFFIX; i++)
        suffix[i] = letters[bytes[i] % (sizeof(letters) - 1)];
    return arena_printf(arena, "%.*s%s", BASE_MAX, base, suffix);
}

bool objmeta_has_finalizer(struct json_object *obj, const char *name)
{
    struct json_object *list = json_at(obj, "metadata", "finalizers", NULL);
    for (size_t i = 0; i < json_len(list); i++) {
        const char *text = json_object_get_string(json_elem(list, i));
        if (!name || (text && strcmp(text, name) == 0))
            return true;
    }
    return false;
}

void objmeta_add_finalizer(struct json_object *obj, const char *name)
{
    if (objmeta_has_finalizer(obj, name))
        return;
    struct json_object *metadata = json_sub(obj, "metadata");
    struct json_object *list = json_at(metadata, "finalizers", NULL);
    if (!json_object_is_type(list, json_type_array)) {
        list = json_object_new_array();
        json_object_object_add(metadata, "finalizers", list);
    }
    json_object_array_add(list, json_object_new_string(name));
}

void objmeta_remove_finalizer(struct json_object *obj, const char *name)
{
    struct json_object *list = json_at(obj, "metadata", "finalizers", NULL);
    for (size_t i = json_len(list); i > 0; i--) {
        const char *text = json_object_get_string(json_elem(list, i - 1));
        if (text && strcmp(text, name) == 0)
            json_object_array_del_idx(list, i - 1, 1);
    }
    if (list && json_len(list) == 0)
        json_object_object_del(json_at(obj, "metadata", NULL), "finalizers");
}

void objmeta_describe(struct objfail *fail, const struct objkind *kind, const char *name)
{
    fail->group = kind->group;
    fail->kind = kind->plural;
    fail->name = name;
}

enum err objmeta_conflict(struct objfail *fail, const struct objkind *kind, const char *name,
                          const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *why = arena_vprintf(fail->arena, fmt, args);
    va_end(args);
    objmeta_describe(fail, kind, name);
    return objfail_set(fail, 409, "Conflict", "Operation cannot be fulfilled on %s \"%s\": %s",
                       objkind_resource(fail->arena, kind), name, why);
}

enum err objmeta_admit(struct objstore *store, struct objcall *call, const struct objkind *kind,
                       enum objop op, struct json_object *obj, struct json_object *old)
{
    for (struct objadmit *it = store->admits; it; it = it->next)
        if (!it->kind || it->kind == kind)
            it->fn(it->arg, &call->fail, kind, op, call->dry_run, obj, old);
    return call->fail.code ? objfail_err(call->fail.code) : ERR_OK;
}

enum err objmeta_not_found(struct objfail *fail, const struct objkind *kind, const char *name)
{
    objmeta_describe(fail, kind, name);
    return objfail_set(fail, 404, "NotFound", "%s \"%s\" not found",
                       objkind_resource(fail->arena, kind), name ? name : "");
}

/* ---- names ---- */

enum { SUBDOMAIN_MAX = 253, LABEL_MAX = 63, ANNOTATIONS_MAX = 256 * 1024 };

#define LABEL "[a-z0-9]([-a-z0-9]*[a-z0-9])?"

static const struct {
    size_t max;
    const char *pattern, *rule,
        *example; /* rule: what such a name must be; example NULL: that is all */
} forms[] = {
    [OBJNAME_SUBDOMAIN] = {SUBDOMAIN_MAX, LABEL "(\\." LABEL ")*",
                           "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                           "characters, '-' or '.', and must start and end with an alphanumeric "
                           "character",
                           "'example.com'"},
    [OBJNAME_LABEL] = {LABEL_MAX, LABEL,
                       "a lowercase RFC 1123 label must consist of lower case alphanumeric "
                       "characters or '-', and must start and end with an alphanumeric character",
                       "'my-name',  or '123-abc'"},
    [OBJNAME_LABEL_1035] = {LABEL_MAX, "[a-z]([-a-z0-9]*[a-z0-9])?",
                            "a DNS-1035 label must consist of lower case alphanumeric characters "
                            "or '-', start with an alphabetic character, and end with an "
                            "alphanumeric character",
                            "'my-name',  or 'abc-123'"},
    [OBJNAME_SEGMENT] = {SUBDOMAIN_MAX, "[^/%.]|[^/%]*[^/%.][^/%]*|\\.{3,}",
                         "may not be '.' or '..', nor contain '/' or '%'", NULL},
};

void objname_check(struct objfail *fail, const char *field, const char *text,
                   enum objname_form form)
{
    if (!text || !*text) {
        objfail_cause(fail, CAUSE_REQUIRED, field, "Required value");
        return;
    }
    if (!pattern_fits(forms[form].pattern, text) && forms[form].example)
        objfail_cause(fail, CAUSE_INVALID, field,
                      "Invalid value: \"%s\": %s (e.g. %s, regex used for validation is '%s')",
                      text, forms[form].rule, forms[form].example, forms[form].pattern);
    else if (!pattern_fits(forms[form].pattern, text))
        objfail_cause(fail, CAUSE_INVALID, field, "Invalid value: \"%s\": %s", text,
                      forms[form].rule);
    if (strlen(text) > forms[form].max)
        objfail_cause(fail, CAUSE_INVALID, field,
                      "Invalid value: \"%s\": must be no more than %zu characters", text,
                      forms[form].max);
}

static const char qualified_text[] =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

static void check_strings(struct objfail *fail, const char *field, struct json_object *map,
                          bool labels)
{
    size_t total = 0;
    if (map && !json_object_is_type(map, json_type_object)) {
        objfail_cause(fail, CAUSE_TYPE_INVALID, field, "Invalid value: must be a map of strings");
        return;
    }
    if (!map)
        return;
    json_object_object_foreach(map, key, value)
    {
        if (!selector_is_key(key))
            objfail_cause(fail, CAUSE_INVALID, field, "Invalid value: \"%s\": %s", key,
                          qualified_text);
        if (!json_object_is_type(value, json_type_string)) {
            objfail_cause(fail, CAUSE_TYPE_INVALID, field,
                          "Invalid value: \"%s\": must be a string", key);
            continue;
        }
        const char *text = json_object_get_string(value);
        total += strlen(key) + strlen(text);
        if (labels && !selector_is_value(text))
            objfail_cause(fail, CAUSE_INVALID, field,
                          "Invalid value: \"%s\": a valid label must be an empty string or consist "
                          "of alphanumeric characters, '-', '_' or '.', and must start and end "
                          "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
                          "'12345', regex used for validation is "
                          "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
                          text);
    }
    if (total > ANNOTATIONS_MAX)
        objfail_cause(fail, CAUSE_TOO_LONG, field, "Too long: may not be more than %d bytes",
                      ANNOTATIONS_MAX);
}

static void check_owners(struct objfail *fail, struct json_object *owners)
{
    static const char *const required[] = {"apiVersion", "kind", "name", "uid"};
    size_t controllers = 0;
    for (size_t i = 0; i < json_len(owners); i++) {
        struct json_object *owner = json_elem(owners, i);
        for (size_t k = 0; k < sizeof(required) / sizeof(required[0]); k++) {
            const char *value = json_str_at(owner, required[k], NULL);
            if (!value || !*value)
                objfail_cause(
                    fail, CAUSE_INVALID,
                    arena_printf(fail->arena, "metadata.ownerReferences[%zu].%s", i, required[k]),
                    "Invalid value: \"\": must not be empty");
        }
        controllers += json_bool_at(owner, false, "controller", NULL) ? 1 : 0;
    }
    if (controllers > 1)
        objfail_cause(fail, CAUSE_INVALID, "metadata.ownerReferences",
                      "Invalid value: only one reference can have controller set to true");
}

void objname_check_metadata(struct objfail *fail, struct json_object *obj)
{
    struct json_object *metadata = json_at(obj, "metadata", NULL);
    check_strings(fail, "metadata.labels", json_at(metadata, "labels", NULL), true);
    check_strings(fail, "metadata.annotations", json_at(metadata, "annotations", NULL), false);
    check_owners(fail, json_at(metadata, "ownerReferences", NULL));
    struct json_object *finalizers = json_at(metadata, "finalizers", NULL);
    for (size_t i = 0; i < json_len(finalizers); i++) {
        const char *text = json_object_get_string(json_elem(finalizers, i));
        if (!text || !selector_is_key(text))
            objfail_cause(fail, CAUSE_INVALID, "metadata.finalizers", "Invalid value: \"%s\": %s",
                          text ? text : "", qualified_text);
    }
}

/* ---- tidying ---- */

/* Bounded by the depth that the parser allows (JSON_MAX_DEPTH). */
static void drop_nulls(struct json_object *obj)
{
    if (json_object_is_type(obj, json_type_array))
        for (size_t i = 0; i < json_len(obj); i++)
            drop_nulls(json_elem(obj, i));
    if (!json_object_is_type(obj, json_type_object))
        return;
    json_object_object_foreach(obj, key, value)
    {
        if (value)
            drop_nulls(value);
        else
            json_object_object_del(obj, key);
    }
}

static bool is_empty(struct json_object *value)
{
    return (json_object_is_type(value, json_type_object) &&
            json_object_object_length(value) == 0) ||
           (json_object_is_type(value, json_type_array) && json_len(value) == 0);
}

/* managedFields is left alone: an empty one asks for it to be cleared. */
static void tidy_metadata(struct json_object *metadata)
{
    static const char *const omitted[] = {"labels", "annotations", "finalizers", "ownerReferences"};
    drop_nulls(metadata);
    for (size_t i = 0; i < sizeof(omitted) / sizeof(omitted[0]); i++)
        if (is_empty(json_at(metadata, omitted[i], NULL)))
            json_object_object_del(metadata, omitted[i]);
}

void objtidy(struct json_object *obj, bool typed)
{
    struct json_object *of_template = json_at(obj, "spec", "template", "metadata", NULL);
    if (typed)
        drop_nulls(obj);
    tidy_metadata(json_at(obj, "metadata", NULL));
    if (typed && json_object_is_type(of_template, json_type_object))
        tidy_metadata(of_template);
}
