// Functions of the world in wit/world.wit. Each becomes a tool.
//
// An imported function throws its `err`. Catch it, and say which function failed: the model reads the text.
//
//   try {
//     set("last", bytes);
//   } catch (error) {
//     throw `store.set failed: ${JSON.stringify(error.payload ?? String(error))}`;
//   }

export function count(text, unit = "words") {
  if (text === "") throw "There is no text.";
  if (unit === "characters") return { count: [...text].length, longest: undefined };
  const parts = unit === "lines" ? text.replace(/\n$/, "").split(/\r?\n/) : text.split(/\s+/).filter(Boolean);
  return { count: parts.length, longest: longest(parts) };
}

// Returns the first of the longest parts.
function longest(parts) {
  let best;
  for (const part of parts) if (best === undefined || [...part].length > [...best].length) best = part;
  return best;
}
