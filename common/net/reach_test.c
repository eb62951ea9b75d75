#include "net/client.h"

#include <string.h>

#include "test/unit.h"

static const struct reach *reach_of(struct arena *arena, const char *text, bool loopback)
{
    const struct reach *reach;
    struct errinfo ei;

    assert_int_equal(reach_read(arena, text, loopback, &reach, &ei), ERR_OK);
    return reach;
}

CASE(test_what_is_refused)
{
    static const struct {
        const char *list, *address;
        bool refused;
    } cases[] = {
        {NULL, "169.254.169.254", true},
        {NULL, "169.254.0.1", true},
        {NULL, "169.255.0.1", false},
        {NULL, "::ffff:169.254.169.254", true},
        {NULL, "64:ff9b::169.254.169.254", true},
        {NULL, "64:ff9b::8.8.8.8", false},
        {NULL, "fe80::1", true},
        {NULL, "febf::1", true},
        {NULL, "fec0::1", false},
        {NULL, "fd00:ec2::254", true},
        {NULL, "fd20:ce::254", true},
        {NULL, "100.100.100.200", true},
        {NULL, "168.63.129.16", true},
        {NULL, "127.0.0.1", true},
        {NULL, "127.255.0.9", true},
        {NULL, "::ffff:127.0.0.1", true},
        {NULL, "0.0.0.0", true},
        {NULL, "::", true},
        {NULL, "::1", true},
        {NULL, "::2", false},
        {NULL, "10.0.0.1", false},
        {NULL, "8.8.8.8", false},
        {NULL, "2001:db8::1", false},
        {"+loopback", "127.0.0.1", false},
        {"+loopback", "::1", false},
        {"+loopback", "0.0.0.0", false},
        {"+loopback", "169.254.169.254", true},
        {"+127.0.0.1", "127.0.0.1", false},
        {"+127.0.0.1", "127.0.0.2", true},
        {"-10.0.0.0/8", "10.1.2.3", true},
        {"-10.0.0.0/8", "::ffff:10.1.2.3", true},
        {"-10.0.0.0/8", "11.0.0.1", false},
        {"-10.0.0.0/8,+10.1.0.0/16", "10.1.2.3", false},
        {"+10.1.0.0/16,-10.0.0.0/8", "10.1.2.3", true},
        {"-fd00::/9", "fd7f::1", true},
        {"-fd00::/9", "fd80::1", false},
        {"-::/0,+8.8.8.8", "2001:db8::1", true},
        {"-::/0,+8.8.8.8", "8.8.8.8", false},
        {"+link-local", "169.254.169.254", false},
    };

    EACH_ROW (row, cases)
        assert_int_equal(reach_refuses_text(reach_of(arena, row->list, true), row->address),
                         row->refused);
    assert_false(reach_refuses_text(reach_of(arena, NULL, false), "127.0.0.1"));
    assert_true(reach_refuses_text(reach_of(arena, "-loopback", false), "127.0.0.1"));
    assert_false(reach_refuses_text(reach_of(arena, NULL, true), "localhost"));
}

CASE(test_what_is_no_range)
{
    static const char *const cases[] = {"10.0.0.0/8", "+",         "-10.0.0.0/33",
                                        "+10.0.0/8",  "+::/129",   "+local",
                                        "-1.2.3.4/x", "-1.2.3.4/", "+a,b"};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct reach *reach;
        struct errinfo ei;
        assert_int_equal(reach_read(arena, cases[i], true, &reach, &ei), ERR_INVALID);
        assert_non_null(strstr(ei.text, "expected + or -"));
    }
}
