/* The functions of the template language itself, but for printf. */
#include <string.h>

#include "base/buf.h"
#include "metric/template_parts.h"

static bool fail(const struct template_call *call, const char *text)
{
    return template_fail(call->source, call->at, "%s", text);
}

static struct template_value truth_of(bool yes)
{
    return (struct template_value){.type = TYPE_BOOL, .yes = yes};
}

static bool run_not(const struct template_call *call, struct template_value *out)
{
    *out = truth_of(!template_truth(&call->args[0]));
    return true;
}

/* --- comparisons */

/* Below, at or above 0, as a to b; for types that have an order. */
static int order(const struct template_value *a, const struct template_value *b)
{
    size_t least = a->len < b->len ? a->len : b->len;
    int byte;

    if (a->type == TYPE_INT)
        return (a->whole > b->whole) - (a->whole < b->whole);
    if (a->type == TYPE_FLOAT)
        return (a->real > b->real) - (a->real < b->real);
    byte = memcmp(a->text, b->text, least);
    return byte ? byte : (a->len > b->len) - (a->len < b->len);
}

/* nil equals itself and a map that was not given, which has no other equals. */
static bool is_nil(const struct template_value *value)
{
    return value->type == TYPE_NIL || (value->type == TYPE_MAP && !value->map);
}

static bool equal(const struct template_call *call, const struct template_value *a,
                  const struct template_value *b, bool *out)
{
    bool a_is_plain = a->type != TYPE_NIL && a->type != TYPE_MAP;
    bool b_is_plain = b->type != TYPE_NIL && b->type != TYPE_MAP;

    if (a->type == b->type && a_is_plain) {
        *out = a->type == TYPE_BOOL ? a->yes == b->yes : order(a, b) == 0;
        return true;
    }
    if (a->type == TYPE_NIL || b->type == TYPE_NIL || (!a_is_plain && !b_is_plain)) {
        *out = is_nil(a) && is_nil(b);
        if (!is_nil(a) && !is_nil(b))
            return fail(call, "maps cannot be compared");
        return true;
    }
    return template_fail(call->source, call->at, "a %s cannot be compared with a %s",
                         template_type_name(a->type), template_type_name(b->type));
}

/* One of the others equals the first. */
static bool run_eq(const struct template_call *call, struct template_value *out)
{
    bool same = false;

    if (call->n < 2)
        return fail(call, "nothing to compare with");
    for (int i = 1; i < call->n && !same; i++) {
        if (!equal(call, &call->args[0], &call->args[i], &same))
            return false;
    }
    *out = truth_of(same);
    return true;
}

static bool run_ne(const struct template_call *call, struct template_value *out)
{
    if (!run_eq(call, out))
        return false;
    out->yes = !out->yes;
    return true;
}

static bool compare(const struct template_call *call, int *out)
{
    const struct template_value *a = &call->args[0], *b = &call->args[1];

    if (a->type != b->type ||
        (a->type != TYPE_INT && a->type != TYPE_FLOAT && a->type != TYPE_TEXT))
        return template_fail(call->source, call->at, "a %s and a %s have no order",
                             template_type_name(a->type), template_type_name(b->type));
    *out = order(a, b);
    return true;
}

static bool run_lt(const struct template_call *call, struct template_value *out)
{
    int order_of = 0;

    if (!compare(call, &order_of))
        return false;
    *out = truth_of(order_of < 0);
    return true;
}

static bool run_le(const struct template_call *call, struct template_value *out)
{
    int order_of = 0;

    if (!compare(call, &order_of))
        return false;
    *out = truth_of(order_of <= 0);
    return true;
}

static bool run_gt(const struct template_call *call, struct template_value *out)
{
    if (!run_le(call, out))
        return false;
    out->yes = !out->yes;
    return true;
}

static bool run_ge(const struct template_call *call, struct template_value *out)
{
    if (!run_lt(call, out))
        return false;
    out->yes = !out->yes;
    return true;
}

/* --- parts */

static bool run_len(const struct template_call *call, struct template_value *out)
{
    const struct template_value *of = &call->args[0];

    *out = (struct template_value){.type = TYPE_INT, .whole = (int64_t)of->len};
    if (of->type == TYPE_MAP)
        out->whole = of->map ? json_object_object_length(of->map) : 0;
    if (of->type == TYPE_TEXT || of->type == TYPE_MAP)
        return true;
    return template_fail(call->source, call->at, "a %s has no length",
                         template_type_name(of->type));
}

/* A place in a text, up to and with `most`. */
static bool place(const struct template_call *call, const struct template_value *value, size_t most,
                  size_t *out)
{
    if (value->type != TYPE_INT)
        return template_fail(call->source, call->at, "a text has no place %s",
                             template_type_name(value->type));
    if (value->whole < 0 || (uint64_t)value->whole > most)
        return template_fail(call->source, call->at, "place %lld is out of range",
                             (long long)value->whole);
    *out = (size_t)value->whole;
    return true;
}

static bool index_one(const struct template_call *call, struct template_value *item,
                      const struct template_value *key)
{
    size_t at = 0;

    if (item->type == TYPE_MAP) {
        if (key->type != TYPE_TEXT)
            return template_fail(call->source, call->at, "the key of a map is a string, found %s",
                                 template_type_name(key->type));
        const char *entry = template_entry(item->map, key->text, key->len);
        *item = template_text(entry ? entry : "", entry ? strlen(entry) : 0);
        return true;
    }
    if (item->type != TYPE_TEXT)
        return template_fail(call->source, call->at, "a %s has no parts",
                             template_type_name(item->type));
    if (!place(call, key, item->len, &at))
        return false;
    if (at == item->len)
        return fail(call, "a place behind the end of a text");
    *item = (struct template_value){.type = TYPE_INT, .whole = (unsigned char)item->text[at]};
    return true;
}

/* An entry that is not there is "": `variables.key` is for those that must be. */
static bool run_index(const struct template_call *call, struct template_value *out)
{
    *out = call->args[0];
    if (out->type == TYPE_NIL)
        return fail(call, "nil has no parts");
    for (int i = 1; i < call->n; i++) {
        if (!index_one(call, out, &call->args[i]))
            return false;
    }
    return true;
}

static bool run_slice(const struct template_call *call, struct template_value *out)
{
    const struct template_value *of = &call->args[0];
    size_t from = 0, to = of->len;

    if (of->type != TYPE_TEXT)
        return template_fail(call->source, call->at, "a %s cannot be sliced",
                             template_type_name(of->type));
    if ((call->n > 1 && !place(call, &call->args[1], of->len, &from)) ||
        (call->n > 2 && !place(call, &call->args[2], of->len, &to)))
        return false;
    if (from > to)
        return fail(call, "a slice that ends before it begins");
    *out = template_text(of->text + from, to - from);
    return true;
}

/* --- texts */

/* With a space between all arguments, or between those of which neither is a text. */
static bool join(const struct template_call *call, bool always, const char *end,
                 struct template_value *out)
{
    struct buf buf;

    buf_init(&buf, TEMPLATE_TEXT_MAX + 1); /* one more is too many, which the caller tells */
    for (int i = 0; i < call->n; i++) {
        bool texts =
            i == 0 || call->args[i - 1].type == TYPE_TEXT || call->args[i].type == TYPE_TEXT;
        size_t len;
        const char *text = template_show(call->source->arena, &call->args[i], &len);
        if (i > 0 && (always || !texts))
            buf_puts(&buf, " ");
        buf_add(&buf, text, len);
    }
    buf_puts(&buf, end);
    *out = template_text(arena_strndup(call->source->arena, buf.data, buf.len), buf.len);
    buf_fini(&buf);
    return true;
}

static bool run_print(const struct template_call *call, struct template_value *out)
{
    return join(call, false, "", out);
}

static bool run_println(const struct template_call *call, struct template_value *out)
{
    return join(call, true, "\n", out);
}

const struct template_builtin *template_builtin_find(const char *name, size_t len)
{
    static const struct template_builtin builtins[] = {
        {.name = "and", .least = 1, .most = -1, .stops_at = false},
        {.name = "or", .least = 1, .most = -1, .stops_at = true},
        {.name = "not", .least = 1, .most = 1, .run = run_not},
        {.name = "eq", .least = 1, .most = -1, .run = run_eq},
        {.name = "ne", .least = 2, .most = 2, .run = run_ne},
        {.name = "lt", .least = 2, .most = 2, .run = run_lt},
        {.name = "le", .least = 2, .most = 2, .run = run_le},
        {.name = "gt", .least = 2, .most = 2, .run = run_gt},
        {.name = "ge", .least = 2, .most = 2, .run = run_ge},
        {.name = "len", .least = 1, .most = 1, .run = run_len},
        {.name = "index", .least = 1, .most = -1, .run = run_index},
        {.name = "slice", .least = 1, .most = 3, .run = run_slice},
        {.name = "print", .most = -1, .run = run_print},
        {.name = "println", .most = -1, .run = run_println},
        {.name = "printf", .least = 1, .most = -1, .run = template_printf},
    };

    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
        if (strlen(builtins[i].name) == len && strncmp(builtins[i].name, name, len) == 0)
            return &builtins[i];
    }
    return NULL;
}
