//! The language of a code block, as highlighters and generators mark it.

use dom_query::NodeRef;

/// Maximum length of a language name.
const MAX_NAME: usize = 32;
/// Prefixes of classes that name the language, longest first.
const PREFIXES: [&str; 10] = [
    "mw-highlight-lang-",
    "highlight-source-",
    "highlight-text-",
    "code-lang-",
    "language-",
    "highlight-",
    "sourceCode-",
    "src-",
    "lang-",
    "brush:",
];
/// Classes that only mark code. The class next to them is the language.
const GENERIC: [&str; 12] = [
    "syntaxhighlighter",
    "highlight",
    "hljs",
    "sourceCode",
    "prettyprint",
    "code",
    "src",
    "codehilite",
    "listing",
    "shiki",
    "chroma",
    "prism-code",
];
/// Attributes that name the language.
const ATTRIBUTES: [&str; 9] = [
    "data-lang",
    "data-language",
    "data-code-language",
    "data-canonical-lang",
    "data-enlighter-language",
    "data-tagsearch-lang",
    "data-programming-language",
    "lang",
    "syntax",
];
/// Words that generators write in place of a language.
const NO_LANGUAGE: [&str; 20] = [
    "switcher",
    "selector",
    "toggle",
    "tabs",
    "notranslate",
    "default",
    "none",
    "plaintext",
    "text",
    "nohighlight",
    "no-highlight",
    "undefined",
    "wrapper",
    "source",
    "block",
    "container",
    "linenums",
    "ipython3",
    "theme",
    "plain",
];
/// Languages that are recognized by the class alone, next to a generic class or on a `<pre>`.
const KNOWN: [&str; 178] = [
    "bash",
    "sh",
    "shell",
    "zsh",
    "console",
    "powershell",
    "python",
    "python3",
    "py",
    "rust",
    "go",
    "java",
    "kotlin",
    "scala",
    "javascript",
    "js",
    "typescript",
    "ts",
    "jsx",
    "tsx",
    "json",
    "yaml",
    "toml",
    "xml",
    "html",
    "css",
    "scss",
    "sql",
    "c",
    "cpp",
    "csharp",
    "cs",
    "objc",
    "swift",
    "ruby",
    "rb",
    "php",
    "perl",
    "lua",
    "r",
    "haskell",
    "elixir",
    "erlang",
    "clojure",
    "ocaml",
    "fsharp",
    "dart",
    "julia",
    "matlab",
    "nix",
    "zig",
    "diff",
    "ini",
    "makefile",
    "dockerfile",
    "graphql",
    "markdown",
    "vim",
    "tex",
    "latex",
    "vue",
    "svelte",
    "astro",
    "mdx",
    "md",
    "jsonc",
    "json5",
    "jsonl",
    "properties",
    "nginx",
    "apache",
    "groovy",
    "gradle",
    "asm",
    "nasm",
    "ada",
    "fortran",
    "lisp",
    "scheme",
    "racket",
    "elm",
    "nim",
    "crystal",
    "solidity",
    "wat",
    "wasm",
    "hcl",
    "terraform",
    "proto",
    "protobuf",
    "cmake",
    "bat",
    "batch",
    "cmd",
    "ps1",
    "pwsh",
    "fish",
    "nushell",
    "regex",
    "csv",
    "sass",
    "stylus",
    "pug",
    "haml",
    "erb",
    "twig",
    "liquid",
    "jinja",
    "jinja2",
    "django",
    "sparql",
    "cypher",
    "plsql",
    "tsql",
    "cuda",
    "glsl",
    "hlsl",
    "wgsl",
    "verilog",
    "vhdl",
    "awk",
    "sed",
    "gherkin",
    "mermaid",
    "plantuml",
    "graphviz",
    "pycon",
    "doctest",
    "ipython",
    "shell-session",
    "shellsession",
    "rst",
    "asciidoc",
    "bibtex",
    "applescript",
    "coffeescript",
    "objectivec",
    "objective-c",
    "vbnet",
    "vb",
    "pascal",
    "delphi",
    "prolog",
    "smalltalk",
    "tcl",
    "gdscript",
    "coq",
    "agda",
    "purescript",
    "reasonml",
    "rescript",
    "mathematica",
    "maple",
    "stata",
    "spss",
    "cython",
    "docker",
    "c++",
    "c#",
    "f#",
    "golang",
    "javascriptreact",
    "typescriptreact",
    "handlebars",
    "hbs",
    "postcss",
    "puppet",
    "qml",
    "sml",
    "starlark",
    "bazel",
    "systemverilog",
    "thrift",
    "typst",
    "vala",
    "wolfram",
    "xquery",
    "xslt",
];

/// Returns the language of a block from its own attributes, those of the code within, or those of its
/// ancestors.
pub(super) fn of(pre: &NodeRef<'_>) -> Option<String> {
    let within =
        || pre.children_it(false).filter(|child| child.has_name("code")).find_map(|code| named(&code));
    named(pre).or_else(within).or_else(|| around(pre).filter(|a| !is_page(a)).find_map(|a| named(&a)))
}

/// Returns the nearest ancestors of a block, without the table that places it next to its line numbers.
fn around<'a>(pre: &NodeRef<'a>) -> impl Iterator<Item = NodeRef<'a>> {
    const NEAR: usize = 3;
    const TABLE: [&str; 4] = ["td", "tr", "tbody", "table"];
    let of_table = |node: &NodeRef<'_>| TABLE.iter().any(|name| node.has_name(name));
    pre.ancestors_it(Some(NEAR + TABLE.len())).filter(move |node| !of_table(node)).take(NEAR)
}

fn is_page(node: &NodeRef<'_>) -> bool {
    ["html", "body", "main", "article", "section"].iter().any(|name| node.has_name(name))
}

fn named(node: &NodeRef<'_>) -> Option<String> {
    let is_pre = node.has_name("pre") || node.has_name("code");
    let attribute =
        ATTRIBUTES.iter().filter(|name| is_pre || name.contains('-')).find_map(|name| node.attr(name));
    // `lang` can also be a natural language.
    let by_attribute =
        attribute.and_then(|value| valid(&value)).filter(|value| value.len() > 2 || is_known(value));
    by_attribute.or_else(|| by_class(&node.class()?, is_pre))
}

fn by_class(class: &str, is_pre: bool) -> Option<String> {
    let class = class.replace("brush: ", "brush:");
    let mut words = class.split_whitespace();
    let prefixed =
        words.find_map(|word| PREFIXES.iter().find_map(|prefix| valid(word.strip_prefix(prefix)?)));
    let is_code = is_pre || class.split_whitespace().any(|word| GENERIC.contains(&word));
    let alone = || class.split_whitespace().filter(|word| is_code && is_known(word)).find_map(valid);
    prefixed.or_else(alone)
}

pub(super) fn is_known(word: &str) -> bool {
    KNOWN.iter().any(|known| known.eq_ignore_ascii_case(word))
}

pub(super) fn valid(name: &str) -> Option<String> {
    let name = name.trim().trim_end_matches(';').to_ascii_lowercase();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.'));
    let fits = !name.is_empty() && name.len() <= MAX_NAME && is_name && !NO_LANGUAGE.contains(&name.as_str());
    fits.then_some(name)
}
