#include "tick/edit.h"

#include "tick/fixture_test.h"

/* The object after each of the specs was laid over it in turn, without the annotation; and the
 * annotation in rows that give it. */
static const struct {
    const char *name, *live, *specs[4], *out, *applied;
} cases[] = {
    {.name = "what was applied goes, what others wrote stays",
     .live = "{'metadata':{'labels':{'others':'1'}}}",
     .specs = {"{'metadata':{'labels':{'team':'a','tier':'b'}}}",
               "{'metadata':{'labels':{'tier':'c'}}}"},
     .out = "{'metadata':{'labels':{'others':'1','tier':'c'}}}",
     .applied = "{'metadata':{'labels':{'tier':0}}}"},
    {.name = "a map that we brought goes with its last key, and the annotation too",
     .live = "{'metadata':{'name':'x'}}",
     .specs = {"{'metadata':{'labels':{'team':'a'}}}", "{'metadata':{'labels':{}}}"},
     .out = "{'metadata':{'name':'x'}}",
     .applied = ""},
    {.name = "nested fields",
     .live = "{'spec':{'a':{'others':1}}}",
     .specs = {"{'spec':{'a':{'b':{'c':1,'d':2}}}}", "{'spec':{'a':{'b':{'d':2}}}}",
               "{'spec':{'e':1}}"},
     .out = "{'metadata':{},'spec':{'a':{'others':1},'e':1}}",
     .applied = "{'spec':{'e':0}}"},
    {.name = "a list of values is ours as a whole",
     .live = "{}",
     .specs = {"{'spec':{'hosts':['a','b']}}", "{'spec':{'x':1}}"},
     .out = "{'metadata':{},'spec':{'x':1}}",
     .applied = "{'spec':{'x':0}}"},
    {.name = "elements keep what others added while they stay what they are",
     .live = "{'spec':{'refs':[{'name':'a','others':1}]}}",
     .specs = {"{'spec':{'refs':[{'name':'a','port':1}]}}",
               "{'spec':{'refs':[{'name':'b'},{'name':'a'}]}}"},
     .out = "{'metadata':{},'spec':{'refs':[{'name':'b'},{'name':'a','others':1}]}}",
     .applied = "{'spec':{'refs':[{'name':0}]}}"},
    {.name = "what is asked of one element only is taken out of that one only",
     .live = "{'spec':{'refs':[{'name':'a'},{'name':'b','group':'by the server'}]}}",
     .specs = {"{'spec':{'refs':[{'name':'a','group':''},{'name':'b'}]}}",
               "{'spec':{'refs':[{'name':'a'},{'name':'b'}]}}"},
     .out = "{'metadata':{},'spec':{'refs':[{'name':'a'},{'group':'by the server','name':'b'}]}}",
     .applied = "{'spec':{'refs':[{'name':0}]}}"},
    {.name = "elements of another type are not mixed",
     .live = "{'spec':{'filters':[{'type':'A','a':1,'others':1}]}}",
     .specs = {"{'spec':{'filters':[{'type':'A','a':2}]}}",
               "{'spec':{'filters':[{'type':'B','b':2}]}}"},
     .out = "{'metadata':{},'spec':{'filters':[{'b':2,'type':'B'}]}}",
     .applied = "{'spec':{'filters':[{'b':0,'type':0}]}}"},
    {.name = "a null goes whether it was applied or not",
     .live = "{'spec':{'a':1,'b':1}}",
     .specs = {"{'spec':{'a':null,'c':1}}"},
     .out = "{'metadata':{},'spec':{'b':1,'c':1}}",
     .applied = "{'spec':{'c':0}}"},
    {.name = "as the spec says already: nothing is written for plain fields",
     .live = "{'spec':{'a':1}}",
     .specs = {"{'spec':{'a':1}}"},
     .out = "{'spec':{'a':1}}",
     .applied = ""},
    {.name = "... but for labels that would be forgotten",
     .live = "{'metadata':{'labels':{'team':'a'}}}",
     .specs = {"{'metadata':{'labels':{'team':'a'}}}", "{'metadata':{}}"},
     .out = "{'metadata':{}}",
     .applied = ""},
    {.name = "what cannot be read is forgotten",
     .live = "{'metadata':{'labels':{'team':'a'},'annotations':{'flagger.app/applied':'{'}}}",
     .specs = {"{'spec':{'a':1}}"},
     .out = "{'metadata':{'labels':{'team':'a'}},'spec':{'a':1}}",
     .applied = "{'spec':{'a':0}}"},
    {.name = "an annotation that others wrote takes nothing away that an object needs",
     .live = "{'kind':'X','metadata':{'name':'x','annotations':{'flagger.app/applied':'{`kind`:0,"
             "`metadata`:{`name`:0,`labels`:0,`annotations`:[0]},`spec`:0,`status`:{`a`:0}}'}},"
             "'status':{'a':1}}",
     .specs = {"{'spec':{'a':1}}"},
     .out = "{'kind':'X','metadata':{'name':'x'},'spec':{'a':1},'status':{'a':1}}",
     .applied = "{'spec':{'a':0}}"},
};

/* Like fixture_json(), but a backquote is a quote inside of a text. */
static struct json_object *read_live(struct arena *arena, const char *quoted)
{
    const char *text = "";

    for (; *quoted; quoted++)
        text = *quoted == '`' ? arena_printf(arena, "%s\\\"", text)
                              : arena_printf(arena, "%s%c", text, *quoted);
    return fixture_json(arena, text);
}

CASE(test_lay)
{
    EACH_ROW (row, cases) {
        struct fixture f = fixture_new(NULL);
        struct json_object *live = read_live(f.arena, row->live);
        for (int k = 0; k < 4 && row->specs[k]; k++) {
            struct json_object *wanted = fixture_json(f.arena, row->specs[k]);
            const char *before = json_text(f.arena, live);
            struct json_object *out = applied_lay(f.arena, live, live, wanted);
            assert_string_equal(json_text(f.arena, live), before);
            live = out;
            /* another round changes nothing */
            assert_true(json_same(applied_lay(f.arena, live, live, wanted), live));
        }
        struct json_object *annotations = json_at(live, "metadata", "annotations", NULL);
        const char *applied = json_str_at(annotations, APPLIED, NULL);
        assert_string_equal(fixture_quoted(&f, applied ? applied : ""), row->applied);
        if (annotations)
            json_object_object_del(json_at(live, "metadata", NULL), "annotations");
        if (strcmp(fixture_quoted(&f, json_text_sorted(f.arena, live)), row->out) != 0)
            fail_msg("%s: %s", row->name, json_text_sorted(f.arena, live));
    }
}

CASE(test_new_object)
{
    struct fixture f = fixture_new(NULL);
    struct json_object *base = fixture_json(f.arena, "{'metadata':{'name':'x'},'spec':{'once':1}}");
    struct json_object *wanted =
        fixture_json(f.arena, "{'spec':{'a':1,'b':null,'list':[{'x':1},{'x':2}]}}");

    struct json_object *out = applied_lay(f.arena, NULL, base, wanted);
    assert_string_equal(fixture_quoted(&f, json_text_sorted(f.arena, json_at(out, "spec", NULL))),
                        "{'a':1,'list':[{'x':1},{'x':2}],'once':1}");
    assert_string_equal(
        fixture_quoted(&f, json_str_at(out, "metadata", "annotations", APPLIED, NULL)),
        "{'spec':{'a':0,'list':[{'x':0}]}}");
}

/* Pairs set by the caller: elements that change place keep the fields that others and we have
 * added. */
CASE(test_pairs)
{
    struct fixture f = fixture_new(NULL);
    struct json_object *live = fixture_json(f.arena, "{'l':[{'n':1,'o':1},{'n':2,'o':2}]}");
    struct json_object *list = json_at(live, "l", NULL);
    struct json_object *wanted = fixture_json(f.arena, "{'l':[{'n':3},{'n':4},{'n':5}]}");

    edit_pair(json_elem(json_at(wanted, "l", NULL), 0), json_elem(list, 1));
    edit_pair(json_elem(json_at(wanted, "l", NULL), 1), NULL);
    edit_pair(json_elem(json_at(wanted, "l", NULL), 2), json_elem(list, 0));
    struct json_object *out = applied_lay(f.arena, live, live, wanted);
    assert_string_equal(fixture_quoted(&f, json_text_sorted(f.arena, json_at(out, "l", NULL))),
                        "[{'n':3,'o':2},{'n':4},{'n':5,'o':1}]");
    assert_string_equal(
        fixture_quoted(&f, json_str_at(out, "metadata", "annotations", APPLIED, NULL)),
        "{'l':[{'n':0}]}");
}

CASE(test_disclaim)
{
    struct fixture f = fixture_new(NULL);
    struct json_object *wanted = fixture_json(f.arena, "{'metadata':{'labels':{'a':'1','b':'2'}}}");
    struct json_object *live = applied_lay(f.arena, NULL, edit_object(f.arena), wanted);

    applied_disclaim(f.arena, live, "labels", "a");
    applied_disclaim(f.arena, live, "annotations", "a");
    live = applied_lay(f.arena, live, live, edit_object(f.arena));
    assert_string_equal(fixture_quoted(&f, json_text_sorted(f.arena, live)),
                        "{'metadata':{'labels':{'a':'1'}}}");
}
