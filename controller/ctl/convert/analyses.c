#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/convert/parts.h"

/* --- the templates of an analysis */

struct visit {
    struct rollout *r;
    struct json_object *analysis;
    const char *path;
    void (*each)(void *arg, const struct run *run);
    void *arg;
};

static void visit_list(const struct visit *visit, struct json_object *templates, int depth);

static void visit_template(const struct visit *visit, struct json_object *ref, int depth)
{
    struct rollout *r = visit->r;
    bool cluster = json_bool_at(ref, false, "clusterScope", NULL);
    const char *kind = cluster ? "ClusterAnalysisTemplate" : "AnalysisTemplate";
    const char *name = json_str_at(ref, "templateName", NULL);
    struct json_object *found;

    if (!name)
        return;
    found = conversion_find(r->conversion, "argoproj.io", kind, cluster ? "" : r->namespace_, name);
    if (!found) {
        conversion_lose(r->conversion, r->label, visit->path,
                        "%s %s %s: what it checks is not checked here; give its file as well", kind,
                        name,
                        conversion_absent(r->conversion, "argoproj.io", kind, r->namespace_, name));
        return;
    }
    struct json_object *spec = json_at(found, "spec", NULL);
    const char *namespace_ = json_str_at(found, "metadata", "namespace", NULL);
    const struct run run = {.r = r,
                            .analysis = visit->analysis,
                            .path = visit->path,
                            .spec = spec,
                            .name = name,
                            .label = arena_printf(r->arena, "%s %s%s%s", kind,
                                                  namespace_ ? namespace_ : "",
                                                  namespace_ ? "/" : "", name)};
    visit->each(visit->arg, &run);
    if (depth < ANALYSES_DEPTH)
        visit_list(visit, json_at(spec, "templates", NULL), depth + 1);
}

static void visit_list(const struct visit *visit, struct json_object *templates, int depth)
{
    for (size_t i = 0; i < json_len(templates); i++)
        visit_template(visit, json_elem(templates, i), depth);
}

void analyses_each(struct rollout *r, struct json_object *analysis, const char *path,
                   void (*each)(void *arg, const struct run *run), void *arg)
{
    const struct visit visit = {
        .r = r, .analysis = analysis, .path = path, .each = each, .arg = arg};

    /* The older form names one template in the analysis itself. */
    visit_template(&visit, analysis, 0);
    visit_list(&visit, json_at(analysis, "templates", NULL), 0);
}

void analyses_all(struct rollout *r, void (*each)(void *arg, const struct run *run), void *arg)
{
    struct json_object *steps = json_at(r->canary, "steps", NULL);
    struct json_object *background = json_at(r->canary, "analysis", NULL);
    struct json_object *before = json_at(r->green, "prePromotionAnalysis", NULL);

    if (background)
        analyses_each(r, background, "spec.strategy.canary.analysis", each, arg);
    if (before)
        analyses_each(r, before, "spec.strategy.blueGreen.prePromotionAnalysis", each, arg);
    for (size_t i = 0; i < json_len(steps); i++) {
        struct json_object *analysis = json_at(json_elem(steps, i), "analysis", NULL);
        if (analysis)
            analyses_each(r, analysis,
                          arena_printf(r->arena, "spec.strategy.canary.steps[%zu].analysis", i),
                          each, arg);
    }
}

/* --- arguments */

/* metadata.name, metadata.namespace, metadata.labels['KEY'] or .annotations['KEY']. */
static const char *field_of_rollout(const struct run *run, const char *path)
{
    static const char *const maps[] = {"labels", "annotations"};
    struct arena *arena = run->r->arena;

    if (strcmp(path, "metadata.name") == 0)
        return run->r->target;
    if (strcmp(path, "metadata.namespace") == 0)
        return *run->r->namespace_ ? run->r->namespace_ : NULL;
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        const char *head = arena_printf(arena, "metadata.%s[", maps[i]);
        size_t len = strlen(head), end = strlen(path);
        if (strncmp(path, head, len) != 0 || end < len + 3 || path[end - 1] != ']')
            continue;
        return json_str_at(run->r->object, "metadata", maps[i],
                           arena_strndup(arena, path + len + 1, end - len - 3), NULL);
    }
    return NULL;
}

static const char *value_from(const struct run *run, struct json_object *from, const char **why)
{
    const char *path = json_str_at(from, "fieldRef", "fieldPath", NULL);
    const char *text = path ? field_of_rollout(run, path) : NULL;

    if (json_at(from, "podTemplateHashValue", NULL))
        *why = "it was the hash of a pod template: use {{ target }} in the query for the canary's "
               "pods, and {{ target }}-primary for the others";
    else if (json_at(from, "secretKeyRef", NULL))
        *why = "it comes from a Secret: a MetricTemplate takes credentials by "
               "spec.provider.secretRef, from the keys of its provider";
    else if (!text)
        *why = !path ? "it has no value"
               : strcmp(path, "metadata.namespace") == 0
                   ? "the Rollout has no namespace: give it one with -n"
                   : arena_printf(run->r->arena, "%s of the Rollout is not known here", path);
    return text;
}

static struct json_object *argument_in(struct json_object *args, const char *name)
{
    return json_find(args, "name", name, NULL);
}

const char *argument_value(const struct run *run, const char *name, const char **why)
{
    struct json_object *const given[] = {argument_in(json_at(run->analysis, "args", NULL), name),
                                         argument_in(json_at(run->spec, "args", NULL), name)};

    *why = "it has no value";
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        const char *text = value_text(run->r->arena, json_at(given[i], "value", NULL));
        struct json_object *from = json_at(given[i], "valueFrom", NULL);
        if (text)
            return text;
        if (from)
            return value_from(run, from, why);
    }
    return NULL;
}

/* The name of the argument, if the text here is an action "{{ args.NAME }}"; *end points after the
 * action. NULL if it is another action. */
static const char *action_argument(struct arena *arena, const char *at, const char **end)
{
    const char *close = strstr(at, "}}"), *name = at + 2;

    *end = close ? close + 2 : at + strlen(at);
    name += strspn(name, " \t\n");
    if (!close || strncmp(name, "args.", 5) != 0)
        return NULL;
    name += 5;
    size_t len = (size_t)(close - name);
    while (len > 0 && isspace((unsigned char)name[len - 1]))
        len--;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
            return NULL;
    return len > 0 ? arena_strndup(arena, name, len) : NULL;
}

const char *arguments_filled(const struct run *run, const char *text, const char **why)
{
    struct arena *arena = run->r->arena;
    const char *out = "", *at, *end;

    for (; text && (at = strstr(text, "{{")); text = end) {
        const char *name = action_argument(arena, at, &end);
        const char *value = name ? argument_value(run, name, why) : NULL;
        if (!name)
            *why = "it has an action that is no argument";
        if (!value)
            return NULL;
        out = arena_printf(arena, "%s%.*s%s", out, (int)(at - text), text, value);
    }
    return text ? arena_printf(arena, "%s%s", out, text) : NULL;
}

/* A name of letters, digits and _, as the query language requires. */
static const char *variable_name(struct arena *arena, const char *name)
{
    char *out = arena_strdup(arena, name);

    for (char *c = out; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return isdigit((unsigned char)*out) ? arena_printf(arena, "_%s", out) : out;
}

const char *arguments_as_variables(const struct run *run, const char *text, const char *path,
                                   struct json_object *variables, bool *unknown)
{
    struct arena *arena = run->r->arena;
    const char *out = "", *at, *end, *why;

    for (; (at = strstr(text, "{{")); text = end) {
        const char *name = action_argument(arena, at, &end);
        const char *value = name ? argument_value(run, name, &why) : NULL;
        if (!name)
            conversion_lose(run->r->conversion, run->label, path,
                            "%s is no argument of the template: it is left out of the query",
                            arena_strndup(arena, at, (size_t)(end - at)));
        else if (!value)
            conversion_lose(run->r->conversion, run->label, path,
                            "argument %s: %s. It is CHANGE-THIS in the Canary, and the check fails "
                            "until you do",
                            name, why);
        *unknown = *unknown || !value;
        if (name)
            json_set_str(variables, variable_name(arena, name), value ? value : "CHANGE-THIS");
        out = arena_printf(arena, "%s%.*s", out, (int)(at - text), text);
        if (name)
            out = arena_printf(arena, "%s{{ variables.%s }}", out, variable_name(arena, name));
    }
    return arena_printf(arena, "%s%s", out, text);
}

/* --- success and failure conditions: reading */

/* The text that is read; reading ends at the first mistake. */
struct reading {
    const char *text, *at;
    int depth;
    bool elements;
    enum err err;
    struct errinfo *ei;
};

static const struct condition all_good = {
    .min = -INFINITY, .max = INFINITY, .empty = CONDITION_EMPTY_ERROR};
static const struct condition none_good = {
    .min = INFINITY, .max = -INFINITY, .empty = CONDITION_EMPTY_ERROR};

static void refuse(struct reading *r, const char *why)
{
    if (r->err == ERR_OK)
        r->err = err_set(r->ei, ERR_INVALID, "%s, in \"%s\"", why, r->text);
}

static void skip_blanks(struct reading *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

/* True if the token comes next; it is then consumed. */
static bool take(struct reading *r, const char *token)
{
    size_t len = strlen(token);

    skip_blanks(r);
    if (strncmp(r->at, token, len) != 0)
        return false;
    if (isalpha((unsigned char)token[len - 1]) &&
        (isalnum((unsigned char)r->at[len]) || r->at[len] == '_'))
        return false;
    r->at += len;
    return true;
}

/* --- conditions: sets of values */

static bool is_none(const struct condition *c)
{
    return c->min > c->max || (c->min == c->max && (c->above || c->below));
}

static bool is_all(const struct condition *c)
{
    return isinf(c->min) && c->min < 0 && isinf(c->max) && c->max > 0;
}

static enum condition_empty empty_and(enum condition_empty a, enum condition_empty b)
{
    return a == CONDITION_EMPTY_GOOD ? b : a;
}

static enum condition_empty empty_or(enum condition_empty a, enum condition_empty b)
{
    return a == CONDITION_EMPTY_BAD ? b : a;
}

static struct condition both(const struct condition *a, const struct condition *b)
{
    struct condition c = *a;

    if (b->min > c.min || (b->min == c.min && b->above)) {
        c.min = b->min;
        c.above = b->above;
    }
    if (b->max < c.max || (b->max == c.max && b->below)) {
        c.max = b->max;
        c.below = b->below;
    }
    c.empty = empty_and(a->empty, b->empty);
    return c;
}

static struct condition either(struct reading *r, const struct condition *a,
                               const struct condition *b)
{
    const struct condition *low = a->min <= b->min ? a : b, *high = low == a ? b : a;
    struct condition c = *low;

    if (is_none(a) || is_none(b)) {
        c = is_none(a) ? *b : *a;
    } else if (low->max < high->min || (low->max == high->min && low->below && high->above)) {
        refuse(r, "expected one range of values, found two that are apart");
    } else {
        if (low->min == high->min)
            c.above = low->above && high->above;
        if (high->max > low->max || (high->max == low->max && !high->below)) {
            c.max = high->max;
            c.below = high->below;
        }
    }
    c.empty = empty_or(a->empty, b->empty);
    return c;
}

static struct condition inverse(struct reading *r, const struct condition *a)
{
    struct condition c = none_good;

    if (is_none(a))
        c = all_good;
    else if (is_all(a))
        c = none_good;
    else if (isinf(a->min))
        c = (struct condition){.min = a->max, .above = !a->below, .max = INFINITY};
    else if (isinf(a->max))
        c = (struct condition){.min = -INFINITY, .max = a->min, .below = !a->above};
    else
        refuse(r, "expected one range of values, found all but one");
    c.empty = a->empty == CONDITION_EMPTY_ERROR  ? CONDITION_EMPTY_ERROR
              : a->empty == CONDITION_EMPTY_GOOD ? CONDITION_EMPTY_BAD
                                                 : CONDITION_EMPTY_GOOD;
    return c;
}

/* --- conditions: operands */

enum operand_type { OPERAND_NUMBER, OPERAND_RESULT, OPERAND_COUNT, OPERAND_NIL };
struct operand {
    enum operand_type type;
    double number; /* default for a result without values */
    bool has_default;
};

static bool take_number(struct reading *r, double *out)
{
    char *end;

    skip_blanks(r);
    if (!isdigit((unsigned char)*r->at) &&
        !(strchr("-+.", *r->at) && *r->at && isdigit((unsigned char)r->at[1])))
        return false;
    *out = strtod(r->at, &end);
    if (!isfinite(*out))
        refuse(r, "expected a finite number");
    r->at = end;
    return true;
}

/* ".name", "[0]", "['name']"; only the first element of a list counts as a value. */
static void take_accessors(struct reading *r)
{
    while (r->err == ERR_OK && (*r->at == '.' || *r->at == '[')) {
        const char *from = r->at;
        if (*r->at == '.') {
            r->at++;
            r->at += strspn(r->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_");
            continue;
        }
        r->at += strcspn(r->at, "]");
        if (*r->at != ']') {
            refuse(r, "expected a \"]\"");
            return;
        }
        r->at++;
        if (strncmp(from, "[0]", 3) != 0 && from[1] != '\'' && from[1] != '"')
            refuse(r, "expected the first element, [0]");
    }
}

static struct operand take_operand(struct reading *r);

/* The argument of a function with one argument, up to its ")". */
static struct operand take_argument(struct reading *r)
{
    struct operand operand;

    if (++r->depth > CONDITION_DEPTH)
        refuse(r, "expected fewer parentheses");
    operand = r->err == ERR_OK ? take_operand(r) : (struct operand){0};
    r->depth--;
    if (!take(r, ")"))
        refuse(r, "expected a \")\"");
    return operand;
}

static struct operand take_default(struct reading *r)
{
    struct operand operand = take_operand(r);

    if (operand.type != OPERAND_RESULT || !take(r, ",") || !take_number(r, &operand.number))
        refuse(r, "expected default(result, NUMBER)");
    operand.has_default = true;
    if (!take(r, ")"))
        refuse(r, "expected a \")\"");
    return operand;
}

static struct operand take_operand(struct reading *r)
{
    static const char *const casts[] = {"asFloat(", "asInt(", "float(", "int("};
    struct operand operand = {.type = OPERAND_RESULT};

    if (take_number(r, &operand.number)) {
        operand.type = OPERAND_NUMBER;
        return operand;
    }
    bool is_true = take(r, "true");
    if (is_true || take(r, "false")) { /* for a web metric, which is 1 or 0 */
        operand.type = OPERAND_NUMBER;
        operand.number = is_true;
        return operand;
    }
    if (take(r, "nil")) {
        operand.type = OPERAND_NIL;
        return operand;
    }
    if (take(r, "default("))
        return take_default(r);
    for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); i++)
        if (take(r, casts[i]))
            return take_argument(r);
    if (take(r, "len(")) {
        operand = take_argument(r);
        operand.type = OPERAND_COUNT;
        return operand;
    }
    if (!take(r, "results") && !take(r, "result") && !(r->elements && take(r, "#")))
        refuse(r, "expected a comparison of the result with a number");
    take_accessors(r);
    return operand;
}

/* --- conditions: comparisons */

enum comparison { LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL, NO_COMPARISON };

static enum comparison take_comparison(struct reading *r)
{
    static const char *const signs[] = {
        [LESS_EQUAL] = "<=", [GREATER_EQUAL] = ">=", [EQUAL] = "==",
        [UNEQUAL] = "!=",    [LESS] = "<",           [GREATER] = ">"};
    static const enum comparison order[] = {LESS_EQUAL, GREATER_EQUAL, EQUAL,
                                            UNEQUAL,    LESS,          GREATER};

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (take(r, signs[order[i]]))
            return order[i];
    return NO_COMPARISON;
}

static enum comparison turned_around(enum comparison comparison)
{
    static const enum comparison other[] = {[LESS] = GREATER,
                                            [LESS_EQUAL] = GREATER_EQUAL,
                                            [GREATER] = LESS,
                                            [GREATER_EQUAL] = LESS_EQUAL,
                                            [EQUAL] = EQUAL,
                                            [UNEQUAL] = UNEQUAL,
                                            [NO_COMPARISON] = NO_COMPARISON};
    return other[comparison];
}

static bool holds(double value, enum comparison comparison, double bound)
{
    switch (comparison) {
    case LESS:
        return value < bound;
    case LESS_EQUAL:
        return value <= bound;
    case GREATER:
        return value > bound;
    case GREATER_EQUAL:
        return value >= bound;
    case EQUAL:
        return value == bound;
    default:
        return value != bound;
    }
}

/* A comparison of len(result) with a number tests whether there are values. */
static struct condition of_count(struct reading *r, enum comparison comparison, double bound)
{
    bool empty = holds(0, comparison, bound);
    struct condition c = empty ? none_good : all_good;

    if (holds(1, comparison, bound) == empty)
        refuse(r, "expected len() to say whether there is any value");
    c.empty = empty ? CONDITION_EMPTY_GOOD : CONDITION_EMPTY_BAD;
    return c;
}

static struct condition of_value(struct reading *r, const struct operand *value,
                                 enum comparison comparison, double bound)
{
    struct condition c = all_good;

    if (comparison == UNEQUAL)
        refuse(r, "expected one range of values, found all but one");
    if (comparison == LESS || comparison == LESS_EQUAL || comparison == EQUAL) {
        c.max = bound;
        c.below = comparison == LESS;
    }
    if (comparison == GREATER || comparison == GREATER_EQUAL || comparison == EQUAL) {
        c.min = bound;
        c.above = comparison == GREATER;
    }
    if (value->has_default)
        c.empty =
            holds(value->number, comparison, bound) ? CONDITION_EMPTY_GOOD : CONDITION_EMPTY_BAD;
    return c;
}

static struct condition take_comparison_of(struct reading *r)
{
    struct operand a = take_operand(r), b;
    enum comparison comparison = take_comparison(r);

    if (comparison == NO_COMPARISON) {
        refuse(r, "expected a comparison of the result with a number");
        return none_good;
    }
    b = r->err == ERR_OK ? take_operand(r) : (struct operand){0};
    if (a.type == OPERAND_NUMBER || a.type == OPERAND_NIL) {
        struct operand first = a;
        a = b;
        b = first;
        comparison = turned_around(comparison);
    }
    if (b.type == OPERAND_NIL && a.type == OPERAND_RESULT &&
        (comparison == EQUAL || comparison == UNEQUAL))
        return of_count(r, comparison, 0);
    if (b.type != OPERAND_NUMBER || a.type == OPERAND_NUMBER || a.type == OPERAND_NIL) {
        refuse(r, "expected a comparison of the result with a number");
        return none_good;
    }
    return a.type == OPERAND_COUNT ? of_count(r, comparison, b.number)
                                   : of_value(r, &a, comparison, b.number);
}

/* --- conditions: expressions */

static struct condition take_or(struct reading *r);

/* all(result, { # < 1 }): a condition for each element. */
static struct condition take_all(struct reading *r, bool *elements)
{
    struct operand list = take_operand(r);
    bool braces, inner = r->elements;

    if (list.type != OPERAND_RESULT || !take(r, ","))
        refuse(r, "expected all(result, CONDITION)");
    braces = take(r, "{");
    r->elements = true;
    struct condition c = r->err == ERR_OK ? take_or(r) : none_good;
    r->elements = inner;
    *elements = true;
    if ((braces && !take(r, "}")) || !take(r, ")"))
        refuse(r, "expected a \")\"");
    c.empty = CONDITION_EMPTY_GOOD; /* it holds if there are no elements */
    return c;
}

static struct condition take_primary(struct reading *r)
{
    struct condition c = none_good;
    bool elements = false;

    if (++r->depth > CONDITION_DEPTH)
        refuse(r, "expected fewer parentheses");
    if (r->err != ERR_OK) {
        r->depth--;
        return c;
    }
    if (take(r, "!")) {
        c = take_primary(r);
        c = inverse(r, &c);
    } else if (take(r, "(")) {
        c = take_or(r);
        if (!take(r, ")"))
            refuse(r, "expected a \")\"");
    } else if (take(r, "isNaN(")) {
        (void)take_argument(r);
        c.empty = CONDITION_EMPTY_GOOD;
    } else if (take(r, "all(")) {
        c = take_all(r, &elements);
        c.elements = true;
    } else {
        c = take_comparison_of(r);
    }
    r->depth--;
    return c;
}

static struct condition take_and(struct reading *r)
{
    struct condition c = take_primary(r);

    while (r->err == ERR_OK && (take(r, "&&") || take(r, "and"))) {
        struct condition next = take_primary(r);
        bool elements = c.elements || next.elements;
        c = both(&c, &next);
        c.elements = elements;
    }
    return c;
}

static struct condition take_or(struct reading *r)
{
    struct condition c = take_and(r);

    while (r->err == ERR_OK && (take(r, "||") || take(r, "or"))) {
        struct condition next = take_and(r);
        bool elements = c.elements || next.elements;
        c = either(r, &c, &next);
        c.elements = elements;
    }
    return c;
}

static struct condition read_one(struct reading *r, const char *text)
{
    *r = (struct reading){.text = text, .at = text, .ei = r->ei};
    if (strlen(text) > CONDITION_MAX_BYTES) {
        r->err = err_set(r->ei, ERR_INVALID, "the condition has more than %d bytes",
                         CONDITION_MAX_BYTES);
        return none_good;
    }
    struct condition c = take_or(r);
    skip_blanks(r);
    if (*r->at)
        refuse(r, "expected the end of the condition");
    return c;
}

enum err condition_read(const char *success, const char *failure, struct condition *out,
                        struct errinfo *ei)
{
    struct reading r = {.ei = ei};
    struct condition good = all_good, bad;

    *out = all_good;
    if (success && *success)
        good = read_one(&r, success);
    if (r.err == ERR_OK && failure && *failure) {
        bad = read_one(&r, failure);
        bool elements = good.elements || bad.elements;
        if (bad.elements)
            refuse(&r, "a failure of all elements is no range of good values");
        bad = inverse(&r, &bad);
        if (success && *success)
            good = both(&good, &bad);
        else
            good = bad;
        good.elements = elements;
    }
    if (r.err == ERR_OK && is_none(&good))
        refuse(&r, "no value is good");
    *out = good;
    return r.err;
}

/* No number in a manifest is closer to zero. */
static const double nearest_zero = 1e-300;

double condition_least(const struct condition *c)
{
    if (!c->above)
        return c->min;
    return c->min == 0 ? nearest_zero : nextafter(c->min, INFINITY);
}

double condition_largest(const struct condition *c)
{
    if (!c->below)
        return c->max;
    return c->max == 0 ? -nearest_zero : nextafter(c->max, -INFINITY);
}
