#include "ctl/lint/lint.h"

#include <stdlib.h>
#include <string.h>

#include "base/guess.h"
#include "ctl/lint/crd_schema.h"
#include "ctl/lint/document.h"
#include "engine/claims.h"
#include "tick/fact.h"

static const char group[] = "flagger.app/";

struct lint *lint_new(struct arena *arena, const struct settings *settings)
{
    struct lint *lint = ARENA_NEW(arena, struct lint);

    *lint = (struct lint){.arena = arena, .settings = settings};
    lint->last = &lint->first;
    lint->last_file = &lint->files;
    return lint;
}

void lint_namespace(struct lint *lint, const char *namespace_)
{
    lint->namespace_ = namespace_;
}

const char *lint_level_name(enum lint_level level)
{
    return level == LINT_ERROR ? "error" : "warning";
}

size_t lint_objects(const struct lint *lint)
{
    return lint->objects;
}

/* --- reading */

static const char *text_at(struct json_object *json, const char *a, const char *b)
{
    const char *text = json_str_at(json, a, b, NULL);

    return text ? text : "";
}

static void add_object(struct lint *lint, const char *file, const struct yaml_marks *marks,
                       struct json_object *parent, size_t index)
{
    struct document *document = ARENA_NEW(lint->arena, struct document);
    struct json_object *json = json_elem(parent, index);
    struct json_object *metadata = json_at(json, "metadata", NULL);

    if (lint->namespace_ && *lint->namespace_ && json_object_is_type(metadata, json_type_object) &&
        !json_at(metadata, "namespace", NULL))
        json_set_str(metadata, "namespace", lint->namespace_);
    *document = (struct document){.lint = lint,
                                  .file = file,
                                  .marks = marks,
                                  .parent = parent,
                                  .index = index,
                                  .json = json,
                                  .api_version = text_at(json, "apiVersion", NULL),
                                  .kind = text_at(json, "kind", NULL),
                                  .name = text_at(json, "metadata", "name"),
                                  .namespace_ = text_at(json, "metadata", "namespace")};
    document->label = arena_printf(lint->arena, "%s %s%s%s", document->kind, document->namespace_,
                                   *document->namespace_ ? "/" : "", document->name);
    *lint->last = document;
    lint->last = &document->next;
}

/* "FILE:LINE:COLUMN: what is wrong", or without line and column for a byte that is no text. */
static void add_syntax(struct lint *lint, const char *file, const char *text)
{
    struct lint_mistake *mistake = ARENA_NEW(lint->arena, struct lint_mistake);
    size_t len = strlen(file);
    char *end;

    *mistake = (struct lint_mistake){
        .next = lint->mistakes, .file = file, .line = 1, .column = 1, .object = "", .path = ""};
    lint->mistakes = mistake;
    lint->count++;
    text += strncmp(text, file, len) == 0 ? len : 0;
    if (*text == ':' && text[1] >= '0' && text[1] <= '9') {
        mistake->line = strtoul(text + 1, &end, 10);
        mistake->column = *end == ':' ? strtoul(end + 1, &end, 10) : 1;
        text = end;
    }
    text += strspn(text, ": ");
    mistake->text = arena_strdup(lint->arena, text);
}

void lint_add(struct lint *lint, const char *file, const char *text, size_t len)
{
    struct json_object *docs;
    struct yaml_marks *marks;
    struct errinfo ei;

    struct file *added = ARENA_NEW(lint->arena, struct file);

    file = arena_strdup(lint->arena, file);
    *added = (struct file){.name = file};
    *lint->last_file = added;
    lint->last_file = &added->next;
    if (yaml_parse_marked(lint->arena, file, text, len, LINT_MAX_BYTES, &docs, &marks, &ei) !=
        ERR_OK) {
        add_syntax(lint, file, ei.text);
        return;
    }
    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *doc = json_elem(docs, i), *items = json_at(doc, "items", NULL);
        if (json_object_is_type(items, json_type_array))
            for (size_t k = 0; k < json_len(items); k++)
                add_object(lint, file, marks, items, k);
        else
            add_object(lint, file, marks, docs, i);
    }
}

/* --- fields required of every object */

static struct json_path top(const char *key)
{
    return json_path_in(&(struct json_path){0}, key, 0);
}

static void check_head(struct document *document)
{
    static const char *const common[] = {"flagger.app/v1beta1", "flagger.app/v1alpha3"};
    static const char *const of_requests[] = {"flagger.app/v1alpha1", "flagger.app/v1alpha1"};
    bool request = strcmp(document->kind, "ReleaseRequest") == 0;
    const char *const *versions = request ? of_requests : common;
    const struct json_path version = top("apiVersion"), metadata = top("metadata");
    const struct json_path name = json_path_in(&metadata, "name", 0);

    if (strcmp(document->api_version, versions[0]) != 0 &&
        strcmp(document->api_version, versions[1]) != 0)
        document_error(document, &version, "expected %s, found \"%s\"", versions[0],
                       document->api_version);
    if (!*document->name && strcmp(document->kind, "Canary") != 0)
        document_error(document, &name, "required: expected a string");
}

/* Something of our group that is no kind of ours; or no object of Kubernetes at all. */
static void check_unknown(struct document *document)
{
    const struct json_path kind = top("kind");
    struct guess guess = {.word = document->kind};

    if (!json_object_is_type(document->json, json_type_object)) {
        document_error(document, &(struct json_path){0},
                       "expected an object with apiVersion and kind");
        return;
    }
    if (!*document->kind)
        document_error(document, &kind, "required: expected a string such as Canary");
    if (!*document->kind || strncmp(document->api_version, group, strlen(group)) != 0)
        return;
    for (size_t i = 0; crd_kinds[i]; i++)
        guess_consider(&guess, crd_kinds[i]);
    document_error(
        document, &kind,
        "expected one of Canary, MetricTemplate, AlertProvider, ReleaseRequest, found \"%s\"%s%s%s",
        document->kind, guess.best ? "; did you mean " : "", guess.best ? guess.best : "",
        guess.best ? "?" : "");
}

/* Two objects of one kind and name: the API server keeps the last. */
static void check_twice(struct document *document)
{
    for (const struct document *d = document->lint->first; d != document; d = d->next)
        if (*d->name && strcmp(d->kind, document->kind) == 0 &&
            strcmp(d->name, document->name) == 0 &&
            strcmp(d->namespace_, document->namespace_) == 0 &&
            strcmp(d->api_version, document->api_version) == 0)
            document_warn(document, "metadata.name", "%s stands in %s already: the last one counts",
                          document->label, d->file);
}

static bool is_ours(const struct document *document)
{
    for (size_t i = 0; crd_kinds[i]; i++)
        if (strcmp(crd_kinds[i], document->kind) == 0)
            return true;
    return false;
}

static void check(struct document *document)
{
    static void (*const checks[])(struct document * document) = {canary_check, template_check,
                                                                 provider_check, request_check};

    if (application_is(document)) {
        document->lint->objects++;
        check_twice(document);
        application_check(document);
        return;
    }
    if (!json_object_is_type(document->json, json_type_object) || !is_ours(document)) {
        check_unknown(document);
        return;
    }
    document->lint->objects++;
    check_head(document);
    check_twice(document);
    for (size_t i = 0; crd_kinds[i]; i++)
        if (strcmp(crd_kinds[i], document->kind) == 0)
            checks[i](document);
}

/* --- two Canaries that claim the same: one of them would be refused */

/* The one that stands first in the files is the older one. */
static struct json_object *as_made(struct lint *lint, const struct document *document,
                                   size_t number)
{
    struct json_object *copy = json_copy(lint->arena, document->json);
    struct json_object *metadata = json_sub(copy, "metadata");

    json_object_object_del(copy, "status");
    json_set_str(metadata, "creationTimestamp", "");
    json_set_str(metadata, "uid", arena_printf(lint->arena, "%08zu", number));
    if (!*document->namespace_)
        json_set_str(metadata, "namespace", "default");
    return copy;
}

static void free_set(void *set)
{
    claim_set_free(set);
}

static void free_claims(void *claims)
{
    claims_free(claims);
}

static void check_claims(struct lint *lint)
{
    struct arena *arena = arena_new();
    struct claims *claims = claims_new();
    size_t number = 0;

    arena_defer(arena, free_claims, claims);
    for (struct document *document = lint->first; document; document = document->next) {
        if (strcmp(document->kind, "Canary") != 0)
            continue;
        struct json_object *canary = as_made(lint, document, number++);
        struct claim_set *set = claim_set_read(canary);
        const char *conflict = claims_check(claims, lint->arena, canary).conflict;
        if (conflict)
            document_sentence(document, conflict);
        claims_add(claims, set);
        arena_defer(arena, free_set, set);
    }
    arena_free(arena);
}

/* --- in the order of the text */

static int by_place(const void *a, const void *b)
{
    const struct lint_mistake *one = *(const struct lint_mistake *const *)a;
    const struct lint_mistake *other = *(const struct lint_mistake *const *)b;

    if (one->line != other->line)
        return one->line < other->line ? -1 : 1;
    if (one->column != other->column)
        return one->column < other->column ? -1 : 1;
    if (one->level != other->level)
        return one->level < other->level ? -1 : 1;
    return strcmp(one->text, other->text);
}

/* Appends the mistakes of one file, in the order of its text. */
static struct lint_mistake **put_file(struct lint *lint, const char *file,
                                      struct lint_mistake **list, struct lint_mistake **last)
{
    size_t count = 0;

    for (struct lint_mistake *mistake = lint->mistakes; mistake; mistake = mistake->next)
        if (mistake->file == file)
            list[count++] = mistake;
    qsort(list, count, sizeof(struct lint_mistake *), by_place);
    for (size_t i = 0; i < count; i++) {
        struct lint_mistake *copy = ARENA_NEW(lint->arena, struct lint_mistake);
        *copy = *list[i];
        copy->next = NULL;
        *last = copy;
        last = &copy->next;
    }
    return last;
}

const struct lint_mistake *lint_run(struct lint *lint)
{
    struct lint_mistake *first = NULL, **last = &first;

    for (struct document *document = lint->first; document; document = document->next)
        check(document);
    check_claims(lint);
    struct lint_mistake **list = arena_array(lint->arena, (size_t)lint->count, sizeof(void *));
    for (const struct file *file = lint->files; file; file = file->next)
        last = put_file(lint, file->name, list, last);
    return first;
}

struct question {
    const struct lint *lint;
    facts_question *ask;
    void (*found)(void *arg, const char *sentence);
    void *arg;
};

/* Their namespace is the Canary's where they say none, and then so is any. */
static void answer(void *arg, struct tick *tick, const struct need *need)
{
    const struct question *question = arg;
    const struct lint *lint = question->lint;
    const struct document *document =
        need->kind == NEED_OBJECT && need->name
            ? document_find(lint, need->resource->group, need->resource->kind,
                            need->namespace_ ? need->namespace_ : "", need->name)
            : NULL;

    if (need->kind == NEED_OBJECT)
        fact_object(tick, need, document ? document_object(lint, document) : NULL);
}

static enum rule_result ask(void *arg, struct tick *tick)
{
    const struct question *question = arg;

    return question->ask(tick, question->found, question->arg);
}

void facts_ask(const struct lint *lint, struct tick *tick, facts_question *question,
               void (*found)(void *arg, const char *sentence), void *arg)
{
    struct question all = {.lint = lint, .ask = question, .found = found, .arg = arg};

    (void)tick_solve(tick, ask, answer, &all);
}
