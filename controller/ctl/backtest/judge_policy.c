#include "ctl/backtest/judge_policy.h"

#include <string.h>

#include "base/yaml.h"
#include "ctl/inputs.h"
#include "ctl/lint/crd_schema.h"
#include "ctl/lint/document.h"

/* "deploy/strict.yaml" is "strict". */
static const char *name_of(struct arena *arena, const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    const char *dot = strrchr(name, '.');

    return dot && dot > name ? arena_strndup(arena, name, (size_t)(dot - name)) : name;
}

static bool is_canary(struct json_object *doc)
{
    const char *kind = json_str_at(doc, "kind", NULL);

    return kind && strcmp(kind, "Canary") == 0;
}

/* The document to use: the only Canary, or the only document. */
static enum err choose(const char *file, struct json_object *docs, size_t *index,
                       struct errinfo *ei)
{
    size_t canaries = 0;

    for (size_t i = 0; i < json_len(docs); i++) {
        if (!is_canary(json_elem(docs, i)))
            continue;
        canaries++;
        *index = i;
    }
    if (canaries == 1)
        return ERR_OK;
    if (canaries > 1 || json_len(docs) != 1)
        return err_set(ei, ERR_INVALID,
                       "%s: expected one policy, an analysis or a Canary with one, found %zu", file,
                       canaries > 1 ? canaries : json_len(docs));
    *index = 0;
    return ERR_OK;
}

static struct json_object *analysis_of(struct json_object *doc)
{
    struct json_object *analysis = json_at(doc, "spec", "analysis", NULL);

    if (!analysis)
        analysis = json_at(doc, "spec", "canaryAnalysis", NULL);
    if (!analysis)
        analysis = json_at(doc, "analysis", NULL);
    return analysis || is_canary(doc) ? analysis : doc;
}

/* Steps are optional in a policy, unlike in a Canary. */
static struct json_object *with_steps(struct arena *arena, struct json_object *analysis)
{
    struct json_object *copy = json_copy(arena, analysis);

    if (!json_at(copy, "iterations", NULL) && !json_at(copy, "stepWeight", NULL) &&
        !json_at(copy, "stepWeights", NULL) && !json_at(copy, "steps", NULL))
        json_set_int(copy, "iterations", 1);
    return copy;
}

/* A Canary with only this analysis. */
static struct json_object *canary_around(struct arena *arena, struct json_object *analysis)
{
    struct json_object *canary = json_own(arena, json_object_new_object());
    struct json_object *spec = json_sub(canary, "spec"), *target = json_sub(spec, "targetRef");

    json_set_str(canary, "apiVersion", "flagger.app/v1beta1");
    json_set_str(canary, "kind", "Canary");
    json_set_str(json_sub(canary, "metadata"), "name", "policy");
    json_set_str(target, "apiVersion", "apps/v1");
    json_set_str(target, "kind", "Deployment");
    json_set_str(target, "name", "policy");
    json_set_int(json_sub(spec, "service"), "port", 80);
    json_set(spec, "analysis", with_steps(arena, analysis));
    return canary;
}

/* "spec.analysis.judge.every: expected ..." of a Canary is "judge.every: expected ..." of it. */
static const char *within(const char *sentence)
{
    static const char above[] = "spec.analysis";
    size_t len = strlen(above);

    if (strncmp(sentence, above, len) != 0)
        return sentence;
    return sentence + len + (sentence[len] == '.');
}

static enum err tell(const struct lint_mistake *mistake, struct errinfo *ei)
{
    return err_set(ei, ERR_INVALID, "%s:%zu:%zu: %s%s%s", mistake->file, mistake->line,
                   mistake->column, mistake->path, *mistake->path ? ": " : "", mistake->text);
}

/* The CRD's schema of an analysis without its required fields, such as steps. */
static struct json_object *policy_schema(struct arena *arena)
{
    struct json_object *spec = crd_member(crd_schema(arena, "Canary"), "spec");
    struct json_object *schema = json_copy(arena, crd_member(spec, "analysis"));

    json_object_object_del(schema, "oneOf");
    json_object_object_del(schema, "required");
    return schema;
}

/* The schema is asked first, because it also finds fields that are not read. */
static enum err view(struct arena *arena, struct lint_part *part, struct policy *out,
                     struct errinfo *ei)
{
    struct canary *canary = ARENA_NEW(arena, struct canary);
    struct errinfo read = {0};
    const struct lint_mistake *mistake = lint_part_first(arena, part);

    if (mistake)
        return tell(mistake, ei);
    part->schema = NULL;
    if (canary_view(arena, canary_around(arena, part->json), canary, &read) != ERR_OK)
        part->sentence = within(arena_strdup(arena, read.text));
    else if (canary->analysis.n_metrics == 0)
        part->sentence = "metrics: expected at least one metric, judged or with a threshold";
    mistake = lint_part_first(arena, part);
    out->analysis = &canary->analysis;
    return mistake ? tell(mistake, ei) : ERR_OK;
}

enum err policy_parse(struct arena *arena, const char *file, const char *text, size_t len,
                      struct policy *out, struct errinfo *ei)
{
    struct lint_part part = {.file = file};
    struct json_object *docs;
    struct yaml_marks *marks;
    enum err err = yaml_parse_marked(arena, file, text, len, POLICY_MAX_BYTES, &docs, &marks, ei);

    if (err == ERR_OK)
        err = choose(file, docs, &part.index, ei);
    if (err != ERR_OK)
        return err;
    part.docs = docs;
    part.marks = marks;
    part.json = analysis_of(json_elem(docs, part.index));
    if (!json_object_is_type(part.json, json_type_object))
        return err_set(ei, ERR_INVALID, "%s:1: expected an analysis, or a Canary with one", file);
    part.schema = policy_schema(arena);
    out->name = name_of(arena, file);
    return view(arena, &part, out, ei);
}

enum err policy_read(struct arena *arena, const char *file, struct policy *out, struct errinfo *ei)
{
    char *text;
    size_t len;
    enum err err = input_read(arena, file, POLICY_MAX_BYTES, &text, &len, ei);

    return err == ERR_OK ? policy_parse(arena, input_name(file), text, len, out, ei) : err;
}
