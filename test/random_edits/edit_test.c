#include "random_edits/edit.h"
#include "test/unit.h"

#include <string.h>

#include "random_edits/pick.h"

static int set_up(void **state)
{
    static struct arena *arena; /* the table's, as long as the program */

    if (!arena)
        edits_read(arena = arena_new());
    return 0;
}

UNIT_FIXTURE(.set_up = set_up);

CASE(test_a_line_is_read_as_it_is_written)
{
    static const char *const rows[] = {"steps mid+300 push v17", "controller now+0 kill",
                                       "config idle+20 config-delete",
                                       "blue late+5 unready-target"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct line line;
        assert_int_equal(line_parse(arena, rows[i], &line, NULL), ERR_OK);
        assert_string_equal(line_text(arena, &line), rows[i]);
    }
}

CASE(test_a_line_that_makes_no_sense_is_refused)
{
    static const char *const rows[] = {"",
                                       "nobody now+0 suspend",
                                       "steps soon+0 suspend",
                                       "steps now suspend",
                                       "steps now+x suspend",
                                       "steps now+0 dance",
                                       "steps now+0 push",
                                       "steps now+0 suspend v1"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct line line;
        assert_int_equal(line_parse(arena, rows[i], &line, NULL), ERR_INVALID);
    }
}

/* A mistake in a text would end the program. */
CASE(test_every_edit_makes_its_requests)
{
    for (const struct edit *edit = edits; edit->name; edit++) {
        struct act acts[ACTS_MAX];
        struct line line = {.app = app_named("config"), .edit = edit, .version = "v2"};
        size_t count = edit_acts(arena, &line, "http://127.0.0.1:1/hook", acts);
        assert_int_equal(count == 0, edit->kind == EDIT_HOOKS || edit->kind == EDIT_KILL ||
                                         edit->kind == EDIT_UNREADY);
        for (size_t i = 0; i < count; i++)
            assert_true(acts[i].verb == KUBE_DELETE || acts[i].body);
    }
}

CASE(test_the_same_seed_gives_the_same_edits)
{
    for (const struct app *app = apps; app->name; app++) {
        struct pick *one = pick_new(arena, app, 7, NULL), *same = pick_new(arena, app, 7, NULL);
        struct pick *other = pick_new(arena, app, 8, NULL);
        int different = 0;
        for (int i = 0; i < 200; i++) {
            struct line a = pick_next(one, arena), b = pick_next(same, arena);
            struct line c = pick_next(other, arena);
            assert_string_equal(line_text(arena, &a), line_text(arena, &b));
            different += strcmp(line_text(arena, &a), line_text(arena, &c)) != 0;
        }
        assert_true(different > 100);
    }
}

CASE(test_what_is_left_out_is_never_chosen)
{
    static const char *const without[] = {"push", "restore", NULL};
    struct pick *pick = pick_new(arena, &apps[0], 7, without);
    for (int i = 0; i < 500; i++) {
        struct line line = pick_next(pick, arena);
        assert_string_not_equal(line.edit->name, "push");
        assert_string_not_equal(line.edit->name, "restore");
    }
}
