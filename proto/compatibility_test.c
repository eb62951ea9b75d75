/* COMPATIBILITY.md is for readers who consider switching: every row has a difference, an
 * alternative, and a reference. */
#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "test/unit.h"

static const char path[] = "proto/COMPATIBILITY.md";

/* The cells of "| a | b | c |", trimmed at the front only; returns how many there are. */
static size_t split_row(char *line, char *cells[], size_t max)
{
    size_t n = 0;
    char *cell;
    line++;
    while ((cell = strsep(&line, "|")) != NULL && line != NULL) {
        if (n < max)
            cells[n] = cell + strspn(cell, " ");
        n++;
    }
    return n;
}

static void check_row(size_t number, char *line)
{
    char *cells[3] = {NULL};
    if (split_row(line, cells, 3) != 3)
        fail_msg("%s:%zu: a row has three cells", path, number);
    for (size_t i = 0; i < 2; i++) {
        size_t len = strlen(cells[i]);
        if (len < 4 || strcmp(cells[i] + len - 2, ". ") != 0)
            fail_msg("%s:%zu: cell %zu is no sentence: %s", path, number, i + 1, cells[i]);
    }
}

CASE(test_rows)
{
    char *text;
    struct errinfo ei;
    if (file_read(arena, path, 1024 * 1024, &text, NULL, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    size_t rows = 0, number = 0;
    bool in_table = false;
    char *line;
    while ((line = strsep(&text, "\n")) != NULL) {
        number++;
        if (line[0] != '|') {
            in_table = false;
        } else if (!in_table) {
            if (strcmp(line, "| what Flagger does | what we do | why |") != 0)
                fail_msg("%s:%zu: another head than the other tables", path, number);
            in_table = true;
        } else if (strncmp(line, "|---", 4) != 0) {
            check_row(number, line);
            rows++;
        }
    }
    assert_true(rows >= 40);
}
