// Lengths of time in words, without a document.

const pad = (n) => String(n).padStart(2, "0");

// A length of time, in milliseconds, for people.
export function span(ms) {
    const s = Math.max(0, Math.floor(ms / 1000));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${pad(s % 60)} s`;
    const h = Math.floor(s / 3600);
    if (h < 48) return `${h} h ${pad(Math.floor((s % 3600) / 60))} min`;
    return `${Math.floor(h / 24)} d ${h % 24} h`;
}

export function ago(ms) {
    if (ms < 5000) return "just now";
    if (ms < 60e3) return `${Math.floor(ms / 1000)} s ago`;
    if (ms < 3600e3) return `${Math.floor(ms / 60e3)} min ago`;
    if (ms < 48 * 3600e3) return `${Math.floor(ms / 3600e3)} h ago`;
    return `${Math.floor(ms / 86400e3)} d ago`;
}

export const left = (ms) => (ms <= 0 ? "no longer" : `${span(ms)} left`);
