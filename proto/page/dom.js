// Small tools over the document. Texts of others only ever become text nodes.
import { ago, left, span } from "./span.js";

export const $ = (id) => document.getElementById(id);
export const clone = (id) => $(id).content.firstElementChild.cloneNode(true);

export function text(element, value) {
    if (element.textContent !== value) element.textContent = value;
}

export function show(element, on) {
    if (element.hidden === on) element.hidden = !on;
}

// Characters that cannot be seen, or that turn the direction of what follows, are shown as their number: a name must
// not be able to look like another one.
export function visible(value) {
    return String(value).replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// An element with parts: texts, and elements made before.
export function make(tag, className, ...parts) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...parts);
    return element;
}

// A text of others inside a sentence of ours: it keeps its direction to itself.
export const quoted = (value, className) => make("bdi", className, visible(value));

// Makes parent's children those of the items, in their order, and touches only what differs. Which element is whose is
// told by `key`; `create(item)` makes one, `update(element, item)` fills it.
export function reconcile(parent, items, key, create, update) {
    const old = new Map();
    for (const child of parent.children) old.set(child.itemKey, child);
    const focused = document.activeElement;
    let next = parent.firstElementChild;
    for (const item of items) {
        const itemKey = key(item);
        let element = old.get(itemKey);
        if (element) {
            old.delete(itemKey);
        } else {
            element = create(item);
            element.itemKey = itemKey;
        }
        update(element, item);
        if (element === next) next = next.nextElementSibling;
        else parent.insertBefore(element, next);
    }
    for (const gone of old.values()) if (gone.parentNode === parent) gone.remove();
    // What moves in the document loses the focus.
    if (focused && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

// How a time is shown, by what it is for; all but "at" go on by themselves.
const shown = {
    at: (ms, now) => (Math.abs(ms - now) < 12 * 3600e3 ? clock : day).format(ms),
    elapsed: (ms, now) => span(now - ms),
    ago: (ms, now) => ago(now - ms),
    left: (ms, now) => left(ms - now),
};

// Fills a <time>: what it says is in the viewer's zone, its title has the viewer's and UTC.
export function time(element, iso, how, now) {
    if (element.dateTime !== iso || element.dataset.how !== how) {
        const ms = Date.parse(iso);
        element.dateTime = iso;
        element.dataset.how = how;
        element.at = ms;
        element.title = Number.isNaN(ms) ? "" :
            `${exact.format(ms)} (${new Date(ms).toISOString().replace("T", " ").replace(/\.\d+Z$/, "")} UTC)`;
    }
    text(element, Number.isNaN(element.at) ? "" : shown[how](element.at, now));
}

export function timeOf(iso, how, now) {
    const element = document.createElement("time");
    time(element, iso, how, now);
    return element;
}

// Once a second: every time that goes on.
export function tick(now) {
    for (const element of document.querySelectorAll("time[data-how]"))
        if (!Number.isNaN(element.at)) text(element, shown[element.dataset.how](element.at, now));
}
