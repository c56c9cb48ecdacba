use dom_query::{Document, NodeRef};
use url::Url;

use crate::outline::Outline;
use crate::{Blocks, choice, fill, keep_content, prune};

fn outline(html: &str) -> (Document, Outline) {
    let dom = Document::from(html);
    let outline = Outline::of(&dom);
    (dom, outline)
}

fn texts(outline: &Outline) -> Vec<&str> {
    outline.blocks.iter().map(|block| outline.text(block)).collect()
}

#[test]
fn a_block_is_what_is_read_as_one_piece() {
    let html = "<h1>Title</h1> loose <b>words</b> here<br>and there<ul><li>one<li>two <a href=x>linked</a></ul>\
                <script>no</script><table><tr><td>cell<td><p>a par<i>agraph</i></table>";
    let (_, outline) = outline(html);
    let expected = ["Title", "loose words here", "and there", "one", "two linked", "cell", "a paragraph"];
    assert_eq!(texts(&outline), expected);
    let linked: Vec<_> = outline.blocks.iter().map(|block| (block.words, block.linked)).collect();
    assert_eq!(linked, [(1, 0), (3, 0), (2, 0), (1, 0), (2, 1), (1, 0), (2, 0)]);
    assert_eq!((outline.words(), outline.elements[0].sums.linked), (12, 1));
}

#[test]
fn nothing_comes_of_nothing() {
    for html in ["", "<p> </p>", "<script>x</script>", "…"] {
        let (dom, outline) = outline(html);
        assert!(outline.blocks.is_empty(), "{html}");
        let url = Url::parse("https://example.com/").expect("a URL");
        assert!(Blocks::of(&dom, &url).rows().is_empty());
        assert!(choice::keep(&outline, &[]).is_empty());
    }
}

#[test]
fn all_blocks_are_described_by_as_many_numbers() {
    let html = "<title>A page</title><nav><a href=/>Home</a></nav><main><h1>A page</h1><p>Some, text. And more.</p>\
                <table><tr><th>a<th>b<tr><td>1<td>2</table><pre>fn main() {}</pre></main><footer>© 2026</footer>";
    let (dom, _) = outline(html);
    let url = Url::parse("https://docs.example.com/guide/page").expect("a URL");
    let blocks = Blocks::of(&dom, &url);
    let rows = blocks.rows();
    assert_eq!(rows.len(), blocks.texts().count());
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    assert!(rows.iter().flatten().all(|number| number.is_finite()));
    let second = blocks.rows_after(&vec![0.5; rows.len()]);
    assert!(second.iter().all(|row| row.len() == second[0].len()));
    assert!(second.iter().flatten().all(|number| number.is_finite()));
}

#[test]
fn the_likeliest_are_kept_while_they_are_worth_it() {
    let (_, outline) = outline("<p>one two three four</p><p>five six</p><p>seven</p>");
    assert_eq!(choice::keep(&outline, &[0.9, 0.1, 0.8]), [true, false, true]);
    assert_eq!(
        choice::keep(&outline, &[0.2, 0.2, 0.2]),
        [true, true, true],
        "something is read of each page"
    );
    assert_eq!(choice::keep(&outline, &[0.0, 0.0, 0.0]), [false, false, false]);
}

#[test]
fn listings_and_tables_of_data_are_kept_whole() {
    let html = "<p>a</p><table><tr><td>1<td>2<tr><td>3<td>4</table><pre><div>x</div><div>y</div></pre>";
    let (_, outline) = outline(html);
    let mut likely = [0.1, 0.0, 1.0, 1.0, 0.0, 0.2, 0.6];
    choice::even_out(&outline, &mut likely);
    let expected = [0.1, 0.5, 0.5, 0.5, 0.5, 0.4, 0.4];
    for (likely, expected) in likely.iter().zip(expected) {
        assert!((likely - expected).abs() < 1e-6, "{likely} {expected}");
    }
}

#[test]
fn what_is_not_kept_leaves_the_page_with_the_elements_around_it() {
    let html = "<div id=a><p>kept</p><p><img src=1></div><div id=b><p>left out</p><img src=2></div>\
                <p id=c>kept <b>too</b></p>";
    let (dom, outline) = outline(html);
    prune::prune(&dom, &outline, &[true, false, true]);
    let body = dom.body().expect("a body");
    let elements = body.descendants_it().filter(NodeRef::is_element);
    let names: Vec<_> = elements.filter_map(|node| node.node_name()).collect();
    assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["div", "p", "p", "img", "p", "b"]);
    assert_eq!(body.text().as_ref(), "keptkept too");
}

/// What the forests say of a page that nobody would read otherwise.
#[test]
fn an_article_is_kept_and_what_surrounds_it_is_not() {
    let links: String = (0..12).map(|n| format!("<li><a href=/{n}>Section {n}</a></li>")).collect();
    let sentence = "Bees tell each other where flowers are, and the angle of their dance gives the way. ";
    let paragraphs: String =
        (0..8).map(|n| format!("<p>In chapter {n} {}</p>", sentence.repeat(4))).collect();
    let html = format!(
        "<title>How bees talk</title><body><nav class=menu><ul>{links}</ul></nav>\
         <main><article><h1>How bees talk</h1>{paragraphs}</article></main>\
         <aside class=sidebar><h3>Related posts</h3><ul>{links}</ul></aside>\
         <footer class=footer><p>© 2026 Example. All rights reserved.</p><a href=/privacy>Privacy</a></footer>"
    );
    let dom = Document::from(html.as_str());
    let url = Url::parse("https://example.com/blog/bees").expect("a URL");
    let left_out = keep_content(&dom, &url, &[]);
    let text = dom.body().expect("a body").text();
    assert!((0..8).all(|n| text.contains(&format!("In chapter {n} Bees"))), "{text}");
    assert!(!text.contains("Section") && !text.contains("Privacy") && !text.contains("reserved"), "{text}");
    assert!(left_out.comments == 0 && (60..90).contains(&left_out.others), "{left_out:?}");
}

#[test]
fn what_is_asked_for_stays() {
    let html = "<p>one two three</p><div id=a><p>four five</p></div><p>six</p>";
    let (dom, outline) = outline(html);
    let asked = [dom.select("#a").nodes()[0].id];
    let mut kept = [true, false, true];
    choice::keep_asked(&outline, &asked, &mut kept);
    assert_eq!(kept, [true, true, true]);
}

#[test]
fn what_belongs_to_what_is_kept_stays_with_it() {
    let html = "<div><h2>On code</h2><p>one two three four</p><pre>x = 1</pre></div><p>no</p>\
                <dl><dt>long term here</dt><dd>yes</dd></dl>";
    let (_, outline) = outline(html);
    let mut kept = [false, true, false, false, true, false];
    fill::fill(&outline, &[0.3, 0.9, 0.0, 0.0, 0.9, 0.0], &mut kept);
    assert_eq!(kept, [true, true, true, false, true, true]);
}
