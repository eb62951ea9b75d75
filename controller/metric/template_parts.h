/* Tokens, tree and values, private to metric/template*.c. They live in the arena of one
 * template_render() call, except for cached trees. */
#ifndef METRIC_TEMPLATE_PARTS_H
#define METRIC_TEMPLATE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "metric/template.h"

/* The template, and the error with its position. */
struct template_source {
    struct arena *arena;
    const char *text;
    const struct template_function *functions;
    struct errinfo *ei;
};

/* Sets source->ei to the position of `at` and the message. Always returns false. */
bool template_fail(const struct template_source *source, const char *at, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* --- tokens */

enum template_token_kind {
    TOKEN_END, /* end of the template */
    TOKEN_TEXT,
    TOKEN_OPEN,  /* {{ */
    TOKEN_CLOSE, /* }} */
    TOKEN_SPACE,
    TOKEN_PIPE,
    TOKEN_LEFT, /* ( */
    TOKEN_RIGHT,
    TOKEN_ASSIGN,  /* = */
    TOKEN_DECLARE, /* := */
    TOKEN_SIGN,    /* any other character */
    TOKEN_DOT,
    TOKEN_FIELD,    /* .name */
    TOKEN_VARIABLE, /* $name */
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_CHAR,   /* 'a' */
    TOKEN_STRING, /* "a" */
    TOKEN_RAW,    /* `a` */
    TOKEN_TRUE,
    TOKEN_FALSE,
    TOKEN_NIL,
    TOKEN_IF,
    TOKEN_WITH,
    TOKEN_RANGE,
    TOKEN_ELSE,
    TOKEN_CLOSING, /* end */
    TOKEN_BREAK,
    TOKEN_CONTINUE,
    TOKEN_UNSERVED, /* define, block, template */
};
struct template_token {
    enum template_token_kind kind;
    const char *at;
    size_t len;
};
/* All tokens of the template, ending with TOKEN_END; NULL after an error, which has been set. */
struct template_token *template_lex(const struct template_source *source);

/* --- values */

enum template_type { TYPE_NIL, TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_TEXT, TYPE_MAP };
struct template_value {
    enum template_type type;
    bool yes;         /* BOOL */
    int64_t whole;    /* INT */
    double real;      /* FLOAT */
    const char *text; /* TEXT: len bytes, any of them */
    size_t len;
    struct json_object *map; /* MAP; NULL if missing */
};
/* "string", for messages */
const char *template_type_name(enum template_type type);
/* The constant that a token represents. */
bool template_literal(const struct template_source *source, const struct template_token *token,
                      struct template_value *out);

/* --- the tree */

enum template_operand_kind {
    OPERAND_CONSTANT,
    OPERAND_NIL,
    OPERAND_DOT,
    OPERAND_FIELD, /* a field of dot */
    OPERAND_VARIABLE,
    OPERAND_GIVEN,   /* function supplied by the caller */
    OPERAND_BUILTIN, /* built-in function of the language */
    OPERAND_PIPE,    /* a pipeline in parentheses */
};
/* The name of a variable, shared by all variables with that name. */
struct template_name {
    const char *text; /* including its '$' */
    int id;           /* starts at 0 */
    int declared;     /* while parsing: number of visible variables with that name */
};
struct template_field {
    struct template_field *next;
    const char *name, *at;
};
struct template_operand {
    struct template_operand *next;
    enum template_operand_kind kind;
    const char *at;
    struct template_value value;      /* CONSTANT */
    const struct template_name *name; /* VARIABLE */
    int given;                        /* its index among the caller's functions */
    const struct template_builtin *builtin;
    struct template_pipe *pipe;
    struct template_field *fields; /* applied in order */
};
struct template_command { /* a function with its arguments, or an operand */
    struct template_command *next;
    struct template_operand *operands;
};
struct template_pipe {
    const char *at;
    const struct template_name *names[2]; /* variables that are set to the pipeline's value */
    int n_names;
    bool assigns; /* sets existing variables instead of declaring new ones */
    struct template_command *commands;
};
enum template_node_kind {
    NODE_TEXT,
    NODE_ACTION,
    NODE_IF,
    NODE_WITH,
    NODE_RANGE,
    NODE_BREAK,
    NODE_CONTINUE,
};
struct template_node {
    struct template_node *next;
    enum template_node_kind kind;
    const char *at;
    size_t len; /* TEXT */
    struct template_pipe *pipe;
    struct template_node *body, *otherwise;
};
struct template_tree {
    const char *text;            /* its nodes point into it */
    struct template_node *nodes; /* the first node; NULL if the template is empty */
    int n_names;                 /* number of names */
};
bool template_parse(const struct template_source *source, const struct template_token *tokens,
                    struct template_tree *out);

/* --- functions of the language */

/* The context of a call: the source for errors, and `at` for their position. */
struct template_call {
    const struct template_source *source;
    const char *at;
    const struct template_value *args;
    int n;
};
struct template_builtin {
    const char *name;
    int least, most; /* number of arguments; most -1: no limit */
    bool stops_at;   /* and, or: the first argument with this truth value is the result */
    bool (*run)(const struct template_call *call, struct template_value *out); /* NULL: and, or */
};
const struct template_builtin *template_builtin_find(const char *name, size_t len);
bool template_truth(const struct template_value *value);
/* NULL if missing. */
const char *template_entry(struct json_object *map, const char *key, size_t len);
/* The *n keys of the map, in order. */
const char **template_keys(struct arena *arena, struct json_object *map, size_t *n);
/* The value as fmt.Print prints it; nil is "<nil>". Owned by the arena, *len bytes. */
const char *template_show(struct arena *arena, const struct template_value *value, size_t *len);
struct template_value template_text(const char *text, size_t len);

enum { TEMPLATE_TEXT_MAX = 64 * 1024 }; /* length limit of one value */

#endif
