#include "base/guess.h"

#include <ctype.h>
#include <string.h>

enum { WORD_MAX = 64, FAR = WORD_MAX };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Ignores case and the difference between '_' and '-'. */
static int plain(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

/* The next row of the table of distances between prefixes; `before` is the row above `above`. */
static void next_row(const char *a, int i, const char *b, int n, const int *before,
                     const int *above, int *row)
{
    row[0] = i;
    for (int j = 1; j <= n; j++) {
        int change = plain(a[i - 1]) != plain(b[j - 1]);
        row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + change);
        if (i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) &&
            plain(a[i - 2]) == plain(b[j - 1]))
            row[j] = least(row[j], before[j - 2] + 1);
    }
}

int guess_distance(const char *a, const char *b)
{
    int rows[3][WORD_MAX + 1];
    size_t m = strlen(a), n = strlen(b);

    if (m > WORD_MAX || n > WORD_MAX)
        return FAR;
    for (int j = 0; j <= (int)n; j++)
        rows[0][j] = j;
    for (int i = 1; i <= (int)m; i++)
        next_row(a, i, b, (int)n, rows[(i + 1) % 3], rows[(i + 2) % 3], rows[i % 3]);
    return rows[m % 3][n];
}

/* Up to a third of a word may be wrong; in a short word, one character. */
static bool is_near(const char *word, int distance)
{
    size_t len = strlen(word);

    return distance <= (len < 2 ? 0 : len < 6 ? 1 : len < 9 ? 2 : 3);
}

void guess_consider(struct guess *guess, const char *known)
{
    int distance = guess_distance(guess->word, known);

    if (!is_near(guess->word, distance) || (guess->best && distance >= guess->distance))
        return;
    guess->best = known;
    guess->distance = distance;
}
