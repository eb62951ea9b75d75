#include "kube/secret.h"

#include <assert.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>
#include <strings.h>

#include "base/encoding.h"

/* Shorter values are not redacted: they are not secrets, and redacting them would remove half of
 * a sentence. */
enum { LEAST_SECRET = 4 };

/* A request sets the type of its body itself. */
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

/* The name and the value must live as long as the list. */
static enum err put(struct secret_headers *headers, const char *name, const char *value,
                    struct errinfo *ei)
{
    struct http_header *header = find(headers, name);

    if (!header && headers->count == SECRET_HEADERS_MAX)
        return err_set(ei, ERR_INVALID, "more than %d headers", (int)SECRET_HEADERS_MAX);
    headers->bytes += strlen(name) + strlen(value);
    if (headers->bytes > SECRET_HEADERS_MAX_BYTES)
        return err_set(ei, ERR_INVALID, "the headers are longer than %d bytes",
                       (int)SECRET_HEADERS_MAX_BYTES);
    if (!header)
        header = &headers->list[headers->count++];
    *header = (struct http_header){name, value};
    return ERR_OK;
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
        err = put(headers, arena_strdup(arena, key), value, ei);
        if (err != ERR_OK)
            return err_wrap(ei, err, "Secret %s", name);
    }
    return ERR_OK;
}

static const char blanks[] = " \t\r";

static const char *trimmed(struct arena *arena, const char *text, size_t len)
{
    size_t before = strspn(text, blanks);

    if (before >= len)
        return "";
    while (len > before && strchr(blanks, text[len - 1]))
        len--;
    return arena_strndup(arena, text + before, len - before);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* NULL if a percent sign is not followed by two digits. */
static const char *unescaped(struct arena *arena, const char *text, size_t *len)
{
    char *out = arena_alloc(arena, strlen(text) + 1), *at = out;

    for (; *text; text++) {
        if (*text != '%') {
            *at++ = *text;
            continue;
        }
        int high = digit_of(text[1]), low = high < 0 ? -1 : digit_of(text[2]);
        if (low < 0)
            return NULL;
        *at++ = (char)(high * 16 + low);
        text += 2;
    }
    *at = '\0';
    *len = (size_t)(at - out);
    return out;
}

/* "NAME=VALUE" without blanks around it. */
static enum err add_entry(struct secret_headers *headers, struct arena *arena, const char *entry,
                          struct errinfo *ei)
{
    const char *equal = strchr(entry, '=');
    size_t len = 0;

    if (!equal)
        return err_set(ei, ERR_INVALID, "expected NAME=VALUE");
    const char *name = trimmed(arena, entry, (size_t)(equal - entry));
    const char *value = unescaped(arena, trimmed(arena, equal + 1, strlen(equal + 1)), &len);
    if (!is_name(name))
        return err_set(ei, ERR_INVALID, "expected the name of a header in front of =");
    if (is_reserved(name))
        return err_set(ei, ERR_INVALID, "%.80s is a header that cannot be set", name);
    if (!value)
        return err_set(ei, ERR_INVALID,
                       "the value of %.80s has a %% without two hexadecimal digits behind it; a %% "
                       "itself is %%25",
                       name);
    if (has_control(value, len))
        return err_set(ei, ERR_INVALID,
                       "the value of %.80s has a line break or another control character in it, "
                       "which no header may have",
                       name);
    return put(headers, name, value, ei);
}

enum err secret_headers_parse(struct secret_headers *headers, struct arena *arena, const char *text,
                              struct errinfo *ei)
{
    int number = 0;

    for (const char *next; *text; text = next) {
        size_t len = strcspn(text, ",\n");
        const char *entry = trimmed(arena, text, len);
        next = text + len + (text[len] != '\0');
        if (!*entry)
            continue;
        number++;
        enum err err = add_entry(headers, arena, entry, ei);
        if (err != ERR_OK)
            return err_wrap(ei, err, "header %d", number);
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

/* Prevents OpenSSL from asking for a password on the terminal. */
static int no_password(char *out, int size, int writing, void *arg)
{
    (void)out, (void)size, (void)writing, (void)arg;
    return -1;
}

/* Returns -1 for a broken or encrypted block, which would make TLS reject the whole text. */
static int count_certificates(const char *pem, size_t len)
{
    int count = -1;

    if (len > INT_MAX || strlen(pem) != len)
        return -1;
    ERR_set_mark();
    BIO *bio = BIO_new_mem_buf(pem, (int)len);
    STACK_OF(X509_INFO) *blocks = bio ? PEM_X509_INFO_read_bio(bio, NULL, no_password, NULL) : NULL;
    if (blocks) {
        count = 0;
        for (int i = 0; i < sk_X509_INFO_num(blocks); i++)
            if (sk_X509_INFO_value(blocks, i)->x509)
                count++;
    }
    sk_X509_INFO_pop_free(blocks, X509_INFO_free);
    BIO_free(bio);
    ERR_pop_to_mark();
    return count;
}

enum err secret_ca_read(struct arena *arena, const char *secret_name, struct json_object *secret,
                        const char *key, const char **pem, struct errinfo *ei)
{
    char *text;
    size_t len;
    struct errinfo why;

    *pem = NULL;
    if (!key)
        key = SECRET_CA_KEY;
    struct json_object *encoded = json_at(secret, "data", key, NULL);
    if (!encoded)
        return err_set(ei, ERR_INVALID, "Secret %s has no key %.80s", secret_name, key);
    if (!json_object_is_type(encoded, json_type_string) ||
        base64_decode(arena, json_object_get_string(encoded), &text, &len, &why) != ERR_OK)
        return err_set(ei, ERR_INVALID, "Secret %s: the value of key %.80s is not base64",
                       secret_name, key);
    if (count_certificates(text, len) < 1)
        return err_set(ei, ERR_INVALID,
                       "Secret %s: the value of key %.80s holds no certificates in PEM",
                       secret_name, key);
    *pem = text;
    return ERR_OK;
}
