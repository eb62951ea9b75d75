// The controller's answers. The token is this tab's own and goes with each request: there is no cookie that another site
// could use. Addresses are relative, so that the page works below any path.

const KEY = "flagger-controller.token";
const ANSWER_MS = 20e3;

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

// The controller's clock minus ours, so that a wait is not longer on a machine whose clock is wrong.
let skew = 0;
export const now = () => Date.now() + skew;

export async function ask(path) {
    const value = token.get();
    let response, body;
    try {
        response = await fetch(path, {
            headers: value ? { Accept: "application/json", Authorization: `Bearer ${value}` } : { Accept: "application/json" },
            cache: "no-store",
            redirect: "error",
            signal: AbortSignal.timeout(ANSWER_MS),
        });
        const difference = Date.parse(response.headers.get("date")) - Date.now();
        skew = Math.abs(difference) > 2000 ? difference : 0;
        body = await response.json().catch(() => null);
    } catch {
        throw new Failure(0, "The controller did not answer.");
    }
    if (response.ok && body) return body;
    throw new Failure(response.status, body?.error ?? `The controller answered with status ${response.status}.`);
}

// All pages of the list. When one begins behind something that is gone by now, it starts over.
export async function askAll(of) {
    for (let attempt = 0; ; attempt++) {
        const items = [];
        let next = "";
        try {
            do {
                const page = await ask(`api/${of}?limit=100${next && `&continue=${encodeURIComponent(next)}`}`);
                items.push(...page[of]);
                next = page.continue ?? "";
            } while (next);
            return items;
        } catch (error) {
            if (error.status !== 410 || attempt >= 3) throw error;
        }
    }
}

export const askOne = (of, { namespace, name }) => ask(`api/${of}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`);
