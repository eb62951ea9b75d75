#include "net/client.h"
#include "test/unit.h"

CASE(test_encoding)
{
    static const struct {
        const char *text, *component, *form;
    } cases[] = {
        {"", "", ""},
        {"plain-._~09AZaz", "plain-._~09AZaz", "plain-._~09AZaz"},
        {"a b", "a%20b", "a+b"},
        {"a+b&c=d/e?f#g", "a%2Bb%26c%3Dd%2Fe%3Ff%23g", "a%2Bb%26c%3Dd%2Fe%3Ff%23g"},
        {"100%", "100%25", "100%25"},
        {"\xe2\x82\xac\n\x7f", "%E2%82%AC%0A%7F", "%E2%82%AC%0A%7F"},
        {"*'()!", "%2A%27%28%29%21", "%2A%27%28%29%21"},
    };

    EACH_ROW (row, cases) {
        assert_string_equal(url_encode(arena, row->text), row->component);
        assert_string_equal(url_encode_form(arena, row->text), row->form);
    }
}

CASE(test_origin)
{
    static const struct {
        const char *url, *origin;
    } cases[] = {
        {"https://hooks.slack.com/services/T0/B0/secret", "https://hooks.slack.com"},
        {"http://user:pass@a:81/x/y?z=1#f", "http://a:81"},
        {"http://a", "http://a"},
        {"http://[::1]:8080/", "http://[::1]:8080"},
        {"", "(not a URL)"},
        {"no url at all", "(not a URL)"},
    };

    EACH_ROW (row, cases)
        assert_string_equal(url_origin(arena, row->url), row->origin);
}

CASE(test_same_origin)
{
    static const struct {
        const char *one, *other;
        bool same;
    } cases[] = {
        {"http://a/x", "http://a/y?z", true},
        {"http://a/", "http://A:80/", true},
        {"https://a/", "https://a:443/b", true},
        {"http://user:word@a/", "http://a/", true},
        {"http://a/", "https://a/", false},
        {"http://a/", "http://b/", false},
        {"http://a/", "http://a:8080/", false},
        {"http://a/", "http://a.b/", false},
        {"http://a/", "http://a@b/", false},
        {"http://a/", "/relative", false},
        {"http://a/", "", false},
    };

    EACH_ROW (row, cases) {
        assert_int_equal(url_same_origin(row->one, row->other), row->same);
        assert_int_equal(url_same_origin(row->other, row->one), row->same);
    }
}

CASE(test_same_host)
{
    assert_true(url_same_host("http://a/x", "https://A:8443/y"));
    assert_true(url_same_host("http://user:word@a/", "http://a/"));
    assert_false(url_same_host("http://a/", "http://b/"));
    assert_false(url_same_host("http://a/", "http://b.a/"));
    assert_false(url_same_host("http://a/", "http://a@b/"));
    assert_false(url_same_host("http://a/", "a"));
}
