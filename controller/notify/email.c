/*
 * A letter by SMTP. The address is smtp://[USER:PASSWORD@]HOST:PORT or smtps://, the channel whom it
 * is for, separated by commas, the username the sender's address. A repeat has the same Message-ID,
 * by which servers and readers know it. (The date is added by the server that takes it.)
 */
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "notify/notify.h"

enum { SUBJECT_MAX = 150, LINE = 76 };

/* RFC 2047: what is not plain ASCII is encoded, in words that fit a line. */
static const char *encoded_words(struct arena *arena, const char *text)
{
    enum { WORD = 36 };
    const char *out = "";

    for (size_t n; *text; text += n) {
        n = strlen(text);
        if (n > WORD)
            n = utf8_cut(text, WORD);
        out = arena_printf(arena, "%s%s=?utf-8?B?%s?=", out, *out ? "\r\n " : "",
                           base64_encode(arena, text, n));
    }
    return out;
}

static const char *subject(struct arena *arena, const struct alert *alert)
{
    char *text = arena_printf(arena, "[%s] %s: %s", alert->severity, alert_subject(arena, alert),
                              alert->text);
    bool plain = true;

    if (strlen(text) > SUBJECT_MAX)
        text = arena_strndup(arena, text, utf8_cut(text, SUBJECT_MAX));
    for (char *c = text; *c; c++) {
        if (*c == '\n' || *c == '\r' || *c == '\t')
            *c = ' ';
        plain = plain && *c >= ' ' && *c < 0x7f;
    }
    return plain ? text : encoded_words(arena, text);
}

static const char *text_of(struct arena *arena, const struct alert *alert)
{
    const char *text =
        arena_printf(arena, "%s\r\n\r\n%s\r\n", alert_subject(arena, alert), alert->text);

    for (int i = 0; i < alert->n_fields; i++)
        text = arena_printf(arena, "%s%s%s: %s\r\n", text, i == 0 ? "\r\n" : "",
                            alert->fields[i].name, alert->fields[i].value);
    return text;
}

static const char *in_lines(struct arena *arena, const char *encoded)
{
    const char *out = "";

    for (size_t n; *encoded; encoded += n) {
        n = strlen(encoded);
        if (n > LINE)
            n = LINE;
        out = arena_printf(arena, "%s%.*s\r\n", out, (int)n, encoded);
    }
    return out;
}

/* A line of a letter has an end, RFC 5322 2.1.1: "a@x, b@x" as two. */
static const char *folded(struct arena *arena, const char *list)
{
    struct buf out;

    buf_init(&out, 4 * strlen(list) + 1);
    for (size_t n; *(list += strspn(list, ", ")); list += n) {
        n = strcspn(list, ", ");
        buf_printf(&out, "%s%.*s", out.len > 0 ? ",\r\n " : "", (int)n, list);
    }
    const char *copy = arena_strndup(arena, out.data ? out.data : "", out.len);
    buf_fini(&out);
    return copy;
}

static const char *letter(struct arena *arena, const struct address *address,
                          const struct alert *alert)
{
    const char *text = text_of(arena, alert);

    return arena_printf(arena,
                        "From: Flagger <%s>\r\n"
                        "To: %s\r\n"
                        "Subject: %s\r\n"
                        "Message-ID: <%s@flagger>\r\n"
                        "MIME-Version: 1.0\r\n"
                        "Content-Type: text/plain; charset=utf-8\r\n"
                        "Content-Transfer-Encoding: base64\r\n"
                        "\r\n%s",
                        address->username, folded(arena, address->channel), subject(arena, alert),
                        alert->key, in_lines(arena, base64_encode(arena, text, strlen(text))));
}

const struct notifier notifier_email = {.type = "email", .letter = letter};
