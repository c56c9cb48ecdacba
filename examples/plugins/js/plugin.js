// Functions of the world in wit/world.wit. Each function is a tool.

export function restyle(name, style) {
  const parts = words(name);
  if (style === "snake") return parts.join("_");
  if (style === "kebab") return parts.join("-");
  const [first, ...others] = parts;
  return (style === "camel" ? first : capital(first)) + others.map(capital).join("");
}

export function slug(title) {
  const plain = [...title.toLowerCase()].map((letter) => PLAIN.get(letter) ?? letter);
  return words(plain.join("")).join("-");
}

// Letters with accents, after the plain letter. The engine supports neither `normalize` nor `\p{…}` in
// regular expressions.
const ACCENTS = ["aàáâãäåā", "cçćč", "dď", "eèéêëēęě", "gğ", "iìíîïī", "lł", "nñńň", "oòóôõöøőō", "rř", "sśšş", "tť", "uùúûüůűū", "yýÿ", "zźżž"];
const LIGATURES = [["ß", "ss"], ["æ", "ae"], ["œ", "oe"]];
const PLAIN = new Map(ACCENTS.flatMap(([plain, ...others]) => others.map((letter) => [letter, plain])).concat(LIGATURES));

// Returns the words of a name in lower case. A capital begins a word if it follows a lower-case letter or a
// digit, or precedes a lower-case letter: "HTTPServer" has two words.
function words(text) {
  const found = [];
  const characters = [...text];
  characters.forEach((character, at) => {
    if (!isCapital(character) && !isSmall(character) && !isDigit(character)) return;
    const [before, after] = [characters[at - 1] ?? " ", characters[at + 1] ?? " "];
    const isInside = isSmall(before) || isCapital(before) || isDigit(before);
    const begins = isCapital(character) && (!isCapital(before) || isSmall(after));
    if (!isInside || begins) found.push("");
    found[found.length - 1] += character.toLowerCase();
  });
  if (found.length === 0) throw `There is no word in ${JSON.stringify(text)}.`;
  return found;
}

function isCapital(character) {
  return character !== character.toLowerCase();
}

function isSmall(character) {
  return character === character.toLowerCase() && character !== character.toUpperCase();
}

function isDigit(character) {
  return character >= "0" && character <= "9";
}

function capital(word) {
  const [first, ...others] = word;
  return first.toUpperCase() + others.join("");
}
