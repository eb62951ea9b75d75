/* Policies in files: what is accepted as a policy, and the messages for what is not. */
#include "ctl/backtest/replay.h"

#include <string.h>

#include "test/unit.h"

static enum err parse(struct arena *arena, const char *text, struct policy *out, struct errinfo *ei)
{
    return policy_parse(arena, "deploy/strict.yaml", text, strlen(text), out, ei);
}

CASE(a_policy_may_be_pasted_from_a_canary)
{
    static const char analysis[] =
        "judge: {type: sequential, every: 20s}\n"
        "metrics: [{name: request-success-rate, thresholdRange: {min: 90}}]\n";
    static const char deeper[] =
        "analysis:\n"
        "  judge: {type: sequential, every: 20s}\n"
        "  metrics: [{name: request-success-rate, thresholdRange: {min: 90}}]\n";
    static const char canary[] =
        "kind: Deployment\n"
        "---\n"
        "apiVersion: flagger.app/v1beta1\n"
        "kind: Canary\n"
        "metadata: {name: podinfo}\n"
        "spec:\n"
        "  analysis:\n"
        "    interval: 1m\n"
        "    judge: {type: sequential, every: 20s}\n"
        "    metrics: [{name: request-success-rate, thresholdRange: {min: 90}}]\n"
        "    webhooks: [{name: gate, type: confirm-rollout, url: http://gate/}]\n";
    static const char *const rows[] = {analysis, deeper, canary};

    for (size_t i = 0; unit_row("rows", i, sizeof(rows) / sizeof(rows[0])); i++) {
        struct policy policy;
        struct errinfo ei = {0};
        if (parse(arena, rows[i], &policy, &ei) != ERR_OK)
            fail_msg("%s", ei.text);
        assert_string_equal(policy.name, "strict");
        assert_true(policy.analysis->judge.given);
        assert_int_equal(policy.analysis->judge.every_ms, 20000);
        assert_true(policy.analysis->metrics[0].min == 90);
    }
}

CASE(a_bad_file_is_told_in_one_sentence_with_its_line)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"judge: {type: sequential}\nmetrics:\n- name: request-success-rate\n  thresholdRnge: {}\n",
         "deploy/strict.yaml:4:3: metrics[0].thresholdRnge: "},
        {"judge:\n  type: sequential\n  every: 2s\nmetrics: [{name: request-success-rate}]\n",
         "deploy/strict.yaml:3:3: judge.every: expected whole seconds, at least 5s"},
        {"judge:\n  type: sequential\n  tolerate: {errorRate: much}\n"
         "metrics: [{name: request-success-rate}]\n",
         "deploy/strict.yaml:3:14: judge.tolerate.errorRate: expected "},
        {"judge: {type: sequential}\n", "deploy/strict.yaml:1:1: judge: expected a metric"},
        {"interval: 1m\n", "deploy/strict.yaml:1:1: metrics: expected at least one metric"},
        {"- 1\n", "deploy/strict.yaml:1: expected an analysis"},
        {"", "deploy/strict.yaml: expected one policy"},
        {"a: 1\n---\nb: 1\n", "deploy/strict.yaml: expected one policy"},
        {"kind: Canary\nspec: {}\n", "deploy/strict.yaml:1: expected an analysis"},
        {"a: {\n", "deploy/strict.yaml:"},
    };

    for (size_t i = 0; unit_row("rows", i, sizeof(rows) / sizeof(rows[0])); i++) {
        struct policy policy;
        struct errinfo ei = {0};
        assert_int_equal(parse(arena, rows[i].text, &policy, &ei), ERR_INVALID);
        if (strncmp(ei.text, rows[i].says, strlen(rows[i].says)) != 0)
            fail_msg("expected \"%s...\", found \"%s\"", rows[i].says, ei.text);
        assert_null(strchr(ei.text, '\n'));
    }
}
