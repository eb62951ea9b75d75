// The page: signing in, the current state of the gates, and the two lists of them.
import { actBegin } from "./act.js";
import { allGates, call, listen, now, pathOf, token } from "./api.js";
import { cardHistory, cardNew, cardUpdate } from "./card.js";
import { $, clone, make, quoted, reconcile, show, text, tick, time, timeOf, visible } from "./dom.js";
import { actionWords, haystack, isBlank, keyOf, snapshot } from "./model.js";

const RETRY_FIRST_MS = 1000, RETRY_MOST_MS = 30e3;
const GATHER_MS = 60; // changes that come together are asked for together
const AT_ONCE = 6;
const MANY = 40; // more changed canaries than that: read the list
const FREEZES_EVERY_MS = 30e3; // a weekly freeze begins without an event

let viewer = null; // {name, role, named, mayAct}
const canaries = new Map(); // key -> {namespace, name, gate, rollback, version, ticket, json, card}
let tickets = 0; // of requests: a later answer to an earlier question is dropped
let lastId = "";

// --- state ---

function put(namespace, name, gates, ticket) {
    const key = keyOf({ namespace, name });
    let canary = canaries.get(key);
    if (canary && canary.ticket > ticket) return;
    gates = gates.filter((gate) => !isBlank(gate)); // one canary is asked for with both its gates
    if (!gates.length) {
        canaries.delete(key);
        return;
    }
    const json = JSON.stringify(gates);
    if (!canary) {
        canary = { namespace, name, version: 0 };
        canaries.set(key, canary);
    }
    canary.ticket = ticket;
    if (canary.json === json) return;
    canary.json = json;
    canary.version++;
    canary.gate = gates.find((gate) => gate.kind !== "rollback");
    canary.rollback = gates.find((gate) => gate.kind === "rollback");
    canary.words = haystack(canary);
}

async function readAll() {
    const ticket = ++tickets;
    const [gates, freezes] = await Promise.all([allGates(), call("GET", "v1/freezes")]);
    const byCanary = new Map();
    for (const gate of gates) {
        const key = keyOf(gate);
        byCanary.set(key, [...(byCanary.get(key) ?? []), gate]);
    }
    for (const canary of canaries.values())
        if (!byCanary.has(keyOf(canary))) put(canary.namespace, canary.name, [], ticket);
    for (const [first, ...more] of byCanary.values()) put(first.namespace, first.name, [first, ...more], ticket);
    drawFreezes(freezes.freezes);
    draw();
}

async function readOne({ namespace, name }) {
    const ticket = ++tickets;
    const answer = await call("GET", pathOf({ namespace, name }));
    put(namespace, name, answer.gates, ticket);
    draw();
    const card = canaries.get(keyOf({ namespace, name }))?.card;
    if (card) cardHistory(card, answer.history);
}

// --- changes ---

const changed = new Map(); // key -> {namespace, name}
let gathering = 0, reading = false;

function canaryChanged(canary) {
    if (canary.namespace && canary.name) changed.set(keyOf(canary), canary);
    else for (let i = 0; i <= MANY; i++) changed.set(i, null); // concerns many: read all
    gathering ||= setTimeout(readChanged, GATHER_MS);
}

async function readChanged() {
    gathering = 0;
    if (reading) return;
    reading = true;
    try {
        while (changed.size) {
            const batch = [...changed.values()];
            changed.clear();
            if (batch.length > MANY) await readAll();
            else for (let i = 0; i < batch.length; i += AT_ONCE) await Promise.all(batch.slice(i, i + AT_ONCE).map(readOne));
        }
    } catch (error) {
        disconnect?.(error);
    } finally {
        reading = false;
    }
}

let announced = 0;
function announce(sentence) {
    clearTimeout(announced);
    announced = setTimeout(() => text($("announce"), sentence), 300);
}

function onEvent({ id, event, data }) {
    if (id) lastId = id;
    let told;
    try {
        told = JSON.parse(data);
    } catch {
        return; // not ours; the next reading of all shows what it was
    }
    if (event === "database") {
        show($("database"), !told.ready);
        if (told.ready && unread) canaryChanged({});
        unread = !told.ready;
    } else if (event === "wait") {
        canaryChanged(told);
    } else if (event === "change") {
        canaryChanged(/freeze/.test(told.action) ? {} : told);
        announce(`${told.name ? `${told.namespace}/${told.name}: ` : ""}${told.who || "somebody"} ${actionWords(told)}`);
    }
}

// --- connection ---

let disconnect = null; // ends the stream that is open
let hurry = null; // ends the pause before the next attempt
let lostAt = 0;
let unread = false; // what is shown is old, since the gate had no database when it was asked

function connected() {
    lostAt = 0;
    show($("stale"), false);
    drawLink("live", "Live");
}

function lost(error) {
    if (!lostAt) {
        lostAt = now();
        time($("stale-since"), new Date(lostAt).toISOString(), "at", now());
    }
    text($("stale-why"), error.message);
    show($("stale"), true);
    drawLink("lost", "Not connected");
}

function drawLink(state, words) {
    show($("link"), true);
    $("link").dataset.state = state;
    text($("link-text"), words);
}

const pause = (ms) => new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    hurry = () => {
        clearTimeout(timer);
        resolve();
    };
});

// After signing in: follows the stream, and reads everything at each start of it, so that no change is missed.
async function live(session) {
    let wait = RETRY_FIRST_MS;
    while (viewer === session) {
        try {
            await listen(lastId, async (end) => {
                disconnect = end;
                await readAll().catch((error) => {
                    if (error.status !== 503) throw error;
                    unread = true; // the stream tells when the database is back
                });
                connected();
                wait = RETRY_FIRST_MS;
            }, onEvent);
            disconnect = null; // the gate ends each stream after a while
            wait = RETRY_FIRST_MS;
        } catch (error) {
            disconnect = null;
            if (viewer !== session) return;
            if (error.status === 401) return signedOut(error.message);
            lost(error);
            await readAll().catch(() => {}); // a proxy may let all pass but the stream
        }
        await pause(wait * (0.75 + Math.random() / 2));
        wait = Math.min(wait * 2, RETRY_MOST_MS);
    }
}

// --- signing in and out ---

function signedOut(sentence) {
    viewer = null;
    token.forget();
    disconnect?.();
    canaries.clear();
    lastId = "";
    lostAt = 0;
    for (const id of ["gates", "empty", "session", "link", "stale", "database", "freezes", "loading"]) show($(id), false);
    draw();
    text($("sign-in-error"), sentence ?? "");
    show($("sign-in"), true);
    $("token").value = "";
    $("token").focus();
}

// Asks the gate for our identity until it answers.
async function begin() {
    let wait = RETRY_FIRST_MS;
    show($("sign-in"), false);
    show($("loading"), true);
    for (;;) {
        try {
            const who = await call("GET", "v1/whoami");
            signedIn(who);
            return;
        } catch (error) {
            if (error.status === 401 || error.status === 403) {
                signedOut(token.get() ? error.message : "");
                return;
            }
            lost(error);
        }
        await pause(wait);
        wait = Math.min(wait * 2, RETRY_MOST_MS);
    }
}

function signedIn(who) {
    viewer = { name: who.name, role: who.role, named: Boolean(who.name) && !who.anonymous, mayAct: who.role === "operate" || who.role === "admin" };
    text($("who-name"), visible(who.name || "Everybody"));
    text($("who-role"), viewer.mayAct ? who.role : `${who.role}: you may look`);
    show($("sign-out"), Boolean(token.get()));
    show($("session"), true);
    drawLink("connecting", "Connecting…");
    live(viewer);
}

function onSignIn(event) {
    event.preventDefault();
    const value = $("token").value.trim();
    if (!/^[\x21-\x7e]+$/.test(value)) {
        text($("sign-in-error"), "A token has no spaces and only ASCII characters.");
        return;
    }
    token.set(value);
    begin();
}

// --- lists ---

const page = { viewer: () => viewer ?? {}, refresh: readOne };

function cardOf({ canary }) {
    canary.card ??= cardNew(canary, page);
    return canary.card;
}

function draw() {
    const at = now();
    const focused = document.activeElement;
    const waiting = [], rest = [];
    for (const canary of canaries.values()) {
        const item = { canary, snapshot: snapshot(canary, at) };
        (item.snapshot.waits.length ? waiting : rest).push(item);
    }
    const byName = (a, b) => (keyOf(a.canary) < keyOf(b.canary) ? -1 : 1);
    waiting.sort((a, b) => Date.parse(a.snapshot.waits[0].since) - Date.parse(b.snapshot.waits[0].since) || byName(a, b));
    rest.sort(byName);
    for (const [id, items] of [["waiting", waiting], ["rest", rest]]) {
        reconcile($(`${id}-list`), items, ({ canary }) => keyOf(canary), cardOf, (card, item) => cardUpdate(card, item.snapshot));
        text($(`${id}-count`), items.length ? String(items.length) : "");
    }
    // An element that moves loses the focus.
    if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
    show($("nothing-waits"), waiting.length === 0);
    show($("rest"), rest.length > 0);
    show($("loading"), false);
    show($("gates"), Boolean(viewer) && canaries.size > 0);
    show($("empty"), Boolean(viewer) && canaries.size === 0);
    document.title = waiting.length ? `(${waiting.length}) Gates` : "Gates";
    filter();
}

function filter() {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const canary of canaries.values()) {
        const fits = words.every((word) => canary.words.includes(word));
        if (canary.card) show(canary.card, fits);
        found += fits;
    }
    text($("filter-count"), words.length ? `${found} of ${canaries.size}` : "");
}

function drawFreezes(freezes) {
    const active = freezes.filter((freeze) => freeze.active !== false);
    show($("freezes"), active.length > 0);
    reconcile($("freezes"), active, (freeze) => freeze.id, () => make("li", "banner frost"), (element, freeze) => {
        const what = make("strong", "", "Frozen: ");
        if (freeze.name) what.append(quoted(`${freeze.namespace || "*"}/${freeze.name}`));
        else if (freeze.namespace) what.append("everything in ", quoted(freeze.namespace));
        else what.append("every gate");
        const parts = [what];
        if (freeze.weekly) parts.push(` until ${freeze.weekly.until} (${freeze.weekly.zone})`);
        else if (freeze.until) parts.push(" until ", timeOf(freeze.until, "at", now()));
        else parts.push(" until somebody lifts it");
        if (freeze.by) parts.push(" · ", quoted(freeze.by));
        if (freeze.reason) parts.push(" · ", quoted(freeze.reason));
        element.replaceChildren(make("span", "", ...parts));
    });
}

// Updates by time: counters, and ends of passes and freezes.
let freezesAt = Date.now();
function everySecond() {
    if (document.hidden || !viewer) return;
    tick(now());
    draw();
    if (Date.now() - freezesAt > FREEZES_EVERY_MS && !lostAt) {
        freezesAt = Date.now();
        canaryChanged({});
    }
}

// --- help ---

const lesson = (base) => `    webhooks:
      - name: approval
        type: confirm-rollout
        url: ${base}gate/check
      - name: undo
        type: rollback
        url: ${base}rollback/check
`;

async function copy(pre) {
    try {
        await navigator.clipboard.writeText(pre.textContent);
        return "Copied";
    } catch {
        getSelection().selectAllChildren(pre); // no clipboard without https: one key is left to press
        return "Selected";
    }
}

function drawLessons() {
    for (const place of document.querySelectorAll(".lesson-place")) {
        const element = clone("lesson-template");
        text(element.querySelector(".yaml"), lesson(new URL(".", location.href).href));
        const button = element.querySelector(".copy");
        button.addEventListener("click", async () => {
            text(button, await copy(element.querySelector("pre")));
            setTimeout(() => text(button, "Copy"), 3000);
        });
        place.replaceChildren(element);
    }
}

function onKey(event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || document.querySelector("dialog[open]") || $("gates").hidden) return;
    event.preventDefault();
    $("filter").focus();
}

actBegin();
drawLessons();
$("sign-in").addEventListener("submit", onSignIn);
$("sign-out").addEventListener("click", () => signedOut());
$("help-button").addEventListener("click", () => $("help").showModal());
$("retry").addEventListener("click", () => hurry?.());
$("filter").addEventListener("input", filter);
document.addEventListener("keydown", onKey);
addEventListener("online", () => hurry?.());
document.addEventListener("visibilitychange", () => {
    if (!document.hidden) {
        everySecond();
        hurry?.();
    }
});
setInterval(everySecond, 1000);
begin();
