/*
 * Plays cases of a release that are data: files of YAML in cases/, a document each (README.md says
 * what may stand in one). A case is played in a world of its own; what fails names file, line and
 * step.
 */
#ifndef GOLDEN_PLAY_H
#define GOLDEN_PLAY_H

#include "world.h"

/* One case of a file; it lives as long as the file's arena. */
struct play {
    struct arena *arena; /* of the row that is played, or of the file before */
    const char *path;    /* of the file */
    struct json_object *doc;
    struct json_object *head;    /* with named steps and values; NULL: the file has none */
    struct json_object *row;     /* of the case's table; NULL: it has none */
    struct json_object *columns; /* of all rows, with the values of this one */
    struct json_object *vars;    /* what $name stands for as well: with what a definition is done */
    struct json_object *kept;    /* the same, by the word keep */
    struct world *world;
    const char *plan;         /* of the last tick */
    const char *said;         /* events and alerts of all ticks as plans print them, a line each */
    int asks;                 /* ticks in which a webhook was asked */
    struct json_object *step; /* that is played */
};

/* The documents of a file, of which json_copy() makes no copies, because of the lines in them:
 * play_value() does. Where the file cannot be read, tells why and ends the program. */
struct json_object *play_load(struct arena *arena, const char *path);
/* The line in the file of what play_load() has read, a map, list or text; 0 for anything else. */
int play_line(struct json_object *at);
/* A document that is no case: what its file's cases share. */
bool play_is_head(struct json_object *doc);
/* Ends the program unless every case, step and expectation of the file has known keys only. */
void play_check(const char *path, struct json_object *docs);
/* Tells what is wrong at this place of a file, and ends the program. */
_Noreturn void play_refuse(const char *path, struct json_object *at, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Prints which step of which case is played. */
void play_tell_where(struct play *play);
/* Fails the case at the step that is played. */
_Noreturn void play_fail(struct play *play, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A copy in which variables are replaced: "$name" or "$name.key" by a value of any type, "${name}"
 * inside of a text or of a key by a text. */
struct json_object *play_value(struct play *play, struct json_object *given);
/* JSON with single quotes, as the world wants it; NULL for null. */
const char *play_quoted(struct play *play, struct json_object *value);
/* "target/podinfo" is what the Canary releases, of whatever kind it is; other keys stay. */
const char *play_key(struct play *play, const char *key);

/* A step has one word, and beside it some of when, by, with, within, to and row. */
bool play_is_word(const char *key);
void play_steps(struct play *play, struct json_object *steps);

/* What was said is what Flagger says, but for lines with "+ " (ours) and "- " (Flagger's), of which
 * `row` of the table of deviations says why; NULL: no line deviates. Fails the case otherwise. */
void play_parity(struct play *play, const char *text, const char *row);

/* What of `want`, a map of subjects, does not hold; NULL: all does. Variables are replaced. */
const char *play_differs(struct play *play, struct json_object *want);
bool play_is_subject(const char *key);
/* What a subject is now; `want` says of what there are many, such as objects, which are of interest.
 */
struct json_object *play_subject(struct play *play, const char *name, struct json_object *want);
/* What a subject is now, or what stands in it at a path: "about", ["status", "phase"]. */
struct json_object *play_look(struct play *play, struct json_object *subject);

#endif
