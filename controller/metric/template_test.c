/* template: what Go's text/template renders, and one sentence with its place for what is not
 * served. The results were taken from Go 1.26. */
#include "metric/template.h"

#include "tick/fixture_test.h"

struct sample {
    const char *text, *out;
};

static struct template_function functions[] = {
    {"name", "podinfo", NULL}, {"empty", "", NULL}, {"variables", NULL, NULL},
    {"none", NULL, NULL},      {NULL, NULL, NULL},
};

static enum err render(struct arena *arena, const char *text, const char **out, struct errinfo *ei)
{
    functions[2].map = fixture_json(arena, "{'b':'2','a':'1','c d':'x'}");
    return template_render(arena, text, functions, 1000, out, ei);
}

static void expect(const struct sample *samples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct arena *arena = arena_new();
        const char *out = NULL;
        struct errinfo ei = {0};
        if (render(arena, samples[i].text, &out, &ei) != ERR_OK)
            fail_msg("%s: %s", samples[i].text, ei.text);
        if (strcmp(out, samples[i].out) != 0)
            fail_msg("%s: %s, expected %s", samples[i].text, out, samples[i].out);
        arena_free(arena);
    }
}
#define EXPECT(samples) expect((samples), sizeof(samples) / sizeof((samples)[0]))

CASE(test_text_and_borders)
{
    static const struct sample samples[] = {
        {"", ""},
        {"}} { {", "}} { {"},
        {"a {{- name }} b", "apodinfo b"},
        {"a {{ name -}} b", "a podinfob"},
        {"a\n\t{{- name -}}\r\n b", "apodinfob"},
        {"a {{/* {{ name }} */}} b", "a  b"},
        {"a {{- /* c */ -}} b", "ab"},
        {"{{name}}{{`}}`}}{{\"{{\"}}", "podinfo}}{{"},
        {"{{\nname\n}}", "podinfo"},
    };
    EXPECT(samples);
}

CASE(test_values)
{
    static const struct sample samples[] = {
        {"{{ 1 }} {{ -0x1F }} {{ 0o17 }} {{ 017 }} {{ 0b11 }} {{ 'a' }} {{ '\\n' }}",
         "1 -31 15 15 3 97 10"},
        {"{{ 1.50 }} {{ 1e3 }} {{ 1e6 }} {{ .5 }} {{ 0.00001 }} {{ 100000.0 }}",
         "1.5 1000 1e+06 0.5 1e-05 100000"},
        {"{{ \"a\\t\\\"\\x41\\101\\u00e9\" }}{{ `a\\t` }}", "a\t\"AA\303\251a\\t"},
        {"{{ true }} {{ false }} {{ . }} {{ $ }}", "true false <no value> <no value>"},
        {"{{ variables }} {{ none }}", "map[a:1 b:2 c d:x] map[]"},
        {"{{ variables.a }}{{ (variables).b }}{{ index variables \"c d\" }}", "12x"},
        {"<{{ index variables \"z\" }}{{ index none \"z\" }}>", "<>"},
        {"{{ index name 0 }} {{ slice name 3 }} {{ slice name 0 3 }} {{ len name }} {{ len none }}",
         "112 info pod 7 0"},
        {"{{ print nil }} {{ print 1 2 \"x\" 3 4 }} {{ println name 1 }}",
         "<nil> 1 2x3 4 podinfo 1\n"},
    };
    EXPECT(samples);
}

CASE(test_logic)
{
    static const struct sample samples[] = {
        {"{{ eq name \"podinfo\" }} {{ eq 1 2 1 }} {{ ne 1 2 }} {{ eq nil . }} {{ eq \"a\" nil }}",
         "true true true true false"},
        {"{{ lt 1 2 }}{{ le 2 2 }}{{ gt 1.5 2.5 }}{{ ge \"b\" \"a\" }}{{ lt \"a\" \"ab\" }}",
         "truetruefalsetruetrue"},
        {"{{ and 1 0 2 }} {{ and 1 2 }} {{ or 0 \"\" 3 }} {{ or empty 0 }} {{ not none }}",
         "0 2 3 0 true"},
        {"{{ or name (index 1 2) }} {{ and empty variables.z }}", "podinfo "},
        {"{{ name | eq \"podinfo\" }} {{ name | printf \"%s-%s\" \"x\" }}", "true x-podinfo"},
        {"{{ name | len | printf \"%03d\" }}", "007"},
        {"{{ if eq name \"a\" }}1{{ else if not empty }}2{{ else }}3{{ end }}", "2"},
        {"{{ if empty }}1{{ end }}", ""},
        {"{{ with variables.a }}{{ . }}{{ else }}no{{ end }}", "1"},
        {"{{ with empty }}{{ . }}{{ else with name }}{{ . }}!{{ end }}", "podinfo!"},
    };
    EXPECT(samples);
}

CASE(test_variables_and_ranges)
{
    static const struct sample samples[] = {
        {"{{ $x := name }}{{ $x }}{{ $x = 2 }}{{ $x }}", "podinfo2"},
        {"{{ $x := 1 }}{{ if $y := 2 }}{{ $x = $y }}{{ end }}{{ $x }}", "2"},
        {"{{ $x := 1 }}{{ with $x := 2 }}{{ $x }}{{ end }}{{ $x }}", "21"},
        {"{{ $m := variables }}{{ $m.a }}", "1"},
        {"{{ range $k, $v := variables }}{{ $k }}={{ $v }},{{ end }}", "a=1,b=2,c d=x,"},
        {"{{ range variables }}{{ . }}{{ end }}", "12x"},
        {"{{ range $v := variables }}{{ if eq $v \"2\" }}{{ continue }}{{ end }}{{ $v }}{{ end }}",
         "1x"},
        {"{{ range $k, $v := variables }}{{ if eq $k \"b\" }}{{ break }}{{ end }}{{ $v }}{{ end }}",
         "1"},
        {"{{ range none }}x{{ else }}y{{ end }}", "y"},
        {"{{ range $i := 3 }}{{ $i }}{{ end }}{{ range 0 }}x{{ else }}y{{ end }}", "012y"},
    };
    EXPECT(samples);
}

CASE(test_printf)
{
    static const struct sample samples[] = {
        {"{{ printf \"%s|%5s|%-5s|%.2s|%v|%q\" name \"a\" \"b\" \"cde\" 1 \"x\\\"\" }}",
         "podinfo|    a|b    |cd|1|\"x\\\"\""},
        {"{{ printf \"%d|%5d|%-5d|%05d|%+d|% d|%.3d|%x|%X|%b|%o|%c\" 1 2 3 -4 5 6 7 -31 31 5 8 65 "
         "}}",
         "1|    2|3    |-0004|+5| 6|007|-1f|1F|101|10|A"},
        {"{{ printf \"%.2f|%8.3f|%08.3f|%e|%.3g|%t|%%\" 1.0 2.0 3.0 4.0 1234567.5 true }}",
         "1.00|   2.000|0003.000|4.000000e+00|1.23e+06|true|%"},
        {"{{ printf \"%x %s\" \"hi\" variables }}", "6869 map[a:1 b:2 c d:x]"},
    };
    EXPECT(samples);
}

CASE(test_mistakes)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"a\nb {{ nothing }}", "template:2:6: function \"nothing\" is not known"},
        {"{{ name \"x\" }}", "what takes no arguments was given one"},
        {"{{ name | variables }}", "what takes no arguments was given one"},
        {"{{ name | 1 }}", "nothing can be passed to a plain value"},
        {"{{ .x }}", "template:1:4: a nil has no entry \"x\""},
        {"{{ name.x }}", "template:1:8: a string has no entry \"x\""},
        {"{{ variables.z }}", "template:1:13: no entry for key \"z\""},
        {"{{ nil }}", "nil is nothing by itself"},
        {"{{ if }}{{ end }}", "expected a value"},
        {"{{ if name }}", "ends before its"},
        {"{{ end }}", "an else or end of nothing"},
        {"{{ if name }}{{ else }}{{ else }}{{ end }}", "expected one"},
        {"{{ $x }}", "variable \"$x\" is not declared"},
        {"{{ $x = 1 }}", "variable \"$x\" has no value here"},
        {"{{ break }}", "break outside of a range"},
        {"{{ define \"x\" }}{{ end }}", "\"define\" is not served by this version"},
        {"{{ template \"x\" }}", "\"template\" is not served by this version"},
        {"{{ html name }}", "function \"html\" is not known"},
        {"{{ (name }}", "\"(\" without \")\""},
        {"{{ name) }}", "\")\" without \"(\""},
        {"{{ \"a }}", "a quote that is not closed"},
        {"{{ \"\\q\" }}", "an escape that Go does not know"},
        {"{{ 'ab' }}", "expected one character"},
        {"{{ 1x }}", "a number that is not one, or not served"},
        {"{{ 99999999999999999999 }}", "is not a number, or too large"},
        {"{{/* x }}", "\"/*\" without \"*/\""},
        {"{{/* x */ y }}", "expected \"}}\" behind a comment"},
        {"{{ eq 1 \"a\" }}", "a int cannot be compared with a string"},
        {"{{ lt 1 1.5 }}", "a int and a float have no order"},
        {"{{ eq variables variables }}", "maps cannot be compared"},
        {"{{ eq 1 }}", "nothing to compare with"},
        {"{{ not 1 2 }}", "wrong number of arguments of not: found 2"},
        {"{{ index name 9 }}", "place 9 is out of range"},
        {"{{ slice name 2 1 }}", "ends before it begins"},
        {"{{ printf \"%d\" name }}", "printf: \"%d\" does not take a string"},
        {"{{ printf \"%s\" }}", "printf: more verbs than arguments"},
        {"{{ printf \"x\" 1 }}", "printf: more arguments than verbs"},
        {"{{ printf \"%T\" 1 }}", "printf: \"%T\" is not served"},
        {"{{ printf \"%2000d\" 1 }}", "a width above 1000"},
        {"{{ range name }}{{ end }}", "a string cannot be ranged over"},
        {"{{ \"\\x00\" }}", "has a NUL in it"},
        {"{{ range 1000 }}xx{{ end }}", "longer than 1000 bytes"},
        {"{{ range 1000000000 }}{{ end }}", "more than 20000 steps"},
        {"{{ $x := name }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}", "too long"},
    };

    (void)state;
    EACH_ROW (row, cases) {
        const char *out = NULL;
        struct errinfo ei = {0};
        if (render(arena, row->text, &out, &ei) == ERR_OK)
            fail_msg("%s: %s", row->text, out);
        if (!strstr(ei.text, row->error))
            fail_msg("%s: %s", row->text, ei.text);
    }
}

CASE(test_depth_has_an_end)
{
    const char *deep = "1", *out;
    struct errinfo ei;

    for (int i = 0; i < 64; i++)
        deep = arena_printf(arena, "(%s)", deep);
    assert_int_equal(render(arena, arena_printf(arena, "{{ %s }}", deep), &out, &ei), ERR_OK);
    assert_string_equal(out, "1");
    deep = arena_printf(arena, "{{ (%s) }}", deep);
    assert_int_equal(render(arena, deep, &out, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "more than 64 levels"));
}
