#include "loadtester/policy.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <string.h>

#include "base/yaml.h"

/*
 * Limits of matching. Other requests wait while one is checked, so each pattern has a limit of
 * steps, after which it does not match, and all patterns together have limits of matches and bytes.
 * A pattern that takes more memory than PATTERN_BYTES is rejected when read: lengths belong in
 * `max`.
 */
enum {
    STEPS_PER_MATCH = 10 * 1000,
    KIB_PER_MATCH = 256,
    MATCHES_PER_REQUEST = 512,
    BYTES_PER_REQUEST = 64 * 1024,
    PATTERN_BYTES = 16 * 1024,
    MAX_ARGUMENTS = 64,
};

/* A pattern that must match a whole value, and the limit of its bytes. */
struct pattern {
    pcre2_code *code;
    size_t max;
};

struct flag {
    struct flag *next;
    const char *name;
    struct pattern *value; /* NULL if the flag takes none */
};

/* One way to call a command. */
struct form {
    struct form *next;
    struct pattern **words;
    size_t n_words;
    bool more; /* the last one may be repeated */
};

struct command {
    struct command *next;
    const char *name;
    struct flag *flags;
    struct form *forms;
    bool anything, attached, interspersed;
};

struct policy {
    struct command *commands;
};

/* --- reading */

struct source {
    struct json_reader r;
    struct arena *arena; /* arena of the policy */
};

static void check_keys(struct source *source, struct json_object *obj, const char *const *known,
                       const char *sentence)
{
    json_object_object_foreach(obj, key, value)
    {
        size_t i = 0;
        (void)value;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i])
            json_reader_fail(&source->r, obj, key, "%s", sentence);
    }
}

static void free_code(void *code)
{
    pcre2_code_free(code);
}

/* obj, key: the place of the text. */
static pcre2_code *compile(struct source *source, struct json_object *obj, const char *key,
                           const char *text)
{
    PCRE2_UCHAR why[128];
    PCRE2_SIZE at, size = 0;
    int error = 0;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                                     PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C |
                                         PCRE2_NO_AUTO_CAPTURE | PCRE2_DOTALL,
                                     &error, &at, NULL);

    if (code)
        pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size);
    if (size > PATTERN_BYTES || error == PCRE2_ERROR_PATTERN_TOO_LARGE) {
        pcre2_code_free(code);
        json_reader_fail(&source->r, obj, key,
                         "is too large a pattern; expected one of at most %d bytes when it is "
                         "compiled, with its length as max: {pattern: '[a-z]*', max: 4096}",
                         PATTERN_BYTES);
        return NULL;
    }
    if (!code) {
        pcre2_get_error_message(error, why, sizeof(why));
        json_reader_fail(&source->r, obj, key, "is not a regular expression: %s, at character %zu",
                         (char *)why, at + 1);
        return NULL;
    }
    arena_defer(source->arena, free_code, code);
    return code;
}

/* 'TEXT', or {pattern: TEXT, max: BYTES}. NULL if it is neither; the caller reports it. */
static struct pattern *read_pattern(struct source *source, struct json_object *obj, const char *key,
                                    struct json_object *value)
{
    static const char *const keys[] = {"pattern", "max", NULL};
    struct pattern *pattern = ARENA_NEW(source->arena, struct pattern);

    *pattern = (struct pattern){.max = POLICY_MAX_WORD};
    if (json_object_is_type(value, json_type_string)) {
        pattern->code = compile(source, obj, key, json_object_get_string(value));
        return pattern;
    }
    if (!json_object_is_type(value, json_type_object))
        return NULL;
    if (key) /* the reader knows the path */
        value = json_read_obj(&source->r, obj, key, JSON_REQUIRED);
    check_keys(source, value, keys, "is not known here; expected only pattern and max");
    const char *text = json_read_str(&source->r, value, "pattern", JSON_REQUIRED);
    pattern->max =
        (size_t)json_read_int(&source->r, value, "max", 1, POLICY_MAX_WORD, POLICY_MAX_WORD);
    if (text)
        pattern->code = compile(source, value, "pattern", text);
    return pattern;
}

static void read_flags(struct source *source, struct command *command, struct json_object *obj)
{
    struct json_object *flags = json_read_obj(&source->r, obj, "flags", JSON_OPTIONAL);

    if (!flags)
        return;
    json_object_object_foreach(flags, name, value)
    {
        struct flag *flag = ARENA_NEW(source->arena, struct flag);
        flag->name = arena_strdup(source->arena, name);
        if (name[0] != '-' || !name[1] || strcmp(name, "--") == 0 || strchr(name, '='))
            json_reader_fail(&source->r, flags, name, "expected a flag such as -n or --namespace");
        else if (value && !(flag->value = read_pattern(source, flags, name, value)))
            json_reader_fail(&source->r, flags, name, "expected a pattern, or nothing");
        flag->next = command->flags;
        command->flags = flag;
    }
}

static void read_form(struct source *source, struct command *command, struct json_object *rows,
                      size_t row)
{
    struct json_object *words = json_elem(rows, row);
    size_t n = json_len(words);
    struct form *form = ARENA_NEW(source->arena, struct form);

    if (!json_object_is_type(words, json_type_array)) {
        json_reader_fail(&source->r, rows, NULL, "expected in each row a list of patterns");
        return;
    }
    form->words = arena_array(source->arena, n, sizeof(struct pattern *));
    for (size_t i = 0; i < n; i++) {
        struct json_object *word = json_elem(words, i);
        if (i > 0 && i == n - 1 && json_object_is_type(word, json_type_string) &&
            strcmp(json_object_get_string(word), "...") == 0)
            form->more = true;
        else if (!(form->words[form->n_words++] = read_pattern(source, rows, NULL, word)))
            json_reader_fail(&source->r, rows, NULL, "expected a text as each pattern");
    }
    form->next = command->forms;
    command->forms = form;
}

static void read_command(struct source *source, struct policy *policy, struct json_object *commands,
                         const char *name)
{
    static const char *const keys[] = {"flags", "arguments", "attached", "interspersed", NULL};
    struct json_object *obj = json_read_obj(&source->r, commands, name, JSON_OPTIONAL);
    struct command *command = ARENA_NEW(source->arena, struct command);

    for (const struct command *same = policy->commands; same; same = same->next)
        if (strcmp(same->name, name) == 0)
            json_reader_fail(&source->r, commands, name, "is in another file already");
    command->name = arena_strdup(source->arena, name);
    command->next = policy->commands;
    policy->commands = command;
    if (!obj) /* neither flags nor arguments */
        return;
    check_keys(source, obj, keys,
               "is not known here; expected only flags, arguments, attached, interspersed");
    command->attached = json_read_bool(&source->r, obj, "attached", false);
    command->interspersed = json_read_bool(&source->r, obj, "interspersed", false);
    read_flags(source, command, obj);
    struct json_object *rows = json_read_array(&source->r, obj, "arguments", JSON_OPTIONAL);
    for (size_t i = 0; i < json_len(rows); i++)
        read_form(source, command, rows, i);
}

static enum err read_file(struct arena *arena, struct policy *policy, const char *path,
                          struct errinfo *ei)
{
    static const char *const keys[] = {"commands", NULL};
    struct arena *parsed = arena_new();
    struct source source = {.r = {.arena = parsed}, .arena = arena};
    struct json_object *docs;
    enum err err = yaml_parse_file(parsed, path, POLICY_MAX_BYTES, &docs, ei);

    if (err == ERR_OK &&
        (json_len(docs) != 1 || !json_object_is_type(json_elem(docs, 0), json_type_object)))
        err = err_set(ei, ERR_INVALID, "%s: expected one document with commands", path);
    if (err == ERR_OK) {
        struct json_object *root = json_elem(docs, 0);
        check_keys(&source, root, keys, "is not known here; expected only commands");
        struct json_object *commands = json_read_obj(&source.r, root, "commands", JSON_REQUIRED);
        if (commands) {
            json_object_object_foreach(commands, name, value)
            {
                (void)value;
                read_command(&source, policy, commands, name);
            }
        }
        if (source.r.err != ERR_OK)
            err = err_set(ei, ERR_INVALID, "%s: %s", path, source.r.info.text);
    }
    arena_free(parsed);
    return err;
}

enum err policy_read(struct arena *arena, const char *const *files, const struct policy **out,
                     struct errinfo *ei)
{
    struct policy *policy = ARENA_NEW(arena, struct policy);
    enum err err = ERR_OK;

    for (size_t i = 0; err == ERR_OK && files[i]; i++)
        err = read_file(arena, policy, files[i], ei);
    *out = policy;
    return err;
}

const struct policy *policy_of_names(struct arena *arena, const char *const *names)
{
    struct policy *policy = ARENA_NEW(arena, struct policy);

    for (size_t i = 0; names[i]; i++) {
        struct command *command = ARENA_NEW(arena, struct command);
        *command = (struct command){
            .next = policy->commands, .name = arena_strdup(arena, names[i]), .anything = true};
        policy->commands = command;
    }
    return policy;
}

/* --- matching */

/* Budget of one request. */
struct budget {
    size_t matches, bytes;
    bool out; /* exhausted: nothing more is checked */
};

static bool run(const struct pattern *pattern, const char *text, size_t len)
{
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int count = -1;

    if (context && data) {
        pcre2_set_match_limit(context, STEPS_PER_MATCH);
        pcre2_set_heap_limit(context, KIB_PER_MATCH);
        count = pcre2_match(pattern->code, (PCRE2_SPTR)text, len, 0, 0, data, context);
    }
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    return count >= 0;
}

static bool matches(const struct pattern *pattern, const char *text, struct budget *spent)
{
    size_t len = strlen(text);

    if (len > pattern->max || spent->out)
        return false;
    spent->bytes += len;
    spent->out = ++spent->matches > MATCHES_PER_REQUEST || spent->bytes > BYTES_PER_REQUEST;
    return !spent->out && run(pattern, text, len);
}

static const struct flag *find_flag(const struct command *command, const char *name, size_t len)
{
    const struct flag *flag = command->flags;

    while (flag && (strncmp(flag->name, name, len) != 0 || flag->name[len]))
        flag = flag->next;
    return flag;
}

/* The flag in a word, with its value if the word contains it. NULL if the flag is not listed in
 * this form. */
static const struct flag *read_flag(const struct command *command, const char *word,
                                    const char **value)
{
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    const struct flag *flag = find_flag(command, word, len);

    *value = equals ? equals + 1 : NULL;
    if (flag || !command->attached || word[1] == '-' || !word[1])
        return flag && *value && !flag->value ? NULL : flag;
    flag = find_flag(command, word, 2);
    *value = word + 2;
    return flag && flag->value ? flag : NULL;
}

static bool fits(const struct form *form, const char *const *words, size_t n, struct budget *spent)
{
    if (n < form->n_words || (n > form->n_words && !form->more))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!matches(form->words[i < form->n_words ? i : form->n_words - 1], words[i], spent))
            return false;
    return true;
}

static enum err check_arguments(const struct command *command, const char *const *words, size_t n,
                                struct budget *spent, struct errinfo *ei)
{
    if (n == 0 && !command->forms)
        return ERR_OK;
    for (const struct form *form = command->forms; form; form = form->next)
        if (fits(form, words, n, spent))
            return ERR_OK;
    return err_set(ei, ERR_DENIED, "the policy does not let \"%.80s\" be run with these arguments",
                   command->name);
}

static enum err check_flag(const struct command *command, const char *const *argv, size_t *at,
                           struct budget *spent, struct errinfo *ei)
{
    const char *value, *word = argv[*at];
    const struct flag *flag = read_flag(command, word, &value);

    if (!flag)
        return err_set(ei, ERR_DENIED, "the policy does not let \"%.80s\" have word %zu, a flag",
                       command->name, *at);
    if (!flag->value)
        return ERR_OK;
    if (!value && argv[*at + 1])
        value = argv[++*at];
    /* a value with a dash may be a flag to a tool that expects no value here */
    if (!value || (value[0] == '-' && value == argv[*at]) || !matches(flag->value, value, spent))
        return err_set(ei, ERR_DENIED, "the policy does not let %.80s of \"%.80s\" have this value",
                       flag->name, command->name);
    return ERR_OK;
}

static enum err too_much(const struct command *command, struct errinfo *ei)
{
    return err_set(
        ei, ERR_DENIED,
        "the words of \"%.80s\" are more than a policy checks for one request: %d values "
        "of %d bytes in all",
        command->name, MATCHES_PER_REQUEST, BYTES_PER_REQUEST);
}

static enum err check_words(const struct command *command, const char *const *argv,
                            struct errinfo *ei)
{
    const char *arguments[MAX_ARGUMENTS];
    struct budget spent = {0};
    size_t n = 0;

    for (size_t at = 1; argv[at]; at++) {
        enum err err = ERR_OK;
        if (argv[at][0] == '-' && n > 0 && !command->interspersed)
            err = err_set(ei, ERR_DENIED, "the flags of \"%.80s\" come before its arguments",
                          command->name);
        else if (argv[at][0] == '-')
            err = check_flag(command, argv, &at, &spent, ei);
        else if (n == sizeof(arguments) / sizeof(arguments[0]))
            err = err_set(ei, ERR_DENIED, "more arguments than a policy bounds");
        else
            arguments[n++] = argv[at];
        if (err != ERR_OK)
            return spent.out ? too_much(command, ei) : err;
    }
    enum err err = check_arguments(command, arguments, n, &spent, ei);
    return spent.out ? too_much(command, ei) : err;
}

enum err policy_check(const struct policy *policy, const char *const *argv, struct errinfo *ei)
{
    const struct command *command = policy->commands;

    while (command && strcmp(command->name, argv[0]) != 0)
        command = command->next;
    if (!command)
        return err_set(ei, ERR_DENIED,
                       "command \"%.80s\" is not one that --policy or --allow-command names",
                       argv[0]);
    return command->anything ? ERR_OK : check_words(command, argv, ei);
}
