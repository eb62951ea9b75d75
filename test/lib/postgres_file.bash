# A private PostgreSQL for all tests of a bats file: to be loaded at its top. After each test: pg_empty.

load ../lib/postgres

setup_file() {
    pg_begin
    export PG_DIR PG_DSN
}

teardown_file() { pg_end; }

pg_empty() { pg_sql 'DROP SCHEMA public CASCADE; CREATE SCHEMA public' >/dev/null 2>&1; }
