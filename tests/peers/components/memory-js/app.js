// Stores data that persists between calls in a bucket, and reports events in the log.

import { open } from "wasi:keyvalue/store@0.2.0-draft2";
import { log } from "wasi:logging/logging@0.1.0-draft";

function bucket() {
    try {
        return open("memory");
    } catch (error) {
        throw `the memory is closed: ${error.payload?.tag ?? error}`;
    }
}

export function remember(key, value) {
    bucket().set(key, new TextEncoder().encode(value));
    log("info", "memory", `${key} is remembered`);
}

export function recall(key) {
    const value = bucket().get(key);
    return value === undefined ? undefined : new TextDecoder().decode(value);
}
