//! Pages from documentation generators (`tests/generated/README.md`): code stays byte for byte the same, tabs
//! have their names, and signatures are on their lines.

use std::path::Path;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use read_docs::{Format, convert};
use url::Url;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn markdown(page: &str) -> String {
    let url = Url::parse("https://example.com/docs/page").expect("a URL");
    convert(&file(&format!("{page}.html")), &url, Format::Markdown).text()
}

/// Returns the language and text of each block, according to another parser.
fn blocks(markdown: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for event in Parser::new(markdown) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                open = Some((language.to_string(), String::new()));
            }
            Event::Text(text) => {
                if let Some((_, code)) = &mut open {
                    code.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}

#[test]
fn code_is_as_it_was_written() {
    // Page, language, file, number of occurrences.
    let cases = [
        ("asciidoctor", "python", "sample.py", 2),
        ("docusaurus", "python", "sample.py", 1),
        ("doxygen-file", "", "sample.c", 1),
        ("expressive-code", "python", "sample.py", 1),
        ("highlightjs", "python", "sample.py", 1),
        ("hugo-chroma", "python", "sample.py", 3),
        ("jekyll-rouge", "python", "sample.py", 2),
        // This generator does not mark the language.
        ("mkdocs-material", "", "sample.py", 1),
        ("pandoc", "python", "sample.py", 1),
        ("prism", "python", "sample.py", 1),
        ("prism-react-renderer", "python", "sample.py", 1),
        ("pygments", "", "sample.py", 3),
        ("react-syntax-highlighter", "python", "sample.py", 1),
        ("react-syntax-highlighter-wrapped", "python", "sample.py", 1),
        ("rustdoc-crate", "rust", "sample.rs", 1),
        ("rustdoc-struct", "rust", "sample.rs", 1),
        ("shiki", "", "sample.py", 1),
        ("shiki-without-line-ends", "python", "sample.py", 1),
        ("sphinx-alabaster", "python", "sample.py", 2),
        ("sphinx-furo", "python", "sample.py", 2),
        ("sphinx-rtd", "python", "sample.py", 2),
        ("starlight", "python", "sample.py", 1),
        ("typedoc-class", "ts", "sample.ts", 1),
        ("vitepress", "python", "sample.py", 1),
    ];
    for (page, language, name, count) in cases {
        let code = file(name);
        let text = markdown(page);
        let found = blocks(&text).into_iter().filter(|block| *block == (language.to_owned(), code.clone()));
        assert_eq!(found.count(), count, "{page}: {text}");
    }
    // javadoc keeps the space after the asterisk of a comment, and the comment's first and last lines.
    let code = file("sample.java");
    let indented = code.lines().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
    let wanted = indented.collect::<Vec<_>>().join("\n");
    let text = markdown("javadoc");
    assert!(blocks(&text).contains(&("java".to_owned(), format!("\n{wanted}\n \n"))), "{text}");
}

#[test]
fn nothing_stands_beside_code() {
    for page in [
        "prism",
        "vitepress",
        "starlight",
        "expressive-code",
        "docusaurus",
        "hugo-chroma",
        "pdoc",
        "sphinx-furo",
    ] {
        let text = markdown(page);
        for line in text.lines().map(str::trim) {
            let is_label = matches!(
                line,
                "Python" | "python" | "sh" | "js" | "Copy" | "View Source" | "Terminal window"
            );
            let is_number = !line.is_empty() && line.chars().all(|c| c.is_ascii_digit());
            assert!(!is_label && !is_number, "{page}: {line:?} in {text}");
        }
    }
}

#[test]
fn prompts_stay() {
    assert!(
        blocks(&markdown("asciidoctor"))
            .contains(&("console".to_owned(), "$ tide --port 8080 (1)\n".to_owned()))
    );
    assert!(blocks(&markdown("sphinx-furo")).contains(&("pycon".to_owned(), ">>> 1 < 2\nTrue\n".to_owned())));
}

#[test]
fn lines_that_are_added_and_removed_are_told_apart() {
    let vitepress = "export default {\n-  ports: ['a'], \n+  ports: ['a', 'b'], \n }\n";
    let starlight = "export default {\n-  ports: ['a'],\n+  ports: ['a', 'b'],\n }\n";
    for (page, code) in [("vitepress", vitepress), ("starlight", starlight)] {
        let wanted = ("diff".to_owned(), format!(" {code}"));
        assert!(blocks(&markdown(page)).contains(&wanted), "{page}: {}", markdown(page));
    }
}

#[test]
fn every_tab_is_there_below_its_name() {
    let cases = [
        (
            "docusaurus",
            "**npm**\n\n```bash\nnpm install tides\n```\n\n**Yarn**\n\n```bash\nyarn add tides\n```",
        ),
        (
            "mkdocs-material",
            "**pip**\n\n```\npip install tides\n```\n\n**conda**\n\n```\nconda install tides\n```",
        ),
        (
            "sphinx-furo",
            "**pip**\n\n```bash\npip install tides\n```\n\n**conda**\n\n```bash\nconda install tides\n```",
        ),
        ("sphinx-rtd", "**Linux**\n\nWords for Linux users.\n\n**Windows**\n\nWords for Windows users."),
        ("starlight", "**npm**\n\n```sh\nnpm add tides\n```\n\n**pnpm**\n\n```sh\npnpm add tides\n```"),
        (
            "vitepress",
            "**npm**\n\n```sh\nnpm add -D tides\n```\n\n**pnpm**\n\n```sh\npnpm add -D tides\n```\n\n**yarn**\n\n```sh\nyarn add -D tides\n```",
        ),
    ];
    for (page, wanted) in cases {
        let text = markdown(page);
        assert!(
            text.contains(&format!("## Install\n\n{wanted}"))
                || page == "sphinx-rtd" && text.contains(wanted),
            "{page}: {text}"
        );
        assert!(!text.contains("pipconda") && !text.contains("npmpnpm"), "{page}: {text}");
    }
}

#[test]
fn signatures_are_lines_of_code() {
    let cases = [
        ("doxygen-file", "\n`int tide_height(const char * port_name, double * out_height)`\n"),
        ("doxygen-file", "`int tide_height (const char *port_name, double *out_height)`"),
        (
            "javadoc",
            "`public final <T extends Comparable<T>> Map<String,List<T>> findAll(int first_day, Map<? super String,T> by_port)`\n",
        ),
        ("javadoc", "\n`public class Port extends Object`\n"),
        ("mkdocs-material", "\n### `high_water(days=7, *, unit_name='m', **more_options)`\n"),
        ("pdoc", "\n`def load_ports(file_name: str, *, strict_mode: bool = True) -> dict[str, Port]:`\n"),
        (
            "pdoc",
            "\n`def high_water(self, days: int = 7, *, unit_name: str = 'm', **more_options: object) -> list[float]:`\n",
        ),
        ("rustdoc-fn", "```rust\npub fn height<T>(_port_name: &str) -> T\nwhere\n    T: Default,\n```"),
        ("rustdoc-struct", "\n### `impl<'a, T: Clone> Port<'a, T>`\n"),
        ("rustdoc-struct", "\n#### `pub const fn new(port_name: &'a str) -> Self`\n"),
        (
            "rustdoc-struct",
            "\n#### `pub fn find_all<F>(&self, first_day: usize, wanted_by: F) -> Result<Vec<&T>, Error> where F: FnMut(&T, usize) -> bool,`\n",
        ),
        ("rustdoc-struct", "\n#### `fn clone_from(&mut self, source: &Self)` (since 1.0.0)\n"),
        ("sphinx-furo", "\n- **`class tides.Port(name: str, zone: str = 'UTC')`**\n"),
        (
            "sphinx-furo",
            "\n  - `high_water(days: int = 7, *, unit_name: str = 'm', **more_options: object) → list[float]`\n",
        ),
        (
            "sphinx-rtd",
            "**`template<typename T> std::vector<T> tides::load(const std::string &file_name, int max_days = 7)`**: Loads.",
        ),
        (
            "sphinx-alabaster",
            "**`int tide_height(const char *port_name, double *out_height)`**: Writes a height.",
        ),
        (
            "typedoc-class",
            "`find_all<K extends keyof Port<T>>(first_day: number, wanted_by?: (row: T, key: K) => boolean): Map<K, T[]>`\n",
        ),
        (
            "typedoc-function",
            "`load_ports(file_name: string, options?: { strict_mode?: boolean }): Promise<Port<number>[]>`\n",
        ),
    ];
    for (page, wanted) in cases {
        let text = markdown(page);
        assert!(text.contains(wanted), "{page}: {wanted} in {text}");
    }
}

#[test]
fn links_for_upkeep_are_gone() {
    let pages = [
        "docusaurus",
        "mkdocs-material",
        "rustdoc-struct",
        "sphinx-furo",
        "sphinx-rtd",
        "starlight",
        "vitepress",
    ];
    for page in pages {
        let text = markdown(page);
        for sign in [
            "¶",
            "§",
            "[#]",
            "[source]",
            "[Source]",
            "Edit this page",
            "Edit page",
            "Permalink",
            "Section titled",
        ] {
            assert!(!text.contains(sign), "{page}: {sign} in {text}");
        }
    }
}

#[test]
fn words_around_code_are_all_there() {
    let pages = [
        "asciidoctor",
        "docusaurus",
        "hugo-chroma",
        "javadoc",
        "rustdoc-crate",
        "sphinx-furo",
        "starlight",
        "typedoc-class",
        "vitepress",
    ];
    for page in pages {
        let text = markdown(page);
        assert!(text.contains("for each port that you name in the file of settings."), "{page}: {text}");
        assert!(text.contains("times are in the zone of the port, not in yours."), "{page}: {text}");
    }
}
