#include "loadtester/tokens.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"

enum { LOOK_MS = 10000, MAX_FILE = 64 * 1024, MIN_TOKEN = 16, MAX_TOKENS = 256 };

struct tokens {
    struct loop *loop;
    struct timer *timer;
    struct arena *arena;
    const char *path;
    struct arena *list_arena;
    const char *text; /* the file as read last */
    const char *list[MAX_TOKENS];
    int count;
};

static enum err read_list(struct tokens *tokens, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    const char *list[MAX_TOKENS];
    char *text;
    int count = 0;
    enum err err = file_read(arena, tokens->path, MAX_FILE, &text, NULL, ei);

    if (err == ERR_OK && tokens->text && strcmp(text, tokens->text) == 0) {
        arena_free(arena);
        return ERR_OK;
    }
    for (char *line = err == ERR_OK ? arena_strdup(arena, text) : NULL, *end; line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        line[strcspn(line, " \t\r")] = '\0';
        if (!*line || *line == '#')
            continue;
        if (strlen(line) < MIN_TOKEN || count == MAX_TOKENS)
            err = err_set(ei, ERR_INVALID, "%s: %s", tokens->path,
                          count == MAX_TOKENS ? "more than 256 tokens"
                                              : "a token has fewer than 16 characters");
        else
            list[count++] = line;
    }
    if (err == ERR_OK && count == 0)
        err = err_set(ei, ERR_INVALID, "%s: there is no token in it", tokens->path);
    if (err != ERR_OK) {
        arena_free(arena);
        return err;
    }
    arena_free(tokens->list_arena);
    tokens->list_arena = arena;
    tokens->text = text;
    memcpy(tokens->list, list, (size_t)count * sizeof(*list));
    tokens->count = count;
    return ERR_OK;
}

static void on_look(void *arg)
{
    struct tokens *tokens = arg;
    struct errinfo info = {0};
    const char *before = tokens->text;

    if (read_list(tokens, &info) != ERR_OK)
        log_warn("tokens_unread", NULL, info.text);
    else if (tokens->text != before)
        log_info("tokens_read", NULL, "the tokens have changed", LOG_INT("tokens", tokens->count));
}

enum err tokens_new(struct loop *loop, const char *path, struct tokens **out, struct errinfo *ei)
{
    struct tokens *tokens = heap_alloc(sizeof(*tokens));

    *tokens = (struct tokens){.loop = loop, .arena = arena_new()};
    tokens->path = arena_strdup(tokens->arena, path);
    enum err err = read_list(tokens, ei);
    if (err != ERR_OK) {
        tokens_free(tokens);
        return err;
    }
    tokens->timer = timer_start(loop, LOOK_MS, LOOK_MS, on_look, tokens);
    *out = tokens;
    return ERR_OK;
}

void tokens_stop(struct tokens *tokens)
{
    timer_stop(tokens->timer);
    tokens->timer = NULL;
}

void tokens_free(struct tokens *tokens)
{
    if (!tokens)
        return;
    timer_stop(tokens->timer);
    arena_free(tokens->list_arena);
    arena_free(tokens->arena);
    free(tokens);
}

static bool same(const char *a, const char *b, size_t len)
{
    unsigned char diff = 0;

    for (size_t i = 0; i < len; i++)
        diff |= (unsigned char)(a[i] ^ b[i]);
    return diff == 0;
}

bool tokens_know(const struct tokens *tokens, const char *authorization)
{
    bool known = false;

    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return false;
    const char *given = authorization + 7 + strspn(authorization + 7, " ");
    size_t len = strlen(given);
    for (int i = 0; i < tokens->count; i++)
        known |= strlen(tokens->list[i]) == len && same(tokens->list[i], given, len);
    return known;
}
