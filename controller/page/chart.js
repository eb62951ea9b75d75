// Small pictures of numbers, as SVG. Each has its numbers beside it in words: a picture alone tells nothing to who cannot
// see it.
const NS = "http://www.w3.org/2000/svg";

function svg(tag, attributes, ...children) {
    const element = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
}

const line = (points, className) => svg("polyline", { class: `line ${className ?? ""}`, points: points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ") });

// How much of the traffic the canary has, or of some other whole.
export function meter(percent, className) {
    const share = Math.max(0, Math.min(100, percent));
    return svg("svg", { class: `meter ${className ?? ""}`, viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { class: "ground", x: 0, y: 0, width: 100, height: 12, rx: 3 }), svg("rect", { class: "share", x: 0, y: 0, width: share, height: 12, rx: 3 }));
}

export function sparkline(values) {
    const most = Math.max(...values, 1);
    const points = values.flatMap((value, i) => {
        const y = 18 - (value / most) * 16;
        return [[(i / values.length) * 100, y], [((i + 1) / values.length) * 100, y]];
    });
    return svg("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" }, line(points, "traffic"));
}

const WIDTH = 340, HEIGHT = 112, LEFT = 4, RIGHT = 8, TOP = 8, BOTTOM = 8;

function scale(from, to, low, high) {
    const length = to - from || 1;
    return (value) => low + ((value - from) / length) * (high - low);
}

const frame = (label, ...children) => svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label }, ...children);

// A metric's values against the range that they have to be in.
//   values: [{at, value, min, max}], the last one is now
export function checkChart(values, label, isOut) {
    const numbers = values.filter(({ value }) => typeof value === "number");
    if (!numbers.length) return frame(label);
    const { min, max } = values.at(-1);
    const all = [...numbers.map(({ value }) => value), ...[min, max].filter((bound) => bound !== undefined)];
    const low = Math.min(...all), high = Math.max(...all), room = (high - low || Math.abs(high) || 1) * 0.15;
    const y = scale(low - room, high + room, HEIGHT - BOTTOM, TOP);
    const x = scale(0, numbers.length - 1 || 1, LEFT, WIDTH - RIGHT);
    const top = max === undefined ? 0 : y(max), bottom = min === undefined ? HEIGHT : y(min);
    const parts = [];
    if (min !== undefined || max !== undefined) parts.push(svg("rect", { class: "band", x: 0, y: top.toFixed(1), width: WIDTH, height: Math.max(0, bottom - top).toFixed(1) }));
    for (const bound of [min, max])
        if (bound !== undefined) parts.push(svg("line", { class: "edge", x1: 0, x2: WIDTH, y1: y(bound).toFixed(1), y2: y(bound).toFixed(1) }));
    parts.push(line(numbers.map(({ value }, i) => [x(i), y(value)])));
    numbers.forEach((one, i) => parts.push(svg("ellipse", { class: isOut(one) ? "point out" : "point", cx: x(i).toFixed(1), cy: y(one.value).toFixed(1), rx: isOut(one) ? 4.5 : 3, ry: isOut(one) ? 4.5 : 3 })));
    return frame(label, ...parts);
}

// The canary's share over a release; it holds from one step to the next.
export function trafficChart(steps, until, label) {
    const times = steps.map((step) => Date.parse(step.at)), last = Math.max(until, ...times);
    const x = scale(times[0], last, LEFT, WIDTH - RIGHT), y = scale(0, 100, HEIGHT - BOTTOM, TOP);
    const points = [];
    steps.forEach((step, i) => points.push([x(times[i]), y(step.weight)], [x(times[i + 1] ?? last), y(step.weight)]));
    return frame(label, svg("line", { class: "edge", x1: 0, x2: WIDTH, y1: y(0), y2: y(0) }), svg("line", { class: "edge", x1: 0, x2: WIDTH, y1: y(100), y2: y(100) }), line(points, "traffic"));
}
