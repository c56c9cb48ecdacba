"""One module a protocol: `read` makes a `Request` of a body, `answer` the events of an answer."""
