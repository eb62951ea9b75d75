// What a Canary's data means, without a document.

export const keyOf = (canary) => `${canary.namespace}/${canary.name}`;
export const runs = (phase) => ["Waiting", "Progressing", "WaitingPromotion", "Promoting", "Finalising"].includes(phase);

// runs, waits (for somebody), failed, done or rests
export function stateOf(canary) {
    if (canary.paused || canary.suspended) return "waits";
    if (canary.phase === "Failed") return "failed";
    if (canary.waits?.kind === "person") return "waits";
    if (runs(canary.phase) || canary.phase === "Initializing" || canary.phase === "Terminating") return "runs";
    return canary.phase === "Succeeded" ? "done" : "rests";
}

export const stateWords = (canary) =>
    canary.suspended ? "Suspended" : canary.paused ? "Paused" : { WaitingPromotion: "Waiting to promote" }[canary.phase] ?? canary.phase ?? "Not looked at yet";

// Why it does not go on, or what else there is to report: one sentence, or "". The rules say it (decide/waiting.h).
export function waitsFor(canary) {
    const text = canary.waits?.text ?? "";
    return text.charAt(0).toUpperCase() + text.slice(1);
}

export const isWeb = (address) => /^https?:\/\/[^/\s]+/.test(address ?? "");

export function numberWords(value) {
    if (typeof value !== "number") return "no number";
    if (value === 0) return "0";
    const size = Math.abs(value);
    return size >= 1e6 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

const unitOf = { "request-success-rate": " %", "request-duration": " s" };
export const valueWords = (name, value) => numberWords(value) + (typeof value === "number" ? unitOf[name] ?? "" : "");

export function rangeWords(name, { min, max }) {
    if (min !== undefined && max !== undefined) return `${numberWords(min)} to ${valueWords(name, max)}`;
    if (min !== undefined) return `at least ${valueWords(name, min)}`;
    if (max !== undefined) return `at most ${valueWords(name, max)}`;
    return "any value";
}

export const isOut = ({ value, min, max }) => typeof value !== "number" || value < min || value > max;

// What the canary has of the traffic, of a step or of a Canary now: a share of all, all that matches, or a copy.
export const partWords = ({ weight, match, mirror }) =>
    match && weight > 0 ? "the requests that match" : mirror > 0 && weight === 0 ? `a copy of ${mirror} %` : `${weight} %`;

// Name -> its values in order, [{at, value, min, max}].
export function seriesOf(release) {
    const series = new Map();
    for (const step of release?.steps ?? [])
        for (const check of step.checks ?? []) if ("value" in check) series.set(check.name, [...(series.get(check.name) ?? []), { ...check, at: step.at }]);
    return series;
}

// What the judge has counted of each metric: of a release that runs as it stands, of one that has ended what its last step has.
export function judgedOf(canary, release) {
    if (canary.release) return canary.judged ?? [];
    const last = new Map();
    for (const step of release?.steps ?? [])
        for (const check of step.checks ?? [])
            if (Array.isArray(check.counts) && check.counts.length === 4 && check.counts.every((count) => typeof count === "number"))
                last.set(check.name, check.counts);
    return [...last].map(([name, [total, bad, primaryTotal, primaryBad]]) => ({ name, canary: [total, bad], primary: [primaryTotal, primaryBad] }));
}

const whole = new Intl.NumberFormat("en");
export const shareWords = ([total, bad]) => `${whole.format(bad)} of ${whole.format(total)}${total > 0 ? ` (${percentWords((bad / total) * 100)})` : ""}`;
export const percentWords = (percent) => `${percent === 0 || percent >= 10 ? Math.round(percent) : Number(percent.toPrecision(2))} %`;
export const amountWords = (value) => (Math.abs(value) < 1000 ? String(Number(value.toPrecision(4))) : whole.format(value));
export const verdictWords = { worse: "worse", "not worse": "not worse", undecided: "not known yet" };

// The gates that have let a release through and said by whom.
export const approvalsOf = (release) =>
    (release?.hooks ?? []).filter((hook) => hook.passed && hook.type?.startsWith("confirm-") && hook.said && hook.said !== "Approved" && hook.said !== "OK");

export const outcomeWords = { promoted: "Promoted", failed: "Rolled back", cancelled: "Cancelled" };

export const haystack = (canary) => `${keyOf(canary)}\n${canary.phase ?? ""}\n${stateWords(canary)}\n${canary.image ?? ""}`.toLowerCase();
