#include "scaler/scaler.h"
#include "test/unit.h"

CASE(test_versions)
{
    static const struct {
        const char *kind, *api_version;
        bool is;
    } cases[] = {
        {"HorizontalPodAutoscaler", "autoscaling/v2", true},
        {"HorizontalPodAutoscaler", "autoscaling/v2beta2", true},
        {"HorizontalPodAutoscaler", "autoscaling/v2beta1", true},
        {"HorizontalPodAutoscaler", "autoscaling", false},
        {"HorizontalPodAutoscaler", "keda.sh/v1alpha1", false},
        {"ScaledObject", "keda.sh/v1alpha1", true},
        {"ScaledObject", "keda.sh.example/v1", false},
        {"ScaledObject", NULL, false},
    };

    EACH_ROW (row, cases)
        assert_int_equal(scaler_is_of(scaler_find(row->kind), row->api_version), row->is);
    assert_null(scaler_find("Scaler"));
    assert_null(scaler_find(NULL));
}
