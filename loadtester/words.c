#include "loadtester/words.h"

#include <string.h>

#include "base/buf.h"

/* A word being read: `begun` tells the empty word '' from no word. */
struct reader {
    struct arena *arena;
    const char *text, *at;
    struct buf word;
    bool begun;
    const char **words;
    int n_words;
};

static int column(const struct reader *reader, const char *at)
{
    return (int)(at - reader->text) + 1;
}

static void add(struct reader *reader, char c)
{
    buf_add(&reader->word, &c, 1);
    reader->begun = true;
}

static enum err end_word(struct reader *reader, struct errinfo *ei)
{
    if (!reader->begun)
        return ERR_OK;
    if (reader->n_words == WORDS_MAX)
        return err_set(ei, ERR_INVALID, "more than %d words", WORDS_MAX);
    reader->words[reader->n_words++] =
        arena_strndup(reader->arena, reader->word.data ? reader->word.data : "", reader->word.len);
    buf_clear(&reader->word);
    reader->begun = false;
    return ERR_OK;
}

static enum err single_quoted(struct reader *reader, struct errinfo *ei)
{
    const char *open = reader->at++;

    reader->begun = true;
    for (; *reader->at && *reader->at != '\''; reader->at++)
        add(reader, *reader->at);
    if (!*reader->at)
        return err_set(ei, ERR_INVALID, "the quote at character %d is not closed",
                       column(reader, open));
    reader->at++;
    return ERR_OK;
}

static enum err needs_shell(const struct reader *reader, const char *at, struct errinfo *ei)
{
    if (*at == '\n')
        return err_set(ei, ERR_INVALID, "the line break at character %d needs a shell",
                       column(reader, at));
    return err_set(ei, ERR_INVALID, "'%c' at character %d needs a shell; quote it if it is text",
                   *at, column(reader, at));
}

/* Inside double quotes a backslash escapes only what would be special there. */
static enum err double_quoted(struct reader *reader, struct errinfo *ei)
{
    const char *open = reader->at++;

    reader->begun = true;
    for (; *reader->at && *reader->at != '"'; reader->at++) {
        if (*reader->at == '$' || *reader->at == '`')
            return needs_shell(reader, reader->at, ei);
        if (*reader->at == '\\' && reader->at[1] && strchr("$`\"\\\n", reader->at[1])) {
            reader->at++;
            if (*reader->at == '\n')
                continue;
        }
        add(reader, *reader->at);
    }
    if (!*reader->at)
        return err_set(ei, ERR_INVALID, "the quote at character %d is not closed",
                       column(reader, open));
    reader->at++;
    return ERR_OK;
}

static enum err escaped(struct reader *reader, struct errinfo *ei)
{
    if (!reader->at[1])
        return err_set(ei, ERR_INVALID, "the backslash at character %d escapes nothing",
                       column(reader, reader->at));
    if (reader->at[1] != '\n') /* else a line that goes on */
        add(reader, reader->at[1]);
    reader->at += 2;
    return ERR_OK;
}

/* At the very end it is how YAML's block texts end. */
static enum err line_break(struct reader *reader, struct errinfo *ei)
{
    const char *rest = reader->at + strspn(reader->at, " \t\r\n");

    if (*rest)
        return needs_shell(reader, reader->at, ei);
    reader->at = rest;
    return end_word(reader, ei);
}

static enum err next(struct reader *reader, struct errinfo *ei)
{
    switch (*reader->at) {
    case ' ':
    case '\t':
    case '\r':
        reader->at += strspn(reader->at, " \t\r");
        return end_word(reader, ei);
    case '\n':
        return line_break(reader, ei);
    case '\'':
        return single_quoted(reader, ei);
    case '"':
        return double_quoted(reader, ei);
    case '\\':
        return escaped(reader, ei);
    case '#':
        if (!reader->begun)
            return needs_shell(reader, reader->at, ei);
        break;
    case '|':
    case '&':
    case ';':
    case '<':
    case '>':
    case '(':
    case ')':
    case '$':
    case '`':
        return needs_shell(reader, reader->at, ei);
    default:
        break;
    }
    add(reader, *reader->at++);
    return ERR_OK;
}

enum err words_split(struct arena *arena, const char *text, const char *const **out,
                     struct errinfo *ei)
{
    struct reader reader = {.arena = arena,
                            .text = text,
                            .at = text + strspn(text, " \t\r\n"),
                            .words = arena_array(arena, WORDS_MAX + 1, sizeof(const char *))};
    enum err err = ERR_OK;

    buf_init(&reader.word, strlen(text) + 1);
    while (err == ERR_OK && *reader.at)
        err = next(&reader, ei);
    if (err == ERR_OK)
        err = end_word(&reader, ei);
    if (err == ERR_OK && reader.n_words == 0)
        err = err_set(ei, ERR_INVALID, "there is no command");
    buf_fini(&reader.word);
    reader.words[reader.n_words] = NULL;
    *out = reader.words;
    return err;
}
