"""One module per protocol: `read` parses a body into a `Request`, and `answer` creates the events of an
answer."""
