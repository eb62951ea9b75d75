/* rights: the second word of a row, and which namespaces it reaches. */

#include "gate/access/rights.h"
#include "test/unit.h"

static const struct {
    const char *word;
    enum role role; /* ROLE_NONE: refused */
    bool test, prod, te, all;
} cases[] = {
    {"check", ROLE_CHECK, true, true, true, true},
    {"operate", ROLE_OPERATE, true, true, true, true},
    {"admin", ROLE_ADMIN, true, true, true, true},
    {"operate:test", ROLE_OPERATE, true, false, false, false},
    {"admin:test,prod", ROLE_ADMIN, true, true, false, false},
    {"check:other,prod", ROLE_CHECK, false, true, false, false},
    {"check:te", ROLE_CHECK, false, false, true, false},
    {"check:test-2", ROLE_CHECK, false, false, false, false},
    {"none", ROLE_NONE, false, false, false, false},
    {"none:test", ROLE_NONE, false, false, false, false},
    {"", ROLE_NONE, false, false, false, false},
    {"operat", ROLE_NONE, false, false, false, false},
    {"operate:", ROLE_NONE, false, false, false, false},
    {"operate:,", ROLE_NONE, false, false, false, false},
    {"operate:test,", ROLE_NONE, false, false, false, false},
    {"operate:test,,prod", ROLE_NONE, false, false, false, false},
    {"operate:Test", ROLE_NONE, false, false, false, false},
    {"operate:*", ROLE_NONE, false, false, false, false},
    {"operate:-test", ROLE_NONE, false, false, false, false},
    {"operate:test:prod", ROLE_NONE, false, false, false, false},
    {"operate:a123456789012345678901234567890123456789012345678901234567890123", ROLE_NONE, false,
     false, false, false},
    {NULL, ROLE_NONE, false, false, false, false},
};

CASE(a_word_gives_a_role_in_namespaces)
{
    EACH_ROW (row, cases) {
        struct rights rights;
        bool good = rights_read(row->word, &rights);
        print_message("%s\n", row->word ? row->word : "(none)");
        assert_int_equal(good, row->role != ROLE_NONE);
        assert_int_equal(rights.role, row->role);
        if (!good)
            continue;
        assert_int_equal(rights_cover(rights.namespaces, "test"), row->test);
        assert_int_equal(rights_cover(rights.namespaces, "prod"), row->prod);
        assert_int_equal(rights_cover(rights.namespaces, "te"), row->te);
        assert_int_equal(rights_cover(rights.namespaces, ""), row->all);
    }
}
