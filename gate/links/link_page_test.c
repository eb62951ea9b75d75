/* link_page: texts, and that input never becomes markup. */
#include "gate/links/link.h"
#include "test/unit.h"

#include <string.h>

static struct link sample(void)
{
    return (struct link){.action = LINK_APPROVE,
                         .kind = LINK_OF_GATE,
                         .expires_s = 1795300000,
                         .for_ms = 9000000,
                         .namespace_ = "test",
                         .name = "podinfo",
                         .hook = "",
                         .revision = "758df7c9fc",
                         .who = "alice",
                         .issuer = "pipeline",
                         .reason = "the dashboards look well"};
}

static void assert_says(const char *page, const char *text)
{
    if (!strstr(page, text))
        fail_msg("\"%s\" is not in\n%s", text, page);
}

static void assert_silent(const char *page, const char *text)
{
    if (strstr(page, text))
        fail_msg("\"%s\" is in\n%s", text, page);
}

CASE(it_says_what_it_will_do)
{
    struct link link = sample();
    const char *page = link_page_confirm(arena, &link);
    static const char *const said[] = {"<h1>Approve this revision?</h1>",
                                       "<bdi>test</bdi>",
                                       "<bdi>podinfo</bdi>",
                                       "<bdi>758df7c9fc</bdi>",
                                       "<dt>Hook</dt><dd>every hook</dd>",
                                       "<bdi>2h30m</bdi>",
                                       "<bdi>alice</bdi>",
                                       "<bdi>pipeline</bdi>",
                                       "<bdi>the dashboards look well</bdi>",
                                       "<bdi>2026-11-21 22:26 UTC</bdi>",
                                       "<form method=\"post\">",
                                       ">Approve this revision</button>",
                                       "Nothing has happened yet."};
    EACH_ROW (row, said)
        assert_says(page, *row);
    assert_silent(page, "<script");
    assert_silent(page, "style=");
    assert_silent(page, "://");
}

CASE(what_is_not_said_is_told)
{
    struct link link = sample();
    link.action = LINK_OPEN;
    link.for_ms = 0;
    link.revision = link.who = link.issuer = link.reason = "";
    const char *page = link_page_confirm(arena, &link);
    assert_says(page, "<dt>Revision</dt><dd>every revision</dd>");
    assert_says(page, "<dt>For</dt><dd>until it is closed</dd>");
    assert_says(page, "nobody in particular");
    assert_silent(page, "<dt>Reason</dt>");
    assert_silent(page, "<dt>Link made by</dt>");
    link.action = LINK_CLOSE;
    page = link_page_confirm(arena, &link);
    assert_silent(page, "<dt>For</dt>");
    assert_silent(page, "<dt>Revision</dt>");
}

static void assert_harmless(const char *page)
{
    static const char *const evil[] = {"<img", "<b>", "onload=\"", "&lt;b>", "'x'"};
    EACH_ROW (row, evil)
        assert_silent(page, *row);
    assert_says(page, "&lt;b&gt;&lt;img src=x onload=&quot;x&quot;&gt;&amp;lt;b&gt;&#39;x&#39;");
}

CASE(hostile_texts_stay_texts)
{
    static const char evil[] = "<b><img src=x onload=\"x\">&lt;b>'x'";
    for (int field = 0; field < 7; field++) {
        struct link link = sample();
        const char **fields[] = {&link.namespace_, &link.name,   &link.hook,  &link.revision,
                                 &link.who,        &link.issuer, &link.reason};
        *fields[field] = evil;
        assert_harmless(link_page_confirm(arena, &link));
        const struct link_result result = {.changed = true, .open = true, .quorum = 1};
        assert_harmless(link_page_done(arena, &link, &result));
    }
    assert_harmless(link_page_refused(arena, evil));
}

CASE(every_link_has_words)
{
    const char *seen[LINK_KINDS * LINK_ACTIONS];
    int count = 0;
    for (int kind = 0; kind < LINK_KINDS; kind++) {
        for (int action = 0; action < LINK_ACTIONS; action++) {
            struct link link = sample();
            link.kind = (enum link_kind)kind;
            link.action = (enum link_action)action;
            const char *page = link_page_confirm(arena, &link);
            assert_silent(page, "(null)");
            for (int i = 0; i < count; i++)
                assert_string_not_equal(seen[i], page);
            seen[count++] = page;
        }
    }
}

CASE(it_says_what_it_has_done)
{
    static const struct {
        enum link_action action;
        struct link_result result;
        const char *said;
    } cases[] = {
        {LINK_OPEN, {.changed = true, .open = true, .quorum = 1}, "<h1>The gate is open.</h1>"},
        {LINK_OPEN, {.open = true, .quorum = 1}, "<h1>The gate was open already.</h1>"},
        {LINK_APPROVE,
         {.changed = true, .open = true, .votes = 2, .quorum = 2},
         "<h1>This revision is approved.</h1>"},
        {LINK_APPROVE, {.changed = true, .votes = 1, .quorum = 2}, "<h1>1 of 2 approvals.</h1>"},
        {LINK_APPROVE, {.votes = 1, .quorum = 3}, "<h1>1 of 3 approvals.</h1>"},
        {LINK_CLOSE, {.changed = true, .quorum = 1}, "<h1>The gate is closed.</h1>"},
        {LINK_CLOSE, {.quorum = 1}, "<h1>The gate was closed already.</h1>"},
    };
    EACH_ROW (row, cases) {
        struct link link = sample();
        link.action = row->action;
        const char *page = link_page_done(arena, &link, &row->result);
        assert_says(page, row->said);
        assert_says(page, "The link is used up.");
        assert_silent(page, "<form");
    }
    const char *page = link_page_refused(arena, "This link has expired: ask for a new one.");
    assert_says(page, "<p>This link has expired: ask for a new one.</p>");
    assert_says(link_page_refused(arena, "this link has been used already"),
                "<p>This link has been used already.</p>");
    assert_silent(page, "<form");
}

CASE(headers_bound_what_a_browser_does)
{
    static const char *const wanted[][2] = {{"Content-Security-Policy", "default-src 'none'"},
                                            {"Content-Security-Policy", "frame-ancestors 'none'"},
                                            {"Referrer-Policy", "same-origin"},
                                            {"Cache-Control", "no-store"},
                                            {"X-Frame-Options", "DENY"}};
    EACH_ROW (row, wanted) {
        const struct link_page_header *h = link_page_headers;
        while (h->name && strcmp(h->name, (*row)[0]) != 0)
            h++;
        assert_non_null(h->name);
        assert_says(h->value, (*row)[1]);
        assert_silent(h->value, "unsafe");
    }
}
