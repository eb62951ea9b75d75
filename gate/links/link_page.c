#include "gate/links/link.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"

/* The fields of a link have about 2.5 KiB; escaping turns one byte into at most 6. */
enum { MAX_PAGE = 64 * 1024 };

/*
 * Not `no-referrer`, which makes browsers send the form with `Origin: null`, and the check of the
 * origin rejects that. The address, which is the secret, is not sent to other sites either way.
 */
static const char policy[] =
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'";
const struct link_page_header link_page_headers[] = {
    {"Content-Security-Policy", policy},
    {"Referrer-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"X-Robots-Tag", "noindex, nofollow"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {NULL, NULL},
};

/* Texts for each change: before it, after it, and if it had already been made. %s is the
 * subject. */
static const struct wording {
    const char *title, *button, *about, *done, *already;
} wordings[LINK_KINDS][LINK_ACTIONS] = {
    [LINK_OF_GATE] = {[LINK_OPEN] = {"Open the gate?", "Open the gate",
                                     "Lets the release through, as its webhooks ask.",
                                     "The gate is open.", "The gate was open already."},
                      [LINK_APPROVE] = {"Approve this revision?", "Approve this revision",
                                        "Lets exactly this revision through; another one waits "
                                        "again.",
                                        "This revision is approved.",
                                        "This revision was approved already."},
                      [LINK_CLOSE] = {"Close the gate?", "Close the gate",
                                      "Nothing is let through until somebody opens it again.",
                                      "The gate is closed.", "The gate was closed already."}},
    [LINK_OF_ROLLBACK] = {[LINK_OPEN] = {"Roll back?", "Roll back",
                                         "Ends the release and sends its traffic back.",
                                         "The release will be rolled back.",
                                         "The release was to be rolled back already."},
                          [LINK_APPROVE] = {"Roll this revision back?", "Roll this revision back",
                                            "Ends the release of exactly this revision and sends "
                                            "its traffic back.",
                                            "This revision will be rolled back.",
                                            "This revision was to be rolled back already."},
                          [LINK_CLOSE] = {"Withdraw the roll back?", "Withdraw the roll back",
                                          "The release is not rolled back from here.",
                                          "The roll back is withdrawn.",
                                          "There was no roll back to withdraw."}},
};

static void escape(struct buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        switch (*c) {
        case '&':
            buf_puts(out, "&amp;");
            break;
        case '<':
            buf_puts(out, "&lt;");
            break;
        case '>':
            buf_puts(out, "&gt;");
            break;
        case '"':
            buf_puts(out, "&quot;");
            break;
        case '\'':
            buf_puts(out, "&#39;");
            break;
        default:
            buf_add(out, c, 1);
        }
    }
}

/* The addresses are relative, for gates served below a path of their own. */
static void begin(struct buf *out, const char *title)
{
    buf_init(out, MAX_PAGE);
    buf_puts(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    escape(out, title);
    buf_puts(out, "</title>\n"
                  "<link rel=\"icon\" href=\"../page/icon.svg\" type=\"image/svg+xml\">\n"
                  "<link rel=\"stylesheet\" href=\"../page/page.css\">\n"
                  "<link rel=\"stylesheet\" href=\"../page/link.css\">\n"
                  "</head>\n<body class=\"letter\">\n<main>\n<h1>");
    escape(out, title);
    buf_puts(out, "</h1>\n");
}

static const char *end(struct buf *out, struct arena *arena)
{
    buf_puts(out, "</main>\n</body>\n</html>\n");
    const char *page = arena_strndup(arena, out->data, out->len);
    buf_fini(out);
    return page;
}

/* rest: trusted text shown for an empty value; NULL omits the row. */
static void row(struct buf *out, const char *name, const char *value, const char *rest)
{
    if (!*value && !rest)
        return;
    buf_printf(out, "<div><dt>%s</dt><dd>", name);
    if (*value) {
        buf_puts(out, "<bdi>");
        escape(out, value);
        buf_puts(out, "</bdi>");
    } else {
        buf_puts(out, rest);
    }
    buf_puts(out, "</dd></div>\n");
}

/* "2026-11-20 19:15 UTC": the reader's time zone is not known. */
static const char *time_text(struct arena *arena, int64_t unix_s)
{
    char text[CLOCK_TEXT];
    clock_rfc3339(unix_s * 1000, text);
    return arena_printf(arena, "%.10s %.5s UTC", text, text + 11);
}

/* "2h30m": Go's format without zero parts. */
static const char *duration_text(struct arena *arena, int64_t ms)
{
    char text[DURATION_TEXT];
    duration_format(ms * 1000000, text);
    static const char *const idle[] = {"m0s", "h0m"};
    for (size_t i = 0; i < 2; i++) {
        size_t len = strlen(text);
        if (len > 3 && strcmp(text + len - 3, idle[i]) == 0)
            text[len - 2] = '\0';
    }
    return arena_strdup(arena, text);
}

static void about(struct buf *out, struct arena *arena, const struct link *link)
{
    buf_puts(out, "<p class=\"subject\"><bdi>");
    escape(out, link->namespace_);
    buf_puts(out, "</bdi><span class=\"slash\">/</span><bdi>");
    escape(out, link->name);
    buf_puts(out, "</bdi></p>\n<dl>\n");
    if (link->action != LINK_CLOSE) {
        row(out, "Revision", link->revision, "every revision");
        row(out, "Hook", link->hook, "every hook");
        row(out, "For", link->for_ms ? duration_text(arena, link->for_ms) : "",
            link->kind == LINK_OF_GATE ? "until it is closed" : "until it is withdrawn");
    } else {
        row(out, "Hook", link->hook, "every hook");
    }
    row(out, "In the name of", link->who, "nobody in particular");
    row(out, "Reason", link->reason, NULL);
    if (strcmp(link->issuer, link->who) != 0)
        row(out, "Link made by", link->issuer, NULL);
}

const char *link_page_confirm(struct arena *arena, const struct link *link)
{
    const struct wording *wording = &wordings[link->kind][link->action];
    bool ends = link->kind == LINK_OF_ROLLBACK && link->action != LINK_CLOSE;
    struct buf out;
    begin(&out, wording->title);
    about(&out, arena, link);
    row(&out, "Link valid until", time_text(arena, link->expires_s), NULL);
    buf_printf(&out,
               "</dl>\n<p>%s</p>\n<form method=\"post\">\n"
               "<button type=\"submit\" class=\"primary%s\">%s</button>\n</form>\n"
               "<p class=\"note\">Nothing has happened yet. The link works once.</p>\n",
               wording->about, ends ? " danger" : "", wording->button);
    return end(&out, arena);
}

const char *link_page_done(struct arena *arena, const struct link *link,
                           const struct link_result *result)
{
    const struct wording *wording = &wordings[link->kind][link->action];
    const char *title = result->changed ? wording->done : wording->already;
    struct buf out;
    if (link->action != LINK_CLOSE && !result->open)
        title = arena_printf(arena, "%lld of %lld approvals.", (long long)result->votes,
                             (long long)result->quorum);
    begin(&out, title);
    about(&out, arena, link);
    buf_puts(&out, "</dl>\n<p class=\"note\">The link is used up.</p>\n");
    return end(&out, arena);
}

/* Errors are sentences without a capital letter and full stop, since they often follow a colon. */
const char *link_page_refused(struct arena *arena, const char *sentence)
{
    char *text = arena_strdup(arena, sentence);
    size_t len = strlen(text);
    struct buf out;
    if (*text >= 'a' && *text <= 'z')
        *text = (char)(*text - 'a' + 'A');
    begin(&out, "Nothing has changed");
    buf_puts(&out, "<p>");
    escape(&out, text);
    buf_puts(&out, len > 0 && text[len - 1] == '.' ? "</p>\n" : ".</p>\n");
    return end(&out, arena);
}
