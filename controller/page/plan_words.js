// What a plan's data means, and how a row of it is filled.
import { meter } from "./chart.js";
import { fillRow } from "./list.js";
import { text, time, visible } from "./dom.js";

// runs, waits (for somebody), failed, done or rests
export function stateOf(plan) {
    if (plan.phase === "Stopped") return "failed";
    if (plan.phase === "AtGate" || !plan.phase) return "waits";
    if (plan.phase === "Completed") return "done";
    return plan.phase === "Closed" ? "rests" : "runs";
}

export const stateWords = (plan) =>
    ({ AtGate: "At a gate", GivingBack: "Gives back", Closed: "Outside its windows" })[plan.phase] ?? (plan.phase || "Not looked at yet");

const countWords = { promoted: "have it", underWay: "being released", failed: "failed", held: "held" };

// "8 Canaries: 3 have it, 1 failed, 4 held"
export function countsWords(counts) {
    const parts = Object.entries(countWords).filter(([key]) => counts[key] > 0).map(([key, words]) => `${counts[key]} ${words}`);
    return `${counts.canaries} ${counts.canaries === 1 ? "Canary" : "Canaries"}${parts.length ? `: ${parts.join(", ")}` : ""}`;
}

export const shareOf = (counts) => (counts.canaries > 0 ? (100 * counts.promoted) / counts.canaries : 0);

// Of a wave: over, soaks (it has the revision and is not let through yet), open, stands still or waits
export function waveState(wave, plan) {
    if (wave.passed) return ["done", "over"];
    if (wave.completed) return ["runs", plan.phase === "AtGate" ? "at its gate" : plan.phase === "Soaking" ? "soaks" : "has it"];
    if (plan.phase === "Stopped" && wave.began) return ["failed", "stands still"];
    return wave.began ? ["runs", "open"] : ["rests", "waits"];
}

// Of a cluster.
export function clusterState(cluster) {
    if (cluster.state === "Unreachable" || cluster.lastContact) return ["waits", "Not reached"];
    const states = { Failed: "failed", Succeeded: "done", Initialized: "done" };
    if (cluster.state === "Held" && cluster.phase !== "Failed") return ["rests", "Held"];
    return [states[cluster.phase] ?? (cluster.phase ? "runs" : "rests"), cluster.phase ?? "Unknown"];
}

export const planRows = {
    fill(row, plan, now) {
        const part = fillRow(row, plan, stateOf(plan), stateWords(plan));
        part("weight").replaceChildren(meter(shareOf(plan), "whole"), `${plan.promoted} of ${plan.canaries}`);
        text(part("why"), visible(plan.message ?? "").slice(0, 160));
        time(part("since"), plan.since ?? "", "ago", now);
    },
    isUp: (plan) => ["runs", "waits", "failed"].includes(stateOf(plan)),
    haystack: (plan) => `${plan.namespace}/${plan.name}\n${plan.phase ?? ""}\n${stateWords(plan)}\n${plan.revision ?? ""}`.toLowerCase(),
};
