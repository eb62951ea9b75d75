/* Words of a command: what is split and quoted again splits the same; what is not is told why. */
#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "loadtester/command_line.h"

enum { ROOM = 8 * 1024 * 1024 };

/* 'it'\''s' */
static void quote(struct buf *out, const char *word)
{
    buf_puts(out, " '");
    for (; *word; word++) {
        if (*word == '\'')
            buf_puts(out, "'\\''");
        else
            buf_add(out, word, 1);
    }
    buf_puts(out, "'");
}

FUZZ_TARGET(arena, data, size)
{
    const char *const *words, *const *again;
    const char *text = arena_strndup(arena, (const char *)data, size);
    struct errinfo ei = {0};
    struct buf quoted;
    size_t n = 0;

    buf_init(&quoted, ROOM);
    if (words_split(arena, text, &words, &ei) != ERR_OK) {
        assert(ei.text[0]);
    } else {
        for (; words[n]; n++)
            quote(&quoted, words[n]);
        assert(n > 0 && n <= WORDS_MAX && !quoted.truncated);
        enum err err = words_split(arena, quoted.data, &again, &ei);
        assert(err == ERR_OK);
        (void)err;
        for (size_t i = 0; i <= n; i++)
            assert(i == n ? !again[i] : strcmp(words[i], again[i]) == 0);
    }
    buf_fini(&quoted);
}
