#include "ctl/columns.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit.h"

static const char *print(struct ctl *ctl, const char *indent)
{
    static const struct columns_head heads[] = {{"NAME", 0}, {"WHY", 1}, {"AGE", 2}, {0}};
    char *text = NULL;
    size_t len = 0;

    ctl->out = open_memstream(&text, &len);
    struct columns *columns = columns_new(ctl, heads);
    columns_put(columns, PRINT_BOLD, "podinfo");
    columns_put(columns, PRINT_RED, "WaitingForPromotion");
    columns_put(columns, PRINT_DIM, "5m");
    columns_put(columns, PRINT_BOLD, "a");
    columns_put(columns, PRINT_RED, NULL);
    columns_put(columns, PRINT_DIM, "é\033[1m\n");
    columns_print(columns, indent);
    fclose(ctl->out);
    const char *copy = arena_strdup(ctl->arena, text);
    free(text);
    return copy;
}

CASE(columns_are_as_wide_as_they_need)
{
    struct ctl ctl = {.arena = arena};

    assert_string_equal(print(&ctl, NULL), "NAME     WHY                  AGE\n"
                                           "podinfo  WaitingForPromotion  5m\n"
                                           "a                             é?[1m\n");
    assert_string_equal(print(&ctl, "> "), "> podinfo  WaitingForPromotion  5m\n"
                                           "> a                             é?[1m\n");
}

CASE(a_narrow_terminal_gets_fewer_and_then_shorter_ones)
{
    struct ctl ctl = {.arena = arena, .width = 30};

    assert_string_equal(print(&ctl, NULL), "NAME     WHY\n"
                                           "podinfo  WaitingForPromotion\n"
                                           "a\n");
    ctl.width = 20;
    assert_string_equal(print(&ctl, NULL), "NAME\npodinfo\na\n");
}

CASE(colours_do_not_count)
{
    struct ctl ctl = {.arena = arena, .width = 40, .color = true};

    assert_non_null(
        strstr(print(&ctl, NULL), "\033[1mpodinfo\033[0m  \033[31mWaitingForPromotion\033[0m  "));
}
