// The meaning of the gates' data, without a document: waits, passes, and their words.

export const keyOf = (gate) => `${gate.namespace}\n${gate.name}`;
export const shortRevision = (revision) => (revision.length > 16 ? `${revision.slice(0, 12)}…` : revision);

const alive = (pass, now) => !pass.expires || Date.parse(pass.expires) > now;
const covers = (pass, wait) => (!pass.hook || pass.hook === wait.hook) && (!pass.revision || pass.revision === wait.revision);

// A release without checks for this long has ended or was deleted: the usual interval between checks is far less.
const ASKS_NO_MORE_MS = 15 * 60e3;

// The current state of a canary's two gates.
//   canary: {namespace, name, gate, rollback}, each gate as /v1 gives it, or undefined
//   -> {state, waits (open questions, longest first), passes, rollbacks, frozen}
export function snapshot(canary, now) {
    const { gate, rollback } = canary;
    const frozen = gate?.frozen && !(Date.parse(gate.frozen.until) <= now) ? gate.frozen : null;
    const passes = (gate?.passes ?? []).filter((pass) => alive(pass, now));
    const rollbacks = (rollback?.passes ?? []).filter((pass) => alive(pass, now));
    const waits = (gate?.waits ?? [])
        .filter((wait) => now - Date.parse(wait.seen) < ASKS_NO_MORE_MS && (frozen || !passes.some((pass) => covers(pass, wait))))
        .sort((a, b) => Date.parse(a.since) - Date.parse(b.since));
    let state = "closed";
    if (waits.length) state = "waiting";
    else if (rollbacks.length) state = "rollback";
    else if (frozen) state = "frozen";
    else if (passes.some((pass) => !pass.hook && !pass.revision)) state = "open";
    else if (passes.length) state = "partly";
    return { state, waits, passes, rollbacks, frozen };
}

export const stateNames = {
    rollback: "Rolls back",
    waiting: "Waiting",
    frozen: "Frozen",
    open: "Open",
    partly: "Open for some",
    closed: "Closed",
};

// "1 of 2 approvals: alice", or "" when one approval is enough.
export function votes(gate, wait) {
    const quorum = gate?.policy?.quorum ?? 1;
    if (quorum < 2) return null;
    const by = [...new Set((gate.votes ?? []).filter((vote) => covers(vote, wait)).map((vote) => vote.by))];
    const approvers = gate.policy.approvers ?? [];
    return { quorum, by, missing: approvers.filter((name) => !by.includes(name)) };
}

// End of the deadline of a wait in milliseconds, or NaN.
export function deadline(gate, wait) {
    return gate?.policy?.deadlineMs ? Date.parse(wait.since) + gate.policy.deadlineMs : NaN;
}

// The step of a release at its check, in words; the phase is the Canary's.
const phases = {
    Initializing: "being set up",
    Waiting: "before the release begins",
    Progressing: "before more traffic",
    WaitingPromotion: "before promotion",
    Promoting: "while it is promoted",
    Finalising: "while it ends",
};
export const phaseWords = (phase) => phases[phase] ?? "";

// An entry of the history in words, up to the revision it is about. `approve` is one approval of several; what lets
// through is always an `open`.
const done = {
    "gate/open": (entry) => (entry.revision ? "approved" : "opened the gate"),
    "gate/approve": (entry) => (entry.revision ? "gave an approval for" : "gave an approval"),
    "gate/close": () => "closed the gate",
    "rollback/open": (entry) => (entry.revision ? "rolled back" : "asked for a roll back"),
    "rollback/approve": () => "gave an approval to roll back",
    "rollback/close": () => "withdrew the roll back",
    "gate/end": (entry) => (entry.votes ? "ended the approvals so far of" : "ended the approval of"),
    "rollback/end": () => "ended the roll back of",
    policy: (entry) => (entry.approvers ? `asked for ${entry.quorum} approval${entry.quorum === 1 ? "" : "s"}` : "took the policy away"),
    freeze: () => "froze",
    unfreeze: () => "lifted the freeze",
};
export const actionWords = (entry) => (done[`${entry.kind}/${entry.action}`] ?? done[entry.action] ?? (() => entry.action))(entry);

// A gate that was only checked, without further data.
export const isBlank = (gate) => !gate.changed && !gate.policy && ![gate.passes, gate.waits, gate.votes].some((list) => list?.length);

// The text of a canary for the filter, in lower case.
export function haystack(canary) {
    const words = [`${canary.namespace}/${canary.name}`];
    for (const gate of [canary.gate, canary.rollback]) {
        for (const pass of gate?.passes ?? []) words.push(pass.revision, pass.hook, pass.by, pass.reason);
        for (const wait of gate?.waits ?? []) words.push(wait.revision, wait.hook, wait.phase);
        for (const vote of gate?.votes ?? []) words.push(vote.by);
    }
    return words.filter(Boolean).join("\n").toLowerCase();
}
