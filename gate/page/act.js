// The dialog for a change of a gate. Nothing happens before it is confirmed; a refusal of the gate is shown in it.
import { call, pathOf } from "./api.js";
import { $, show, text, visible } from "./dom.js";
import { shortRevision } from "./model.js";

const WHO = "flagger-gate.who";
let current = null; // what is asked

// asks: {canary, opener, unnamed, title, about, warning, go, danger, choices, hooks, run(fields), done(answer)}
function ask(asks) {
    current = asks;
    const form = $("act-form");
    form.reset();
    text($("act-title"), asks.title);
    text($("act-namespace"), visible(asks.canary.namespace));
    text($("act-name"), visible(asks.canary.name));
    text($("act-about"), asks.about);
    text($("act-warning"), asks.warning ?? "");
    show($("act-warning"), Boolean(asks.warning));
    show($("act-for"), Boolean(asks.choices));
    const hooks = asks.hooks ?? [];
    show($("act-hook-row"), hooks.length > 0);
    $("act-hook").replaceChildren(...["", ...hooks].map((hook) => new Option(hook ? `only ${visible(hook)}` : "every hook", hook)));
    show($("act-who-row"), Boolean(asks.unnamed));
    $("act-who").value = asks.unnamed ? sessionStorage.getItem(WHO) ?? "" : "";
    text($("act-go"), asks.go);
    $("act-go").classList.toggle("danger", Boolean(asks.danger));
    text($("act-error"), "");
    busy(false);
    $("act").showModal();
    (asks.choices ? form.querySelector("input[name=for]:checked") : $("act-reason")).focus();
}

function busy(on) {
    $("act-go").disabled = on;
    $("act-form").setAttribute("aria-busy", String(on));
}

// Omits empty fields: a missing field means no limit.
function fields() {
    const given = {};
    const put = (key, value) => {
        if (value) given[key] = value;
    };
    put("reason", $("act-reason").value.trim());
    if (current.choices) put("for", new FormData($("act-form")).get("for"));
    put("hook", $("act-hook").value);
    if (current.unnamed) {
        put("who", $("act-who").value.trim());
        sessionStorage.setItem(WHO, $("act-who").value.trim());
    }
    return given;
}

async function submit(event) {
    event.preventDefault();
    const asked = current;
    busy(true);
    text($("act-error"), "");
    try {
        const answer = await asked.run(fields());
        await asked.done(answer);
        if (current === asked) $("act").close();
    } catch (error) {
        if (current === asked) text($("act-error"), error.message);
    } finally {
        if (current === asked) busy(false);
    }
}

export function actBegin() {
    $("act-form").addEventListener("submit", submit);
    $("act-cancel").addEventListener("click", () => $("act").close());
    $("act").addEventListener("close", () => {
        const { opener, fallback } = current;
        current = null;
        // If the button was removed, its canary gets the focus.
        if (!opener.isConnected || opener.closest("[hidden]")) fallback.focus({ preventScroll: true });
    });
    for (const dialog of document.querySelectorAll("dialog"))
        dialog.addEventListener("click", (event) => {
            if (event.target === dialog) dialog.close(); // beside it
        });
}

const post = (canary, verb, body) => call("POST", pathOf(canary, verb), body);
const counted = (answer, otherwise) =>
    answer.quorum > 1 && answer.votes < answer.quorum ? `Counted: ${answer.votes} of ${answer.quorum} approvals.` : otherwise;

// Each action on `canary`, from the button `at.opener`; `at.done(sentence)` gets the result.
export function approve(canary, wait, at) {
    const revision = shortRevision(visible(wait.revision));
    ask({
        ...at, canary,
        title: `Approve revision ${revision}`,
        about: `Lets exactly this revision through${wait.hook ? ` the hook ${visible(wait.hook)}` : ""}. A later one waits again.`,
        go: "Approve",
        run: (given) => post(canary, "approve", { ...given, ...(wait.hook && { hook: wait.hook }), revision: wait.revision }),
        done: (answer) => at.done(counted(answer, `Approved revision ${revision}.`)),
    });
}

export function open(canary, hooks, frozen, at) {
    ask({
        ...at, canary, hooks, choices: true,
        title: "Open the gate",
        about: "Lets every revision through, also those that come later, until the time is over or somebody closes it.",
        warning: frozen ? "A freeze is on: nothing passes before it ends." : "",
        go: "Open",
        run: (given) => post(canary, "open", given),
        done: (answer) => at.done(counted(answer, "Opened.")),
    });
}

export function close(canary, hooks, at) {
    ask({
        ...at, canary, hooks,
        title: "Close the gate",
        about: "Takes back what lets releases through. A release that is past its gate goes on.",
        go: "Close",
        run: (given) => post(canary, "close", given),
        done: () => at.done("Closed."),
    });
}

// Without a known revision the roll back is for any revision, but not for long.
export function rollBack(canary, revision, at) {
    const which = revision ? `revision ${shortRevision(visible(revision))}` : "what runs now";
    ask({
        ...at, canary, danger: true,
        title: `Roll back ${which}?`,
        about: revision
            ? "All traffic goes back to the version before, and the release ends as failed."
            : "All traffic goes back to the version before, and the release ends as failed. The gate does not know its revision: each release of this canary in the next 10 minutes is rolled back.",
        warning: "The Canary is asked to do so by its webhook of type rollback; without one nothing happens.",
        go: "Roll back",
        run: (given) => (revision
            ? post(canary, "approve", { ...given, kind: "rollback", revision })
            : post(canary, "open", { ...given, kind: "rollback", for: "10m" })),
        done: (answer) => at.done(counted(answer, "The roll back is asked for.")),
    });
}

export function withdraw(canary, at) {
    ask({
        ...at, canary,
        title: "Withdraw the roll back",
        about: "Later releases are not rolled back. One that was rolled back already stays so.",
        go: "Withdraw",
        run: (given) => post(canary, "close", { ...given, kind: "rollback" }),
        done: () => at.done("The roll back is withdrawn."),
    });
}
