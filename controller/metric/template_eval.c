/*
 * What a tree renders to. Every step is counted, so that no template keeps the controller busy; the
 * depth is bounded by the parser.
 */
#include <string.h>

#include "base/buf.h"
#include "metric/template_parts.h"

enum { MAX_STEPS = 20000, MAX_MADE = 1024 * 1024 };

/* Of each name the innermost one is found by the number of the name. */
struct variable {
    struct variable *outer, *shadowed; /* shadowed: of the same name */
    const struct template_name *name;
    struct template_value value;
};

enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };

struct eval {
    const struct template_source *source;
    struct buf *out;
    struct template_budget *budget; /* of the tick; NULL: there is none */
    struct variable *variables;     /* the innermost */
    struct variable **named;        /* the innermost of each name */
    struct variable *spare;
    enum flow flow;
    int steps;
    size_t made; /* bytes of texts that functions made */
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

/* Functions read the whole of their texts. */
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

/* Down to the mark. */
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

/* What the operand stands for, before its fields. A function gets args and final. */
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

/* and, or: arguments behind the one that decides are not looked at. */
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

/* final: what the command before it gave, NULL for the first one. */
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

/* One turn of a range, whose variables are on top. */
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
        some = true; /* told there */
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

/* --- all of it */

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

/* Memory for the evaluation itself is of the source's arena. */
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
