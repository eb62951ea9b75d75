#include "router/router.h"

#include "tick/fixture_test.h"

#define AFFINITY(more) "{'spec':{'analysis':{'sessionAffinity':{'cookieName':'c'" more "}}}}"
#define ALL                                                                                        \
    ",'domain':'a.test','path':'/x','sameSite':'Lax','secure':true,'httpOnly':true,"               \
    "'partitioned':true"

CASE(test_values)
{
    static const struct {
        const char *spec, *given, *taken_back;
    } cases[] = {
        {AFFINITY(""), "c=Q; Max-Age=60", "c=Q; Max-Age=-1"},
        {AFFINITY(ALL),
         "c=Q; Max-Age=60; Domain=a.test; HttpOnly; Partitioned; Path=/x; SameSite=Lax; Secure",
         "c=Q; Max-Age=-1; Domain=a.test; HttpOnly; Partitioned; Path=/x; SameSite=Lax; Secure"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(row->spec);
        struct tick *tick = tick_new(arena, &f.canary, &f.settings, 0, true);
        const char *given = cookie_given(tick, "c=Q", 60);
        const char *back = cookie_taken_back(tick, "c=Q");
        assert_string_equal(given, row->given);
        assert_string_equal(back, row->taken_back);
        assert_null(cookie_given(tick, NULL, 60));
        assert_null(cookie_taken_back(tick, NULL));
        /* and back again */
        assert_string_equal(cookie_read(arena, given, false), "c=Q");
        assert_string_equal(cookie_read(arena, back, true), "c=Q");
        assert_null(cookie_read(arena, given, true));
        assert_null(cookie_read(arena, back, false));
        assert_null(cookie_read(arena, NULL, false));
    }
}

/* Names and values are never patterns. */
CASE(test_pattern)
{
    static const struct {
        const char *cookie, *pattern;
    } cases[] = {
        {"c=Q", ".*c.*Q.*"},
        {"a.b+c=x$(1)", ".*a\\.b\\+c.*x\\$\\(1\\).*"},
        {"c", ".*c.*.*"},
        {"c=a=b", ".*c.*a=b.*"},
    };

    EACH_ROW (row, cases)
        assert_string_equal(cookie_pattern(arena, row->cookie), row->pattern);
}
