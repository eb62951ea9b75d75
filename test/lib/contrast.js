// The body of a function for browser_js: every visible text (placeholders too) whose contrast with what lies behind it is
// below 4.5:1, as "ratio text"; and, first, how many were looked at.
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
// Any CSS colour, also color-mix(), as red, green, blue and alpha from 0 to 255.
const pixel = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
};
const over = (top, bottom) => [0, 1, 2].map((i) => (top[i] * top[3] + bottom[i] * (255 - top[3])) / 255).concat(255);
const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
        const layer = pixel(getComputedStyle(at).backgroundColor);
        layers.push(layer);
        if (layer[3] === 255) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255, 255]);
};
const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const contrast = (colour, element) => {
    const ground = behind(element);
    const [high, low] = [luminance(over(pixel(colour), ground)), luminance(ground)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
};
const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    element.getBoundingClientRect().width > 1;

const root = document.querySelector("dialog[open]") ?? document.body;
const seen = [];
const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (text && shown(element)) seen.push([contrast(getComputedStyle(element).color, element), text]);
}
for (const input of root.querySelectorAll("input"))
    if (input.placeholder && shown(input)) seen.push([contrast(getComputedStyle(input, "::placeholder").color, input), input.placeholder]);
return [seen.length, ...seen.filter(([ratio]) => ratio < 4.5).map(([ratio, text]) => `${ratio.toFixed(2)} ${text.slice(0, 40)}`)];
