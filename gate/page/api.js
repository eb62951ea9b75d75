// The gate's API. The token belongs to this tab and is sent with each request: there is no cookie that another site
// could use. Addresses are relative, so that the page works below any path.

const KEY = "flagger-gate.token";
const ANSWER_MS = 20e3;
const SILENCE_MS = 60e3; // the event stream has a heartbeat

export const token = {
    get: () => sessionStorage.getItem(KEY),
    set: (value) => sessionStorage.setItem(KEY, value),
    forget: () => sessionStorage.removeItem(KEY),
};

// status 0: there was no answer.
export class Failure extends Error {
    constructor(status, sentence) {
        super(sentence);
        this.status = status;
    }
}

// The gate's clock minus ours, so that a wrong local clock does not distort waits.
let skew = 0;
export const now = () => Date.now() + skew;
function setClock(response) {
    const difference = Date.parse(response.headers.get("date")) - Date.now();
    skew = Math.abs(difference) > 2000 ? difference : 0;
}

function headers(more) {
    const value = token.get();
    return value ? { ...more, Authorization: `Bearer ${value}` } : more;
}

async function failure(response) {
    let sentence = "";
    try {
        sentence = (await response.json()).error;
    } catch {
        // an answer of a proxy: only its status is used
    }
    return new Failure(response.status, sentence || `The gate answered with status ${response.status}.`);
}

export async function call(method, path, body) {
    let response;
    try {
        response = await fetch(path, {
            method,
            headers: headers(body === undefined ? { Accept: "application/json" } : { Accept: "application/json", "Content-Type": "application/json" }),
            body: body === undefined ? undefined : JSON.stringify(body),
            cache: "no-store",
            redirect: "error",
            signal: AbortSignal.timeout(ANSWER_MS),
        });
        setClock(response);
        if (response.ok) return response.status === 204 ? null : await response.json();
    } catch {
        throw new Failure(0, method === "GET" ? "The gate did not answer." : "The gate did not answer; whether it was done is not known.");
    }
    throw await failure(response);
}

export const pathOf = (canary, verb) =>
    `v1/gates/${encodeURIComponent(canary.namespace)}/${encodeURIComponent(canary.name)}${verb ? `/${verb}` : ""}`;

// All pages of the list.
export async function allGates() {
    const gates = [];
    let next = "";
    do {
        const page = await call("GET", `v1/gates?limit=500${next && `&continue=${encodeURIComponent(next)}`}`);
        gates.push(...page.gates);
        next = page.continue || "";
    } while (next);
    return gates;
}

// Parses a stream in pieces and calls back with each event: {id, event, data}.
export function eventParser(onEvent) {
    let rest = "", event = { data: [] };
    return (piece) => {
        const lines = (rest + piece).split("\n");
        rest = lines.pop();
        for (const raw of lines) {
            const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
            if (line === "") {
                if (event.data.length) onEvent({ id: event.id, event: event.event ?? "message", data: event.data.join("\n") });
                event = { data: [] };
                continue;
            }
            const colon = line.indexOf(":");
            const field = colon < 0 ? line : line.slice(0, colon);
            const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
            if (field === "data") event.data.push(value);
            else if (field === "event" || field === "id") event[field] = value;
        }
    };
}

// Reads the live events: returns when the gate ends the stream, throws when it fails. onOpen(end) is awaited once it has begun;
// end(why) ends it. fetch and not EventSource, which sends no header.
export async function listen(lastId, onOpen, onEvent) {
    const stop = new AbortController();
    let silence = setTimeout(() => stop.abort(), ANSWER_MS);
    try {
        const response = await fetch("v1/events", {
            headers: headers(lastId ? { Accept: "text/event-stream", "Last-Event-ID": lastId } : { Accept: "text/event-stream" }),
            cache: "no-store",
            redirect: "error",
            signal: stop.signal,
        });
        if (!response.ok) throw await failure(response);
        clearTimeout(silence);
        await onOpen((why) => stop.abort(why));
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        const parse = eventParser(onEvent);
        for (;;) {
            clearTimeout(silence);
            silence = setTimeout(() => stop.abort(), SILENCE_MS);
            const { done, value } = await reader.read();
            if (done) return;
            parse(value);
        }
    } catch (error) {
        if (error instanceof Failure) throw error;
        throw stop.signal.reason instanceof Failure ? stop.signal.reason
            : new Failure(0, stop.signal.aborted ? "The gate says nothing any more." : "The gate cannot be reached.");
    } finally {
        clearTimeout(silence);
        stop.abort();
    }
}
