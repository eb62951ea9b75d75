#include "members/view.h"

#include <stdlib.h>

enum err view_new(struct json_object *tree, struct view **out, struct errinfo *ei)
{
    struct view *view = heap_alloc(sizeof(*view));

    *view = (struct view){.uses = 1, .arena = arena_new()};
    enum err err = application_view(view->arena, json_copy(view->arena, tree), &view->app, ei);
    *out = view;
    if (err == ERR_OK)
        return ERR_OK;
    view_drop(view);
    *out = NULL;
    return err;
}

void view_drop(struct view *view)
{
    if (!view || --view->uses > 0)
        return;
    arena_free(view->arena);
    free(view);
}
