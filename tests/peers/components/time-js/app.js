// A clock, and a text from its end to its beginning.

export function now() {
    return new Date().toISOString();
}

export function reverse(text) {
    return [...text].reverse().join("");
}
