#include "loadtester/output.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

void output_add(struct output *output, const char *data, size_t len)
{
    output->total += len;
    if (output->head_len < OUTPUT_HEAD) {
        size_t room = OUTPUT_HEAD - output->head_len;
        size_t n = len < room ? len : room;
        if (!output->head)
            output->head = heap_alloc(OUTPUT_HEAD);
        memcpy(output->head + output->head_len, data, n);
        output->head_len += n;
        data += n;
        len -= n;
    }
    if (len == 0)
        return;
    if (!output->tail)
        output->tail = heap_alloc(OUTPUT_TAIL);
    if (len > OUTPUT_TAIL) {
        data += len - OUTPUT_TAIL;
        len = OUTPUT_TAIL;
    }
    size_t first = OUTPUT_TAIL - output->tail_end < len ? OUTPUT_TAIL - output->tail_end : len;
    memcpy(output->tail + output->tail_end, data, first);
    memcpy(output->tail, data + first, len - first);
    output->tail_end = (output->tail_end + len) % OUTPUT_TAIL;
    output->tail_len = output->tail_len + len < OUTPUT_TAIL ? output->tail_len + len : OUTPUT_TAIL;
}

static void add_tail(const struct output *output, struct buf *text)
{
    size_t begin = (output->tail_end + OUTPUT_TAIL - output->tail_len) % OUTPUT_TAIL;
    size_t first = OUTPUT_TAIL - begin < output->tail_len ? OUTPUT_TAIL - begin : output->tail_len;

    if (output->tail_len == 0)
        return;
    buf_add(text, output->tail + begin, first);
    buf_add(text, output->tail, output->tail_len - first);
}

const char *output_text(const struct output *output, struct arena *arena)
{
    size_t left_out = output->total - output->head_len - output->tail_len;
    struct buf text;

    buf_init(&text, OUTPUT_HEAD + OUTPUT_TAIL + 128);
    if (output->head_len > 0)
        buf_add(&text, output->head, output->head_len);
    if (left_out > 0)
        buf_printf(&text, "\n[%zu bytes left out]\n", left_out);
    add_tail(output, &text);
    char *kept = arena_strndup(arena, text.data ? text.data : "", text.len);
    /* a string ends at a zero byte, and the summary may follow */
    for (size_t i = 0; i < text.len; i++)
        if (!kept[i])
            kept[i] = '?';
    buf_fini(&text);
    return kept;
}

const char *output_tail(const struct output *output, struct arena *arena, size_t max)
{
    const char *text = output_text(output, arena);
    size_t len = strlen(text);

    if (len <= max)
        return text;
    const char *cut = text + len - max;
    const char *line = strchr(cut, '\n');
    return line && line[1] ? line + 1 : cut;
}

void output_fini(struct output *output)
{
    free(output->head);
    free(output->tail);
    *output = (struct output){0};
}
