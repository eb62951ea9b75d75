/*
 * Claims: two Canaries that share a target or a Service are detected, and the same one is refused
 * in any order of arrival.
 */

#include <string.h>

#include "base/arena.h"
#include "engine/claims.h"
#include "test/unit.h"

#define TARGET(name)        "\"targetRef\":{\"kind\":\"Deployment\",\"name\":\"" name "\"}"
#define SERVED(name, named) TARGET(name) ",\"service\":{\"name\":\"" named "\"}"
#define PHASE(phase)        "\"phase\":\"" phase "\""
#define ACCEPTED(spec)      PHASE("Progressing") ",\"acceptedSpec\":{" spec "}"

/* A Canary as the test describes it. */
struct one {
    const char *created; /* the second */
    const char *spec, *status;
    bool deleting;
};

#define AT(second, text)                                                                           \
    {                                                                                              \
        .created = (second), .spec = (text)                                                        \
    }
#define HAS(second, text, state)                                                                   \
    {                                                                                              \
        .created = (second), .spec = (text), .status = (state)                                     \
    }
#define GOING(second, text)                                                                        \
    {                                                                                              \
        .created = (second), .spec = (text), .deleting = true                                      \
    }

static struct json_object *canary(struct arena *arena, const char *name, const struct one *one)
{
    const char *text =
        arena_printf(arena,
                     "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"test\",\"uid\":\"uid-%s\","
                     "\"creationTimestamp\":\"2026-01-01T00:00:%sZ\"%s},\"spec\":{%s},"
                     "\"status\":{%s}}",
                     name, name, one->created,
                     one->deleting ? ",\"deletionTimestamp\":\"2026-01-02T00:00:00Z\"" : "",
                     one->spec, one->status ? one->status : "");
    struct json_object *out;

    assert_int_equal(json_parse(arena, text, strlen(text), 100000, &out, NULL), ERR_OK);
    return out;
}

/* Two Canaries, a and b, with their objects and claims. */
struct pair {
    struct arena *arena;
    struct claims *claims;
    struct json_object *objects[2];
    struct claim_set *sets[2];
};

static struct pair pair_new(const struct one *a, const struct one *b, int first)
{
    struct pair pair = {.arena = arena_new(), .claims = claims_new()};

    pair.objects[0] = canary(pair.arena, "a", a);
    pair.objects[1] = canary(pair.arena, "b", b);
    for (int i = 0; i < 2; i++)
        pair.sets[i] = claim_set_read(pair.objects[i]);
    claims_add(pair.claims, pair.sets[first]);
    claims_add(pair.claims, pair.sets[1 - first]);
    return pair;
}

static struct claim_conflict judge(struct pair *pair, int which)
{
    return claims_check(pair->claims, pair->arena, pair->objects[which]);
}

static void pair_free(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        claims_drop(pair->claims, pair->sets[i]);
        claim_set_free(pair->sets[i]);
    }
    claims_free(pair->claims);
    arena_free(pair->arena);
}

CASE(who_comes_first)
{
    enum { NOBODY = -1, A, B };
    static const struct {
        struct one a, b;
        int refused;
        const char *says;
        bool guards; /* guarded by the spec that it holds */
    } cases[] = {
        {AT("01", TARGET("x")), AT("02", TARGET("y")), NOBODY, NULL, false},
        {AT("01", TARGET("x")), AT("02", SERVED("y", "z")), NOBODY, NULL, false},
        {AT("01", TARGET("x")), AT("02", TARGET("x")), B,
         "spec.targetRef.name: Deployment/x is looked after by Canary a.test; choose another, or "
         "delete one of the two Canaries",
         false},
        {AT("02", TARGET("x")), AT("01", TARGET("x")), A, "by Canary b.test", false},
        /* in the same second: by uid */
        {AT("01", TARGET("x")), AT("01", TARGET("x")), B, "by Canary a.test", false},
        /* the Services, and the primary */
        {AT("01", SERVED("x", "web")), AT("02", SERVED("y", "web")), B,
         "spec.service.name: Service/web is looked after by Canary a.test", false},
        {AT("01", SERVED("x", "web")), AT("02", TARGET("web")), B,
         "spec.targetRef.name: Service/web", false},
        {AT("01", SERVED("x", "web")), AT("02", SERVED("y", "web-primary")), B,
         "Service/web-primary", false},
        {AT("01", TARGET("x")), AT("02", SERVED("x-primary", "y")), B, "Deployment/x-primary",
         false},
        {AT("01", TARGET("x")), AT("02", "\"targetRef\":{\"kind\":\"DaemonSet\",\"name\":\"x\"}"),
         B, "Service/x", false},
        /* holding comes before claiming, regardless of age */
        {AT("01", TARGET("x")), HAS("02", TARGET("x"), PHASE("Succeeded")), A, "b.test", false},
        {HAS("01", TARGET("x"), PHASE("Initializing")),
         HAS("02", TARGET("x"), PHASE("Initializing")), B, "a.test", false},
        {HAS("01", TARGET("x"), PHASE("Progressing")), HAS("02", TARGET("x"), PHASE("Progressing")),
         B, "a.test", false},
        /* an edit claims the target of another Canary: the accepted spec still guards */
        {HAS("01", TARGET("y"), ACCEPTED(TARGET("x"))),
         HAS("02", TARGET("y"), ACCEPTED(TARGET("y"))), A,
         "spec.targetRef.name: Deployment/y is looked after by Canary b.test", true},
        /* an accepted spec is held as long as it guards */
        {HAS("01", TARGET("y"), ACCEPTED(TARGET("x"))), AT("02", TARGET("x")), B,
         "by Canary a.test", false},
        {GOING("01", TARGET("x")), AT("02", TARGET("x")), B, "by Canary a.test", false},
        {AT("01", ""), AT("02", ""), NOBODY, NULL, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int first = 0; first < 2; first++) {
            struct pair pair = pair_new(&cases[i].a, &cases[i].b, first);
            for (int which = A; which <= B; which++) {
                struct claim_conflict claim_conflict = judge(&pair, which);
                bool refused = cases[i].refused == which;
                if (refused != (claim_conflict.conflict != NULL))
                    fail_msg("case %zu: %s", i,
                             claim_conflict.conflict ? claim_conflict.conflict : "not refused");
                if (refused && !strstr(claim_conflict.conflict, cases[i].says))
                    fail_msg("case %zu: %s", i, claim_conflict.conflict);
                assert_int_equal(claim_conflict.locked_out, refused && !cases[i].guards);
            }
            pair_free(&pair);
        }
    }
}

/* A Canary that is being deleted leaves its target to one that remains. */
CASE(the_heir_lives_and_has_the_same_target)
{
    static const struct {
        struct one a, b;
        const char *of_a, *of_b;
    } cases[] = {
        {GOING("01", TARGET("x")), AT("02", TARGET("x")), "b.test", NULL},
        {AT("01", TARGET("x")), GOING("02", TARGET("x")), NULL, "a.test"},
        {GOING("01", TARGET("x")), GOING("02", TARGET("x")), NULL, NULL},
        {GOING("01", SERVED("x", "w")), AT("02", SERVED("y", "w")), NULL, NULL},
        {GOING("01", SERVED("x", "w")), AT("02", SERVED("x", "v")), "b.test", NULL},
        {GOING("01", TARGET("x-primary")), AT("02", TARGET("x")), NULL, NULL},
    };

    EACH_ROW (row, cases) {
        struct pair pair = pair_new(&row->a, &row->b, 0);
        const char *of_a = judge(&pair, 0).successor, *of_b = judge(&pair, 1).successor;
        assert_string_equal(of_a ? of_a : "", row->of_a ? row->of_a : "");
        assert_string_equal(of_b ? of_b : "", row->of_b ? row->of_b : "");
        pair_free(&pair);
    }
}

static void count(void *arg, const char *namespace_, const char *name)
{
    assert_string_equal(namespace_, "test");
    assert_string_equal(name, "b");
    (*(int *)arg)++;
}

CASE(what_is_dropped_is_free)
{
    const struct one one = AT("01", TARGET("x"));
    struct pair pair = pair_new(&one, &one, 0);
    int neighbours = 0;

    claims_neighbours(pair.claims, pair.sets[0], count, &neighbours);
    assert_true(neighbours > 0);
    assert_non_null(judge(&pair, 1).conflict);
    claims_drop(pair.claims, pair.sets[0]);
    claims_drop(pair.claims, pair.sets[0]);
    assert_null(judge(&pair, 1).conflict);
    assert_false(judge(&pair, 1).locked_out);
    pair_free(&pair);
}

CASE(sets_are_the_same_when_they_claim_the_same)
{
    const struct one one = HAS("01", TARGET("x"), PHASE("Succeeded"));
    const struct one same = HAS("01", TARGET("x"), PHASE("Progressing"));
    const struct one peers[] = {
        HAS("01", TARGET("y"), PHASE("Succeeded")),
        HAS("01", TARGET("x"), PHASE("Initializing")),
        HAS("01", SERVED("x", "y"), PHASE("Succeeded")),
        {.created = "01", .spec = TARGET("x"), .status = PHASE("Succeeded"), .deleting = true}};
    struct claim_set *set = claim_set_read(canary(arena, "a", &one));
    struct claim_set *other = claim_set_read(canary(arena, "a", &same));

    assert_true(claim_set_same(set, other));
    claim_set_free(other);
    EACH_ROW (row, peers) {
        other = claim_set_read(canary(arena, "a", row));
        assert_false(claim_set_same(set, other));
        claim_set_free(other);
    }
    claim_set_free(set);
}

/* No object has a name that long, so no other Canary can claim it. */
CASE(a_name_that_no_object_can_have_claims_nothing)
{
    static const size_t lengths[] = {253, 254, 70000};

    EACH_ROW (row, lengths) {
        char *name = arena_alloc(arena, *row + 1);
        memset(name, 'x', *row);
        name[*row] = '\0';
        const struct one one =
            AT("01", arena_printf(arena, "\"targetRef\":{\"kind\":\"Deployment\",\"name\":\"%s\"}",
                                  name));
        struct pair pair = pair_new(&one, &one, 0);
        assert_int_equal(judge(&pair, 1).conflict != NULL, *row == 253);
        pair_free(&pair);
    }
}
