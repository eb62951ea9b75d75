/*
 * Evaluation of trees, and their cache. Every step is counted, so that no template can keep the
 * controller busy; the parser limits the depth.
 */
#include "metric/template.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/shares.h"
#include "base/table.h"
#include "metric/template_parts.h"

enum { MAX_STEPS = 20000, MAX_MADE = 1024 * 1024 };

/* The innermost variable with a name is found by the number of the name. */
struct variable {
    struct variable *outer, *shadowed; /* shadowed: the outer variable with the same name */
    const struct template_name *name;
    struct template_value value;
};

enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };

struct eval {
    const struct template_source *source;
    struct buf *out;
    struct template_budget *budget; /* the tick's budget; may be NULL */
    struct variable *variables;     /* the innermost one */
    struct variable **named;        /* the innermost one with each name */
    struct variable *spare;
    enum flow flow;
    int steps;
    size_t made; /* bytes of the strings that functions have created */
};

static bool eval_pipe(struct eval *e, const struct template_value *dot,
                      const struct template_pipe *pipe, struct template_value *out);
static bool walk(struct eval *e, const struct template_value *dot,
                 const struct template_node *node);

static bool spent(struct eval *e, const char *at)
{
    return template_fail(e->source, at, "with the other templates of its Canary more than %d steps",
                         TEMPLATE_TICK_STEPS);
}

static bool step(struct eval *e, const char *at)
{
    if (++e->steps > MAX_STEPS)
        return template_fail(e->source, at, "more than %d steps", MAX_STEPS);
    return !e->budget || --e->budget->steps >= 0 || spent(e, at);
}

/* Functions read their strings as a whole. */
static void count_reading(struct eval *e, const struct template_value *value)
{
    enum { BYTES_OF_A_STEP = 512 };

    if (e->budget && value->type == TYPE_TEXT)
        e->budget->steps -= (int64_t)(value->len / BYTES_OF_A_STEP);
}

/* --- variables */

static void push(struct eval *e, const struct template_name *name,
                 const struct template_value *value)
{
    struct variable *variable = e->spare;

    if (variable)
        e->spare = variable->outer;
    else
        variable = ARENA_NEW(e->source->arena, struct variable);
    *variable = (struct variable){
        .outer = e->variables, .shadowed = e->named[name->id], .name = name, .value = *value};
    e->variables = e->named[name->id] = variable;
}

/* Pops variables down to the mark. */
static void pop(struct eval *e, struct variable *mark)
{
    while (e->variables != mark) {
        struct variable *variable = e->variables;
        e->named[variable->name->id] = variable->shadowed;
        e->variables = variable->outer;
        variable->outer = e->spare;
        e->spare = variable;
    }
}

static bool find_variable(struct eval *e, const struct template_name *name, const char *at,
                          struct variable **out)
{
    *out = e->named[name->id];
    return *out || template_fail(e->source, at, "variable \"%.40s\" has no value here", name->text);
}

static bool set_variable(struct eval *e, const struct template_name *name, const char *at,
                         const struct template_value *value)
{
    struct variable *variable;

    if (!find_variable(e, name, at, &variable))
        return false;
    variable->value = *value;
    return true;
}

/* --- operands */

static bool eval_field(struct eval *e, const struct template_field *field,
                       struct template_value *value)
{
    if (value->type != TYPE_MAP)
        return template_fail(e->source, field->at, "a %s has no entry \"%.60s\"",
                             template_type_name(value->type), field->name);
    const char *entry = template_entry(value->map, field->name, strlen(field->name));
    if (!entry)
        return template_fail(e->source, field->at, "no entry for key \"%.60s\"", field->name);
    *value = template_text(entry, strlen(entry));
    return true;
}

static bool eval_call(struct eval *e, const struct template_value *dot,
                      const struct template_operand *function, const struct template_operand *args,
                      const struct template_value *final, struct template_value *out);

/* The value of the operand without its fields. If it is a function, it gets args and final. */
static bool eval_head(struct eval *e, const struct template_value *dot,
                      const struct template_operand *operand, const struct template_operand *args,
                      const struct template_value *final, struct template_value *out)
{
    const struct template_function *given;
    struct variable *variable;

    switch (operand->kind) {
    case OPERAND_CONSTANT:
        *out = operand->value;
        return true;
    case OPERAND_NIL:
        *out = (struct template_value){.type = TYPE_NIL};
        return true;
    case OPERAND_DOT:
    case OPERAND_FIELD:
        *out = *dot;
        return true;
    case OPERAND_VARIABLE:
        if (!find_variable(e, operand->name, operand->at, &variable))
            return false;
        *out = variable->value;
        return true;
    case OPERAND_GIVEN:
        given = &e->source->functions[operand->given];
        *out = (struct template_value){.type = TYPE_MAP, .map = given->map};
        if (given->text)
            *out = template_text(given->text, strlen(given->text));
        return true;
    case OPERAND_BUILTIN:
        return eval_call(e, dot, operand, args, final, out);
    case OPERAND_PIPE:
        return eval_pipe(e, dot, operand->pipe, out);
    }
    return false;
}

/* The operand as an argument. */
static bool eval_operand(struct eval *e, const struct template_value *dot,
                         const struct template_operand *operand, struct template_value *out)
{
    if (!step(e, operand->at) || !eval_head(e, dot, operand, NULL, NULL, out))
        return false;
    for (const struct template_field *field = operand->fields; field; field = field->next) {
        if (!eval_field(e, field, out))
            return false;
    }
    return true;
}

/* --- functions */

/* and, or: arguments after the one that decides are not evaluated. */
static bool eval_logic(struct eval *e, const struct template_value *dot,
                       const struct template_builtin *builtin, const struct template_operand *args,
                       const struct template_value *final, struct template_value *out)
{
    for (; args; args = args->next) {
        if (!eval_operand(e, dot, args, out))
            return false;
        if (template_truth(out) == builtin->stops_at)
            return true;
    }
    if (final)
        *out = *final;
    return true;
}

static bool make(struct eval *e, const char *at, size_t len)
{
    e->made += len;
    if (len <= TEMPLATE_TEXT_MAX && e->made <= MAX_MADE)
        return true;
    return template_fail(e->source, at, "it makes a text that is too long");
}

static bool eval_call(struct eval *e, const struct template_value *dot,
                      const struct template_operand *function, const struct template_operand *args,
                      const struct template_value *final, struct template_value *out)
{
    const struct template_builtin *builtin = function->builtin;
    int n = final ? 1 : 0, i = 0;

    for (const struct template_operand *arg = args; arg; arg = arg->next)
        n++;
    if (n < builtin->least || (builtin->most >= 0 && n > builtin->most))
        return template_fail(e->source, function->at, "wrong number of arguments of %s: found %d",
                             builtin->name, n);
    if (!builtin->run)
        return eval_logic(e, dot, builtin, args, final, out);
    struct template_value *values = arena_array(e->source->arena, (size_t)n, sizeof(*values));
    for (; args; args = args->next) {
        if (!eval_operand(e, dot, args, &values[i]))
            return false;
        count_reading(e, &values[i++]);
    }
    if (final)
        values[i] = *final;
    const struct template_call call = {
        .source = e->source, .at = function->at, .args = values, .n = n};
    return builtin->run(&call, out) && make(e, function->at, out->type == TYPE_TEXT ? out->len : 0);
}

/* --- pipelines */

/* final: result of the previous command, NULL for the first command. */
static bool eval_command(struct eval *e, const struct template_value *dot,
                         const struct template_command *command, const struct template_value *final,
                         struct template_value *out)
{
    const struct template_operand *head = command->operands;
    bool calls = head->kind == OPERAND_BUILTIN && !head->fields;

    if (calls)
        return step(e, head->at) && eval_head(e, dot, head, head->next, final, out);
    if (head->next || final)
        return template_fail(e->source, head->at, "what takes no arguments was given one");
    if (head->kind == OPERAND_NIL)
        return template_fail(e->source, head->at, "nil is nothing by itself");
    return eval_operand(e, dot, head, out);
}

static bool eval_pipe(struct eval *e, const struct template_value *dot,
                      const struct template_pipe *pipe, struct template_value *out)
{
    const struct template_value *final = NULL;
    struct template_value last = {0};

    for (const struct template_command *c = pipe->commands; c; c = c->next) {
        if (!eval_command(e, dot, c, final, out))
            return false;
        last = *out;
        final = &last;
    }
    for (int i = 0; i < pipe->n_names; i++) {
        if (!pipe->assigns)
            push(e, pipe->names[i], out);
        else if (!set_variable(e, pipe->names[i], pipe->at, out))
            return false;
    }
    return true;
}

/* --- actions */

static bool print(struct eval *e, const char *at, const struct template_value *value)
{
    size_t len;
    const char *text = template_show(e->source->arena, value, &len);

    if (value->type == TYPE_NIL) {
        text = "<no value>";
        len = strlen(text);
    }
    if (!make(e, at, value->type == TYPE_MAP ? len : 0))
        return false;
    buf_add(e->out, text, len);
    return true;
}

static bool walk_branch(struct eval *e, const struct template_value *dot,
                        const struct template_node *node)
{
    struct variable *mark = e->variables;
    struct template_value value = {0};

    if (!eval_pipe(e, dot, node->pipe, &value))
        return false;
    bool yes = template_truth(&value);
    bool ok =
        walk(e, yes && node->kind == NODE_WITH ? &value : dot, yes ? node->body : node->otherwise);
    pop(e, mark);
    return ok;
}

/* One iteration of a range, with its variables innermost. */
static bool walk_turn(struct eval *e, const struct template_node *node,
                      const struct template_value *key, const struct template_value *element)
{
    const struct template_pipe *pipe = node->pipe;
    struct variable *mark = e->variables;

    if (pipe->n_names > 0 && pipe->assigns) {
        if (pipe->n_names == 2 && !set_variable(e, pipe->names[0], pipe->at, key))
            return false;
        if (!set_variable(e, pipe->names[pipe->n_names - 1], pipe->at, element))
            return false;
    } else if (pipe->n_names > 0) {
        e->variables->value = *element;
        if (pipe->n_names == 2)
            e->variables->outer->value = *key;
    }
    bool ok = step(e, node->at) && walk(e, element, node->body);
    pop(e, mark);
    if (e->flow == FLOW_CONTINUE)
        e->flow = FLOW_ON;
    return ok;
}

static bool walk_map(struct eval *e, const struct template_node *node, struct json_object *map)
{
    size_t n;
    const char **keys = template_keys(e->source->arena, map, &n);

    if (!make(e, node->at, n * sizeof(*keys)))
        return false;
    for (size_t i = 0; i < n && e->flow == FLOW_ON; i++) {
        const char *entry = template_entry(map, keys[i], strlen(keys[i]));
        struct template_value key = template_text(keys[i], strlen(keys[i]));
        struct template_value element = template_text(entry, strlen(entry));
        if (!walk_turn(e, node, &key, &element))
            return false;
    }
    return true;
}

static bool walk_count(struct eval *e, const struct template_node *node, int64_t most)
{
    struct template_value element = {.type = TYPE_INT};

    if (node->pipe->n_names == 2)
        return template_fail(e->source, node->at, "a number has no keys to range over");
    for (; element.whole < most && e->flow == FLOW_ON; element.whole++) {
        struct template_value copy = element;
        if (!walk_turn(e, node, NULL, &copy))
            return false;
    }
    return true;
}

static bool walk_range(struct eval *e, const struct template_value *dot,
                       const struct template_node *node)
{
    struct variable *mark = e->variables;
    struct template_value over = {0};
    bool ok;

    if (!eval_pipe(e, dot, node->pipe, &over))
        return false;
    bool some = over.type == TYPE_INT ? over.whole > 0 : template_truth(&over);
    if (over.type != TYPE_MAP && over.type != TYPE_INT && over.type != TYPE_NIL)
        return template_fail(e->source, node->at, "a %s cannot be ranged over",
                             template_type_name(over.type));
    if (over.type == TYPE_INT && node->pipe->n_names == 2)
        some = true; /* the error is reported there */
    if (!some)
        ok = walk(e, dot, node->otherwise);
    else if (over.type == TYPE_MAP)
        ok = walk_map(e, node, over.map);
    else
        ok = walk_count(e, node, over.whole);
    if (e->flow == FLOW_BREAK)
        e->flow = FLOW_ON;
    pop(e, mark);
    return ok;
}

static bool walk_one(struct eval *e, const struct template_value *dot,
                     const struct template_node *node)
{
    struct template_value value = {0};

    switch (node->kind) {
    case NODE_TEXT:
        buf_add(e->out, node->at, node->len);
        return true;
    case NODE_ACTION:
        return eval_pipe(e, dot, node->pipe, &value) &&
               (node->pipe->n_names > 0 || print(e, node->at, &value));
    case NODE_IF:
    case NODE_WITH:
        return walk_branch(e, dot, node);
    case NODE_RANGE:
        return walk_range(e, dot, node);
    case NODE_BREAK:
        e->flow = FLOW_BREAK;
        return true;
    case NODE_CONTINUE:
        e->flow = FLOW_CONTINUE;
        return true;
    }
    return false;
}

static bool walk(struct eval *e, const struct template_value *dot, const struct template_node *node)
{
    for (; node && e->flow == FLOW_ON; node = node->next) {
        if (!step(e, node->at) || !walk_one(e, dot, node))
            return false;
    }
    return true;
}

/* --- rendering */

static bool evaluate(const struct template_source *source, const struct template_tree *tree,
                     struct template_budget *budget, struct buf *out)
{
    static const struct template_name root = {.text = "$", .id = 0};
    struct eval e = {.source = source,
                     .out = out,
                     .budget = budget,
                     .named = arena_array(source->arena, (size_t)tree->n_names, sizeof(void *))};
    struct template_value nil = {.type = TYPE_NIL};

    push(&e, &root, &nil);
    if (!walk(&e, &nil, tree->nodes))
        return false;
    const char *end = source->text + strlen(source->text);
    if (out->truncated)
        return template_fail(source, end, "what it renders to is longer than %zu bytes", out->max);
    if (out->data && memchr(out->data, '\0', out->len))
        return template_fail(source, end, "what it renders to has a NUL in it");
    return true;
}

static bool takes_bytes(const struct template_source *source, struct template_budget *budget,
                        size_t bytes)
{
    if (!budget || (budget->bytes -= (int64_t)bytes) >= 0)
        return true;
    return template_fail(source, source->text,
                         "the templates of its Canary and what they render to are longer than %d "
                         "bytes together",
                         TEMPLATE_TICK_BYTES);
}

static const struct template_tree *template_tree_of(const struct template_source *source,
                                                    const struct template_means *means);

/* Memory for the evaluation comes from the source's arena. */
static bool render(struct template_source *source, const struct template_means *means,
                   struct buf *out)
{
    static const struct template_means none;

    if (!means)
        means = &none;
    if (!takes_bytes(source, means->budget, strlen(source->text)))
        return false;
    const struct template_tree *tree = template_tree_of(source, means);
    if (!tree)
        return false;
    source->text = tree->text;
    return evaluate(source, tree, means->budget, out) &&
           takes_bytes(source, means->budget, out->len);
}

enum err template_render(struct arena *arena, const char *text,
                         const struct template_function *functions, size_t max,
                         const struct template_means *means, const char **out, struct errinfo *ei)
{
    struct template_source source = {
        .arena = arena_new(), .text = text, .functions = functions, .ei = ei};
    struct buf buf;

    if (strlen(text) > max) {
        arena_free(source.arena);
        return err_set(ei, ERR_INVALID, "template: it is longer than %zu bytes", max);
    }
    buf_init(&buf, max);
    enum err err = render(&source, means, &buf) ? ERR_OK : ERR_INVALID;
    if (err == ERR_OK)
        *out = arena_strndup(arena, buf.data, buf.len);
    buf_fini(&buf);
    arena_free(source.arena);
    return err;
}

/* --- cache of trees */

enum { LEAST_SIZE = 4096, LARGEST_PART = 4 };

struct kept_tree {
    TAILQ_ENTRY(kept_tree) link;
    struct arena *arena;
    struct template_tree tree;
    const char *functions; /* their names, since a tree refers to them by index */
    const char *owner;
    size_t size;
};

struct template_kept {
    struct table trees; /* keyed by text and functions */
    struct shares sizes;
    TAILQ_HEAD(, kept_tree) used; /* least recently used first */
};

static void tree_key(const void *item, const char **first, const char **second)
{
    const struct kept_tree *kept = item;

    *first = kept->tree.text;
    *second = kept->functions;
}

struct template_kept *template_kept_new(size_t max_bytes)
{
    struct template_kept *kept = heap_alloc(sizeof(*kept));

    table_init(&kept->trees, tree_key);
    shares_init(&kept->sizes, BUDGET_TEMPLATES, max_bytes);
    TAILQ_INIT(&kept->used);
    return kept;
}

static void drop(struct template_kept *kept, struct kept_tree *tree)
{
    (void)table_take(&kept->trees, tree->tree.text, tree->functions);
    TAILQ_REMOVE(&kept->used, tree, link);
    shares_give_back(&kept->sizes, tree->owner, tree->size);
    arena_free(tree->arena);
}

void template_kept_free(struct template_kept *kept)
{
    struct kept_tree *tree;

    if (!kept)
        return;
    while ((tree = TAILQ_FIRST(&kept->used)))
        drop(kept, tree);
    shares_fini(&kept->sizes);
    table_fini(&kept->trees);
    free(kept);
}

size_t template_kept_count(const struct template_kept *kept)
{
    return kept->trees.count;
}

/* False if the owner has no trees. */
static bool drop_oldest(struct template_kept *kept, const char *owner)
{
    struct kept_tree *tree;

    TAILQ_FOREACH(tree, &kept->used, link)
    {
        if (strcmp(tree->owner, owner) == 0) {
            drop(kept, tree);
            return true;
        }
    }
    return false;
}

static bool make_room(struct template_kept *kept, const char *owner, size_t size)
{
    const char *greedy;

    if (size > kept->sizes.most / LARGEST_PART)
        return false;
    while ((greedy = shares_yields(&kept->sizes, owner, size))) {
        if (!drop_oldest(kept, greedy))
            return false;
    }
    return true;
}

static const char *names_of(struct arena *arena, const struct template_function *functions)
{
    const char *names = "";

    for (; functions->name; functions++)
        names = arena_printf(arena, "%s %s", names, functions->name);
    return names;
}

static bool parse(const struct template_source *source, struct arena *arena,
                  struct template_tree *out)
{
    struct template_source of = *source;

    of.text = arena_strdup(arena, source->text);
    const struct template_token *tokens = template_lex(&of);
    of.arena = arena;
    return tokens && template_parse(&of, tokens, out);
}

static void free_arena(void *arena)
{
    arena_free(arena);
}

static const struct template_tree *keep(struct template_kept *kept, struct kept_tree *tree,
                                        const struct template_source *source)
{
    size_t used = arena_used(tree->arena);

    tree->size = used < LEAST_SIZE ? LEAST_SIZE : used;
    if (!make_room(kept, tree->owner, tree->size)) {
        arena_defer(source->arena, free_arena, tree->arena);
        return &tree->tree;
    }
    (void)table_put(&kept->trees, tree);
    TAILQ_INSERT_TAIL(&kept->used, tree, link);
    shares_take(&kept->sizes, tree->owner, tree->size);
    return &tree->tree;
}

static const struct template_tree *find(struct template_kept *kept, const char *text,
                                        const char *functions)
{
    struct kept_tree *tree = table_get(&kept->trees, text, functions);

    if (!tree)
        return NULL;
    TAILQ_REMOVE(&kept->used, tree, link);
    TAILQ_INSERT_TAIL(&kept->used, tree, link);
    return &tree->tree;
}

/*
 * The tree of the template, parsed or cached; NULL after an error, which has been set. Valid until
 * the next call, and no longer than the source's arena.
 */
static const struct template_tree *template_tree_of(const struct template_source *source,
                                                    const struct template_means *means)
{
    struct template_kept *kept = means->kept;
    const char *functions = kept ? names_of(source->arena, source->functions) : NULL;
    const struct template_tree *found = kept ? find(kept, source->text, functions) : NULL;
    struct arena *arena = kept && !found ? arena_new() : source->arena;

    if (found)
        return found;
    struct kept_tree *tree = ARENA_NEW(arena, struct kept_tree);
    *tree = (struct kept_tree){.arena = arena,
                               .functions = arena_strdup(arena, functions),
                               .owner = arena_strdup(arena, means->owner ? means->owner : "")};
    if (!parse(source, arena, &tree->tree)) {
        if (kept)
            arena_free(arena);
        return NULL;
    }
    return kept ? keep(kept, tree, source) : &tree->tree;
}

/* --- queries of metrics */

enum { QUERY_MAX = 64 * 1024, FUNCTIONS = 8 /* limits of every query */ };

struct render_model render_model_of(const struct canary *canary, const char *interval,
                                    struct json_object *variables)
{
    return (struct render_model){
        .name = canary->name,
        .namespace_ = canary->namespace_,
        .target = canary->target.name,
        .service = canary->service.name,
        .ingress = canary->ingress.name ? canary->ingress.name : canary->target.name,
        .route = canary->route.name ? canary->route.name : canary->target.name,
        .interval = interval,
        .workload = canary->target.name,
        .variables = variables,
    };
}

static const char *plain_word(struct arena *arena, const char *text)
{
    char *plain = arena_strdup(arena, text);

    for (char *at = plain; *at; at++) {
        if (!isalnum((unsigned char)*at) && *at != '_')
            *at = '_';
    }
    return plain;
}

static const char *function_value(struct arena *arena, const struct render_model *model,
                                  const char *value, bool word)
{
    if (!value)
        return "";
    return model->plain_words && word ? plain_word(arena, value) : value;
}

enum err render_query(struct arena *arena, const char *query, const struct render_model *model,
                      const char **out, struct errinfo *ei)
{
    struct template_function functions[] = {
        {"name", function_value(arena, model, model->name, true), NULL},
        {"namespace", function_value(arena, model, model->namespace_, true), NULL},
        {"target", function_value(arena, model, model->target, true), NULL},
        {"service", function_value(arena, model, model->service, true), NULL},
        {"ingress", function_value(arena, model, model->ingress, true), NULL},
        {"route", function_value(arena, model, model->route, false), NULL},
        {"interval", function_value(arena, model, model->interval, false), NULL},
        {"variables", NULL, model->variables},
        {NULL, NULL, NULL}, /* optional: pods, workload */
        {NULL, NULL, NULL},
        {NULL, NULL, NULL},
    };
    struct template_function *more = functions + FUNCTIONS;

    if (model->pods)
        *more++ = (struct template_function){"pods", model->pods, NULL};
    if (model->workload)
        *more = (struct template_function){"workload", model->workload, NULL};

    return template_render(arena, query, functions, QUERY_MAX, model->means, out, ei);
}
