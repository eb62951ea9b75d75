/* Parsing of templates: from text to tokens, and from tokens to a tree. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/encoding.h"
#include "base/table.h"
#include "metric/template_parts.h"

/* --- tokens. Inside an action white space is a token too: it separates arguments. */

static const char spaces[] = " \t\r\n";

struct lexer {
    const struct template_source *source;
    const char *at;
    struct template_token *tokens;
    size_t count;
    int depth; /* nesting of parentheses */
};

static bool is_space(char c)
{
    return c != '\0' && strchr(spaces, c) != NULL;
}

/* Non-ASCII characters count as letters: names and keys may contain any. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & 0x80);
}

static void add(struct lexer *lexer, enum template_token_kind kind, const char *at, size_t len)
{
    lexer->tokens[lexer->count++] = (struct template_token){.kind = kind, .at = at, .len = len};
}

/* --- text and delimiters */

/* True if "}}" or " -}}" follows; *trims: it is the latter. */
static bool closes(const char *at, bool *trims)
{
    *trims = is_space(at[0]) && at[1] == '-' && strncmp(at + 2, "}}", 2) == 0;
    return *trims || strncmp(at, "}}", 2) == 0;
}

static void leave_action(struct lexer *lexer, bool trims)
{
    lexer->at += trims ? 4 : 2;
    if (trims)
        lexer->at += strspn(lexer->at, spaces);
}

static bool skip_comment(struct lexer *lexer)
{
    const char *end = strstr(lexer->at + 2, "*/");
    bool trims;

    if (!end)
        return template_fail(lexer->source, lexer->at, "\"/*\" without \"*/\"");
    if (!closes(end + 2, &trims))
        return template_fail(lexer->source, end, "expected \"}}\" behind a comment");
    lexer->at = end + 2;
    leave_action(lexer, trims);
    return true;
}

static bool lex_action(struct lexer *lexer);

/* The text up to the next action, and that action. */
static bool lex_text(struct lexer *lexer)
{
    const char *open = strstr(lexer->at, "{{");
    const char *end = open ? open : lexer->at + strlen(lexer->at);
    const char *start = lexer->at;
    bool trims = open && open[2] == '-' && is_space(open[3]);

    while (trims && end > start && is_space(end[-1]))
        end--;
    if (end > start)
        add(lexer, TOKEN_TEXT, start, (size_t)(end - start));
    if (!open) {
        lexer->at = end;
        return true;
    }
    lexer->at = open + (trims ? 4 : 2);
    if (strncmp(lexer->at, "/*", 2) == 0)
        return skip_comment(lexer);
    add(lexer, TOKEN_OPEN, open, 2);
    return lex_action(lexer);
}

/* --- inside an action */

static bool lex_quoted(struct lexer *lexer, char quote, enum template_token_kind kind)
{
    const char *start = lexer->at;
    const char *c = start + 1;

    for (; *c != quote; c++) {
        if (*c == '\\' && quote != '`')
            c++;
        if (*c == '\0' || (*c == '\n' && quote != '`'))
            return template_fail(lexer->source, start, "a quote that is not closed");
    }
    lexer->at = c + 1;
    add(lexer, kind, start, (size_t)(lexer->at - start));
    return true;
}

/* Characters that may follow a name without a space. */
static bool ends_word(const char *at)
{
    return *at == '\0' || is_space(*at) || strchr(".,|:)(", *at) || strncmp(at, "}}", 2) == 0;
}

static enum template_token_kind word_kind(const char *at, size_t len)
{
    static const struct {
        const char *word;
        enum template_token_kind kind;
    } words[] = {
        {"true", TOKEN_TRUE},         {"false", TOKEN_FALSE},
        {"nil", TOKEN_NIL},           {"if", TOKEN_IF},
        {"with", TOKEN_WITH},         {"range", TOKEN_RANGE},
        {"else", TOKEN_ELSE},         {"end", TOKEN_CLOSING},
        {"break", TOKEN_BREAK},       {"continue", TOKEN_CONTINUE},
        {"define", TOKEN_UNSERVED},   {"block", TOKEN_UNSERVED},
        {"template", TOKEN_UNSERVED},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].word) == len && strncmp(words[i].word, at, len) == 0)
            return words[i].kind;
    }
    return TOKEN_NAME;
}

/* A word of letters and digits that starts `skip` characters after the start of its token. */
static bool lex_word(struct lexer *lexer, enum template_token_kind kind, size_t skip)
{
    const char *start = lexer->at;
    const char *end = start + skip;

    while (is_word(*end))
        end++;
    if (!ends_word(end))
        return template_fail(lexer->source, end, "unexpected character behind \"%.*s\"",
                             (int)(end - start), start);
    size_t len = (size_t)(end - start);
    lexer->at = end;
    add(lexer, skip == 0 ? word_kind(start, len) : kind, start, len);
    return true;
}

static bool is_digit_of(char c, const char *more)
{
    return (c >= '0' && c <= '9') || (c != '\0' && strchr(more, c) != NULL);
}

static bool lex_number(struct lexer *lexer)
{
    const char *start = lexer->at;
    const char *c = start;
    const char *more = "";

    if (*c == '+' || *c == '-')
        c++;
    if (*c == '0' && c[1] != '\0' && strchr("xXoObB", c[1])) {
        more = strchr("xX", c[1]) ? "abcdefABCDEF" : "";
        c += 2;
    }
    while (is_digit_of(*c, more))
        c++;
    if (*c == '.')
        c++;
    while (is_digit_of(*c, more))
        c++;
    if (!*more && (*c == 'e' || *c == 'E')) {
        c += c[1] == '+' || c[1] == '-' ? 2 : 1;
        while (is_digit_of(*c, ""))
            c++;
    }
    if (is_word(*c) || *c == '+' || *c == '-')
        return template_fail(lexer->source, start, "a number that is not one, or not served");
    lexer->at = c;
    add(lexer, TOKEN_NUMBER, start, (size_t)(c - start));
    return true;
}

static bool lex_sign(struct lexer *lexer)
{
    static const struct {
        const char *sign;
        enum template_token_kind kind;
    } signs[] = {
        {":=", TOKEN_DECLARE}, {"=", TOKEN_ASSIGN}, {"|", TOKEN_PIPE},
        {"(", TOKEN_LEFT},     {")", TOKEN_RIGHT},
    };
    const char *at = lexer->at;

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        size_t len = strlen(signs[i].sign);
        if (strncmp(at, signs[i].sign, len) != 0)
            continue;
        lexer->depth += signs[i].kind == TOKEN_LEFT ? 1 : signs[i].kind == TOKEN_RIGHT ? -1 : 0;
        if (lexer->depth < 0)
            return template_fail(lexer->source, at, "\")\" without \"(\"");
        lexer->at += len;
        add(lexer, signs[i].kind, at, len);
        return true;
    }
    if (*at <= ' ' || *at == ':' || *at == 0x7f)
        return template_fail(lexer->source, at, "unexpected character in an action");
    lexer->at++;
    add(lexer, TOKEN_SIGN, at, 1);
    return true;
}

static bool lex_token(struct lexer *lexer)
{
    const char *at = lexer->at;

    switch (*at) {
    case '"':
        return lex_quoted(lexer, '"', TOKEN_STRING);
    case '`':
        return lex_quoted(lexer, '`', TOKEN_RAW);
    case '\'':
        return lex_quoted(lexer, '\'', TOKEN_CHAR);
    case '$':
        return lex_word(lexer, TOKEN_VARIABLE, 1);
    case '.':
        if (is_digit_of(at[1], ""))
            return lex_number(lexer);
        return lex_word(lexer, ends_word(at + 1) ? TOKEN_DOT : TOKEN_FIELD, 1);
    default:
        break;
    }
    if (is_digit_of(*at, "+-"))
        return lex_number(lexer);
    if (is_word(*at))
        return lex_word(lexer, TOKEN_NAME, 0);
    return lex_sign(lexer);
}

/* Everything up to and including its "}}". */
static bool lex_action(struct lexer *lexer)
{
    const char *open = lexer->at;
    bool trims;

    lexer->depth = 0;
    while (!closes(lexer->at, &trims)) {
        const char *at = lexer->at;
        bool ok = true;
        if (*at == '\0')
            return template_fail(lexer->source, open, "\"{{\" without \"}}\"");
        if (!is_space(*at)) {
            ok = lex_token(lexer);
        } else {
            /* the last space may belong to "-}}" */
            while (is_space(*lexer->at) && (lexer->at == at || !closes(lexer->at, &trims)))
                lexer->at++;
            add(lexer, TOKEN_SPACE, at, (size_t)(lexer->at - at));
        }
        if (!ok)
            return false;
    }
    if (lexer->depth > 0)
        return template_fail(lexer->source, lexer->at, "\"(\" without \")\"");
    add(lexer, TOKEN_CLOSE, lexer->at, 2);
    leave_action(lexer, trims);
    return true;
}

struct template_token *template_lex(const struct template_source *source)
{
    /* every token but the last has at least one character */
    struct lexer lexer = {
        .source = source,
        .at = source->text,
        .tokens = arena_array(source->arena, strlen(source->text) + 1, sizeof(*lexer.tokens)),
    };

    while (*lexer.at) {
        if (!lex_text(&lexer))
            return NULL;
    }
    add(&lexer, TOKEN_END, lexer.at, 0);
    return lexer.tokens;
}

/* --- the tree */

enum { MAX_DEPTH = 64 }; /* of nested actions and parentheses */

/* A variable that is visible from here on. */
struct scope {
    const struct scope *outer;
    struct template_name *name;
};

struct parser {
    const struct template_source *source;
    const struct template_token *token; /* the next one */
    const struct scope *scope;
    struct table names; /* variables, keyed by their text */
    int depth, ranges;
};

enum list_end { LIST_TEMPLATE, LIST_END, LIST_ELSE };

static bool parse_pipe(struct parser *p, enum template_token_kind end, bool ranges,
                       struct template_pipe **out);
static bool parse_list(struct parser *p, struct template_node **out, enum list_end *end);

static enum template_token_kind peek(struct parser *p)
{
    while (p->token->kind == TOKEN_SPACE)
        p->token++;
    return p->token->kind;
}

static bool unexpected(struct parser *p)
{
    const struct template_token *token = p->token;

    if (token->kind == TOKEN_END)
        return template_fail(p->source, token->at, "the template ends before its \"{{ end }}\"");
    if (token->kind == TOKEN_UNSERVED)
        return template_fail(p->source, token->at, "\"%.*s\" is not served by this version",
                             (int)token->len, token->at);
    return template_fail(p->source, token->at, "unexpected \"%.*s\"",
                         (int)(token->len < 40 ? token->len : 40), token->at);
}

static bool deeper(struct parser *p)
{
    if (++p->depth <= MAX_DEPTH)
        return true;
    return template_fail(p->source, p->token->at, "more than %d levels", MAX_DEPTH);
}

/* --- variables */

static void name_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct template_name *)item)->text;
    *second = "";
}

static struct template_name *name_of(struct parser *p, const char *text)
{
    struct template_name *name = table_get(&p->names, text, "");

    if (name)
        return name;
    name = ARENA_NEW(p->source->arena, struct template_name);
    *name = (struct template_name){.text = text, .id = (int)p->names.count};
    (void)table_put(&p->names, name);
    return name;
}

static void declare(struct parser *p, struct template_name *name)
{
    struct scope *scope = ARENA_NEW(p->source->arena, struct scope);

    *scope = (struct scope){.outer = p->scope, .name = name};
    p->scope = scope;
    name->declared++;
}

/* Restores the scope. */
static void undeclare(struct parser *p, const struct scope *scope)
{
    for (; p->scope != scope; p->scope = p->scope->outer)
        p->scope->name->declared--;
}

static struct template_name *token_name(struct parser *p, const struct template_token *token)
{
    return name_of(p, arena_strndup(p->source->arena, token->at, token->len));
}

static bool use_variable(struct parser *p, const struct template_token *token,
                         struct template_operand *out)
{
    const struct template_name *name = token_name(p, token);

    out->kind = OPERAND_VARIABLE;
    out->name = name;
    if (name->declared > 0)
        return true;
    return template_fail(p->source, token->at, "variable \"%.40s\" is not declared", name->text);
}

/* --- operands */

static bool unknown_function(struct parser *p, const struct template_token *token)
{
    const char *names = "";

    for (const struct template_function *f = p->source->functions; f->name; f++)
        names = arena_printf(p->source->arena, "%s%s, ", names, f->name);
    return template_fail(p->source, token->at,
                         "function \"%.*s\" is not known; expected %sor one of Go's templates",
                         (int)(token->len < 40 ? token->len : 40), token->at, names);
}

static bool use_function(struct parser *p, const struct template_token *token,
                         struct template_operand *out)
{
    const struct template_function *functions = p->source->functions;

    for (int i = 0; functions[i].name; i++) {
        if (strlen(functions[i].name) != token->len ||
            strncmp(functions[i].name, token->at, token->len) != 0)
            continue;
        out->kind = OPERAND_GIVEN;
        out->given = i;
        return true;
    }
    out->kind = OPERAND_BUILTIN;
    out->builtin = template_builtin_find(token->at, token->len);
    return out->builtin || unknown_function(p, token);
}

static bool parse_parentheses(struct parser *p, struct template_operand *out)
{
    out->kind = OPERAND_PIPE;
    if (!deeper(p) || !parse_pipe(p, TOKEN_RIGHT, false, &out->pipe))
        return false;
    p->depth--;
    return true;
}

/* The operand without its fields. *some is false if there is no operand. */
static bool parse_term(struct parser *p, struct template_operand *term, bool *some)
{
    enum template_token_kind kind = peek(p);
    const struct template_token *token = p->token;

    *term = (struct template_operand){.at = token->at};
    *some = true;
    p->token++;
    switch (kind) {
    case TOKEN_NAME:
        return use_function(p, token, term);
    case TOKEN_VARIABLE:
        return use_variable(p, token, term);
    case TOKEN_LEFT:
        return parse_parentheses(p, term);
    case TOKEN_DOT:
        term->kind = OPERAND_DOT;
        return true;
    case TOKEN_NIL:
        term->kind = OPERAND_NIL;
        return true;
    case TOKEN_FIELD:
        term->kind = OPERAND_FIELD;
        p->token--; /* the first field */
        return true;
    case TOKEN_TRUE:
    case TOKEN_FALSE:
    case TOKEN_NUMBER:
    case TOKEN_CHAR:
    case TOKEN_STRING:
    case TOKEN_RAW:
        term->kind = OPERAND_CONSTANT;
        return template_literal(p->source, token, &term->value);
    default:
        p->token--;
        *some = false;
        return true;
    }
}

static bool parse_operand(struct parser *p, struct template_operand **out)
{
    struct template_operand term;
    bool some;

    *out = NULL;
    if (!parse_term(p, &term, &some))
        return false;
    if (!some)
        return true;
    struct template_operand *operand = ARENA_NEW(p->source->arena, struct template_operand);
    *operand = term;
    *out = operand;
    struct template_field **last = &operand->fields;
    bool constant = operand->kind == OPERAND_CONSTANT || operand->kind == OPERAND_NIL ||
                    operand->kind == OPERAND_DOT;

    if (p->token->kind == TOKEN_FIELD && constant)
        return unexpected(p);
    for (; p->token->kind == TOKEN_FIELD; p->token++) {
        *last = ARENA_NEW(p->source->arena, struct template_field);
        (*last)->at = p->token->at;
        (*last)->name = arena_strndup(p->source->arena, p->token->at + 1, p->token->len - 1);
        last = &(*last)->next;
    }
    return true;
}

/* --- pipelines */

/* Operands up to a pipe, which is consumed, or to the end of the pipeline, which is not. */
static bool parse_command(struct parser *p, struct template_command *command)
{
    struct template_operand **last = &command->operands;

    for (;;) {
        if (!parse_operand(p, last))
            return false;
        if (*last)
            last = &(*last)->next;
        switch (p->token->kind) {
        case TOKEN_SPACE:
            continue;
        case TOKEN_PIPE:
            p->token++;
            return true;
        case TOKEN_CLOSE:
        case TOKEN_RIGHT:
            return true;
        default:
            return unexpected(p);
        }
    }
}

/* "$x :=", "$x =", or the "$k, $v :=" of a range. */
static bool parse_names(struct parser *p, bool ranges, struct template_pipe *pipe)
{
    while (peek(p) == TOKEN_VARIABLE) {
        const struct template_token *variable = p->token++;
        enum template_token_kind kind = peek(p);
        bool comma = kind == TOKEN_SIGN && *p->token->at == ',';
        if (kind != TOKEN_ASSIGN && kind != TOKEN_DECLARE && !comma) {
            p->token = variable; /* first operand */
            return true;
        }
        if (pipe->n_names == 2 || (comma && (!ranges || pipe->n_names == 1)))
            return template_fail(p->source, p->token->at, "too many variables");
        p->token++;
        pipe->assigns = kind == TOKEN_ASSIGN;
        struct template_name *name = token_name(p, variable);
        pipe->names[pipe->n_names++] = name;
        declare(p, name);
        if (!comma)
            return true;
        if (peek(p) != TOKEN_VARIABLE)
            return unexpected(p);
    }
    return true;
}

/* Only the first command of a pipeline may be a plain value, since nothing can be passed to a
 * value. */
static bool takes_value(const struct template_operand *operand)
{
    return operand->kind != OPERAND_CONSTANT && operand->kind != OPERAND_NIL &&
           operand->kind != OPERAND_DOT;
}

static bool parse_pipe(struct parser *p, enum template_token_kind end, bool ranges,
                       struct template_pipe **out)
{
    struct template_pipe *pipe = ARENA_NEW(p->source->arena, struct template_pipe);
    struct template_command **last = &pipe->commands;

    *out = pipe;
    (void)peek(p);
    pipe->at = p->token->at;
    if (!parse_names(p, ranges, pipe))
        return false;
    while (peek(p) != end) {
        const struct template_token *start = p->token;
        *last = ARENA_NEW(p->source->arena, struct template_command);
        if (!parse_command(p, *last))
            return false;
        if (!(*last)->operands)
            return unexpected(p);
        if (*last != pipe->commands && !takes_value((*last)->operands))
            return template_fail(p->source, start->at, "nothing can be passed to a plain value");
        last = &(*last)->next;
    }
    if (!pipe->commands)
        return template_fail(p->source, p->token->at, "expected a value");
    p->token++;
    return true;
}

/* --- actions */

static bool expect_close(struct parser *p)
{
    if (peek(p) != TOKEN_CLOSE)
        return unexpected(p);
    p->token++;
    return true;
}

static bool parse_control(struct parser *p, struct template_node *node);

/* The part after {{ else }}; "else if" and "else with" are a nested action that the same end
 * closes. */
static bool parse_else(struct parser *p, struct template_node *node)
{
    static const enum template_token_kind words[] = {
        [NODE_IF] = TOKEN_IF, [NODE_WITH] = TOKEN_WITH};
    bool chains = node->kind == NODE_IF || node->kind == NODE_WITH;
    enum list_end end;

    if (chains && peek(p) == words[node->kind]) {
        node->otherwise = ARENA_NEW(p->source->arena, struct template_node);
        node->otherwise->kind = node->kind;
        node->otherwise->at = p->token++->at;
        return parse_control(p, node->otherwise);
    }
    if (!expect_close(p) || !parse_list(p, &node->otherwise, &end))
        return false;
    return end == LIST_END ? true
                           : template_fail(p->source, node->at, "expected one \"{{ end }}\"");
}

/* if, with and range, from after their keyword up to their end. */
static bool parse_control(struct parser *p, struct template_node *node)
{
    const struct scope *scope = p->scope;
    bool ranges = node->kind == NODE_RANGE;
    enum list_end end;

    if (!deeper(p) || !parse_pipe(p, TOKEN_CLOSE, ranges, &node->pipe))
        return false;
    p->ranges += ranges;
    bool ok = parse_list(p, &node->body, &end);
    p->ranges -= ranges;
    if (!ok || end == LIST_TEMPLATE)
        return ok && unexpected(p);
    if (end == LIST_ELSE && !parse_else(p, node))
        return false;
    undeclare(p, scope);
    p->depth--;
    return true;
}

static bool parse_jump(struct parser *p, const char *word)
{
    if (p->ranges == 0)
        return template_fail(p->source, p->token->at, "%s outside of a range", word);
    return expect_close(p);
}

/* An action other than else and end. */
static bool parse_action(struct parser *p, struct template_node *node)
{
    enum template_token_kind kind = peek(p);

    node->at = p->token->at;
    if (kind >= TOKEN_IF && kind <= TOKEN_CONTINUE)
        p->token++;
    switch (kind) {
    case TOKEN_IF:
    case TOKEN_WITH:
    case TOKEN_RANGE:
        node->kind = kind == TOKEN_IF ? NODE_IF : kind == TOKEN_WITH ? NODE_WITH : NODE_RANGE;
        return parse_control(p, node);
    case TOKEN_BREAK:
        node->kind = NODE_BREAK;
        return parse_jump(p, "break");
    case TOKEN_CONTINUE:
        node->kind = NODE_CONTINUE;
        return parse_jump(p, "continue");
    default:
        node->kind = NODE_ACTION;
        return parse_pipe(p, TOKEN_CLOSE, false, &node->pipe);
    }
}

/* Nodes up to an end or else, which is consumed (only the keyword of an else), or to the end of the
 * template. */
static bool parse_list(struct parser *p, struct template_node **out, enum list_end *end)
{
    for (; p->token->kind != TOKEN_END; out = &(*out)->next) {
        const struct template_token *token = p->token++;
        if (token->kind == TOKEN_OPEN && peek(p) == TOKEN_ELSE) {
            p->token++;
            *end = LIST_ELSE;
            return true;
        }
        if (token->kind == TOKEN_OPEN && peek(p) == TOKEN_CLOSING) {
            p->token++;
            *end = LIST_END;
            return expect_close(p);
        }
        *out = ARENA_NEW(p->source->arena, struct template_node);
        **out = (struct template_node){.kind = NODE_TEXT, .at = token->at, .len = token->len};
        if (token->kind == TOKEN_OPEN && !parse_action(p, *out))
            return false;
    }
    *end = LIST_TEMPLATE;
    return true;
}

bool template_parse(const struct template_source *source, const struct template_token *tokens,
                    struct template_tree *out)
{
    struct parser p = {.source = source, .token = tokens};
    enum list_end end;

    *out = (struct template_tree){.text = source->text};
    table_init(&p.names, name_key);
    declare(&p, name_of(&p, "$"));
    bool ok = parse_list(&p, &out->nodes, &end);
    out->n_names = (int)p.names.count;
    table_fini(&p.names);
    if (!ok || end == LIST_TEMPLATE)
        return ok;
    return template_fail(source, p.token[-1].at, "an else or end of nothing");
}
