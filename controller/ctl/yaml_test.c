#include "ctl/yaml.h"

#include <string.h>

#include "base/yaml.h"
#include "test/unit.h"

static struct json_object *parse(const char *text)
{
    struct json_object *out = NULL;
    struct errinfo ei = {0};

    if (json_parse(unit_arena, text, strlen(text), JSON_MAX_BYTES, &out, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return out;
}

CASE(it_looks_as_kubectl_prints_it)
{
    assert_string_equal(
        yaml_print(arena, parse("{\"kind\": \"List\", \"count\": 3, \"on\": true, \"empty\": {}, "
                                "\"none\": [], \"items\": [{\"a\": 1, \"b\": {\"c\": \"x y\"}}, "
                                "\"z\"], \"script\": \"set -e\\ntrue\\n\"}")),
        "kind: List\n"
        "count: 3\n"
        "\"on\": true\n"
        "empty: {}\n"
        "none: []\n"
        "items:\n"
        "- a: 1\n"
        "  b:\n"
        "    c: x y\n"
        "- z\n"
        "script: |\n"
        "  set -e\n"
        "  true\n");
}

/* What it prints is read as the same tree. */
CASE(it_comes_back_as_it_was)
{
    static const char *const cases[] = {
        "{\"a\": \"true\", \"b\": \"1\", \"c\": \"\", \"d\": \" x\", \"e\": \"x \", \"f\": \"~\"}",
        "{\"a\": \"1.0\", \"b\": 1.5, \"c\": \"0x1f\", \"d\": \"2026-01-01\", \"e\": null}",
        "{\"a\": \"x: y\", \"b\": \"x #y\", \"c\": \"- x\", \"d\": \"*x\", \"e\": \"'\\\"\"}",
        "{\"a: b\": 1, \"yes\": 2, \"\": 3, \"x y\": [[1, [2]], [], {}]}",
        "{\"a\": \"\\u001b[31m\", \"b\": \"\\u00e9\\n\", \"c\": \"\\n\\n\", \"d\": \"x\\n y\\n\"}",
        "{\"a\": \"x\\n\\n\", \"b\": \"x\\ty\\n\", \"c\": \"x \\ny\\n\", \"d\": \"x\\ny\"}",
        "{\"a\": [{\"b\": [{\"c\": \"l1\\n  l2\\n\"}]}], \"d\": \"---\\n\", \"e\": \"...\\n\"}",
        "[{\"a\": 1}, 2, \"null\", \"=\", \"<<\"]",
        "\"text\"",
    };

    for (size_t i = 0; unit_row("rows", i, sizeof(cases) / sizeof(cases[0])); i++) {
        struct json_object *tree = parse(cases[i]), *docs = NULL;
        struct errinfo ei = {0};
        const char *text = yaml_print(arena, tree);
        if (yaml_parse(arena, "it", text, strlen(text), JSON_MAX_BYTES, &docs, &ei) != ERR_OK)
            fail_msg("%s:\n%s", ei.text, text);
        assert_int_equal(json_len(docs), 1);
        if (!json_same(json_elem(docs, 0), tree))
            fail_msg("%s\nis not\n%s", json_text(arena, json_elem(docs, 0)), cases[i]);
    }
}
