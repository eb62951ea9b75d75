/* db_error: the error for each SQLSTATE. */

#include "gate/db/db_internal.h"
#include "test/unit.h"

static const struct {
    const char *sqlstate, *message;
    enum err err;
    int status;
    const char *text;
    bool reconnect;
} cases[] = {
    {"FG400", "no", ERR_INVALID, 400, "no", false},
    {"FG401", "no", ERR_DENIED, 401, "no", false},
    {"FG403", "no", ERR_DENIED, 403, "no", false},
    {"FG404", "no", ERR_NOT_FOUND, 404, "no", false},
    {"FG409", "two\nlines\n", ERR_CONFLICT, 409, "two lines", false},
    {"FG410", "no", ERR_NOT_FOUND, 410, "no", false},
    {"FG422", "no", ERR_INVALID, 422, "no", false},
    {"FG429", "no", ERR_RETRY, 429, "no", false},
    {"FG503", "no", ERR_RETRY, 503, "no", false},
    {"FG200", "no", ERR_RETRY, 503, "database: no", false},
    {"FG999", "no", ERR_RETRY, 503, "database: no", false},
    {"FGabc", "no", ERR_RETRY, 503, "database: no", false},
    {"FG4034", "no", ERR_RETRY, 503, "database: no", false},
    {"40P01", "deadlock detected", ERR_RETRY, 503, "database: deadlock detected", false},
    {"40001", "serialization", ERR_RETRY, 503, "database: serialization", false},
    {"57014", "statement timeout", ERR_RETRY, 503, "database: statement timeout", false},
    {"55P03", "lock timeout", ERR_RETRY, 503, "database: lock timeout", false},
    {"42P01", "no table", ERR_RETRY, 503, "database: no table", true},
    {"42883", "no function", ERR_RETRY, 503, "database: no function", true},
    {"26000", "no statement", ERR_RETRY, 503, "database: no statement", true},
    {"25006", "read-only", ERR_RETRY, 503, "database: read-only", true},
    {NULL, NULL, ERR_RETRY, 503, "database: no answer", false},
    {NULL, "", ERR_RETRY, 503, "database: no answer", false},
};

CASE(a_state_says_what_to_do)
{
    EACH_ROW (row, cases) {
        struct errinfo info = {0};
        assert_int_equal(db_error_from(row->sqlstate, row->message, &info), row->err);
        assert_int_equal(info.status, row->status);
        assert_string_equal(info.text, row->text);
        assert_int_equal(db_error_wants_reconnect(row->sqlstate), row->reconnect);
    }
}
