use dom_query::{Document, NodeRef};
use url::Url;

use crate::outline::Outline;
use crate::{Blocks, LeftOut, choice, fill, keep_content, prune};

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
    prune::prune(&dom, &outline, &[true, false, true], &outline.unseen());
    let body = dom.body().expect("a body");
    let elements = body.descendants_it().filter(NodeRef::is_element);
    let names: Vec<_> = elements.filter_map(|node| node.node_name()).collect();
    assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["div", "p", "p", "img", "p", "b"]);
    assert_eq!(body.text().as_ref(), "keptkept too");
}

/// Tests the forests on an invented page.
#[test]
fn an_article_is_kept_and_what_surrounds_it_is_not() {
    let link = |links: String, n| links + &format!("<li><a href=/{n}>Section {n}</a></li>");
    let links = (0..12).fold(String::new(), link);
    let sentence = "Bees tell each other where flowers are, and the angle of their dance gives the way. ";
    let paragraph = |all: String, n| all + &format!("<p>In chapter {n} {}</p>", sentence.repeat(4));
    let paragraphs = (0..8).fold(String::new(), paragraph);
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
    assert_eq!(left_out, LeftOut { comments: 0, others: 56 });
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

/// Returns the blocks that `fill` keeps in addition to `kept`, on a page with many more words that are not
/// kept.
fn filled(html: &str, likely: &[f32], kept: &[bool]) -> Vec<bool> {
    let (_, outline) = outline(&format!("{html}<div><div><p>{}</p></div></div>", "more ".repeat(100)));
    let mut all_likely = likely.to_vec();
    all_likely.push(0.0);
    let mut all = kept.to_vec();
    all.push(false);
    fill::fill(&outline, &all_likely, &mut all);
    assert_eq!(all.pop(), Some(false));
    all
}

#[test]
fn what_belongs_to_what_is_kept_stays_with_it() {
    let html = "<div><h2>On code</h2><p>one two three four</p><pre>x = 1</pre></div><p>no</p>\
                <dl><dt>long term here</dt><dd>yes</dd></dl>";
    let kept = [false, true, false, false, true, false];
    let expected = [true, true, true, false, true, true];
    assert_eq!(filled(html, &[0.3, 0.9, 0.0, 0.0, 0.9, 0.0], &kept), expected);
    let table =
        "<section><p>one two three four five six</p><table><tr><th>a<th>b<tr><td>1<td>2</table></section>";
    assert_eq!(filled(table, &[0.9, 0.0, 0.0, 0.0, 0.0], &[true, false, false, false, false]), [true; 5]);
    let ends = "<article><p>begins<p>one two three four five six seven eight nine ten eleven twelve<p>ends<p>too</article><p>imprint";
    let likely = [0.3, 0.9, 0.3, 0.3, 0.3];
    let kept = [false, true, false, false, false];
    assert_eq!(filled(ends, &likely, &kept), [true, true, true, true, false]);
    assert_eq!(
        filled(&ends.replace("ends", "<a href=/>ends</a>"), &likely, &kept),
        [true, true, false, false, false]
    );
    assert_eq!(
        filled(&ends.replace("six seven eight nine ten eleven twelve", ""), &likely, &kept),
        kept,
        "not nearly all stays"
    );
    let of_links = table
        .replace("<th>a", "<th><a href=/>a</a>")
        .replace("<td>1<td>2", "<td><a href=/>1</a><td><a href=/>2</a>");
    let kept = [true, false, false, false, false];
    assert_eq!(filled(&of_links, &[0.9, 0.0, 0.0, 0.0, 0.0], &kept), kept);
}

#[test]
fn a_short_gap_is_filled_where_it_may_be_text() {
    let short = "<main><p>one</p><p>two</p><div><p>three</p></div><p>four</p></main>";
    let kept = [true, false, false, true];
    assert_eq!(filled(short, &[0.9, 0.05, 0.05, 0.9], &kept), [true; 4]);
    assert_eq!(filled(short, &[0.9, 0.05, 0.0, 0.9], &kept), kept);
    let long = format!("<main><p>one</p><p>{}</p><p>three</p></main>", "word ".repeat(31));
    assert_eq!(filled(&long, &[0.9, 0.05, 0.9], &[true, false, true]), [true, false, true]);
}

#[test]
fn the_landmark_of_documentation_stays_whole() {
    let html =
        "<main><pre>x = 1; y = 2</pre><p>one two three</p><section><div><p>a word</p></div></section></main>";
    assert_eq!(filled(html, &[0.9, 0.9, 0.05], &[true, true, false]), [true; 3]);
    assert_eq!(filled(html, &[0.9, 0.9, 0.04], &[true, true, false]), [true, true, false]);
    let no_code = html.replace("pre>", "p>");
    assert_eq!(filled(&no_code, &[0.9, 0.9, 0.05], &[true, true, false]), [true, true, false]);
}

#[test]
fn a_page_of_few_words_is_read_whole_but_for_what_is_beside_it() {
    let html = "<nav>Home</nav><p>one</p><p hidden>two</p><div>three</div><footer>four</footer>";
    let (_, outline) = outline(html);
    let mut kept = [false; 5];
    fill::fill(&outline, &[0.0; 5], &mut kept);
    assert_eq!(kept, [false, true, false, true, false]);
}

#[test]
fn what_nobody_can_see_has_no_chance() {
    let words = "some words of the page ".repeat(30);
    let html = |hidden: &str| format!("<a href=#open>Open</a><a href=#>Top</a><p>{words}</p>{hidden}");
    let kept = |hidden: &str| {
        let (_, outline) = outline(&html(hidden));
        let likely = vec![0.9; outline.blocks.len()];
        choice::choose(&outline, &outline.unseen(), likely).pop().expect("a block")
    };
    assert!(!kept("<p style='display: none'>unseen</p>"));
    assert!(!kept("<div hidden><p>unseen</p></div>"));
    assert!(kept("<div hidden id=open><p>unfolds</p></div>"));
    assert!(kept("<div class=accordion><div hidden><p>unfolds</p></div></div>"));
    assert!(kept("<div hidden id='S:1'><p>sent later</p></div>"));
    assert!(kept(&format!("<div hidden><p>{words} {words}</p></div>")), "scripts show most of a page");
}

#[test]
fn what_nobody_can_see_is_kept_with_nothing() {
    let words = "some words of the page ".repeat(30);
    for hidden in [
        "<p>one <span style='display:none'>UNSEEN</span> two</p>",
        "<ul><li>one two three four five six</li><li hidden>UNSEEN</li><li>seven</li></ul>",
        "<pre hidden>UNSEEN</pre>",
        "<table><tr><td>one<td>two<tr><td>three<td hidden>UNSEEN</table>",
        "<table hidden><tr><td>UNSEEN<td>two<tr><td>three<td>four</table>",
        "<p>one</p><h3 hidden>UNSEEN</h3><p>two</p>",
        "<div style='visibility: hidden'>UNSEEN <b>too</b><img alt=UNSEEN src=x></div>",
        "<div hidden><img alt=UNSEEN src=x></div>",
    ] {
        let (dom, outline) = outline(&format!("<main><p>{words}</p>{hidden}<p>{words}</p></main>"));
        let unseen = outline.unseen();
        let kept = choice::choose(&outline, &unseen, vec![0.9; outline.blocks.len()]);
        prune::prune(&dom, &outline, &kept, &unseen);
        let left = dom.html();
        assert!(!left.contains("UNSEEN") && left.matches("some words").count() == 60, "{hidden}: {left}");
    }
}
