// Queries a service that requires an API key, with fetch.

import { get } from "wasi:config/store@0.2.0-draft";

async function asked(url, headers) {
    let response;
    try {
        response = await fetch(url, { headers });
    } catch (error) {
        throw `${url} cannot be asked: ${error.message}`;
    }
    if (!response.ok) {
        throw `${url} answered ${response.status}`;
    }
    return response.text();
}

export async function weather(city) {
    const text = await asked(`http://${get("site")}/weather?city=${city}`, { "x-key": get("WEATHER_KEY") });
    const { degrees } = JSON.parse(text);
    return `${degrees} degrees in ${city}`;
}

export function look(url) {
    return asked(url, {});
}
