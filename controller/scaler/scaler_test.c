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

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(scaler_is_of(scaler_find(cases[i].kind), cases[i].api_version),
                         cases[i].is);
    assert_null(scaler_find("Scaler"));
    assert_null(scaler_find(NULL));
}
