/*
 * The body of an alert as its AlertProvider's spec.body says: a template (metric/template.h) with
 * the functions key, canary, namespace, severity and text, and the maps `fields`, by alert_identifier(),
 * and `json`, which has all of these quoted, to be put into JSON: {"msg": {{ json.text }}}.
 */
#ifndef ENGINE_ALERT_TEMPLATE_H
#define ENGINE_ALERT_TEMPLATE_H

#include "notify/notify.h"

/* *out: owned by the arena, at most 64 KiB; NULL where the channel has no template, or does not take
 * one. */
enum err alert_template_render(struct arena *arena, const struct channel *channel,
                               const struct alert *alert, const char **out,
                               struct errinfo *ei) MUST_USE;

#endif
