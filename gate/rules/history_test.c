/* The chain of hashes: every changed byte is detected and located. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gate/rules/history.h"
#include "test/unit.h"

enum { ENTRIES = 5, ENTRY_TEXT = 64 };

struct row {
    int64_t seq;
    char entry[ENTRY_TEXT];
    char hash[CHAIN_HASH_TEXT];
};

/* A history of five entries, with room for one more, and its head. */
struct history {
    struct row rows[ENTRIES + 1];
    int count;
    int64_t head_seq;
    char head_hash[CHAIN_HASH_TEXT];
    bool has_head;
};

static struct history make_history(const char *entry)
{
    struct history history = {.count = ENTRIES, .head_seq = ENTRIES, .has_head = true};
    const char *previous = chain_start;

    for (int i = 0; i < ENTRIES; i++) {
        struct row *row = &history.rows[i];
        row->seq = i + 1;
        snprintf(row->entry, sizeof(row->entry), "{\"seq\": %d, \"name\": \"%s\"}", i + 1, entry);
        chain_hash(previous, row->entry, strlen(row->entry), row->hash);
        previous = row->hash;
    }
    memcpy(history.head_hash, previous, CHAIN_HASH_TEXT);
    return history;
}

/* The sentences, one per line. */
static const char *walk(const struct history *history)
{
    static char text[8192];
    FILE *out = fmemopen(text, sizeof(text), "w");
    struct findings findings = {.out = out};
    struct chain chain;
    char where[32];

    memset(text, 0, sizeof(text));
    chain_init(&chain);
    for (int i = 0; i < history->count; i++) {
        const struct row *row = &history->rows[i];
        snprintf(where, sizeof(where), "row %" PRId64, row->seq);
        chain_row(&chain, &findings, row->seq, row->entry, strlen(row->entry), row->hash, where);
    }
    chain_end(&chain, &findings, history->head_seq, history->has_head ? history->head_hash : NULL);
    findings_end(&findings);
    fclose(out);
    return text;
}

/* Made with another program. */
CASE(test_hashes)
{
    static const char one[] = "{\"seq\": 1}", two[] = "{\"seq\": 2, \"name\": \"gr\xc3\xbcn\"}";
    char hash[CHAIN_HASH_TEXT];

    chain_hash(chain_start, one, strlen(one), hash);
    assert_string_equal(hash, "8fbcae6f633234b0ac311ac18c7d08c6e1d7443ddd617b55968c9967b294f8c1");
    chain_hash(hash, two, strlen(two), hash);
    assert_string_equal(hash, "b3748d833897c623d592e69d558f2201f2e55f03ef564702f914face7854038b");
}

CASE(test_a_whole_history)
{
    struct history history = make_history("podinfo");

    assert_string_equal(walk(&history), "");
    history = (struct history){.has_head = true};
    memcpy(history.head_hash, chain_start, sizeof(chain_start));
    assert_string_equal(walk(&history), "");
}

static void expect_changed(const struct history *history, int row, const char *what)
{
    char expected[256];

    snprintf(expected, sizeof(expected), "row %d: %s\n", row + 1, what);
    assert_string_equal(walk(history), expected);
}

CASE(test_every_byte)
{
    struct history whole = make_history("podinfo");

    for (int i = 0; i < ENTRIES; i++) {
        for (size_t k = 0; k < strlen(whole.rows[i].entry); k++) {
            struct history history = whole;
            history.rows[i].entry[k] ^= 1;
            expect_changed(&history, i,
                           "its text or its place was changed: its hash does not follow from them");
        }
        for (size_t k = 0; k < CHAIN_HASH; k++) {
            struct history history = whole;
            history.rows[i].hash[k] ^= 1;
            expect_changed(&history, i, "its hash was changed");
        }
    }
}

CASE(test_a_row_that_is_missing)
{
    struct history whole = make_history("podinfo");

    for (int i = 0; i < ENTRIES; i++) {
        struct history history = whole;
        char expected[64];
        memmove(&history.rows[i], &history.rows[i + 1],
                (size_t)(ENTRIES - i) * sizeof(history.rows[0]));
        history.count--;
        if (i < ENTRIES - 1)
            snprintf(expected, sizeof(expected), "entry %d: missing\n", i + 1);
        else
            snprintf(expected, sizeof(expected), "entry 5: the end was cut off\n");
        assert_string_equal(walk(&history), expected);
    }
}

CASE(test_two_entries_that_are_swapped)
{
    struct history whole = make_history("podinfo");

    for (int i = 0; i < ENTRIES; i++) {
        for (int k = i + 1; k < ENTRIES; k++) {
            struct history history = whole;
            struct row row = history.rows[i];
            char expected[32];
            history.rows[i] = history.rows[k];
            history.rows[k] = row;
            history.rows[i].seq = i + 1;
            history.rows[k].seq = k + 1;
            snprintf(expected, sizeof(expected), "row %d: ", i + 1);
            assert_non_null(strstr(walk(&history), expected));
        }
    }
}

CASE(test_rows_that_are_put_in)
{
    struct history history = make_history("podinfo");
    struct row *more = &history.rows[ENTRIES];

    *more = (struct row){.seq = 6, .entry = "{\"seq\": 6}"};
    chain_hash(history.rows[4].hash, more->entry, strlen(more->entry), more->hash);
    history.count++;
    assert_string_equal(walk(&history),
                        "entry 6: added, or the end was set back: flagger_gate_head says that the "
                        "history ends with entry 5\n");
    more->seq = 9;
    history.head_seq = 9;
    memcpy(history.head_hash, more->hash, sizeof(more->hash));
    assert_string_equal(walk(&history), "entries 6 to 8: missing\n");
    /* before the first */
    history = make_history("podinfo");
    memmove(&history.rows[1], &history.rows[0], ENTRIES * sizeof(history.rows[0]));
    history.rows[0].seq = 0;
    history.count++;
    assert_string_equal(walk(&history), "row 0: no entry has such a number\n");
}

CASE(test_the_head)
{
    struct history history = make_history("podinfo");

    history.head_hash[7] ^= 1;
    assert_string_equal(walk(&history), "entry 5: flagger_gate_head has another hash for the end "
                                        "of the history\n");
    history.has_head = false;
    assert_string_equal(walk(&history),
                        "flagger_gate_head: it is empty; expected the end of the history\n");
    history = make_history("podinfo");
    history.head_seq = 7;
    assert_string_equal(walk(&history), "entries 6 to 7: the end was cut off\n");
}

CASE(test_findings_are_bounded_and_plain)
{
    char text[4096] = "";
    FILE *out = fmemopen(text, sizeof(text), "w");
    struct findings findings = {.out = out};
    int lines = 0;

    for (int i = 0; i < 25; i++)
        findings_add(&findings, "row %d \033[2J\n", i);
    findings_end(&findings);
    fclose(out);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, FINDINGS_SHOWN + 1);
    assert_non_null(strstr(text, "row 19 ?[2J?\nand 5 more\n"));
    assert_int_equal(findings.count, 25);
}
