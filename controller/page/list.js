// All of a kind: a row each, those first that are under way or need somebody.
import { meter, sparkline } from "./chart.js";
import { $, clone, reconcile, show, text, time, visible } from "./dom.js";
import { haystack, partWords, stateOf, stateWords, waitsFor } from "./words.js";

const known = new Map(); // key -> {item, json, words, row}
const keyOf = (item) => `${item.namespace}/${item.name}`;

// What is in each row: its address, its name, and how it stands.
export function fillRow(row, item, state, words) {
    const part = (name) => row.querySelector(`.${name}`);
    row.dataset.state = state;
    part("row").href = `#/${encodeURIComponent(item.namespace)}/${encodeURIComponent(item.name)}`;
    text(part("namespace"), visible(item.namespace));
    text(part("name"), visible(item.name));
    text(part("state"), words);
    return part;
}

// How rows of Canaries are filled; rows of something else have the same three functions.
export const canaryRows = {
    fill(row, canary, now) {
        const part = fillRow(row, canary, stateOf(canary), stateWords(canary));
        const iterates = canary.ofIterations > 0;
        part("weight").replaceChildren(meter(iterates ? (100 * canary.iterations) / canary.ofIterations : canary.canaryWeight),
            iterates ? `${canary.iterations} of ${canary.ofIterations}` : partWords({ weight: canary.canaryWeight, match: canary.matches, mirror: canary.copied }));
        part("trend").replaceChildren(...(canary.trend.length > 1 ? [sparkline(canary.trend)] : []));
        text(part("why"), visible(waitsFor(canary)).slice(0, 160));
        time(part("since"), canary.lastTransitionTime ?? "", "ago", now);
    },
    isUp: (canary) => ["runs", "waits"].includes(stateOf(canary)),
    haystack,
};

function rowOf(entry) {
    entry.row ??= clone("row-template");
    return entry.row;
}

function update(row, entry, now, rows) {
    if (entry.drawn === entry.json) return;
    entry.drawn = entry.json;
    rows.fill(row, entry.item, now);
}

export function filterList() {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const entry of known.values()) {
        const fits = words.every((word) => entry.words.includes(word));
        if (entry.row) show(entry.row, fits);
        found += fits;
    }
    text($("filter-count"), words.length ? `${found} of ${known.size}` : "");
}

// What has moved since the last time.
export function drawList(items, now, rows) {
    const running = [], rest = [], moved = [], keys = new Set();
    for (const item of items) {
        const key = keyOf(item), json = JSON.stringify(item);
        let entry = known.get(key);
        if (entry && entry.item.phase !== item.phase) moved.push(item);
        if (!entry) known.set(key, (entry = {}));
        if (entry.json !== json) Object.assign(entry, { item, json, words: rows.haystack(item), key });
        keys.add(key);
        (rows.isUp(item) ? running : rest).push(entry);
    }
    for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    const byName = (a, b) => (a.key < b.key ? -1 : 1);
    for (const [id, entries] of [["running", running], ["rest", rest]]) {
        reconcile($(`${id}-list`), entries.sort(byName), (entry) => entry.key, rowOf, (row, entry) => update(row, entry, now, rows));
        text($(`${id}-count`), entries.length ? String(entries.length) : "");
    }
    show($("nothing-runs"), running.length === 0);
    show($("rest"), rest.length > 0);
    filterList();
    return moved;
}

export const count = () => known.size;
export const forget = () => known.clear();
