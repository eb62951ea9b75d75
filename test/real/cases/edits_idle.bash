# Every kind of edit of a Canary that rests: the app goes on serving, what is followed is released with, and what is refused
# says so until it is taken back.
source test/real/edits.bash
edit interval "$(spec '"analysis": {"interval": "2s"}')"
edit steps "$(spec '"analysis": {"stepWeight": 20, "maxWeight": 60}')"
edit no-steps "$(spec '"analysis": {"stepWeight": 0}')" "$(spec '"analysis": {"stepWeight": 50}')"
edit strategy "$(spec '"analysis": {"stepWeight": null, "maxWeight": null, "iterations": 2}')"
edit matches "$(spec '"analysis": {"stepWeight": null, "maxWeight": null, "iterations": 2, "match": [{"headers": {"x": {"exact": "y"}}}]}')"
edit metrics "$(spec '"analysis": {"metrics": [{"name": "request-success-rate", "interval": "1m", "thresholdRange": {"min": 99}}]}')"
edit webhooks "$(spec "\"analysis\": {\"webhooks\": [{\"name\": \"w\", \"type\": \"rollout\", \"url\": \"http://127.0.0.1:$answers/hooks/$case/w/\"}]}")"
edit affinity "$(spec '"analysis": {"sessionAffinity": {"cookieName": "seen"}}')"
edit hosts "$(spec '"service": {"hosts": ["another.example.com"]}')"
edit headers "$(spec '"service": {"headers": {"response": {"add": {"x-a": "b"}}}}')"
edit port "$(spec '"service": {"port": 8080}')"
edit target-port "$(spec '"service": {"targetPort": "http"}')"
edit provider "$(spec '"provider": "kubernetes", "analysis": {"stepWeight": null, "maxWeight": null, "iterations": 2}')"
edits_begin
edits_make
edits_take_back
edits_release 2.0.0
edits_end 2.0.0
