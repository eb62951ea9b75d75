// A page that shows one kind of thing, all of them or one (main.js, fleet.js). What it shows is asked for anew every few seconds, as long as somebody looks: a status changes once
// an interval, and an answer serves all tabs that ask at the same time. Where it looks stands in the address, behind the #.
import { askAll, askOne, now, token } from "./api.js";
import { $, show, text, tick, time, visible } from "./dom.js";
import { count, drawList, filterList, forget } from "./list.js";

const keyOf = (item) => `${item.namespace}/${item.name}`;

const LIST_MS = 3000, LIST_MORE_MS = 10, ONE_MS = 1500, RETRY_MOST_MS = 15e3;

// {of: their name in the API, title, moved: of several of them, clearOne(), drawOne(item, now), stateWords(item), rows: see list.js}
let view = null;
let place = null; // the one that is looked at, null: all
let lostAt = 0, turn = 0, hurry = null;

function placeOf(hash) {
    const parts = hash.replace(/^#\/?/, "").split("/");
    if (parts.length !== 2 || !parts[0] || !parts[1]) return null;
    try {
        return { namespace: decodeURIComponent(parts[0]), name: decodeURIComponent(parts[1]) };
    } catch {
        return null;
    }
}

// --- being connected ---

function drawLink(state, words) {
    show($("link"), true);
    $("link").dataset.state = state;
    text($("link-text"), words);
}

function connected() {
    lostAt = 0;
    show($("stale"), false);
    show($("session"), Boolean(token.get()));
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

let announced = 0;
function announce(sentence) {
    clearTimeout(announced);
    announced = setTimeout(() => text($("announce"), sentence), 300);
}

const pause = (ms) => new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    hurry = () => {
        clearTimeout(timer);
        resolve();
    };
});

// --- what is shown ---

function showOnly(id) {
    for (const other of ["sign-in", "loading", "list", "empty", "one"]) show($(other), other === id);
}

function drawAll(items) {
    const moved = drawList(items, now(), view.rows);
    showOnly(items.length ? "list" : "empty");
    document.title = view.title;
    if (moved.length === 1) announce(`${keyOf(moved[0])}: ${view.stateWords(moved[0])}`);
    else if (moved.length) announce(`${moved.length} ${view.moved}`);
}

let phase = "";
function drawPlace(item) {
    showOnly("one");
    view.drawOne(item, now());
    document.title = `${item.name}: ${view.stateWords(item)}`;
    if (phase && phase !== item.phase) announce(`${keyOf(item)}: ${view.stateWords(item)}`);
    phase = item.phase;
}

async function read(mine) {
    const where = place;
    const answer = where ? await askOne(view.of, where).catch((error) => {
        if (error.status === 404) return null;
        throw error;
    }) : await askAll(view.of);
    if (mine !== turn) return;
    if (!where) drawAll(answer);
    else if (answer) drawPlace(answer);
    else {
        showOnly("one");
        text($("one-namespace"), visible(where.namespace));
        text($("one-name"), visible(where.name));
        show($("one-gone"), true);
    }
    connected();
}

// One loop at a time; another turn ends the one before.
async function follow() {
    const mine = ++turn;
    hurry?.();
    for (let wait = 1000; mine === turn;) {
        try {
            await read(mine);
            wait = 1000;
            if (mine !== turn) return;
            await pause(place ? ONE_MS : LIST_MS + LIST_MORE_MS * count());
        } catch (error) {
            if (mine !== turn) return;
            if (error.status === 401) return signIn(token.get() ? error.message : "");
            lost(error);
            await pause(wait);
            wait = Math.min(wait * 2, RETRY_MOST_MS);
        }
        while (document.hidden && mine === turn) await pause(60e3);
    }
}

function go() {
    const before = place;
    place = placeOf(location.hash);
    view.clearOne();
    phase = "";
    if (place) {
        showOnly("loading");
        text($("one-namespace"), visible(place.namespace));
        text($("one-name"), visible(place.name));
    } else if (before) {
        showOnly("list");
        for (const row of document.querySelectorAll("a.row"))
            if (row.hash === `#/${encodeURIComponent(before.namespace)}/${encodeURIComponent(before.name)}`) row.focus();
    }
    follow().then(() => {});
}

// --- signing in and out ---

function signIn(sentence) {
    turn++;
    token.forget();
    forget();
    lostAt = 0;
    for (const id of ["session", "link", "stale"]) show($(id), false);
    for (const id of ["running-list", "rest-list"]) $(id).replaceChildren();
    view.clearOne();
    text($("sign-in-error"), sentence ?? "");
    showOnly("sign-in");
    $("token").value = "";
    $("token").focus();
}

function onSignIn(event) {
    event.preventDefault();
    const value = $("token").value.trim();
    if (!/^[\x21-\x7e]+$/.test(value)) {
        text($("sign-in-error"), "A token has no spaces and only ASCII characters.");
        return;
    }
    token.set(value);
    showOnly("loading");
    go();
}

function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "/" && !$("list").hidden) {
        event.preventDefault();
        $("filter").focus();
    } else if (event.key === "Escape" && place) {
        location.hash = "#/";
    }
}

export function live(what) {
    view = what;
    $("sign-in").addEventListener("submit", onSignIn);
    $("sign-out").addEventListener("click", () => signIn());
    $("retry").addEventListener("click", () => hurry?.());
    $("filter").addEventListener("input", filterList);
    document.addEventListener("keydown", onKey);
    addEventListener("hashchange", go);
    addEventListener("online", () => hurry?.());
    document.addEventListener("visibilitychange", () => {
        if (!document.hidden) hurry?.();
    });
    setInterval(() => {
        if (!document.hidden) tick(now());
    }, 1000);
    go();
}
