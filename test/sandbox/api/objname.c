#include "api/objname.h"

#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "object/selector.h"

enum { SUBDOMAIN_MAX = 253, LABEL_MAX = 63, ANNOTATIONS_MAX = 256 * 1024 };

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* [a-z0-9]([-a-z0-9]*[a-z0-9])? of exactly len bytes */
static bool is_label(const char *text, size_t len)
{
    if (len == 0 || !is_lower_alnum(text[0]) || !is_lower_alnum(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_lower_alnum(text[i]) && text[i] != '-')
            return false;
    return true;
}

static bool is_subdomain(const char *text)
{
    while (true) {
        size_t len = strcspn(text, ".");
        if (!is_label(text, len))
            return false;
        if (text[len] == '\0')
            return true;
        text += len + 1;
    }
}

static const char *const form_text[] = {
    [OBJNAME_SUBDOMAIN] =
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
        "used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    [OBJNAME_LABEL] =
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
        "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
        "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    [OBJNAME_LABEL_1035] =
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
        "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    [OBJNAME_SEGMENT] = "may not be '.' or '..', nor contain '/' or '%'",
};

static bool has_form(const char *text, enum objname_form form)
{
    switch (form) {
    case OBJNAME_SUBDOMAIN:
        return is_subdomain(text);
    case OBJNAME_LABEL:
        return is_label(text, strlen(text));
    case OBJNAME_LABEL_1035:
        return is_label(text, strlen(text)) && isalpha((unsigned char)text[0]);
    case OBJNAME_SEGMENT:
        return *text && strcmp(text, ".") != 0 && strcmp(text, "..") != 0 && !strpbrk(text, "/%");
    }
    return false;
}

void objname_check(struct objfail *fail, const char *field, const char *text,
                   enum objname_form form)
{
    if (!text || !*text) {
        objfail_cause(fail, CAUSE_REQUIRED, field, "Required value");
        return;
    }
    size_t max = form == OBJNAME_LABEL || form == OBJNAME_LABEL_1035 ? LABEL_MAX : SUBDOMAIN_MAX;
    if (!has_form(text, form)) {
        objfail_cause(fail, CAUSE_INVALID, field, "Invalid value: \"%s\": %s", text,
                      form_text[form]);
    }
    if (strlen(text) > max) {
        objfail_cause(fail, CAUSE_INVALID, field,
                      "Invalid value: \"%s\": must be no more than %zu characters", text, max);
    }
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
        if (!selector_is_key(key)) {
            objfail_cause(fail, CAUSE_INVALID, field, "Invalid value: \"%s\": %s", key,
                          qualified_text);
        }
        if (!json_object_is_type(value, json_type_string)) {
            objfail_cause(fail, CAUSE_TYPE_INVALID, field,
                          "Invalid value: \"%s\": must be a string", key);
            continue;
        }
        const char *text = json_object_get_string(value);
        total += strlen(key) + strlen(text);
        if (labels && !selector_is_value(text)) {
            objfail_cause(fail, CAUSE_INVALID, field,
                          "Invalid value: \"%s\": a valid label must be an empty string or consist "
                          "of alphanumeric characters, '-', '_' or '.', and must start and end "
                          "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
                          "'12345', regex used for validation is "
                          "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
                          text);
        }
    }
    if (total > ANNOTATIONS_MAX) {
        objfail_cause(fail, CAUSE_TOO_LONG, field, "Too long: may not be more than %d bytes",
                      ANNOTATIONS_MAX);
    }
}

static void check_owners(struct objfail *fail, struct json_object *owners)
{
    static const char *const required[] = {"apiVersion", "kind", "name", "uid"};
    size_t controllers = 0;
    for (size_t i = 0; i < json_len(owners); i++) {
        struct json_object *owner = json_elem(owners, i);
        for (size_t k = 0; k < sizeof(required) / sizeof(required[0]); k++) {
            const char *value = json_str_at(owner, required[k], NULL);
            if (!value || !*value) {
                objfail_cause(
                    fail, CAUSE_INVALID,
                    arena_printf(fail->arena, "metadata.ownerReferences[%zu].%s", i, required[k]),
                    "Invalid value: \"\": must not be empty");
            }
        }
        controllers += json_bool_at(owner, false, "controller", NULL) ? 1 : 0;
    }
    if (controllers > 1) {
        objfail_cause(fail, CAUSE_INVALID, "metadata.ownerReferences",
                      "Invalid value: only one reference can have controller set to true");
    }
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
        if (!text || !selector_is_key(text)) {
            objfail_cause(fail, CAUSE_INVALID, "metadata.finalizers", "Invalid value: \"%s\": %s",
                          text ? text : "", qualified_text);
        }
    }
}
