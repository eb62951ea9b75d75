#include "decide/alerts.h"

#include <string.h>

#include "test/unit.h"

CASE(test_bodies_of_webhooks)
{
    static const struct alert alert = {.canary = "podinfo",
                                       .namespace_ = "test",
                                       .severity = "error",
                                       .text = "a \"quoted\"\nword",
                                       .key = "u-17-0",
                                       .fields = {{"Traffic routing", "Blue/Green"}},
                                       .n_fields = 1};
    static const struct {
        const char *type, *template, *want, *mistake;
    } cases[] = {
        {"webhook", NULL, NULL, NULL},
        {"slack", "{{ text }}", NULL, NULL},
        {"webhook", "{{ namespace }}/{{ canary }} {{ severity }} {{ key }}: {{ text }}",
         "test/podinfo error u-17-0: a \"quoted\"\nword", NULL},
        {"webhook", "{\"msg\":{{ json.text }},\"how\":{{ json.traffic_routing }}}",
         "{\"msg\":\"a \\\"quoted\\\"\\nword\",\"how\":\"Blue/Green\"}", NULL},
        {"webhook", "{{ if eq severity \"error\" }}{{ fields.traffic_routing }}{{ end }}",
         "Blue/Green", NULL},
        {"webhook", "{{ nonsense }}", NULL, "template:1:4: "},
    };

    EACH_ROW (row, cases) {
        struct channel channel = {.notifier = notifier_find(row->type),
                                  .address = {.template = row->template}};
        const char *text = NULL;
        struct errinfo ei;
        enum err err = alert_template_render(arena, &channel, &alert, &text, &ei);
        assert_int_equal(err, row->mistake ? ERR_INVALID : ERR_OK);
        if (row->mistake)
            assert_non_null(strstr(ei.text, row->mistake));
        else if (row->want)
            assert_string_equal(text, row->want);
        else
            assert_null(text);
    }
}
