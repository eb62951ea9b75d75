#include "net/server/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "net/loop.h"

enum { MAX_FILE = 128 * 1024 };

static const char bearer[] = "Bearer ", cert[] = "cert:", blanks[] = " \t\r";

/* SHA-256, compared in constant time. */
struct digest {
    uint64_t words[SHA256_DIGEST_LENGTH / sizeof(uint64_t)];
};

struct entry {
    struct digest digest; /* digest of the token, or of the name in a certificate */
    bool certificate;
    struct token_row row;
};

/* The rows of the file as read at one moment. */
struct table {
    struct arena *arena; /* holds the rows' texts */
    struct entry entries[TOKENS_MAX];
    int count;
};

struct tokens {
    struct file_watch *file_watch;
    char *path;
    token_check_fn check;
    struct table *table;
    void (*on_changed)(void *arg);
    void *arg;
};

static struct digest digest_of(const char *text)
{
    struct digest digest;

    SHA256((const unsigned char *)text, strlen(text), (unsigned char *)digest.words);
    return digest;
}

static bool same(const struct digest *a, const struct digest *b)
{
    uint64_t diff = 0;

    for (size_t i = 0; i < sizeof(a->words) / sizeof(a->words[0]); i++)
        diff |= a->words[i] ^ b->words[i];
    return diff == 0;
}

static const struct entry *find(const struct table *table, const char *text, bool certificate)
{
    const struct digest digest = digest_of(text);
    const struct entry *found = NULL;

    for (int i = table->count - 1; i >= 0; i--) {
        const struct entry *entry = &table->entries[i];
        if (same(&entry->digest, &digest) & (entry->certificate == certificate))
            found = entry;
    }
    return found;
}

/* Cuts the first word off *text; NULL if there is none. */
static char *take_word(char **text)
{
    char *word = *text + strspn(*text, blanks);
    char *end = word + strcspn(word, blanks);

    *text = *end ? end + 1 : end;
    *end = '\0';
    return *word ? word : NULL;
}

/* The rest of a line, trimmed; NULL if empty. */
static char *take_rest(char *text)
{
    char *rest = text + strspn(text, blanks);
    size_t len = strlen(rest);

    while (len > 0 && strchr(blanks, rest[len - 1]))
        rest[--len] = '\0';
    return len > 0 ? rest : NULL;
}

static enum err add_row(struct tokens *tokens, struct table *table, char *line, struct errinfo *ei)
{
    char *token = take_word(&line);
    bool certificate = strncmp(token, cert, strlen(cert)) == 0;
    const char *key = certificate ? token + strlen(cert) : token;

    if (certificate && !*key)
        return err_set(ei, ERR_INVALID, "expected the name in a certificate after cert:");
    if (!certificate && strlen(key) < TOKENS_MIN_LENGTH)
        return err_set(ei, ERR_INVALID, "a token has fewer than %d characters", TOKENS_MIN_LENGTH);
    if (table->count == TOKENS_MAX)
        return err_set(ei, ERR_INVALID, "more than %d tokens", TOKENS_MAX);
    if (tokens->check && find(table, key, certificate))
        return err_set(ei, ERR_INVALID, "this %s stands in a line above as well",
                       certificate ? "certificate" : "token");
    struct entry *entry = &table->entries[table->count++];
    const char *role = take_word(&line);
    *entry = (struct entry){
        .digest = digest_of(key),
        .certificate = certificate,
        .row = {.role = arena_strdup(table->arena, role),
                .name = arena_strdup(table->arena, role ? take_rest(line) : NULL)},
    };
    return tokens->check ? tokens->check(&entry->row, ei) : ERR_OK;
}

static enum err read_lines(struct tokens *tokens, struct table *table, char *text,
                           struct errinfo *ei)
{
    int number = 0;
    bool blank;

    for (char *line = text, *end; line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        number++;
        if (*line == '#' || line[strspn(line, blanks)] == '\0')
            continue;
        blank = strchr(blanks, *line) != NULL;
        if (blank && !tokens->check)
            continue;
        enum err err = blank ? err_set(ei, ERR_INVALID, "the line begins with a blank")
                             : add_row(tokens, table, line, ei);
        if (err != ERR_OK)
            return err_wrap(ei, err, "%s:%d", tokens->path, number);
    }
    if (table->count == 0)
        return err_set(ei, ERR_INVALID, "%s: there is no token in it", tokens->path);
    return ERR_OK;
}

static void table_free(struct table *table)
{
    if (!table)
        return;
    arena_free(table->arena);
    free(table);
}

static enum err read_file(struct tokens *tokens, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    struct table *table = heap_alloc(sizeof(*table));
    char *text;
    size_t len;

    *table = (struct table){.arena = arena_new()};
    enum err err = file_read(arena, tokens->path, MAX_FILE, &text, &len, ei);
    if (err == ERR_OK && strlen(text) != len)
        err = err_set(ei, ERR_INVALID, "%s: expected text, found a byte 0", tokens->path);
    else if (err == ERR_OK)
        err = read_lines(tokens, table, text, ei);
    if (text)
        OPENSSL_cleanse(text, len);
    arena_free(arena);
    if (err != ERR_OK) {
        table_free(table);
        return err;
    }
    table_free(tokens->table);
    tokens->table = table;
    return ERR_OK;
}

/* An empty file is intentional, and a broken one may be: both revoke all tokens. */
static void forget_all(struct tokens *tokens)
{
    table_free(tokens->table);
    tokens->table = heap_alloc(sizeof(*tokens->table));
    *tokens->table = (struct table){.arena = arena_new()};
}

static bool on_changed(void *arg)
{
    struct tokens *tokens = arg;
    struct errinfo info = {0};
    enum err err = read_file(tokens, &info);
    bool known = tokens->table->count > 0;

    if (err == ERR_RETRY) { /* such as too many open files: no reason to revoke tokens */
        log_warn("tokens_unread", NULL, info.text);
        return false;
    }
    if (err == ERR_OK) {
        log_info("tokens_read", NULL, "the tokens have changed",
                 LOG_INT("tokens", tokens->table->count));
    } else {
        log_error("tokens_unread", NULL, info.text,
                  LOG_STR("effect", "nobody is let in until the file is right"));
        forget_all(tokens);
    }
    if (tokens->on_changed && (known || err == ERR_OK))
        tokens->on_changed(tokens->arg);
    return true;
}

enum err tokens_new(struct loop *loop, const char *path, token_check_fn check, struct tokens **out,
                    struct errinfo *ei)
{
    struct tokens *tokens = heap_alloc(sizeof(*tokens));

    *tokens = (struct tokens){.path = heap_strdup(path), .check = check};
    tokens->file_watch = file_watch_start(loop, &path, 1, on_changed, tokens);
    enum err err = read_file(tokens, ei);
    if (err != ERR_OK) {
        tokens_free(tokens);
        return err;
    }
    *out = tokens;
    return ERR_OK;
}

void tokens_on_changed(struct tokens *tokens, void (*fn)(void *arg), void *arg)
{
    tokens->on_changed = fn;
    tokens->arg = arg;
}

void tokens_stop(struct tokens *tokens)
{
    file_watch_stop(tokens->file_watch);
    tokens->file_watch = NULL;
}

void tokens_free(struct tokens *tokens)
{
    if (!tokens)
        return;
    file_watch_stop(tokens->file_watch);
    table_free(tokens->table);
    free(tokens->path);
    free(tokens);
}

void tokens_reload(struct tokens *tokens)
{
    file_watch_check(tokens->file_watch);
}

const struct token_row *tokens_find(const struct tokens *tokens, const char *authorization)
{
    if (!authorization || strncasecmp(authorization, bearer, strlen(bearer)) != 0)
        return NULL;
    const char *given = authorization + strlen(bearer);
    const struct entry *entry = find(tokens->table, given + strspn(given, " "), false);
    return entry ? &entry->row : NULL;
}

const struct token_row *tokens_find_certificate(const struct tokens *tokens, const char *cn)
{
    const struct entry *entry = cn ? find(tokens->table, cn, true) : NULL;
    return entry ? &entry->row : NULL;
}

const struct token_row *tokens_row(const struct tokens *tokens, int index)
{
    return index < tokens->table->count ? &tokens->table->entries[index].row : NULL;
}
