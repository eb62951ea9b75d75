#include "kube/secret_headers.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"

/* Shorter values are not redacted: they are no secret, and would remove half of a sentence. */
enum { LEAST_SECRET = 4 };

/* A request sets the type of its body by itself. */
static bool is_reserved(const char *name)
{
    return http_header_is_reserved(name) || strcasecmp(name, "Content-Type") == 0;
}

static bool is_name(const char *text)
{
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "!#$%&'*+-.^_`|~";
    return *text && text[strspn(text, allowed)] == '\0';
}

static bool has_control(const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)value[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return true;
    }
    return false;
}

static struct http_header *find(struct secret_headers *headers, const char *name)
{
    for (int i = 0; i < headers->count; i++)
        if (strcasecmp(headers->list[i].name, name) == 0)
            return &headers->list[i];
    return NULL;
}

static enum err decode(struct arena *arena, const char *secret, const char *key,
                       struct json_object *encoded, const char **out, struct errinfo *ei)
{
    char *value;
    size_t len;
    struct errinfo why;

    if (is_reserved(key))
        return err_set(ei, ERR_INVALID, "Secret %s: key %.80s is a header that cannot be set",
                       secret, key);
    if (!is_name(key))
        return err_set(ei, ERR_INVALID, "Secret %s: key \"%.80s\" is no name of a header", secret,
                       key);
    if (!json_object_is_type(encoded, json_type_string) ||
        base64_decode(arena, json_object_get_string(encoded), &value, &len, &why) != ERR_OK)
        return err_set(ei, ERR_INVALID, "Secret %s: the value of key %.80s is not base64", secret,
                       key);
    if (has_control(value, len))
        return err_set(ei, ERR_INVALID,
                       "Secret %s: the value of key %.80s has a line break or another control "
                       "character in it, which no header may have",
                       secret, key);
    *out = value;
    return ERR_OK;
}

/* Secrets of the cluster itself: registry passwords, tokens, keys. */
static bool is_of_cluster(const char *type)
{
    static const char *const all[] = {"kubernetes.io/", "bootstrap.kubernetes.io/", "helm.sh/",
                                      NULL};

    for (int i = 0; all[i]; i++) {
        if (strncmp(type, all[i], strlen(all[i])) == 0)
            return true;
    }
    return false;
}

/*
 * Permission to write Canaries must not imply permission to read Secrets: only Secrets meant for
 * this are sent, by the label flagger.app/headers or, for older manifests, because every key is a
 * common header.
 */
static enum err check_meant(const char *name, struct json_object *secret, struct json_object *data,
                            struct errinfo *ei)
{
    const char *type = json_str_at(secret, "type", NULL);
    const char *label = json_str_at(secret, "metadata", "labels", "flagger.app/headers", NULL);

    if (type && is_of_cluster(type))
        return err_set(ei, ERR_INVALID, "Secret %s: its type %.80s is never sent as headers", name,
                       type);
    if (label && strcmp(label, "true") == 0)
        return ERR_OK;
    json_object_object_foreach(data, key, value)
    {
        (void)value;
        if (strcasecmp(key, "Authorization") != 0 && strncasecmp(key, "X-", 2) != 0)
            return err_set(
                ei, ERR_INVALID,
                "Secret %s: expected its label flagger.app/headers: \"true\", for key %.80s "
                "is neither Authorization nor X-...",
                name, key);
    }
    return ERR_OK;
}

enum err secret_headers_add(struct secret_headers *headers, struct arena *arena, const char *name,
                            struct json_object *secret, struct errinfo *ei)
{
    struct json_object *data = json_at(secret, "data", NULL);

    if (!json_object_is_type(data, json_type_object) || json_object_object_length(data) == 0)
        return err_set(ei, ERR_INVALID, "Secret %s has no keys", name);
    enum err meant = check_meant(name, secret, data, ei);
    if (meant != ERR_OK)
        return meant;
    json_object_object_foreach(data, key, encoded)
    {
        const char *value = NULL;
        enum err err = decode(arena, name, key, encoded, &value, ei);
        if (err != ERR_OK)
            return err;
        assert(value);
        struct http_header *header = find(headers, key);
        if (!header && headers->count == SECRET_HEADERS_MAX)
            return err_set(ei, ERR_INVALID, "Secret %s: more than %d headers", name,
                           (int)SECRET_HEADERS_MAX);
        headers->bytes += strlen(key) + strlen(value);
        if (headers->bytes > SECRET_HEADERS_MAX_BYTES)
            return err_set(ei, ERR_INVALID, "Secret %s: the headers are longer than %d bytes", name,
                           (int)SECRET_HEADERS_MAX_BYTES);
        if (!header)
            header = &headers->list[headers->count++];
        *header = (struct http_header){arena_strdup(arena, key), value};
    }
    return ERR_OK;
}

const char *secret_headers_redact(const struct secret_headers *headers, struct arena *arena,
                                  const char *text)
{
    for (int i = 0; i < headers->count; i++) {
        const char *value = headers->list[i].value;
        const char *token = strrchr(value, ' '); /* for "Bearer TOKEN" */
        if (strlen(value) >= LEAST_SECRET)
            text = arena_strike_out(arena, text, value);
        if (token && strlen(token + 1) >= LEAST_SECRET)
            text = arena_strike_out(arena, text, token + 1);
    }
    return text;
}
