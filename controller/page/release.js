// One Canary: its release that runs, or else the last one, and those before.
import { checkChart, meter, trafficChart } from "./chart.js";
import { $, make, quoted, show, text, timeOf, visible } from "./dom.js";
import { span } from "./span.js";
import { amountWords, approvalsOf, isOut, isWeb, judgedOf, outcomeWords, partWords, percentWords, rangeWords, seriesOf, shareWords, stateOf, stateWords, valueWords, verdictWords, waitsFor } from "./words.js";

function anchor(address, ...parts) {
    const element = make("a", "", ...parts);
    element.href = address;
    element.rel = "noreferrer";
    return element;
}

const fact = (name, ...values) => {
    const row = make("div", "");
    row.append(make("dt", "", name), make("dd", "", ...values));
    return row;
};

function factsOf(canary, release, now) {
    const facts = [];
    if (release?.revision ?? canary.lastAppliedSpec) facts.push(fact("Revision", quoted(release?.revision ?? canary.lastAppliedSpec, "revision")));
    if (release?.image) facts.push(fact("Image", quoted(release.image)));
    if (release?.began) facts.push(fact(release.ended ? "Began" : "Runs since", timeOf(release.began, release.ended ? "at" : "elapsed", now)));
    if (release?.began && release.ended) facts.push(fact("Took", span(Date.parse(release.ended) - Date.parse(release.began))));
    if (release?.bakeBegan) facts.push(fact(release.ended ? "Baked since" : "Bakes since", timeOf(release.bakeBegan, release.ended ? "at" : "elapsed", now)));
    // The status counts those of the release that runs; at its end it starts over.
    if (!release?.ended) facts.push(fact("Failed checks", `${canary.failedChecks} of ${canary.threshold}`));
    if (canary.ofIterations && !release?.ended) facts.push(fact("Iterations", `${canary.iterations} of ${canary.ofIterations}`));
    if (canary.plan) {
        facts.push(fact("Target", quoted(canary.plan.target)), fact("Provider", quoted(canary.plan.provider)));
        facts.push(fact("Interval", span(canary.plan.intervalSeconds * 1000)));
    }
    return facts;
}

// Drawn anew only where what it says has changed: a person may be reading or have opened something.
const drawn = new Map();
function draw(id, data, children) {
    const json = JSON.stringify(data);
    if (drawn.get(id) === json) return;
    drawn.set(id, json);
    $(id).replaceChildren(...children());
}

function tableOf(head, rows) {
    const table = make("table", "");
    const titles = make("tr", "");
    for (const name of head) {
        const cell = make("th", "", name);
        cell.scope = "col";
        titles.append(cell);
    }
    table.append(titles, ...rows.map((row) => make("tr", "", ...row.map((cell) => make("td", "", cell)))));
    return table;
}

function traffic(canary, release, now) {
    const weight = canary.canaryWeight, part = { weight, match: canary.matches, mirror: canary.copied };
    text($("traffic-title"), canary.release || !release ? "Traffic" : "Traffic of the last release");
    draw("split", [part], () => [make("span", "of-primary", part.match && weight > 0 ? "all others: primary" : `${Math.round(1e4 - 100 * weight) / 100} % primary`),
        make("span", "of-canary", `${partWords(part)}${part.match && weight > 0 ? ":" : ""} canary`)]);
    const steps = (release?.steps ?? []).filter((step) => step.weight !== undefined);
    draw("traffic-chart", [steps, release?.ended], () => {
        if (!steps.length) return [];
        const until = release.ended ? Date.parse(release.ended) : now;
        const words = `The canary's share in percent: ${steps.map((step) => (step.match || step.mirror ? partWords(step) : step.weight)).join(", ")}`;
        const more = make("details", "", make("summary", "", "Steps"), tableOf(["Time", "Canary", ""],
            steps.map((step) => [timeOf(step.at, "at", now), partWords(step), step.failed ? "a check failed" : ""])));
        const times = make("span", "", timeOf(steps[0].at, "at", now), " to ", release.ended ? timeOf(release.ended, "at", now) : "now");
        return [make("div", "card", make("p", "scale", "100 %"), trafficChart(steps, until, words), make("p", "scale", "0 %", times), more)];
    });
}

function checkOf(name, values, metric, now) {
    const last = values.at(-1), item = make("li", "");
    const range = rangeWords(name, last), value = make("p", isOut(last) ? "now bad" : "now", `${valueWords(name, last.value)}${isOut(last) ? ", out of range" : ""}`);
    const label = `${visible(name)}: ${values.map((one) => valueWords(name, one.value)).join(", ")}; expected ${range}`;
    item.append(make("h4", "", quoted(name)), value, make("p", "range", `expected ${range}`), checkChart(values, label, isOut));
    const more = make("details", "", make("summary", "", "Values and query"));
    more.append(tableOf(["Time", "Value"], values.map((one) => [timeOf(one.at, "at", now), valueWords(name, one.value) + (isOut(one) ? " (out of range)" : "")])));
    if (metric?.query) more.append(make("code", "query", visible(metric.query)));
    if (isWeb(metric?.link)) more.append(make("p", "", anchor(metric.link, "Ask Prometheus")));
    if (isWeb(metric?.grafana)) more.append(make("p", "", anchor(metric.grafana, "Explore in Grafana")));
    item.append(more);
    return item;
}

function checks(canary, release, now) {
    const series = seriesOf(release), metrics = canary.plan?.metrics ?? [];
    text($("checks-of"), canary.release || !release ? "" : "of the last release");
    show($("no-checks"), series.size === 0);
    text($("no-checks"), release?.ended ? "Nothing was measured in this release." : "Nothing was measured in this release yet.");
    draw("checks-list", [[...series], metrics], () => [...series].map(([name, values]) => checkOf(name, values, metrics.find((metric) => metric.name === name), now)));
}

// How far the evidence is on its way to either verdict; the words stand beside the pictures.
function evidenceOf(one) {
    const rows = [["worse", one.worse, "worse"], ["not worse", one.notWorse, "not-worse"]].filter(([, part]) => typeof part === "number");
    const grid = make("div", "evidence");
    for (const [words, part, className] of rows) grid.append(make("span", "", `Evidence that it is ${words}`), meter(part * 100, className), make("span", "", percentWords(Math.floor(part * 100))));
    return grid;
}

function judgedItem(one, now) {
    const item = make("li", ""), verdict = one.verdict === "worse" ? make("span", "bad", verdictWords.worse) : verdictWords[one.verdict];
    item.append(make("h4", "", quoted(one.name ?? "")));
    if (verdict) item.append(make("p", "now", "The canary is ", verdict));
    if (one.numbers) item.append(tableOf(["", "Value"], [["canary", amountWords(one.numbers[0])], ["primary", amountWords(one.numbers[1])]]));
    else if (one.past) item.append(tableOf(["", "Value"], [["canary", amountWords(one.past[0])], ...one.past.length > 1 ? [["primary, same time of the last days", `${amountWords(one.past[1])} to ${amountWords(one.past[2])}`]] : []]));
    else item.append(tableOf(["", "Bad requests"], [["canary", shareWords(one.canary)], ["primary", shareWords(one.primary)]]));
    if (one.says) item.append(make("p", "said", quoted(one.says)));
    item.append(evidenceOf(one));
    if (one.lastLook) item.append(make("p", "range", one.numbers || one.past ? "compared up to " : "counted up to ", timeOf(one.lastLook, "at", now)));
    return item;
}

function judge(canary, release, now) {
    const judged = judgedOf(canary, release);
    show($("judge"), judged.length > 0);
    text($("judge-of"), canary.release || !release ? "" : "of the last release");
    draw("judge-list", judged, () => judged.map((one) => judgedItem(one, now)));
}

function lineOf(what, said, ...rest) {
    const item = make("li", "", make("span", "what", what), make("span", "", ...said));
    item.append(...rest);
    return item;
}

// In the words of kubectl canary plan.
function promises(canary) {
    const list = canary.promises ?? [];
    show($("promises"), list.length > 0);
    draw("promises-list", list, () => list.map((one) => lineOf(quoted(one.metric), [one.text ? visible(one.text.slice(one.metric.length + 2)) : "computing…"])));
}

function hooks(canary, release, now) {
    const planned = canary.plan?.hooks ?? [], last = release?.hooks ?? [];
    const names = [...new Set([...planned, ...last].map((hook) => hook.name))];
    show($("hooks"), names.length > 0);
    draw("hooks-list", [planned, last, release?.ended], () => names.map((name) => {
        const plan = planned.find((hook) => hook.name === name), answer = last.find((hook) => hook.name === name);
        const type = (answer ?? plan).type, gate = type.startsWith("confirm-") || type === "rollback";
        // Of the spec alone: an address in what the hook said is shown, and leads nowhere.
        const address = gate && isWeb(plan?.server) ? `${plan.server}/` : "";
        const word = !answer ? make("span", "", release?.ended ? "was not asked" : "was not asked yet")
            : type === "rollback" ? make("span", answer.passed ? "bad" : "", answer.passed ? "asked for a rollback" : "asks for no rollback")
            : make("span", answer.passed ? "yes" : "no", answer.passed ? "agreed" : gate ? "is closed" : "refused");
        const parts = [word, ` · ${type}`];
        if (gate && isWeb(address)) parts.push(" · ", anchor(address, `${answer && !answer.passed && !release.ended ? "Open the gate" : "The gate"}, ${visible(address)}`));
        return lineOf(quoted(name), parts, ...(answer ? [timeOf(answer.at, "ago", now)] : []), ...(answer?.said ? [quoted(answer.said, "said")] : []));
    }));
}

function people(canary, release, now) {
    const asked = canary.requests?.length ? canary.requests : release?.requests ?? []; // the last ones; one that came too late is of no release
    show($("people"), asked.length > 0);
    draw("people-list", asked, () => asked.map((one) =>
        lineOf(quoted(one.action), [quoted(one.by ?? "somebody"), ` · ${one.outcome ?? ""}`], timeOf(one.at ?? "", "ago", now), ...[one.why, one.message].filter(Boolean).map((words) => quoted(words, "said")))));
}

function conditions(canary, now) {
    draw("conditions-list", canary.conditions, () => canary.conditions.map((one) =>
        lineOf(quoted(one.type), [make("span", one.status === "True" ? "yes" : one.status === "False" ? "no" : "", one.status), " · ", quoted(one.reason ?? "")],
            timeOf(one.since ?? "", "ago", now), ...(one.message ? [quoted(one.message, "said")] : []))));
}

// What this replica has told since it began: kubectl shows those of before, and of the others.
function events(canary, now) {
    const list = canary.events ?? [];
    show($("events"), list.length > 0 || canary.leads === false);
    text($("events-of"), canary.leads === false && !list.length ? "another replica leads, and tells them" : "since this controller leads");
    draw("events-list", list, () => list.map((one) =>
        lineOf(one.type === "Warning" ? make("span", "no", "Warning") : "Normal", [quoted(one.text), one.count > 1 ? ` (${one.count} times)` : ""], timeOf(one.at, "ago", now))));
}

function past(canary, now) {
    const history = canary.history ?? [];
    show($("past"), history.length > 0);
    draw("past-list", history, () => history.map((one) => {
        const word = make("span", { promoted: "yes", failed: "bad" }[one.outcome] ?? "", outcomeWords[one.outcome] ?? "Ended");
        const took = one.began && one.ended ? ` · took ${span(Date.parse(one.ended) - Date.parse(one.began))}` : "";
        const approved = approvalsOf(one).map((hook) => make("span", "said", quoted(hook.name), ": ", quoted(hook.said)));
        const asked = (one.requests ?? []).map((request) => make("span", "said", quoted(request.action ?? ""), " by ", quoted(request.by ?? "somebody"), request.why ? ": " : "", quoted(request.why ?? "")));
        return lineOf(quoted(one.revision ?? "", "revision"), [word, " · ", quoted(one.image ?? ""), took], timeOf(one.ended ?? "", "ago", now), quoted(one.reason ?? "", "said"), ...approved, ...asked);
    }));
}

export function drawOne(canary, now) {
    const release = canary.release ?? canary.history?.[0];
    show($("one-gone"), false);
    text($("one-namespace"), visible(canary.namespace));
    text($("one-name"), visible(canary.name));
    $("one").dataset.state = stateOf(canary);
    text($("one-state"), stateWords(canary));
    draw("one-facts", [release?.revision, release?.image, release?.began, release?.bakeBegan, release?.ended, canary.failedChecks, canary.threshold, canary.iterations, canary.plan], () => factsOf(canary, release, now));
    const why = (canary.phase === "Failed" && release?.outcome === "failed" && release.reason) || waitsFor(canary);
    text($("one-waits"), visible(why));
    show($("one-waits"), Boolean(why));
    traffic(canary, release, now);
    checks(canary, release, now);
    judge(canary, release, now);
    promises(canary);
    hooks(canary, release, now);
    people(canary, release, now);
    conditions(canary, now);
    events(canary, now);
    past(canary, now);
}

// Another Canary will be shown: nothing of this one may stand beside it.
export function clearOne() {
    drawn.clear();
    for (const id of ["one-facts", "split", "traffic-chart", "checks-list", "judge-list", "promises-list", "hooks-list", "people-list", "conditions-list", "events-list", "past-list"]) $(id).replaceChildren();
    show($("one-waits"), false);
    show($("one-gone"), false);
    text($("one-state"), "");
}
