/* Looks at numbers and histograms that are kept: few, and what they say together is not lost. */
#include "judge/looks.h"

#include <math.h>

#include "base/json.h"
#include "test/rows.h"
#include "test/unit.h"

enum { EVERY_S = 10, MANY = 2000 };

/* The canary's number grows by one with each look; of latency all values are the same. */
static struct judge_look look_at(int nth, int64_t step)
{
    return (struct judge_look){
        .at_s = (int64_t)nth * EVERY_S, .step = step, .looks = 1, .values = {nth, 100, 3, 2}};
}

static struct judge_looks looks_of(int many, int most, bool sums, int width)
{
    struct judge_looks looks = {0};

    for (int i = 1; i <= many; i++) {
        const struct judge_look look = look_at(i, 20);
        judge_looks_add(&looks, most, sums, width, &look);
    }
    return looks;
}

CASE(what_has_room_is_kept_as_it_is)
{
    const struct judge_looks looks = looks_of(LOOKS_NUMBERS, LOOKS_NUMBERS, false, LOOK_PAIR);

    assert_int_equal(looks.n, LOOKS_NUMBERS);
    for (int i = 0; i < looks.n; i++) {
        assert_int_equal(looks.looks[i].at_s, (i + 1) * EVERY_S);
        assert_true(looks.looks[i].values[LOOK_CANARY] == i + 1);
    }
}

CASE(neighbours_become_their_mean_and_histograms_their_sum)
{
    static const int mosts[] = {2, 6, LOOKS_LATENCY, LOOKS_NUMBERS};

    EACH_ROW (most, mosts) {
        const struct judge_looks means = looks_of(MANY, *most, false, LOOK_PAIR);
        const struct judge_looks sums = looks_of(MANY, *most, true, 4);
        double canary = 0, requests = 0, widest = 0;
        int64_t looks = 0;
        for (int i = 0; i < means.n; i++) {
            canary += means.looks[i].values[LOOK_CANARY] * (double)means.looks[i].looks;
            looks += means.looks[i].looks;
            widest = fmax(widest, (double)means.looks[i].looks);
            assert_float_equal(means.looks[i].values[LOOK_PRIMARY], 100, 1e-9);
        }
        for (int i = 0; i < sums.n; i++)
            requests += sums.looks[i].values[1];
        assert_true(means.n <= *most && sums.n <= *most);
        assert_int_equal(looks, MANY);
        assert_float_equal(canary, MANY * (MANY + 1) / 2.0, 1e-3);
        assert_true(requests == 100.0 * MANY);
        assert_int_equal(means.looks[means.n - 1].at_s, MANY * EVERY_S);
        if (*most == LOOKS_NUMBERS)
            assert_true(widest <= MANY / 5.0 && means.looks[0].looks <= MANY / 20);
    }
}

CASE(looks_of_two_steps_are_joined_last)
{
    struct judge_looks looks = {0};

    for (int i = 1; i <= 200; i++) {
        const struct judge_look look = look_at(i, i <= 100 ? 2000 : 4000);
        judge_looks_add(&looks, LOOKS_NUMBERS, false, LOOK_PAIR, &look);
    }
    for (int i = 0; i + 1 < looks.n; i++)
        if (looks.looks[i].step == 2000 && looks.looks[i + 1].step == 4000)
            assert_int_equal(looks.looks[i].at_s, 100 * EVERY_S);
}

CASE(what_is_no_number_or_not_later_does_no_harm)
{
    struct judge_looks looks = looks_of(3, LOOKS_NUMBERS, false, LOOK_PAIR);
    struct judge_look look = look_at(4, 20);

    look.values[LOOK_CANARY] = NAN;
    judge_looks_add(&looks, LOOKS_NUMBERS, false, LOOK_PAIR, &look);
    look.values[LOOK_CANARY] = INFINITY;
    judge_looks_add(&looks, LOOKS_NUMBERS, false, LOOK_PAIR, &look);
    assert_int_equal(looks.n, 3);
    look = look_at(1, 20);
    judge_looks_add(&looks, LOOKS_NUMBERS, false, LOOK_PAIR, &look);
    assert_int_equal(looks.n, 3);
    assert_int_equal(looks.looks[2].at_s, 3 * EVERY_S);
    assert_int_equal(looks.looks[2].looks, 2);
    assert_true(looks.looks[2].values[LOOK_CANARY] == 2); /* of 3 and 1 */
    /* of other bounds */
    judge_looks_add(&looks, LOOKS_NUMBERS, true, 4, &look);
    assert_int_equal(looks.n, 1);
    assert_int_equal(looks.width, 4);
}

CASE(looks_survive_json)
{
    const struct judge_looks looks = looks_of(50, LOOKS_LATENCY, true, 4);
    struct judge_looks back;
    struct json_object *json = judge_looks_write(arena, &looks);

    assert_true(judge_looks_read(json, LOOKS_NUMBERS, &back));
    assert_int_equal(back.n, looks.n);
    assert_int_equal(back.width, looks.width);
    assert_string_equal(json_text(arena, judge_looks_write(arena, &back)), json_text(arena, json));
}

CASE(json_that_is_none)
{
    static const char *const rows[] = {
        "[]",
        "1",
        "[1]",
        "[[10,20,1]]",
        "[[10,20,0,1,2]]",
        "[[10,20,100001,1,2]]",
        "[[-1,20,1,1,2]]",
        "[[10,-20,1,1,2]]",
        "[[10,20,1,1,2],[10,20,1,1,2]]",
        "[[10,20,1,1,2],[20,20,1,1]]",
        "[[10,20,1,'x',2]]",
        "[[10,20,1,1e300,2]]",
        "[[10,20,1,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1]]",
    };
    struct judge_looks looks;

    EACH_ROW (row, rows) {
        assert_false(judge_looks_read(rows_json(arena, *row), LOOKS_NUMBERS, &looks));
        assert_int_equal(looks.n, 0);
    }
    assert_true(judge_looks_read(rows_json(arena, "[[10,20,1,-1,2.5]]"), LOOKS_NUMBERS, &looks));
    assert_false(judge_looks_read(rows_json(arena, "[[1,2,1,1,2],[2,2,1,1,2]]"), 1, &looks));
}
