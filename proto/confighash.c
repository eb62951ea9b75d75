#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "proto/spechash.h"

enum { MAX_TEXT = 64 * 1024 * 1024, DIGEST_BYTES = 32, KEPT_BYTES = 8 };

/* A string as Go's encoding/json writes it: also <, >, & and the two line separators of JavaScript
 * are escaped. */
static void put_string(struct buf *out, const char *text, size_t len)
{
    static const char short_escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    buf_puts(out, "\"");
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *escape = NULL;
        for (const char *p = short_escapes; *p != '\0'; p += 2) {
            if ((unsigned char)*p == c)
                escape = p + 1;
        }
        if (escape != NULL) {
            buf_printf(out, "\\%c", *escape);
        } else if (c < 0x20 || c == '<' || c == '>' || c == '&') {
            buf_printf(out, "\\u%04x", c);
        } else if (c == 0xe2 && len - i >= 3 && (unsigned char)text[i + 1] == 0x80 &&
                   ((unsigned char)text[i + 2] & 0xfe) == 0xa8) {
            buf_printf(out, "\\u20%02x", (unsigned char)text[i + 2] & 0x7f);
            i += 2;
        } else {
            buf_add(out, &text[i], 1);
        }
    }
    buf_puts(out, "\"");
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_map(struct arena *arena, struct buf *out, struct json_object *data)
{
    size_t n = json_count(data), i = 0;
    const char **keys = arena_array(arena, n, sizeof *keys);
    json_object_object_foreach(data, key, ignored)
    {
        (void)ignored;
        keys[i++] = key;
    }
    qsort(keys, n, sizeof *keys, compare_keys);
    buf_puts(out, "{");
    for (i = 0; i < n; i++) {
        struct json_object *value = json_at(data, keys[i], NULL);
        buf_puts(out, i > 0 ? "," : "");
        put_string(out, keys[i], strlen(keys[i]));
        buf_puts(out, ":");
        if (json_object_is_type(value, json_type_string))
            put_string(out, json_object_get_string(value),
                       (size_t)json_object_get_string_len(value));
        else
            buf_puts(out, "\"\"");
    }
    buf_puts(out, "}");
}

void confighash(struct arena *arena, struct json_object *data, char hash[CONFIG_HASH_TEXT])
{
    struct buf out;
    buf_init(&out, MAX_TEXT);
    if (json_count(data) == 0)
        buf_puts(&out, data == NULL ? "null" : "{}");
    else
        put_map(arena, &out, data);

    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (EVP_Digest(out.data, out.len, digest, &size, EVP_sha256(), NULL) != 1 ||
        size != DIGEST_BYTES) {
        fputs("confighash: SHA-256 is not available in this libcrypto\n", stderr);
        abort();
    }
    buf_fini(&out);
    for (size_t i = 0; i < KEPT_BYTES; i++)
        snprintf(hash + 2 * i, 3, "%02x", digest[i]);
}
