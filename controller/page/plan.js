// One plan: its waves as columns, each with its clusters.
import { meter } from "./chart.js";
import { $, clone, make, quoted, reconcile, show, text, timeOf, visible } from "./dom.js";
import { clusterState, countsWords, shareOf, stateOf, stateWords, waveState } from "./plan_words.js";

const fact = (name, ...values) => make("div", "", make("dt", "", name), make("dd", "", ...values));

function factsOf(plan, now) {
    const facts = [];
    if (plan.revision) facts.push(fact("Revision", quoted(plan.revision, "revision")));
    facts.push(fact("Canaries", countsWords(plan)));
    if (plan.since) facts.push(fact("Since", timeOf(plan.since, "ago", now)));
    return facts;
}

function fillCluster(element, cluster, now) {
    const json = JSON.stringify(cluster);
    if (element.drawn === json) return;
    element.drawn = json;
    const part = (name) => element.querySelector(`.${name}`);
    const [state, words] = clusterState(cluster);
    element.dataset.state = state;
    text(part("name"), visible(cluster.name));
    text(part("state"), words);
    part("weight").replaceChildren(...(cluster.weight > 0 ? [meter(cluster.weight), `${cluster.weight} %`] : []),
        ...(cluster.revision ? [quoted(cluster.revision, "revision")] : []));
    part("says").replaceChildren(quoted(cluster.says),
        ...(cluster.lastContact ? [", last contact ", timeOf(cluster.lastContact, "ago", now)] : []));
}

function fillWave(element, wave, plan, now) {
    const part = (name) => element.querySelector(`.${name}`);
    const [state, words] = wave.name === null ? ["waits", "held"] : waveState(wave, plan);
    element.dataset.state = state;
    text(part("name"), wave.name === null ? "in no wave" : visible(wave.name));
    text(part("state"), words);
    const counts = wave.name === null ? "" : countsWords(wave);
    if (element.counts !== counts) {
        element.counts = counts;
        part("counts").replaceChildren(...(counts ? [meter(shareOf(wave), "whole"), counts] : []));
    }
    reconcile(part("clusters"), wave.clusters, (cluster) => cluster.name, () => clone("cluster-template"),
        (item, cluster) => fillCluster(item, cluster, now));
}

// Ready is well if it is true, all others if they are not.
const conditionClass = ({ type, status }) => (status === "True" ? (type === "Ready" ? "yes" : "bad") : "");

function fillCondition(element, condition, now) {
    const json = JSON.stringify(condition);
    if (element.drawn === json) return;
    element.drawn = json;
    element.replaceChildren(make("span", "what", visible(condition.type)),
        make("span", conditionClass(condition), `${visible(condition.status)}${condition.reason ? `, ${visible(condition.reason)}` : ""}`),
        ...(condition.since ? [timeOf(condition.since, "ago", now)] : []), make("span", "said", quoted(condition.message ?? "")));
}

export function drawOne(plan, now) {
    text($("one-namespace"), visible(plan.namespace));
    text($("one-name"), visible(plan.name));
    text($("one-state"), stateWords(plan));
    $("one").dataset.state = stateOf(plan);
    show($("one-gone"), false);
    show($("one-waits"), Boolean(plan.message));
    text($("one-waits"), visible(plan.message ?? ""));
    $("one-facts").replaceChildren(...factsOf(plan, now));
    const waves = plan.outside.length ? [...plan.waves, { name: null, clusters: plan.outside }] : plan.waves;
    reconcile($("waves"), waves, (wave) => wave.name, () => clone("wave-template"), (element, wave) => fillWave(element, wave, plan, now));
    reconcile($("conditions-list"), plan.conditions, (condition) => condition.type, () => make("li", ""),
        (element, condition) => fillCondition(element, condition, now));
}

export function clearOne() {
    for (const id of ["one-facts", "waves", "conditions-list"]) $(id).replaceChildren();
    for (const id of ["one-state", "one-waits"]) text($(id), "");
    show($("one-waits"), false);
    show($("one-gone"), false);
}
