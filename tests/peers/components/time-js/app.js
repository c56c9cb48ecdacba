// Provides a clock, and reverses a text.

export function now() {
    return new Date().toISOString();
}

export function reverse(text) {
    return [...text].reverse().join("");
}
