#include "gate/db/db_source.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "gate/db/resolve.h"

enum { MAX_DSN = 16 * 1024 };

struct db_source {
    const char *file;
    char *dsn;
    unsigned generation;
    struct errinfo trouble; /* last logged error of the file */
};

/* Reads the file without surrounding white space, as editors and `echo` leave it. */
static enum err read_dsn(const char *file, char **out, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    char *text = NULL;
    size_t len = 0;
    enum err err = file_read(arena, file, MAX_DSN, &text, &len, ei);
    if (err == ERR_OK && strlen(text) != len)
        err = err_set(ei, ERR_INVALID, "%s: expected text, found a NUL byte", file);
    if (err == ERR_OK) {
        static const char blank[] = " \t\r\n";
        text += strspn(text, blank);
        len = strlen(text);
        while (len > 0 && strchr(blank, text[len - 1]))
            len--;
        text[len] = '\0';
        err = len ? resolve_check(text, ei)
                  : err_set(ei, ERR_INVALID, "it is empty: expected a connection string");
        if (err != ERR_OK)
            err_wrap(ei, err, "%s", file);
    }
    *out = err == ERR_OK ? heap_strdup(text) : NULL;
    arena_free(arena);
    return err;
}

enum err db_source_new(const char *dsn, const char *file, struct db_source **out,
                       struct errinfo *ei)
{
    char *read = NULL;
    enum err err = ERR_OK;
    if (file && *file) {
        err = read_dsn(file, &read, ei);
    } else {
        file = NULL;
        read = heap_strdup(dsn ? dsn : "");
        err = resolve_check(read, ei);
    }
    if (err != ERR_OK) {
        free(read);
        return err;
    }
    *out = heap_alloc(sizeof(**out));
    **out = (struct db_source){.file = file, .dsn = read, .generation = 1};
    return ERR_OK;
}

void db_source_free(struct db_source *source)
{
    if (!source)
        return;
    free(source->dsn);
    free(source);
}

static bool has_password(const char *dsn)
{
    PQconninfoOption *options = PQconninfoParse(dsn, NULL);
    bool has = false;
    for (const PQconninfoOption *o = options; o && o->keyword; o++)
        has = has ||
              ((strcmp(o->keyword, "password") == 0 || strcmp(o->keyword, "sslpassword") == 0) &&
               o->val && *o->val);
    PQconninfoFree(options);
    return has;
}

bool db_source_shows_password(const char *dsn, int argc, char *const *argv)
{
    bool shown = false;
    for (int i = 1; dsn && *dsn && i < argc; i++)
        shown = shown || strstr(argv[i], dsn);
    return shown && has_password(dsn);
}

unsigned db_source_poll(struct db_source *source)
{
    char *dsn = NULL;
    struct errinfo info = {0};
    if (!source->file)
        return source->generation;
    if (read_dsn(source->file, &dsn, &info) != ERR_OK) {
        if (strcmp(info.text, source->trouble.text) != 0)
            log_warn("database_file_unread", NULL, info.text);
        source->trouble = info;
        return source->generation;
    }
    source->trouble = (struct errinfo){0};
    if (strcmp(dsn, source->dsn) == 0) {
        free(dsn);
        return source->generation;
    }
    free(source->dsn);
    source->dsn = dsn;
    source->generation++;
    log_info("database_file_changed", NULL, "the database's connection string has changed");
    return source->generation;
}

const char *db_source_dsn(const struct db_source *source)
{
    return source->dsn;
}

unsigned db_source_generation(const struct db_source *source)
{
    return source->generation;
}
