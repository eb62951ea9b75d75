/* db: against this test's own server (fake_database.h). The real server is used in
 * test/bats/gate_database.bats. */
#include "gate/db/fake_database.h"

static void on_answer(void *arg, enum err err, const struct errinfo *info,
                      const struct db_rows *rows)
{
    struct fixture *f = arg;
    assert_int_equal(err == ERR_OK, rows != NULL);
    f->answers++;
    f->cancelled += err == ERR_CANCELLED;
    f->failures += err != ERR_OK;
    f->err = err;
    f->info = *info;
    f->yes = rows && db_true(rows, 0, 0);
}

static void run(struct fixture *f, const struct db_statement *statement)
{
    const char *const params[] = {"podinfo"};
    int before = f->answers;
    db_run(f->db, statement, params, on_answer, f);
    assert_int_equal(f->answers, before); /* never before it has returned */
}

#define ask(f)    run((f), &ask_)
#define change(f) run((f), &change_)
#define list(f)   run((f), &read_)

CASE_WITH(what_is_asked_is_answered, set_up, tear_down)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db) && f->begun == 1 && f->ready_calls == 1);
    assert_true(f->was_ready);
    assert_string_equal(db_trouble(f->db), "");
    ask(f);
    change(f);
    RUN_UNTIL(f, f->answers == 2);
    assert_int_equal(f->err, ERR_OK);
    assert_true(f->yes);
    assert_true(f->upgrades >=
                1); /* all connections of this server learn that there are no tables yet */
}

CASE_WITH(before_it_is_connected_it_refuses, set_up, tear_down)
{
    struct fixture *f = *state;
    ask(f);
    change(f);
    RUN_UNTIL(f, f->answers == 2);
    assert_int_equal(f->err, ERR_RETRY);
    assert_int_equal(f->info.status, 503);
    assert_false(f->yes);
    assert_true(strlen(f->info.text) > 0);
}

CASE_WITH(a_connection_lost_before_the_reply_is_no_yes, set_up, tear_down)
{
    static const enum mood moods[] = {MOOD_BREAK_OFF, MOOD_COMMIT_AND_BREAK_OFF};
    struct fixture *f = *state;
    for (int i = 0; i < 2; i++) {
        RUN_UNTIL(f, db_ready(f->db));
        f->mood = moods[i];
        f->answers = 0;
        for (int n = 0; n < 5; n++)
            ask(f);
        RUN_UNTIL(f, f->answers == 5);
        assert_int_equal(f->err, ERR_RETRY);
        assert_false(f->yes);
        assert_false(db_ready(f->db));
        assert_non_null(strstr(db_trouble(f->db), "database"));
        RUN_UNTIL(f, !f->was_ready);
        f->mood = MOOD_ANSWER;
        RUN_UNTIL(f, db_ready(f->db) && f->was_ready);
        ask(f);
        RUN_UNTIL(f, f->answers == 6);
        assert_int_equal(f->err, ERR_OK);
    }
    assert_int_equal(f->commits, 3);
}

/* Four queries, over all ready connections of the lane: one or two. */
CASE_WITH(questions_of_one_turn_go_together, set_up, tear_down)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    for (int i = 0; i < 4; i++)
        ask(f);
    RUN_UNTIL(f, f->answers == 4);
    assert_int_equal(f->failures, 0);
    assert_true(f->yes);
    assert_in_range(f->commits, 1, 2);
    /* a query that fails takes the later ones with it: their answer is an error, never a yes */
    f->mood = MOOD_FAIL;
    for (int i = 0; i < 4; i++)
        ask(f);
    RUN_UNTIL(f, f->answers == 8);
    assert_int_equal(f->failures, 4);
    assert_int_equal(f->err, ERR_RETRY);
    assert_int_equal(f->info.status, 503);
    assert_string_equal(f->info.text,
                        "database: another question of this moment has failed, ask again");
    /* but no query sent after that */
    f->mood = MOOD_ANSWER;
    ask(f);
    RUN_UNTIL(f, f->answers == 9);
    assert_int_equal(f->failures, 4);
    assert_true(f->yes);
}

CASE_WITH(a_failed_statement_fails_alone, set_up, tear_down)
{
    static const struct {
        enum mood mood;
        enum err err;
        int status;
        const char *text;
    } cases[] = {
        {MOOD_FAIL, ERR_RETRY, 503, "database: no luck"},
        {MOOD_RULE, ERR_CONFLICT, 409, "too late"},
        {MOOD_FAIL_AT_COMMIT, ERR_RETRY, 503, "database: no luck"},
    };
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    EACH_ROW (row, cases) {
        f->mood = row->mood;
        f->answers = 0;
        change(f);
        RUN_UNTIL(f, f->answers == 1);
        assert_int_equal(f->err, row->err);
        assert_int_equal(f->info.status, row->status);
        assert_string_equal(f->info.text, row->text);
        assert_true(db_ready(f->db));
        f->mood = MOOD_ANSWER;
        change(f);
        RUN_UNTIL(f, f->answers == 2);
        assert_int_equal(f->err, ERR_OK);
    }
}

CASE_WITH(tables_that_are_gone_are_prepared_for_again, set_up, tear_down)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    int upgrades = f->upgrades;
    f->mood = MOOD_STALE;
    f->tables = false;
    ask(f);
    RUN_UNTIL(f, f->answers == 1);
    assert_int_equal(f->err, ERR_RETRY);
    assert_non_null(strstr(f->info.text, "no table"));
    RUN_UNTIL(f, db_ready(f->db) && f->upgrades > upgrades);
    ask(f);
    RUN_UNTIL(f, f->answers == 2);
    assert_int_equal(f->err, ERR_OK);
}

CASE_WITH(too_many_at_once_are_refused, set_up, tear_down)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    f->mood = MOOD_SILENT;
    for (int i = 0; i < DB_MAX_IN_FLIGHT; i++)
        ask(f);
    ask(f);
    RUN_UNTIL(f, f->answers == 1);
    assert_non_null(strstr(f->info.text, "slow"));
    /* The end answers all other queries. */
    loop_drain(f->loop);
    RUN_UNTIL(f, f->answers == DB_MAX_IN_FLIGHT + 1);
    assert_int_equal(f->err, ERR_CANCELLED);
    assert_int_equal(f->cancelled, DB_MAX_IN_FLIGHT);
}

CASE_WITH(a_server_that_does_not_answer_is_left, set_up, tear_down)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    f->mood = MOOD_SILENT;
    ask(f);
    RUN_UNTIL(f, f->answers == 1);
    assert_int_equal(f->err, ERR_RETRY);
    assert_non_null(strstr(f->info.text, "no answer"));
    assert_false(db_ready(f->db));
}

CASE_WITH(what_is_asked_does_not_wait_behind_a_change, set_up, tear_down)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    f->mood = MOOD_SILENT_CHANGES;
    change(f);
    for (int i = 1; i <= 20; i++) {
        ask(f);
        RUN_UNTIL(f, f->answers == i);
        assert_int_equal(f->err, ERR_OK);
    }
}

/* Readers must not block checks and changes. */
CASE_WITH(lists_are_few_and_delay_nothing, set_up, tear_down)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    f->mood = MOOD_SILENT_READS;
    for (int n = 0; n < DB_MAX_READS; n++)
        list(f);
    list(f);
    RUN_UNTIL(f, f->answers == 1);
    assert_int_equal(f->err, ERR_RETRY);
    assert_int_equal(f->info.status, 503);
    assert_non_null(strstr(f->info.text, "too many lists"));
    for (int n = 0; n < 100; n++) {
        ask(f);
        change(f);
    }
    RUN_UNTIL(f, f->answers == 201);
    assert_int_equal(f->failures, 1);
    assert_int_equal(f->err, ERR_OK);
}

CASE_WITH(a_shutdown_lets_changes_come_to_their_end, set_up, tear_down)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    f->mood = MOOD_SLOW_CHANGES;
    change(f);
    db_drain(f->db);
    for (int i = 0; i < 20; i++)
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    assert_int_equal(f->answers, 0);
    ask(f); /* belongs to a request that began earlier */
    RUN_UNTIL(f, f->answers == 2);
    assert_int_equal(f->err, ERR_OK);
    RUN_UNTIL(f, !db_ready(f->db));
    ask(f);
    RUN_UNTIL(f, f->answers == 3);
    assert_int_equal(f->err, ERR_CANCELLED);
}

CASE_WITH(a_server_that_may_be_behind_is_refused, set_up, tear_down)
{
    struct fixture *f = *state;
    f->standby = true;
    RUN_UNTIL(f, strstr(db_trouble(f->db), "standby"));
    f->standby = false;
    f->read_only = true;
    RUN_UNTIL(f, strstr(db_trouble(f->db), "read-only"));
    assert_int_equal(f->ready_calls, 0);
    f->read_only = false;
    RUN_UNTIL(f, db_ready(f->db));
}

CASE_WITH(a_server_that_becomes_read_only_is_left, set_up, tear_down)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, db_ready(f->db));
    f->read_only = true;
    for (int i = 0; i < f->n_clients; i++)
        SAY(f->clients[i], "S\0\0\0\x25"
                           "default_transaction_read_only\0on\0");
    RUN_UNTIL(f, strstr(db_trouble(f->db), "read-only"));
}

CASE_WITH(notices_come_and_come_again, set_up, tear_down)
{
    struct fixture *f = *state;
    RUN_UNTIL(f, f->begun == 1);
    for (int round = 1; round <= 2; round++) {
        struct client *listening = NULL;
        for (int i = 0; i < f->n_clients; i++)
            if (f->clients[i]->listens)
                listening = f->clients[i];
        assert_non_null(listening);
        SAY(listening, "A\0\0\0\x0f\0\0\0\1gate\0"
                       "17\0"
                       "A\0\0\0\x10\0\0\0\1other\0"
                       "18\0");
        RUN_UNTIL(f, f->notes == round);
        assert_string_equal(f->note, "17");
        break_off(listening);
        RUN_UNTIL(f, f->begun == round + 1);
    }
    assert_int_equal(f->notes, 2);
}

/* The server breaks the connection at each message in turn: the gate connects again and works. */
CASE(it_recovers_from_a_break_anywhere)
{
    for (int at = 1; at <= 45; at++) {
        static struct fixture fixture;
        struct fixture *f = &fixture;
        begin(f);
        f->break_at = at;
        RUN_UNTIL(f, db_ready(f->db) && f->begun);
        ask(f);
        change(f);
        RUN_UNTIL(f, f->answers == 2);
        RUN_UNTIL(f, db_ready(f->db));
        ask(f);
        change(f);
        RUN_UNTIL(f, f->answers == 4);
        assert_true(f->err == ERR_OK || f->messages == at);
        end(f);
    }
}

/* It can be closed at any moment, and every query is answered once. */
CASE(it_ends_at_any_time)
{
    for (int turns = 0; turns < 60; turns++) {
        static struct fixture fixture;
        struct fixture *f = &fixture;
        int asked = 0;
        begin(f);
        for (int turn = 0; turn < turns; turn++) {
            ask(f);
            change(f);
            asked += 2;
            uv_run(loop_uv(f->loop), UV_RUN_ONCE);
        }
        end(f);
        assert_int_equal(f->answers, asked);
    }
}
