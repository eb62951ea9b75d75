/* The file of tokens: what is admitted is a token of it, and no sentence tells one. */
#define _GNU_SOURCE /* memfd_create */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "fuzz.h"
#include "net/server/tokens.h"

static enum err check_row(const struct token_row *row, struct errinfo *ei)
{
    if (!row->role || !row->name)
        return err_set(ei, ERR_INVALID, "expected TOKEN ROLE NAME");
    assert(*row->role && *row->name && !strpbrk(row->role, " \t\r\n") && !strchr(row->name, '\n'));
    return ERR_OK;
}

/* Every first word of a line, whole, is known, or is none that a line may bring; a part is not. */
static void check_words(const struct tokens *tokens, struct arena *arena, const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, " \t\r\n");
        char *header = arena_printf(arena, "Bearer %.*s", (int)len, line);
        const struct token_row *row = tokens_find(tokens, header);
        bool usable = len >= TOKENS_MIN_LENGTH && *line != '#' && strncmp(line, "cert:", 5) != 0;
        assert((row != NULL) == usable);
        if (!usable && len > 5 && strncmp(line, "cert:", 5) == 0)
            assert(tokens_find_certificate(tokens, header + strlen("Bearer cert:")));
        if (len == TOKENS_MIN_LENGTH) { /* what is cut off it is too short for a row of its own */
            header[strlen(header) - 1] = '\0';
            assert(!tokens_find(tokens, header));
        }
    }
}

static void try_file(struct loop *loop, struct arena *arena, const char *path, const char *text,
                     token_check_fn check)
{
    struct tokens *tokens = NULL;
    struct errinfo ei = {0};
    enum err err = tokens_new(loop, path, check, &tokens, &ei);

    if (err == ERR_OK) {
        check_words(tokens, arena, text);
        tokens_free(tokens);
        return;
    }
    assert(ei.text[0] != '\0');
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, " \t\r\n");
        char *word = arena_strndup(arena, line, len);
        assert(len < TOKENS_MIN_LENGTH || strstr(path, word) || !strstr(ei.text, word) ||
               strstr("a token has fewer than 16 characters", word));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct loop *loop = loop_new(1000);
    struct arena *arena = arena_new();
    int fd = memfd_create("tokens", 0);
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    const char *text = arena_strndup(arena, (const char *)data, size);
    try_file(loop, arena, path, text, NULL);
    try_file(loop, arena, path, text, check_row);
    close(fd);
    arena_free(arena);
    loop_free(loop);
    return 0;
}
