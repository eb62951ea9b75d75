#include "gate/links/link.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/file.h"
#include "base/log.h"
#include "net/loop.h"

enum { VERSION = 1, MAC_BYTES = 32, HEAD_BYTES = 4 + LINK_ID_BYTES + 8 + 8, N_TEXTS = 7 };
enum {
    MAX_PAYLOAD = HEAD_BYTES + N_TEXTS * 2 + (N_TEXTS - 1) * LINK_MAX_NAME + LINK_MAX_REASON,
};
_Static_assert((MAX_PAYLOAD + 2) / 3 * 4 + 1 + (MAC_BYTES + 2) / 3 * 4 <= LINK_MAX_TOKEN,
               "a link whose fields are within their bounds fits into a token");

static const char *const actions[LINK_ACTIONS] = {
#define LINK_ACTION(name, text) [LINK_##name] = (text),
#include "gate/links/link_action.def"
#undef LINK_ACTION
};

static const char *const kinds[LINK_KINDS] = {
    [LINK_OF_GATE] = "gate", [LINK_OF_ROLLBACK] = "rollback"};

static const struct {
    const char *word, *text;
} verdicts[LINK_VERDICTS] = {
#define LINK_VERDICT(name, word_, text_) [LINK_##name] = {.word = (word_), .text = (text_)},
#include "gate/links/link_verdict.def"
#undef LINK_VERDICT
};

/* Text fields in the order of the payload. */
static const struct text_field {
    const char *name;
    size_t at;
    size_t max;
    bool required;
} texts[N_TEXTS] = {
    {"namespace", offsetof(struct link, namespace_), LINK_MAX_NAME, true},
    {"name", offsetof(struct link, name), LINK_MAX_NAME, true},
    {"hook", offsetof(struct link, hook), LINK_MAX_NAME, false},
    {"revision", offsetof(struct link, revision), LINK_MAX_NAME, false},
    {"who", offsetof(struct link, who), LINK_MAX_NAME, false},
    {"issuer", offsetof(struct link, issuer), LINK_MAX_NAME, false},
    {"reason", offsetof(struct link, reason), LINK_MAX_REASON, false},
};

static const char **text_of(struct link *link, const struct text_field *field)
{
    return (const char **)(void *)((char *)link + field->at);
}

const char *link_action_name(enum link_action action)
{
    return actions[action];
}

const char *link_kind_name(enum link_kind kind)
{
    return kinds[kind];
}

static int find(const char *const *names, int count, const char *text)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    return -1;
}

bool link_action_parse(const char *text, enum link_action *out)
{
    int found = find(actions, LINK_ACTIONS, text);
    if (found >= 0)
        *out = (enum link_action)found;
    return found >= 0;
}

bool link_kind_parse(const char *text, enum link_kind *out)
{
    int found = find(kinds, LINK_KINDS, text);
    if (found >= 0)
        *out = (enum link_kind)found;
    return found >= 0;
}

char *link_id_text(const struct link *link, char text[LINK_ID_TEXT])
{
    for (size_t i = 0; i < LINK_ID_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", link->id[i]);
    return text;
}

const char *link_verdict_word(enum link_verdict verdict)
{
    return verdicts[verdict].word;
}

const char *link_verdict_text(enum link_verdict verdict)
{
    return verdicts[verdict].text;
}

/* Fails only for reasons of the library, such as running out of memory. */
static void sign(const struct link_key *key, const unsigned char *payload, size_t len,
                 unsigned char mac[MAC_BYTES])
{
    unsigned int written = 0;
    if (!HMAC(EVP_sha256(), key->text, (int)key->len, payload, len, mac, &written) ||
        written != MAC_BYTES) {
        fputs("HMAC-SHA256 is not available\n", stderr);
        abort();
    }
}

/* Checks every link, whether created or read; `link` has no NULL strings. */
static enum err check(struct link *link, struct errinfo *ei)
{
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *text = *text_of(link, &texts[i]);
        if (texts[i].required && !*text)
            return err_set(ei, ERR_INVALID, "%s: expected a text that is not empty", texts[i].name);
        if (strlen(text) > texts[i].max)
            return err_set(ei, ERR_INVALID, "%s: expected at most %zu bytes", texts[i].name,
                           texts[i].max);
        if (!utf8_valid(text, strlen(text)))
            return err_set(ei, ERR_INVALID, "%s: expected UTF-8", texts[i].name);
    }
    if (link->action == LINK_APPROVE && !*link->revision)
        return err_set(ei, ERR_INVALID, "revision: expected the one that is approved");
    if (link->expires_s <= 0)
        return err_set(ei, ERR_INVALID, "expires: expected a time after 1970");
    if (link->for_ms < 0)
        return err_set(ei, ERR_INVALID, "for: expected no negative time");
    return ERR_OK;
}

static unsigned char *put_number(unsigned char *at, int64_t number)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        *at++ = (unsigned char)((uint64_t)number >> shift);
    return at;
}

static int64_t get_number(const unsigned char *at)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number = number << 8 | at[i];
    return (int64_t)number;
}

/* Returns the length; `link` has passed check(). */
static size_t write_payload(struct link *link, unsigned char payload[MAX_PAYLOAD])
{
    unsigned char *at = payload;
    *at++ = VERSION;
    *at++ = (unsigned char)link->action;
    *at++ = (unsigned char)link->kind;
    *at++ = link->verified;
    memcpy(at, link->id, LINK_ID_BYTES);
    at = put_number(at + LINK_ID_BYTES, link->expires_s);
    at = put_number(at, link->for_ms);
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *text = *text_of(link, &texts[i]);
        size_t len = strlen(text);
        *at++ = (unsigned char)(len >> 8);
        *at++ = (unsigned char)len;
        memcpy(at, text, len);
        at += len;
    }
    return (size_t)(at - payload);
}

const char *link_seal(struct arena *arena, const struct link_key *key, const void *payload,
                      size_t len)
{
    unsigned char mac[MAC_BYTES];
    sign(key, payload, len, mac);
    return arena_printf(arena, "%s.%s", base64url_encode(arena, payload, len),
                        base64url_encode(arena, mac, sizeof(mac)));
}

enum err link_sign(struct arena *arena, const struct link_key *key, const struct link *link,
                   const char **token, struct errinfo *ei)
{
    struct link whole = *link;
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char **text = text_of(&whole, &texts[i]);
        *text = *text ? *text : "";
    }
    enum err err = check(&whole, ei);
    if (err != ERR_OK)
        return err;
    unsigned char payload[MAX_PAYLOAD];
    *token = link_seal(arena, key, payload, write_payload(&whole, payload));
    return ERR_OK;
}

/* False if the payload is not what write_payload() writes. */
static bool read_payload(struct arena *arena, const unsigned char *payload, size_t len,
                         struct link *out)
{
    if (len < HEAD_BYTES || payload[0] != VERSION || payload[1] >= LINK_ACTIONS ||
        payload[2] >= LINK_KINDS || payload[3] > 1)
        return false;
    out->action = (enum link_action)payload[1];
    out->kind = (enum link_kind)payload[2];
    out->verified = payload[3];
    memcpy(out->id, payload + 4, LINK_ID_BYTES);
    out->expires_s = get_number(payload + 4 + LINK_ID_BYTES);
    out->for_ms = get_number(payload + 4 + LINK_ID_BYTES + 8);
    size_t at = HEAD_BYTES;
    for (size_t i = 0; i < N_TEXTS; i++) {
        if (len - at < 2)
            return false;
        size_t size = (size_t)payload[at] << 8 | payload[at + 1];
        at += 2;
        if (len - at < size || memchr(payload + at, '\0', size))
            return false;
        *text_of(out, &texts[i]) = arena_strndup(arena, (const char *)payload + at, size);
        at += size;
    }
    return at == len && check(out, NULL) == ERR_OK;
}

enum link_verdict link_verify(struct arena *arena, const struct link_key *keys, int n_keys,
                              const char *token, int64_t now_s, struct link *out)
{
    size_t len = strnlen(token, LINK_MAX_TOKEN + 1);
    const char *dot = memchr(token, '.', len);
    char *payload, *mac;
    size_t payload_len, mac_len;
    if (len > LINK_MAX_TOKEN || !dot ||
        base64url_decode(arena, token, (size_t)(dot - token), &payload, &payload_len, NULL) !=
            ERR_OK ||
        base64url_decode(arena, dot + 1, strlen(dot + 1), &mac, &mac_len, NULL) != ERR_OK ||
        mac_len != MAC_BYTES)
        return LINK_NOT_ONE;

    bool known = false;
    for (int i = 0; i < n_keys; i++) {
        unsigned char expected[MAC_BYTES];
        sign(&keys[i], (const unsigned char *)payload, payload_len, expected);
        known |= CRYPTO_memcmp(expected, mac, MAC_BYTES) == 0;
    }
    if (!known)
        return LINK_FORGED;
    struct link link = {0};
    if (!read_payload(arena, (const unsigned char *)payload, payload_len, &link))
        return LINK_NOT_ONE;
    *out = link;
    return now_s >= link.expires_s ? LINK_EXPIRED : LINK_GOOD;
}

enum { MAX_FILE = 64 * 1024 };
static const char blanks[] = " \t\r";

/* Result of one reading of the file. */
struct list {
    char *text; /* holds the keys; on the heap, `size` bytes */
    size_t size;
    struct link_key keys[LINK_KEYS_MAX];
    int count;
};

struct link_keys {
    struct file_watch *file_watch;
    char *path;
    struct list list;
};

static void list_fini(struct list *list)
{
    if (list->text)
        OPENSSL_cleanse(list->text, list->size);
    free(list->text);
}

static enum err add_key(struct list *list, const char *text, size_t len, struct errinfo *ei)
{
    if (len < LINK_MIN_KEY)
        return err_set(ei, ERR_INVALID, "a key has %zu characters, expected at least %d", len,
                       LINK_MIN_KEY);
    if (len > LINK_KEY_MAX_LENGTH)
        return err_set(ei, ERR_INVALID, "a key has %zu characters, expected at most %d", len,
                       LINK_KEY_MAX_LENGTH);
    if (list->count == LINK_KEYS_MAX)
        return err_set(ei, ERR_INVALID, "more than %d keys", LINK_KEYS_MAX);
    list->keys[list->count++] = (struct link_key){.text = text, .len = len};
    return ERR_OK;
}

static enum err read_lines(struct list *list, const char *path, struct errinfo *ei)
{
    int number = 0;

    for (const char *line = list->text, *next; *line; line = next) {
        size_t len = strcspn(line, "\n");
        next = line + len + (line[len] == '\n');
        number++;
        size_t before = strspn(line, blanks);
        const char *key = line + before;
        len -= before;
        while (len > 0 && strchr(blanks, key[len - 1]))
            len--;
        if (len == 0 || *key == '#')
            continue;
        enum err err = add_key(list, key, len, ei);
        if (err != ERR_OK)
            return err_wrap(ei, err, "%s:%d", path, number);
    }
    if (list->count == 0)
        return err_set(ei, ERR_INVALID, "%s: there is no key in it", path);
    return ERR_OK;
}

static enum err read_file(struct link_keys *keys, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    struct list list = {0};
    char *text = NULL;
    size_t len = 0;

    enum err err = file_read(arena, keys->path, MAX_FILE, &text, &len, ei);
    if (err == ERR_OK && strlen(text) != len)
        err = err_set(ei, ERR_INVALID, "%s: expected text, found a byte 0", keys->path);
    if (err == ERR_OK) {
        list.size = len + 1;
        list.text = heap_strdup(text);
        err = read_lines(&list, keys->path, ei);
    }
    if (text)
        OPENSSL_cleanse(text, len);
    arena_free(arena);
    if (err != ERR_OK) {
        list_fini(&list);
        return err;
    }
    list_fini(&keys->list);
    keys->list = list;
    return ERR_OK;
}

static bool on_changed(void *arg)
{
    struct link_keys *keys = arg;
    struct errinfo info = {0};

    if (read_file(keys, &info) != ERR_OK) {
        log_warn("link_keys_unread", NULL, info.text);
        return false;
    }
    log_info("link_keys_read", NULL, "the keys of signed links have changed",
             LOG_INT("keys", keys->list.count));
    return true;
}

enum err link_keys_new(struct loop *loop, const char *path, struct link_keys **out,
                       struct errinfo *ei)
{
    struct link_keys *keys = heap_alloc(sizeof(*keys));

    *keys = (struct link_keys){.path = heap_strdup(path)};
    keys->file_watch = file_watch_start(loop, &path, 1, on_changed, keys);
    enum err err = read_file(keys, ei);
    if (err != ERR_OK) {
        link_keys_free(keys);
        return err;
    }
    *out = keys;
    return ERR_OK;
}

void link_keys_stop(struct link_keys *keys)
{
    file_watch_stop(keys->file_watch);
    keys->file_watch = NULL;
}

void link_keys_free(struct link_keys *keys)
{
    if (!keys)
        return;
    file_watch_stop(keys->file_watch);
    list_fini(&keys->list);
    free(keys->path);
    free(keys);
}

const struct link_key *link_keys_list(const struct link_keys *keys, int *count)
{
    *count = keys->list.count;
    return keys->list.keys;
}

void link_keys_poll(struct link_keys *keys)
{
    file_watch_check(keys->file_watch);
}
