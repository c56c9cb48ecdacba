// Functions of the world in wit/world.wit. Each becomes a tool.
//
// Throw a string: it is the error that the model reads. `tool` makes one of any other error, such as a bug.
//
// An imported function throws its `err`. Catch it, and say which function failed:
//
//   try {
//     set("last", bytes);
//   } catch (error) {
//     throw `store.set failed: ${JSON.stringify(error.payload ?? String(error))}`;
//   }

export const count = tool((text, unit = "words") => {
  if (text === "") throw "There is no text.";
  if (unit === "characters") return { count: [...text].length, longest: undefined };
  const parts = unit === "lines" ? text.replace(/\n$/, "").split(/\r?\n/) : text.split(/\s+/).filter(Boolean);
  return { count: parts.length, longest: longest(parts) };
});

// Returns the first of the longest parts.
function longest(parts) {
  let best;
  for (const part of parts) if (best === undefined || [...part].length > [...best].length) best = part;
  return best;
}

// Lets the text and the lines of an `Error` arrive. Without it, the engine ends the call with "expected a string".
function tool(run) {
  const lines = (stack) => stack.split("\n").filter((line) => line.includes("@plugin.js") || line.includes("@src/"));
  const told = (error) => (error instanceof Error ? [error, ...lines(error.stack).slice(0, 10)].join("\n") : error);
  return (...given) => {
    try {
      const result = run(...given);
      return result instanceof Promise ? result.catch((error) => { throw told(error); }) : result;
    } catch (error) {
      throw told(error);
    }
  };
}
