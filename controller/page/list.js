// All Canaries: a row each, those first that are under way or need somebody.
import { meter, sparkline } from "./chart.js";
import { $, clone, reconcile, show, text, time, visible } from "./dom.js";
import { haystack, keyOf, stateOf, stateWords, waitsFor } from "./words.js";

const known = new Map(); // key -> {canary, json, words, row}

function fill(row, canary, now) {
    const part = (name) => row.querySelector(`.${name}`);
    row.dataset.state = stateOf(canary);
    part("row").href = `#/${encodeURIComponent(canary.namespace)}/${encodeURIComponent(canary.name)}`;
    text(part("namespace"), visible(canary.namespace));
    text(part("name"), visible(canary.name));
    text(part("state"), stateWords(canary));
    const iterates = canary.ofIterations > 0;
    part("weight").replaceChildren(meter(iterates ? (100 * canary.iterations) / canary.ofIterations : canary.canaryWeight),
        iterates ? `${canary.iterations} of ${canary.ofIterations}` : `${canary.canaryWeight} %`);
    part("trend").replaceChildren(...(canary.trend.length > 1 ? [sparkline(canary.trend)] : []));
    text(part("why"), visible(waitsFor(canary)).slice(0, 160));
    time(part("since"), canary.lastTransitionTime ?? "", "ago", now);
}

function rowOf(entry) {
    entry.row ??= clone("row-template");
    return entry.row;
}

function update(row, entry, now) {
    if (entry.drawn === entry.json) return;
    entry.drawn = entry.json;
    fill(row, entry.canary, now);
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

// What has moved since the last time: [{canary, before}].
export function drawList(canaries, now) {
    const running = [], rest = [], moved = [], keys = new Set();
    for (const canary of canaries) {
        const key = keyOf(canary), json = JSON.stringify(canary);
        let entry = known.get(key);
        if (entry && entry.canary.phase !== canary.phase) moved.push({ canary, before: entry.canary.phase });
        if (!entry) known.set(key, (entry = {}));
        if (entry.json !== json) Object.assign(entry, { canary, json, words: haystack(canary), key });
        keys.add(key);
        (["runs", "waits"].includes(stateOf(canary)) ? running : rest).push(entry);
    }
    for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    const byName = (a, b) => (a.key < b.key ? -1 : 1);
    for (const [id, entries] of [["running", running], ["rest", rest]]) {
        reconcile($(`${id}-list`), entries.sort(byName), (entry) => entry.key, rowOf, (row, entry) => update(row, entry, now));
        text($(`${id}-count`), entries.length ? String(entries.length) : "");
    }
    show($("nothing-runs"), running.length === 0);
    show($("rest"), rest.length > 0);
    filterList();
    return moved;
}

export const count = () => known.size;
export const forget = () => known.clear();
