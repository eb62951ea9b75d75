#include "play.h"
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>

int play_line(struct json_object *at)
{
    bool has_line = json_object_is_type(at, json_type_object) ||
                    json_object_is_type(at, json_type_array) ||
                    json_object_is_type(at, json_type_string);

    return has_line ? (int)(intptr_t)json_object_get_userdata(at) : 0;
}

void play_tell_where(struct play *play)
{
    print_error("%s:%d: in case \"%s\"\n", play->path, play_line(play->step),
                json_str_at(play->doc, "case", NULL));
    if (play->row)
        print_error("with the row at line %d: %s\n", play_line(play->row),
                    json_text(play->arena, play->row));
}

void play_fail(struct play *play, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print_error("%s\n", arena_vprintf(play->arena, fmt, args));
    va_end(args);
    _fail(play->path, play_line(play->step));
    abort();
}
