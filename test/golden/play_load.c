#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "base/yaml.h"
#include "play.h"

enum { FILE_MAX = 1024 * 1024 };

void play_refuse(const char *path, struct json_object *at, const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "%s:%d: ", path, play_line(at));
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "\n");
    exit(2);
}

/* Notes in each map, list and text the line at which it begins: YAML's nodes and JSON's are walked
 * side by side. */
static void note_lines(yaml_document_t *doc, int number, struct json_object *at)
{
    yaml_node_t *node = yaml_document_get_node(doc, number);

    if (json_object_is_type(at, json_type_object) && node->type == YAML_MAPPING_NODE) {
        yaml_node_pair_t *pair = node->data.mapping.pairs.start;
        for (; pair < node->data.mapping.pairs.top; pair++) {
            yaml_node_t *key = yaml_document_get_node(doc, pair->key);
            struct json_object *value = NULL;
            json_object_object_get_ex(at, (const char *)key->data.scalar.value, &value);
            note_lines(doc, pair->value, value);
        }
    } else if (json_object_is_type(at, json_type_array) && node->type == YAML_SEQUENCE_NODE) {
        for (size_t i = 0; i < json_len(at); i++)
            note_lines(doc, node->data.sequence.items.start[i], json_elem(at, i));
    } else if (!json_object_is_type(at, json_type_string)) {
        return;
    }
    json_object_set_userdata(at, (void *)(intptr_t)(node->start_mark.line + 1), NULL);
}

struct json_object *play_load(struct arena *arena, const char *path)
{
    struct json_object *docs;
    struct errinfo ei;
    yaml_parser_t parser;
    char *text;
    size_t len;

    if (file_read(arena, path, FILE_MAX, &text, &len, &ei) != ERR_OK ||
        yaml_parse(arena, path, text, len, FILE_MAX, &docs, &ei) != ERR_OK)
        play_refuse(path, NULL, "%s", ei.text);
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    for (size_t i = 0; i < json_len(docs); i++) {
        yaml_document_t doc;
        if (!yaml_parser_load(&parser, &doc) || !yaml_document_get_root_node(&doc))
            play_refuse(path, NULL, "document %zu cannot be read", i);
        note_lines(&doc, 1, json_elem(docs, i));
        yaml_document_delete(&doc);
    }
    yaml_parser_delete(&parser);
    play_check(path, docs);
    return docs;
}

static bool is_one_of(const char *key, const char *const *names)
{
    for (; *names; names++) {
        if (strcmp(key, *names) == 0)
            return true;
    }
    return false;
}

static void check_keys(const char *path, struct json_object *map, const char *const *known)
{
    if (!json_object_is_type(map, json_type_object))
        play_refuse(path, map, "expected a map");
    json_object_object_foreach(map, key, value)
    {
        (void)value;
        if (!is_one_of(key, known))
            play_refuse(path, map, "\"%s\" is not known here", key);
    }
}

static void check_subjects(const char *path, struct json_object *step, const char *word)
{
    struct json_object *subjects = json_at(step, word, NULL);

    if (!subjects || json_object_is_type(subjects, json_type_string)) /* a variable */
        return;
    if (!json_object_is_type(subjects, json_type_object))
        play_refuse(path, step, "%s: expected a map of subjects", word);
    json_object_object_foreach(subjects, key, value)
    {
        (void)value;
        if (!play_is_subject(key))
            play_refuse(path, step, "%s: \"%s\" cannot be expected", word, key);
    }
}

static void check_steps(const char *path, struct json_object *steps);

static void check_step(const char *path, struct json_object *steps, struct json_object *step)
{
    static const char *const beside[] = {"when",   "unless", "by",  "with",
                                         "within", "to",     "row", NULL};
    int words = 0;

    if (json_object_is_type(step, json_type_string)) {
        if (!play_is_word(json_object_get_string(step)))
            play_refuse(path, step, "no word \"%s\"", json_object_get_string(step));
        return;
    }
    if (!json_object_is_type(step, json_type_object))
        play_refuse(path, steps, "a step is a word, or a map with one");
    json_object_object_foreach(step, key, value)
    {
        (void)value;
        if (!play_is_word(key) && !is_one_of(key, beside))
            play_refuse(path, step, "no word \"%s\"", key);
        words += play_is_word(key);
    }
    if (words != 1)
        play_refuse(path, step, "a step has one word, this one has %d", words);
    check_subjects(path, step, "expect");
    check_subjects(path, step, "until");
    check_steps(path, json_at(step, "by", NULL));
}

static void check_steps(const char *path, struct json_object *steps)
{
    for (size_t i = 0; i < json_len(steps); i++)
        check_step(path, steps, json_elem(steps, i));
}

static void check_defines(const char *path, struct json_object *defines)
{
    if (!defines)
        return;
    json_object_object_foreach(defines, name, steps)
    {
        (void)name;
        check_steps(path, steps);
    }
}

bool play_is_head(struct json_object *doc)
{
    return json_at(doc, "define", NULL) || json_at(doc, "values", NULL);
}

void play_check(const char *path, struct json_object *docs)
{
    static const char *const of_case[] = {"case", "each", "spec", "canary", "steps", NULL};
    static const char *const of_head[] = {"define", "values", NULL};

    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *doc = json_elem(docs, i);
        if (play_is_head(doc)) {
            check_keys(path, doc, of_head);
            check_defines(path, json_at(doc, "define", NULL));
            continue;
        }
        check_keys(path, doc, of_case);
        if (!json_str_at(doc, "case", NULL) || json_len(json_at(doc, "steps", NULL)) == 0)
            play_refuse(path, doc, "a case has a name and steps");
        check_steps(path, json_at(doc, "steps", NULL));
    }
}
