//! Code and tabs in the markup of sites that draw them with scripts or require a generator. The samples are
//! written by hand.

use read_docs::{Format, convert_fragment};

use crate::fake::Fake;

fn read(body: &str) -> String {
    let words = "This is a sentence of the page, with commas, and long enough to count as text. ".repeat(3);
    let page = format!(
        "<html><head><title>T</title></head><body><main><h1>T</h1><p>{words}</p>{body}<p>{words}</p></main></body></html>"
    );
    Fake::html(&page).read().text
}

#[test]
fn code_of_hosts_and_editors_is_code() {
    let cases = [
        // GitHub: a table of lines, and a diff.
        (
            "<table class='highlight js-file-line-container' data-tab-size=8 data-tagsearch-lang=Go><tbody>\
             <tr><td class='blob-num' data-line-number=1></td><td class='blob-code'>func f() {</td></tr>\n\
             <tr><td class='blob-num' data-line-number=2></td><td class='blob-code'>\n</td></tr>\n\
             <tr><td class='blob-num' data-line-number=3></td><td class='blob-code'>}</td></tr></tbody></table>",
            "```go\nfunc f() {\n\n}\n```",
        ),
        // GitLab.
        (
            "<div class='file-content code'><div class='line-numbers'><a>1</a>\n<a>2</a></div><pre class='code highlight'><code><span id=LC1 class=line lang=ruby>def x</span>\n<span id=LC2 class=line lang=ruby>end</span></code></pre></div>",
            "```\ndef x\nend\n```",
        ),
        // CodeMirror 5 and 6, Monaco, Ace.
        (
            "<div class=CodeMirror><div class=CodeMirror-code><div><div class=CodeMirror-gutter-wrapper><div class=CodeMirror-linenumber>1</div></div><pre class=CodeMirror-line><span>a = 1</span></pre></div><div><div class=CodeMirror-gutter-wrapper><div class=CodeMirror-linenumber>2</div></div><pre class=CodeMirror-line><span>\u{200b}</span></pre></div><div><pre class=CodeMirror-line><span>b</span></pre></div></div></div>",
            "```\na = 1\n\nb\n```",
        ),
        (
            "<div class=cm-scroller><div class=cm-gutters><div>1</div><div>2</div></div><div class=cm-content data-language=python><div class=cm-line>if a:</div><div class=cm-line><br></div><div class=cm-line>    b</div></div></div>",
            "```python\nif a:\n\n    b\n```",
        ),
        (
            "<div class='view-lines'><div class=view-line><span><span>if&nbsp;a:</span></span></div><div class=view-line><span><span>&nbsp;&nbsp;b</span></span></div></div>",
            "```\nif a:\n  b\n```",
        ),
        // SyntaxHighlighter.
        (
            "<div><div class='syntaxhighlighter js'><table><tbody><tr><td class=gutter><div class=line>1</div><div class=line>2</div></td><td class=code><div class=container><div class=line><code class='js keyword'>var</code> <code>a;</code></div><div class=line><code class='js spaces'>&nbsp;&nbsp;</code><code>b;</code></div></div></td></tr></tbody></table></div></div>",
            "```js\nvar a;\n  b;\n```",
        ),
        // Hexo; google-code-prettify; a list of lines; two `<code>` elements.
        (
            "<figure class='highlight python'><table><tr><td class=gutter><pre><span class=line>1</span><br><span class=line>2</span><br></pre></td><td class=code><pre><span class=line>a</span><br><span class=line>  b</span><br></pre></td></tr></table></figure>",
            "```python\na\n  b\n```",
        ),
        (
            "<pre class='prettyprint lang-c linenums'><ol class=linenums><li class=L0><span>int a;</span></li><li class=L1></li><li class=L2><span>  b;</span></li></ol></pre>",
            "```c\nint a;\n\n  b;\n```",
        ),
        ("<pre><code>a</code><code></code><code>  b</code></pre>", "```\na\n\n  b\n```"),
        // rehype-pretty-code, which puts a space on empty lines; a line class within a line is ignored.
        (
            "<pre data-language=ts data-theme=x><code data-language=ts><span data-line=''><span>let a</span></span>\n<span data-line=''> </span>\n<span data-line=''>b</span></code></pre>",
            "```ts\nlet a\n\nb\n```",
        ),
        ("<pre>x <span class=line>y</span> z\nb</pre>", "```\nx y z\nb\n```"),
        // MediaWiki; MDN; Confluence; DokuWiki.
        (
            "<div class='mw-highlight mw-highlight-lang-lua mw-content-ltr'><pre><span class=linenos data-line=1></span>local a</pre></div>",
            "```lua\nlocal a\n```",
        ),
        ("<pre class='brush: css notranslate'><code>a {}</code></pre>", "```css\na {}\n```"),
        ("<pre class='code rust'>let a;</pre>", "```rust\nlet a;\n```"),
        // Numbers that are code stay, and prompts stay.
        (
            "<pre><code class=language-sh><span class=gp>$ </span>echo <span class=mi>1</span>\n<span class=go>1</span></code></pre>",
            "```sh\n$ echo 1\n1\n```",
        ),
        ("<pre><code><span class=line-number>x1</span></code></pre>", "```\nx1\n```"),
        ("<pre><code>  a\n b</code></pre>", "```\n  a\n b\n```"),
        // Buttons.
        (
            "<div class=highlight><pre>a</pre><clipboard-copy>Copy</clipboard-copy><div class='zeroclipboard-container'>Copy</div></div>",
            "```\na\n```\n\nThis",
        ),
        ("<pre><button>Copy</button><code>a</code><span class=sr-only>Copied</span></pre>", "```\na\n```"),
    ];
    for (html, wanted) in cases {
        let text = read(html);
        assert!(text.contains(wanted), "{html}\n{wanted}\n{text}");
    }
}

#[test]
fn the_name_of_a_language_above_code_is_its_language() {
    let js = "<pre class='brush: js'><code>let a;</code></pre>";
    for (html, wanted) in [
        (format!("<div><div class=example-header><span>js</span></div>{js}</div>"), "text.\n\n```js\nlet a;"),
        (format!("<p>JavaScript</p>\n<div>\n{js}</div>"), "text.\n\n```js\nlet a;"),
        ("<div><span>Bash</span><button>Copy</button></div><pre>ls</pre>".to_owned(), "text.\n\n```bash\nls"),
        ("<figure><figcaption>Rust</figcaption><pre>x</pre></figure>".to_owned(), "text.\n\n```rust\nx"),
        // None of these is a label.
        ("<p>in C</p><pre>int x;</pre>".to_owned(), "in C\n\n```\nint x;"),
        ("<h3>Rust</h3><pre>x</pre>".to_owned(), "### Rust\n\n```\nx"),
        ("<p>Python</p><p>is</p><pre>x</pre>".to_owned(), "Python\n\nis\n\n```\nx"),
        (format!("<p>C</p>and then{js}"), "C\n\nand then\n\n```js\nlet a;"),
    ] {
        let text = read(&html);
        assert!(text.contains(wanted), "{html}\n{wanted}\n{text}");
    }
    let labelled = "<figure><figcaption>Rust</figcaption><pre>x</pre></figure>";
    assert_eq!(convert_fragment(labelled, Format::Text), "Rust\n\nx");
    assert!(!convert_fragment(labelled, Format::Html).contains("Rust"));
}

#[test]
fn tabs_of_other_sites_have_their_names() {
    let two = "**npm**\n\nRun `i a` in your project.\n\n**yarn**\n\nRun `y a` in your project.";
    let cases = [
        // Roles without IDs; with IDs; an attribute that hides.
        "<div><div><div role=tablist><button role=tab>npm</button><button role=tab>yarn</button></div></div><div role=tabpanel><p>Run <code>i a</code> in your project.</p></div><div role=tabpanel hidden><p>Run <code>y a</code> in your project.</p></div></div>",
        "<ul role=tablist><li><a role=tab href='#p1'>npm</a><li><a role=tab href='#p2'>yarn</a></ul><section role=tabpanel id=p1><p>Run <code>i a</code> in your project.</p></section><section role=tabpanel id=p2 aria-hidden=true style='display:none'><p>Run <code>y a</code> in your project.</p></section>",
        "<div role=tablist><button role=tab id=t1>npm</button><button role=tab id=t2>yarn</button></div><div><div role=tabpanel aria-labelledby=t1><p>Run <code>i a</code> in your project.</p></div><div role=tabpanel aria-labelledby=t2 hidden><p>Run <code>y a</code> in your project.</p></div></div>",
        // Bootstrap; asciidoctor-tabs; sphinx-inline-tabs; Hugo Book.
        "<ul class='nav nav-tabs'><li><a href='#a'>npm</a></li><li><a href='#b'>yarn</a></li></ul><div class=tab-content><div class='tab-pane active' id=a><p>Run <code>i a</code> in your project.</p></div><div class=tab-pane id=b><p>Run <code>y a</code> in your project.</p></div></div>",
        "<div class=tabs><div class='ulist tablist'><ul><li id=t1 class=tab><p>npm</p></li><li id=t2 class=tab><p>yarn</p></li></ul></div><div id='t1--panel' class=tabpanel><p>Run <code>i a</code> in your project.</p></div><div id='t2--panel' class=tabpanel hidden><p>Run <code>y a</code> in your project.</p></div></div>",
        "<div class=tab-set><input type=radio class=tab-input><label class=tab-label>npm</label><div class=tab-content><p>Run <code>i a</code> in your project.</p></div><input type=radio><label>yarn</label><div class=tab-content><p>Run <code>y a</code> in your project.</p></div></div>",
        "<div class=book-tabs><input type=radio><label>npm</label><div class=book-tabs-content><p>Run <code>i a</code> in your project.</p></div><input type=radio><label>yarn</label><div class=book-tabs-content><p>Run <code>y a</code> in your project.</p></div></div>",
        "<div class='tabbed-set'><input type=radio><label>npm</label><div class=tabbed-content><p>Run <code>i a</code> in your project.</p></div><input type=radio><label>yarn</label><div class=tabbed-content><p>Run <code>y a</code> in your project.</p></div></div>",
    ];
    for html in cases {
        let text = read(html);
        assert!(text.contains(two), "{html}\n{text}");
        assert_eq!(text.matches("npm").count(), 1, "{html}\n{text}");
    }
    let folded = read("<details><summary>More</summary><p>Within, <b>bold</b>.</p></details>");
    assert!(folded.contains("**More**\n\nWithin, **bold**."), "{folded}");
}

#[test]
fn a_list_of_tabs_without_panels_stays() {
    let text = read("<div><ul role=tablist><li role=tab>Overview of it<li role=tab>Prices of it</ul></div>");
    assert!(text.contains("with commas"), "{text}");
    // Panels of a nested set do not count for the outer set.
    let nested = read(
        "<div><div role=tablist><b role=tab>A</b></div><div role=tabpanel><div role=tablist><b role=tab>B</b><b role=tab>C</b></div>\
         <div role=tabpanel><p>b</p></div><div role=tabpanel hidden><p>c</p></div></div></div>",
    );
    assert!(nested.contains("**A**\n\n**B**\n\nb\n\n**C**\n\nc"), "{nested}");
}

#[test]
fn links_that_say_something_stay() {
    let text = read(
        "<h2><a class=anchor href='#install'>Install it</a></h2><p><a class=src href='/x'>the source text</a>, \
         <a href='#c'>#channel</a>, <a href='https://example.com/edit/page'>Edit distance</a>, <a href='#'>1</a></p>\
         <h3><a href='#plus'>+</a></h3><p>Sum.</p>",
    );
    for wanted in ["## Install it", "[the source text]", "[#channel]", "[Edit distance]", "+"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

/// A shell takes `git\u{a0}commit` for a single word.
#[test]
fn spaces_in_code_are_plain_ones() {
    let read = read(
        "<pre>if x:\n&nbsp;&nbsp;return&nbsp;x\u{202f}+\u{2009}1</pre><p>Call <code>git&nbsp;com\u{ad}mit\u{200b}</code> and\u{a0}<kbd>a&#8239;b</kbd> there.</p>",
    );
    assert!(read.contains("```\nif x:\n  return x + 1\n```"), "{read}");
    assert!(read.contains("Call `git commit` and\u{a0}"), "{read}");
    assert!(!read.contains('\u{202f}') && read.contains("a b"), "{read}");
}
