#include "ctl/lint/lint.h"

#include <stdlib.h>
#include <string.h>

#include "base/guess.h"
#include "ctl/lint/document.h"
#include "engine/claims.h"
#include "kube/resource.h"
#include "tick/fact.h"

static const char group[] = "flagger.app/";

struct lint *lint_new(struct arena *arena, const struct settings *settings)
{
    struct lint *lint = ARENA_NEW(arena, struct lint);

    *lint = (struct lint){.arena = arena, .settings = settings};
    lint->last = &lint->first;
    lint->last_file = &lint->files;
    lint->last_skipped = &lint->skipped;
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

const struct lint_skipped *lint_skipped(const struct lint *lint)
{
    return lint->skipped;
}

/* --- reading */

static const char *text_at(struct json_object *json, const char *a, const char *b)
{
    const char *text = json_str_at(json, a, b, NULL);

    return text ? text : "";
}

/* False for a values file, a list with a JSON patch, and anything else without apiVersion and
 * kind. */
static bool is_object(struct json_object *json)
{
    return json_at(json, "apiVersion", NULL) || json_at(json, "kind", NULL);
}

static void skip(struct lint *lint, const char *file, const char *why)
{
    struct lint_skipped *skipped = ARENA_NEW(lint->arena, struct lint_skipped);

    *skipped = (struct lint_skipped){.file = file, .why = why};
    *lint->last_skipped = skipped;
    lint->last_skipped = &skipped->next;
}

static void add_object(struct lint *lint, const char *file, const struct yaml_marks *marks,
                       struct json_object *parent, size_t index)
{
    struct document *document = ARENA_NEW(lint->arena, struct document);
    struct json_object *json = json_elem(parent, index);
    struct json_object *metadata = json_at(json, "metadata", NULL);

    if (!is_object(json)) {
        skip(lint, file, "a document without apiVersion and kind is no object");
        return;
    }

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

/* "FILE:LINE:COLUMN: what is wrong", or without line and column if the file is not text. */
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

/* Queries of MetricTemplates also have braces, but with other words in them. */
size_t lint_template_line(const char *text, bool broken)
{
    static const char *const values[] = {".Values", ".Release", ".Chart", NULL};
    static const char *const control[] = {"include ", "if ",  "range ", "with ",   "end ", "end}",
                                          "define ",  "tpl ", "$",      "toYaml ", "/*",   NULL};
    size_t line = 1;

    for (const char *at = text; *at; at++) {
        line += *at == '\n';
        if (at[0] != '{' || at[1] != '{')
            continue;
        const char *word = at + 2 + (at[2] == '-');
        word += strspn(word, " ");
        for (const char *const *list = values; list;
             list = broken && list == values ? control : NULL)
            for (const char *const *one = list; *one; one++)
                if (strncmp(word, *one, strlen(*one)) == 0)
                    return line;
    }
    return 0;
}

/* True if the file is a template, which is left out; it is a mistake if the file itself was
 * named. */
static bool is_template(struct lint *lint, const char *file, const char *text, bool broken,
                        bool found)
{
    static const char why[] =
        "is a template that is not rendered; lint what `helm template` prints";
    size_t line = lint_template_line(text, broken);

    if (line == 0)
        return false;
    if (found)
        skip(lint, file, why);
    else
        add_syntax(lint, file, arena_printf(lint->arena, "%s:%zu:1: it %s", file, line, why));
    return true;
}

static void add_documents(struct lint *lint, const char *file, const struct yaml_marks *marks,
                          struct json_object *docs)
{
    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *doc = json_elem(docs, i), *items = json_at(doc, "items", NULL);
        if (json_object_is_type(items, json_type_array))
            for (size_t k = 0; k < json_len(items); k++)
                add_object(lint, file, marks, items, k);
        else
            add_object(lint, file, marks, docs, i);
    }
}

void lint_add(struct lint *lint, const char *file, const char *text, size_t len, bool found)
{
    struct json_object *docs;
    struct yaml_marks *marks;
    struct errinfo ei;

    struct file *added = ARENA_NEW(lint->arena, struct file);

    file = arena_strdup(lint->arena, file);
    *added = (struct file){.name = file};
    *lint->last_file = added;
    lint->last_file = &added->next;
    enum err err =
        yaml_parse_marked(lint->arena, file, text, len, LINT_MAX_BYTES, &docs, &marks, &ei);
    if (is_template(lint, file, text, err != ERR_OK, found))
        return;
    if (err != ERR_OK)
        add_syntax(lint, file, ei.text);
    else
        add_documents(lint, file, marks, docs);
}

/* --- patches of a kustomization, which are parts of objects */

/* Length of the file's folder, including its '/'; 0 for the current one. */
static size_t folder_len(const char *file)
{
    const char *slash = strrchr(file, '/');

    return slash ? (size_t)(slash - file) + 1 : 0;
}

static bool is_same_folder(const char *one, const char *other)
{
    size_t len = folder_len(one);

    return len == folder_len(other) && strncmp(one, other, len) == 0;
}

/* "./a.yaml" is the same as "a.yaml". */
static bool is_path(const char *file, size_t folder, const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    return strcmp(file + folder, path) == 0;
}

static void skip_patch(struct lint *lint, const struct document *kustomization, const char *path)
{
    size_t folder = folder_len(kustomization->file);

    for (struct document **at = &lint->first; path && *at;) {
        struct document *d = *at;
        if (strncmp(d->file, kustomization->file, folder) != 0 || !is_path(d->file, folder, path)) {
            at = &d->next;
            continue;
        }
        skip(lint, d->file, "a patch of a kustomization is a part of an object");
        *at = d->next;
    }
}

static void skip_patches(struct lint *lint)
{
    static const char *const lists[] = {"patches", "patchesStrategicMerge", "patchesJson6902"};
    static const char group_of_kustomize[] = "kustomize.config.k8s.io/";

    for (struct document *d = lint->first; d; d = d->next) {
        if (strcmp(d->kind, "Kustomization") != 0 ||
            strncmp(d->api_version, group_of_kustomize, strlen(group_of_kustomize)) != 0)
            continue;
        for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
            struct json_object *list = json_at(d->json, lists[i], NULL);
            for (size_t k = 0; k < json_len(list); k++) {
                struct json_object *one = json_elem(list, k);
                skip_patch(lint, d,
                           json_object_is_type(one, json_type_string)
                               ? json_object_get_string(one)
                               : json_str_at(one, "path", NULL));
            }
        }
    }
}

/* --- fields required of every object */

static struct json_path top(const char *key)
{
    return json_path_in(&(struct json_path){0}, key, 0);
}

/* Labels and annotations are strings: a number or true without quotes is rejected. */
static void check_texts(struct document *document, const char *field)
{
    const struct json_path metadata = top("metadata"), map = json_path_in(&metadata, field, 0);
    struct json_object *texts = json_at(document->json, "metadata", field, NULL);

    if (texts && !json_object_is_type(texts, json_type_object)) {
        document_error(document, &map, "expected a map of texts, found %s",
                       json_text(document->lint->arena, texts));
        return;
    }
    if (!texts)
        return;
    json_object_object_foreach(texts, key, value)
    {
        const struct json_path place = json_path_in(&map, key, 0);
        if (value && !json_object_is_type(value, json_type_string))
            document_error(document, &place, "expected a text, found %s; put it into quotes",
                           json_text(document->lint->arena, value));
    }
}

/* A name that consists of digits without quotes is a number, and is rejected. A Canary's own reader
 * checks name and namespace. */
static void check_strings(struct document *document)
{
    static const char *const fields[] = {"name", "namespace", "generateName", "uid",
                                         "resourceVersion"};
    const struct json_path metadata = top("metadata");

    for (size_t i = strcmp(document->kind, "Canary") == 0 ? 2 : 0;
         i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct json_path place = json_path_in(&metadata, fields[i], 0);
        struct json_object *value = json_at(document->json, "metadata", fields[i], NULL);
        if (value && !json_object_is_type(value, json_type_string))
            document_error(document, &place, "expected a string, found %s",
                           json_text(document->lint->arena, value));
    }
}

static void check_head(struct document *document)
{
    static const char *const common[] = {"flagger.app/v1beta1", "flagger.app/v1alpha3"};
    static const char *const of_requests[] = {"flagger.app/v1alpha1", "flagger.app/v1alpha1"};
    bool request = strcmp(document->kind, "ReleaseRequest") == 0;
    const char *const *versions = request ? of_requests : common;
    const struct json_path version = top("apiVersion"), metadata = top("metadata");
    const struct json_path name = json_path_in(&metadata, "name", 0);
    const struct json_path namespace_ = json_path_in(&metadata, "namespace", 0);

    if (strcmp(document->api_version, versions[0]) != 0 &&
        strcmp(document->api_version, versions[1]) != 0)
        document_error(document, &version, "expected %s, found \"%s\"", versions[0],
                       document->api_version);
    check_strings(document);
    if (!*document->name && strcmp(document->kind, "Canary") != 0 &&
        !json_at(document->json, "metadata", "name", NULL))
        document_error(document, &name, "required: expected a string");
    if (*document->name && !kube_is_name(document->name))
        document_error(document, &name,
                       "expected at most 253 of a-z, 0-9, - and ., with a letter or digit at the "
                       "ends of each part, found \"%s\"",
                       document->name);
    if (*document->namespace_ && !kube_is_label(document->namespace_))
        document_error(document, &namespace_,
                       "expected at most 63 of a-z, 0-9 and -, with a letter or digit at both "
                       "ends, found \"%s\"",
                       document->namespace_);
    check_texts(document, "labels");
    check_texts(document, "annotations");
}

/* Reports an object of our group whose kind is not one of ours. */
static void check_unknown(struct document *document)
{
    const struct json_path kind = top("kind");
    struct guess guess = {.word = document->kind};

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

/* Two objects with the same kind and name: the API server keeps the last. In different folders they
 * may be overlays of the same base. */
static void check_twice(struct document *document)
{
    for (const struct document *d = document->lint->first; d != document; d = d->next)
        if (*d->name && is_same_folder(d->file, document->file) &&
            strcmp(d->kind, document->kind) == 0 && strcmp(d->name, document->name) == 0 &&
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

/* --- two Canaries that claim the same: one of them would be rejected */

/* The Canary that comes first in the files counts as the older one. */
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

/* Objects without a namespace are in the same namespace as those in their folder. */
static bool is_beside(const struct document *one, const struct document *other)
{
    if (*one->namespace_ || *other->namespace_)
        return *one->namespace_ && *other->namespace_;
    return is_same_folder(one->file, other->file);
}

/* Compares this Canary, which comes first, with those in the same namespace. */
static void check_claims_beside(const struct document *begin, size_t *number)
{
    struct lint *lint = begin->lint;
    struct arena *arena = arena_new();
    struct claims *claims = claims_new();

    arena_defer(arena, free_claims, claims);
    for (struct document *d = lint->first; d; d = d->next) {
        if (strcmp(d->kind, "Canary") != 0 || d->compared || !is_beside(begin, d))
            continue;
        struct json_object *canary = as_made(lint, d, (*number)++);
        struct claim_set *set = claim_set_read(canary);
        const char *conflict = claims_check(claims, lint->arena, canary).conflict;
        d->compared = true;
        if (conflict)
            document_sentence(d, conflict);
        claims_add(claims, set);
        arena_defer(arena, free_set, set);
    }
    arena_free(arena);
}

static void check_claims(struct lint *lint)
{
    size_t number = 0;

    for (const struct document *d = lint->first; d; d = d->next)
        if (strcmp(d->kind, "Canary") == 0 && !d->compared)
            check_claims_beside(d, &number);
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

    skip_patches(lint);
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

/* The object as an API server returns it, in the requested namespace. */
static struct json_object *as_asked(const struct lint *lint, const struct document *document,
                                    const struct need *need)
{
    struct json_object *object = document_object(lint, document);

    if (need->namespace_ && !need->resource->cluster_scoped)
        json_set_str(json_sub(object, "metadata"), "namespace", need->namespace_);
    return object;
}

/* Looks in the namespace of the need. If that is the Canary's and the Canary does not name one, any
 * namespace matches: kustomize, helm or -n will set it. */
static void answer(void *arg, struct tick *tick, const struct need *need)
{
    const struct question *question = arg;
    const struct lint *lint = question->lint;
    const char *own = json_str_at(tick->canary->json, "metadata", "namespace", NULL);
    const char *in = need->namespace_ ? need->namespace_ : "";
    const struct document *document = NULL;

    if (need->kind != NEED_OBJECT)
        return;
    if (!(own && *own) && strcmp(in, tick->canary->namespace_) == 0)
        in = "";
    if (need->name)
        document = document_find(lint, need->resource->group, need->resource->kind, in, need->name);
    fact_object(tick, need, document ? as_asked(lint, document, need) : NULL);
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
