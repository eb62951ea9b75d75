# Edits in the middle of a release, which a hook holds at 50 percent: it ends well, with the new spec or, where that is refused,
# after the edit was taken back.
source test/real/edits.bash
edit interval "$(spec '"analysis": {"interval": "2s"}')"
edit steps "$(spec '"analysis": {"stepWeight": 20, "maxWeight": 60}')"
edit no-steps "$(spec '"analysis": {"stepWeight": 0}')" "$(spec '"analysis": {"stepWeight": 50}')"
edit metrics "$(spec '"analysis": {"metrics": [{"name": "request-success-rate", "interval": "1m", "thresholdRange": {"min": 99}}]}')"
edit affinity "$(spec '"analysis": {"sessionAffinity": {"cookieName": "seen"}}')"
edit hosts "$(spec '"service": {"hosts": ["another.example.com"]}')"
edit headers "$(spec '"service": {"headers": {"response": {"add": {"x-a": "b"}}}}')"
edit service "$(spec '"service": {"name": "renamed"}')" "$(spec '"service": {"name": "service"}')"
edits_begin "webhooks: [$(hook hold rollout)]"
refuses hold
edits_release 2.0.0
for name in "${apps[@]}"; do comes Progressing 50 "$name"; done
edits_make
edits_take_back
allows hold
edits_end 2.0.0
