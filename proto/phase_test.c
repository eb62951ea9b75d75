#include "proto/phase.h"
#include "test/unit.h"

CASE(test_names_are_the_wire_text)
{
    static const struct {
        enum phase phase;
        const char *name, *promoted;
    } cases[] = {
        {PHASE_NONE, "", "Unknown"},
        {PHASE_Initializing, "Initializing", "Unknown"},
        {PHASE_Initialized, "Initialized", "True"},
        {PHASE_Waiting, "Waiting", "Unknown"},
        {PHASE_Progressing, "Progressing", "Unknown"},
        {PHASE_WaitingPromotion, "WaitingPromotion", "Unknown"},
        {PHASE_Promoting, "Promoting", "Unknown"},
        {PHASE_Finalising, "Finalising", "Unknown"},
        {PHASE_Succeeded, "Succeeded", "True"},
        {PHASE_Failed, "Failed", "False"},
        {PHASE_Terminating, "Terminating", "Unknown"},
        {PHASE_Terminated, "Terminated", "Unknown"},
    };
    assert_int_equal(sizeof cases / sizeof cases[0], PHASE_COUNT);
    EACH_ROW (row, cases) {
        assert_string_equal(phase_name(row->phase), row->name);
        assert_string_equal(phase_promoted(row->phase), row->promoted);
        assert_int_equal(phase_parse(row->name), row->phase);
    }
}

CASE(test_unknown_text_is_no_phase)
{
    assert_int_equal(phase_parse(NULL), PHASE_NONE);
    assert_int_equal(phase_parse("progressing"), PHASE_NONE);
    assert_int_equal(phase_parse("Succeeded "), PHASE_NONE);
    assert_string_equal(phase_name(PHASE_COUNT), "");
    assert_string_equal(phase_name((enum phase)(-1)), "");
}

CASE(test_messages_name_the_kind)
{
    static const struct {
        enum phase phase;
        const char *kind, *message;
    } cases[] = {
        {PHASE_NONE, "Deployment", ""},
        {PHASE_Initializing, "Deployment", "New Deployment detected, starting initialization."},
        {PHASE_Initialized, "DaemonSet", "DaemonSet initialization completed."},
        {PHASE_Waiting, "Service", "Waiting for approval."},
        {PHASE_Failed, "Deployment", "Canary analysis failed, Deployment scaled to zero."},
        {PHASE_Failed, "%s%n", "Canary analysis failed, %s%n scaled to zero."},
    };
    EACH_ROW (row, cases)
        assert_string_equal(phase_message(row->phase, row->kind, arena), row->message);
}
