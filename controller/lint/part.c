#include "lint/part.h"

#include "lint/document.h"
#include "lint/schema.h"

static bool is_before(const struct lint_mistake *one, const struct lint_mistake *other)
{
    return one->line < other->line || (one->line == other->line && one->column < other->column);
}

const struct lint_mistake *lint_part_first(struct arena *arena, const struct lint_part *part)
{
    static const struct settings settings = {0};
    struct lint *lint = lint_new(arena, &settings);
    struct document document = {.lint = lint,
                                .file = part->file,
                                .marks = part->marks,
                                .parent = part->docs,
                                .index = part->index,
                                .json = part->json,
                                .api_version = "",
                                .kind = "",
                                .name = "",
                                .namespace_ = "",
                                .label = ""};
    const struct lint_mistake *first = NULL;

    if (part->schema)
        schema_check_part(&document, part->schema, json_copy(arena, part->json));
    if (part->sentence)
        document_sentence(&document, part->sentence);
    for (const struct lint_mistake *mistake = lint->mistakes; mistake; mistake = mistake->next)
        first = !first || is_before(mistake, first) ? mistake : first;
    return first;
}
