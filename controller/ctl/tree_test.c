#include "ctl/tree.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit.h"

static const char *print(struct ctl *ctl)
{
    char *text = NULL;
    size_t len = 0;

    ctl->out = open_memstream(&text, &len);
    struct tree *tree = tree_new(ctl, "podinfo");
    tree_add(tree, "phase", PRINT_YELLOW, "Waiting");
    struct tree *below = tree_add(tree, "conditions", PRINT_PLAIN, "");
    tree_add(below, "Approved", PRINT_RED, "Halt advancement waiting for\napproval");
    tree_add(tree, NULL, PRINT_PLAIN, "end\033[1m");
    tree_print(tree);
    fclose(ctl->out);
    const char *copy = arena_strdup(ctl->arena, text);
    free(text);
    return copy;
}

CASE(it_has_guides_and_columns)
{
    struct ctl ctl = {.arena = arena};

    assert_string_equal(print(&ctl), "podinfo\n"
                                     "├─ phase       Waiting\n"
                                     "├─ conditions\n"
                                     "│  └─ Approved  Halt advancement waiting for approval\n"
                                     "└─             end?[1m\n");
}

CASE(lines_are_wrapped_behind_their_guides)
{
    struct ctl ctl = {.arena = arena, .width = 36};

    assert_string_equal(print(&ctl), "podinfo\n"
                                     "├─ phase       Waiting\n"
                                     "├─ conditions\n"
                                     "│  └─ Approved  Halt advancement\n"
                                     "│               waiting for approval\n"
                                     "└─             end?[1m\n");
}

CASE(colours_begin_and_end_on_each_line)
{
    struct ctl ctl = {.arena = arena, .width = 36, .color = true};

    assert_non_null(strstr(print(&ctl), "Approved  \033[31mHalt advancement\033[0m\n"
                                        "│               \033[31mwaiting for approval\033[0m\n"));
}
