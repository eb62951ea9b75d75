#include "base/guess.h"

#include "test/unit.h"

CASE(distances_are_edits)
{
    static const struct {
        const char *a, *b;
        int distance;
    } cases[] = {{"", "", 0},
                 {"a", "", 1},
                 {"", "ab", 2},
                 {"stepWeight", "stepWeight", 0},
                 {"stepweight", "stepWeight", 0},
                 {"stepWieght", "stepWeight", 1},
                 {"stepWeigh", "stepWeight", 1},
                 {"stepWeeight", "stepWeight", 1},
                 {"stepHeight", "stepWeight", 1},
                 {"abc", "xyz", 3}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(guess_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(guess_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
    const char *longer = "12345678901234567890123456789012345678901234567890123456789012345";
    assert_true(guess_distance(longer, longer) > 3);
}

CASE(the_nearest_is_meant)
{
    static const char *const known[] = {"port", "portName", "portDiscovery", "targetPort"};
    static const struct {
        const char *word, *meant;
    } cases[] = {{"prot", "port"},
                 {"PortName", "portName"},
                 {"portDiscover", "portDiscovery"},
                 {"tagetPort", "targetPort"},
                 {"colour", NULL},
                 {"p", NULL}};
    struct guess letter = {.word = "a"};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct guess guess = {.word = cases[i].word};
        for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
            guess_consider(&guess, known[k]);
        if (cases[i].meant)
            assert_string_equal(guess.best, cases[i].meant);
        else
            assert_null(guess.best);
    }
    /* any letter is near any other */
    guess_consider(&letter, "b");
    assert_null(letter.best);
}
