#include "net/outage.h"

#include "test/unit.h"

CASE(many_in_a_row_for_some_time)
{
    struct outage o = {0};
    /* many at once are one thing that went wrong */
    for (int i = 0; i < 100; i++)
        assert_false(outage_note(&o, false, 1000));
    assert_false(outage_note(&o, false, 3999));
    assert_true(outage_note(&o, false, 4000));
    assert_true(o.away);
    assert_false(outage_note(&o, false, 5000)); /* told once */
    assert_true(outage_note(&o, true, 6000));
    assert_false(o.away);
    assert_false(outage_note(&o, true, 6000));
}

CASE(few_are_none_however_long)
{
    struct outage o = {0};
    for (int i = 0; i < 7; i++)
        assert_false(outage_note(&o, false, i * INT64_C(60000)));
    assert_true(outage_note(&o, false, 7 * INT64_C(60000)));
}

CASE(an_answer_between_them_begins_anew)
{
    struct outage o = {0};
    for (int i = 0; i < 100; i++) {
        assert_false(outage_note(&o, false, i * INT64_C(1000)));
        if (i % 7 == 6)
            assert_false(outage_note(&o, true, i * INT64_C(1000)));
    }
}

CASE(what_is_an_answer)
{
    assert_false(outage_is_answer(0));
    assert_true(outage_is_answer(200));
    assert_true(outage_is_answer(429));
    assert_true(outage_is_answer(500));
    assert_true(outage_is_answer(501));
    assert_false(outage_is_answer(502));
    assert_false(outage_is_answer(503));
    assert_false(outage_is_answer(504));
    assert_true(outage_is_answer(505));
}
