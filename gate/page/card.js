// One canary on the page: its state, waits, passes, actions, and its history.
import * as act from "./act.js";
import { call, now, pathOf } from "./api.js";
import { clone, make, quoted, reconcile, show, text, time, timeOf, visible } from "./dom.js";
import { actionWords, deadline, phaseWords, stateNames, votes } from "./model.js";

const OUTCOME_MS = 15e3;
const HISTORY_FIRST = 10;
const HISTORY_ANSWER = 50; // that many newest entries come with a canary

// page: {viewer() -> {name, role, named, mayAct}, refresh(canary) -> promise}
export function cardNew(canary, page) {
    const card = clone("canary-template");
    const part = (name) => card.querySelector(`.${name}`);
    card.parts = Object.fromEntries(["state", "frozen", "waits", "passes", "open", "close", "withdraw", "rollback", "past", "outcome", "history", "older"]
        .map((name) => [name, part(name)]));
    card.page = page;
    card.canary = canary;
    card.entries = [];
    card.shownEntries = HISTORY_FIRST;
    const title = card.querySelector("h3");
    title.tabIndex = -1;
    text(part("namespace"), visible(canary.namespace));
    text(part("name"), visible(canary.name));
    card.title_ = title;
    for (const name of ["open", "close", "withdraw", "rollback", "past"])
        card.parts[name].setAttribute("aria-label", `${card.parts[name].textContent} ${visible(canary.namespace)}/${visible(canary.name)}`);
    card.parts.open.addEventListener("click", (event) => act.open(canary, hooksOf(canary), card.snapshot.frozen, at(card, event)));
    card.parts.close.addEventListener("click", (event) => act.close(canary, hooksOf(canary), at(card, event)));
    card.parts.withdraw.addEventListener("click", (event) => act.withdraw(canary, at(card, event)));
    card.parts.rollback.addEventListener("click", (event) => act.rollBack(canary, runningRevision(card), at(card, event)));
    card.parts.past.addEventListener("click", () => toggleHistory(card));
    card.parts.older.addEventListener("click", () => showOlder(card));
    return card;
}

const hooksOf = ({ gate }) => [...new Set([...(gate?.waits ?? []), ...(gate?.passes ?? [])].map(({ hook }) => hook).filter(Boolean))].sort();

// The waiting revision, else the last one that was checked, else the last one with a pass.
function runningRevision({ snapshot, canary }) {
    const last = (list, key) => [...(list ?? [])].sort((a, b) => Date.parse(b[key]) - Date.parse(a[key])).find((one) => one.revision)?.revision;
    return snapshot.waits[0]?.revision || last(canary.gate?.waits, "seen") || last(snapshot.passes, "since") || "";
}

// Origin of an action, for the dialog.
function at(card, event) {
    return {
        opener: event.currentTarget,
        fallback: card.title_,
        unnamed: !card.page.viewer().named,
        done: async (sentence) => {
            text(card.parts.outcome, sentence);
            clearTimeout(card.outcomeEnds);
            card.outcomeEnds = setTimeout(() => text(card.parts.outcome, ""), OUTCOME_MS);
            await card.page.refresh(card.canary).catch(() => {}); // it is done; that we see it late is told elsewhere
        },
    };
}

// snapshot: the result of model.js for the canary.
export function cardUpdate(card, snapshot) {
    const viewer = card.page.viewer();
    const drawn = `${card.canary.version} ${viewer.role} ${snapshot.state} ${snapshot.waits.length} ${snapshot.passes.length} ${snapshot.rollbacks.length} ${Boolean(snapshot.frozen)}`;
    if (card.drawn === drawn) return;
    const first = card.drawn === undefined;
    card.drawn = drawn;
    card.snapshot = snapshot;
    card.dataset.state = snapshot.state;
    const { parts, canary } = card;
    text(parts.state, stateNames[snapshot.state]);
    drawFrozen(parts.frozen, snapshot.frozen);
    show(parts.waits, snapshot.waits.length > 0);
    reconcile(parts.waits, snapshot.waits, (wait) => `${wait.hook}\n${wait.revision}`, () => waitNew(card), (element, wait) => waitUpdate(element, wait, card));
    const passes = [...snapshot.rollbacks.map((pass) => ({ ...pass, kind: "rollback" })), ...snapshot.passes];
    show(parts.passes, passes.length > 0);
    reconcile(parts.passes, passes, (pass) => `${pass.kind}\n${pass.hook}\n${pass.revision}`, () => clone("pass-template"), passUpdate);
    show(parts.open, viewer.mayAct && snapshot.state !== "open");
    show(parts.close, viewer.mayAct && mayClose(snapshot, canary.gate));
    show(parts.withdraw, viewer.mayAct && snapshot.rollbacks.length > 0);
    show(parts.rollback, viewer.mayAct && snapshot.rollbacks.length === 0);
    if (!first) flash(card);
}

// True if there is a pass, an approval, or a deadline that would open.
const mayClose = (snapshot, gate) =>
    snapshot.passes.length > 0 || gate?.votes.length > 0 || (snapshot.waits.length > 0 && gate?.policy?.onDeadline === "open");

function flash(card) {
    card.classList.remove("changed");
    requestAnimationFrame(() => card.classList.add("changed"));
}

function drawFrozen(element, frozen) {
    show(element, Boolean(frozen));
    if (!frozen) return;
    const parts = [make("strong", "", "Frozen")];
    if (frozen.until) parts.push(" until ", timeOf(frozen.until, "at", now()), ", ", timeOf(frozen.until, "left", now()));
    if (frozen.reason) parts.push(": ", quoted(frozen.reason));
    element.replaceChildren(...parts);
}

function waitNew(card) {
    const element = clone("wait-template");
    element.querySelector(".approve").addEventListener("click", (event) => act.approve(card.canary, element.wait, at(card, event)));
    return element;
}

function waitUpdate(element, wait, card) {
    const part = (name) => element.querySelector(`.${name}`);
    const { gate } = card.canary;
    const viewer = card.page.viewer();
    element.wait = wait;
    time(part("elapsed"), wait.since, "elapsed", now());
    text(part("revision"), visible(wait.revision || "not told"));
    const words = phaseWords(wait.phase);
    text(part("where"), words || visible(wait.phase || "not told"));
    text(part("phase"), words ? wait.phase : "");
    show(part("hook-row"), Boolean(wait.hook));
    text(part("hook"), visible(wait.hook ?? ""));
    time(part("seen"), wait.seen, "ago", now());
    const counted = votes(gate, wait);
    const mine = counted?.by.includes(viewer.name);
    show(part("votes"), Boolean(counted));
    if (counted) drawVotes(part("votes"), counted, mine);
    drawDeadline(part("deadline"), gate, wait);
    const approve = part("approve");
    show(approve, viewer.mayAct && Boolean(wait.revision) && !mine);
    approve.setAttribute("aria-label", `Approve this revision… ${visible(wait.revision)} of ${visible(card.canary.namespace)}/${visible(card.canary.name)}`);
}

function drawVotes(element, { quorum, by, missing }, mine) {
    const names = (list) => list.flatMap((name, i) => [i ? ", " : "", quoted(name)]);
    const parts = [make("strong", "", `${by.length} of ${quorum} approvals`)];
    if (by.length) parts.push(": ", ...names(by));
    if (missing.length) parts.push(" (not yet: ", ...names(missing), ")");
    if (mine) parts.push(". Yours is counted.");
    element.replaceChildren(...parts);
}

function drawDeadline(element, gate, wait) {
    const at_ = deadline(gate, wait);
    show(element, !Number.isNaN(at_));
    if (Number.isNaN(at_)) return;
    const iso = new Date(at_).toISOString();
    element.replaceChildren(
        gate.policy.onDeadline === "open" ? "Without a decision it goes on at " : "Without a decision it is rolled back at ",
        timeOf(iso, "at", now()), ", ", timeOf(iso, "left", now()));
}

function passUpdate(element, pass) {
    const rollback = pass.kind === "rollback";
    element.classList.toggle("rollback-pass", rollback);
    const what = [make("strong", "", rollback ? "Rolls back" : "Lets through")];
    if (pass.revision) what.push(" revision ", quoted(pass.revision, "mono"));
    else what.push(" every revision");
    if (pass.hook) what.push(" at the hook ", quoted(pass.hook));
    if (pass.expires) what.push(" until ", timeOf(pass.expires, "at", now()), ", ", timeOf(pass.expires, "left", now()));
    else if (!pass.revision) what.push(" until closed");
    element.querySelector(".what").replaceChildren(...what);
    const why = [pass.by ? quoted(pass.by) : "somebody unnamed", ", ", timeOf(pass.since, "ago", now())];
    if (pass.reason) why.push(": ", quoted(pass.reason, "reason"));
    element.querySelector(".why").replaceChildren(...why);
}

// entries: the newest, newest first, as GET /v1/gates/NS/NAME gives them.
export function cardHistory(card, entries) {
    const oldest = entries.at(-1)?.seq ?? 0;
    // Entries that are no longer among the newest stay.
    card.entries = [...entries, ...card.entries.filter((entry) => entry.seq < oldest)];
    card.mayBeOlder ??= entries.length >= HISTORY_ANSWER;
    if (!card.parts.history.hidden) drawHistory(card);
}

async function inHistory(card, work) {
    const error = card.parts.history.querySelector(".error");
    try {
        await work();
        text(error, "");
    } catch (failure) {
        text(error, failure.message);
    }
    drawHistory(card);
}

async function toggleHistory(card) {
    const { past, history } = card.parts;
    show(history, history.hidden);
    past.setAttribute("aria-expanded", String(!history.hidden));
    if (history.hidden) return;
    card.shownEntries = HISTORY_FIRST;
    await inHistory(card, () => card.page.refresh(card.canary));
}

async function showOlder(card) {
    card.shownEntries += 2 * HISTORY_FIRST;
    await inHistory(card, async () => {
        if (card.mayBeOlder && card.shownEntries > card.entries.length) await readOlder(card);
    });
}

// Entries older than the newest ones: the history is read from its beginning.
async function readOlder(card) {
    const { namespace, name } = card.canary;
    const known = card.entries.at(-1).seq;
    const older = [];
    for (let after = 0; ;) {
        const path = `v1/history?namespace=${encodeURIComponent(namespace)}&name=${encodeURIComponent(name)}&after=${after}&limit=1000`;
        const { history } = await call("GET", path);
        older.push(...history.filter((entry) => entry.seq < known));
        if (!history.length || history.at(-1).seq >= known) break;
        after = history.at(-1).seq;
    }
    card.entries = [...card.entries, ...older.reverse()];
    card.mayBeOlder = false;
}

function drawHistory(card) {
    const { history, older } = card.parts;
    reconcile(history.querySelector("ol"), card.entries.slice(0, card.shownEntries), (entry) => entry.seq, entryNew, () => {});
    show(history.querySelector(".none"), card.entries.length === 0);
    show(older, card.entries.length > card.shownEntries || Boolean(card.mayBeOlder));
}

function entryNew(entry) {
    const words = [timeOf(entry.at, "at", now()), " ", make("strong", "", entry.who ? quoted(entry.who) : "Somebody unnamed")];
    if (entry.who && entry.verified === false) words.push(" (as told)");
    words.push(" ", actionWords(entry));
    if (entry.revision) words.push(" revision ", quoted(entry.revision, "mono"));
    if (entry.hook) words.push(" at the hook ", quoted(entry.hook));
    if (entry.approvers?.length && entry.action === "open") words.push(" with the approvals of ", quoted(entry.approvers.join(", ")));
    if (entry.expires) words.push(" until ", timeOf(entry.expires, "at", now()));
    if (entry.reason) words.push(": ", quoted(entry.reason, "reason"));
    return make("li", "", ...words);
}
