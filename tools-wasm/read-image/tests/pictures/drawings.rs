//! SVG: drawn elements, omitted elements, and drawings that are refused because they would take too long.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use crate::common::{data, encoded, ok, photo, refused, sent};
use image::{ImageFormat, Rgb};
use scorpiox_processor_time::Stopwatch;

const HEAD: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" "#;

fn svg(rest: &str) -> Vec<u8> {
    format!("{HEAD}{rest}</svg>").into_bytes()
}

fn base64_of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let group =
            three.iter().fold(0, |group, byte| group << 8 | usize::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let place = (group >> (18 - 6 * digit)) & 63;
            text.push(if digit > three.len() { '=' } else { char::from(DIGITS[place]) });
        }
    }
    text
}

#[test]
fn shapes_and_colours_are_drawn_on_white() {
    let output =
        ok(svg(r#"width="800" height="600"><rect x="100" y="100" width="300" height="300" fill="red"/>"#));
    let picture = sent(&output).to_rgb8();
    assert_eq!(picture.dimensions(), (800, 600));
    assert_eq!(picture.get_pixel(10, 10), &Rgb([255; 3]));
    assert_eq!(picture.get_pixel(200, 200), &Rgb([255, 0, 0]));
    assert!(output.text.contains("white background"), "{}", output.text);
    assert_eq!(data(&output)["format"], "svg");
}

#[test]
fn sizes_are_those_of_a_screen() {
    let drawn = |rest: &str| {
        let picture = sent(&ok(svg(rest)));
        (picture.width(), picture.height())
    };
    assert_eq!(drawn(r#"viewBox="0 0 24 12"><path d="M1 1h9v9z"/>"#), (512, 256));
    assert_eq!(drawn(r#"width="1000" height="700"><path d="M1 1h9v9z"/>"#), (1000, 700));
    assert_eq!(drawn(r#"width="1e9" height="5e8"><path d="M1 1h9v9z"/>"#), (1568, 784));
}

#[test]
fn light_drawings_get_a_dark_background() {
    let output = ok(svg(r##"viewBox="0 0 24 24"><path fill="#fff" d="M2 2h20v20z"/>"##));
    assert!(output.text.contains("dark background"), "{}", output.text);
}

#[test]
fn text_is_drawn_and_unknown_letters_are_told() {
    let output =
        ok(svg(r#"width="600" height="100"><text x="20" y="60" font-size="40">Größe αβγ Жук →</text>"#));
    let dark = sent(&output).to_luma8().pixels().filter(|pixel| pixel[0] < 100).count();
    assert!(dark > 1000, "{dark}");
    assert!(!output.text.contains("left out"), "{}", output.text);
    let output = ok(svg(r#"width="600" height="100"><text x="20" y="60">漢字</text>"#));
    assert!(
        output.text.contains("Letters other than Latin, Greek and Cyrillic are left out."),
        "{}",
        output.text
    );
}

#[test]
fn only_pictures_in_the_file_are_shown() {
    let png = base64_of(&encoded(&photo(40, 40).into(), ImageFormat::Png));
    let output = ok(svg(&format!(
        r#"width="600" height="600"><image width="600" height="600" xlink:href="data:image/png;base64,{png}"/>
        <image width="9" height="9" href="http://localhost/x.png"/><image width="9" height="9" href="/etc/x.png"/>
        <image width="9" height="9" href="data:image/png;base64,AAAA"/>"#
    )));
    let picture = sent(&output).to_rgb8();
    assert!(picture.get_pixel(20, 20)[0] > 200 && picture.get_pixel(580, 20)[1] > 200);
    assert!(output.text.contains("outside the file are left out: 2."), "{}", output.text);
    assert!(output.text.contains("cannot be shown are left out: 1."), "{}", output.text);
}

#[test]
fn compressed_drawings_are_unpacked() {
    let pack = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("into memory");
        encoder.finish().expect("into memory")
    };
    ok(pack(&svg(r#"width="60" height="60"><rect width="9" height="9"/>"#)));
    assert!(refused(pack(b"hello")).contains("looks like a compressed file that holds text"));
    let bomb = pack(&[b"<svg>".to_vec(), vec![b' '; 200_000_000]].concat());
    assert!(refused(bomb).contains("more than 8 MiB of text"));
}

#[test]
fn entities_are_followed_within_bounds() {
    let text = format!(
        "<!DOCTYPE svg [<!ENTITY c 'fill:red'>]>{HEAD}width='600' height='600'><rect width='600' height='600' style='&c;'/></svg>"
    );
    assert_eq!(sent(&ok(text.into_bytes())).to_rgb8().get_pixel(9, 9), &Rgb([255, 0, 0]));

    let mut laughs = String::from("<!DOCTYPE svg [<!ENTITY a0 'ha'>");
    for level in 0..9 {
        let _ = write!(laughs, "<!ENTITY a{} '{}'>", level + 1, format!("&a{level};").repeat(10));
    }
    refused_soon(format!("{laughs}]>{HEAD}><text>&a9;</text></svg>").into_bytes(), "entit");
    let long = "x".repeat(100_000);
    let quadratic =
        format!("<!DOCTYPE svg [<!ENTITY a '{long}'>]>{HEAD}><text>{}</text></svg>", "&a;".repeat(9999));
    refused_soon(quadratic.into_bytes(), "its entities could grow to more than 4 MiB");
}

#[track_caller]
fn refused_soon(bytes: Vec<u8>, why: &str) {
    let stopwatch = Stopwatch::start();
    let text = refused(bytes);
    assert!(text.contains(why), "{text}");
    let took = stopwatch.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}: {text}");
}

#[test]
fn what_grows_without_end_is_refused() {
    let doubling = |element: &dyn Fn(u32) -> String| (0..40).map(element).collect::<String>();
    let uses = doubling(&|n| format!(r##"<g id="g{}"><use href="#g{n}"/><use href="#g{n}"/></g>"##, n + 1));
    refused_soon(
        svg(&format!(
            r##"width="9" height="9"><defs><rect id="g0" width="9" height="9"/>{uses}</defs><use href="#g40"/>"##
        )),
        "elements after copying",
    );
    let patterns = doubling(&|n| {
        let next = n + 1;
        format!(
            r#"<pattern id="p{n}" width="9" height="9"><rect width="4" height="9" fill="url(#p{next})"/><rect width="9" height="4" fill="url(#p{next})"/></pattern>"#
        )
    });
    refused_soon(
        svg(&format!(r#"width="9" height="9">{patterns}<rect width="9" height="9" fill="url('#p0')"/>"#)),
        "its references lead to",
    );
    let styled = doubling(&|n| {
        let next = n + 1;
        format!(
            r#"<style>.c{n}{{fill:url(#p{n})}}</style><pattern id="p{n}" width="9" height="9"><rect width="4" height="9" class="c{next}"/><rect width="9" height="4" class="c{next}"/></pattern>"#
        )
    });
    refused_soon(
        svg(&format!(r#"width="9" height="9">{styled}<rect width="9" height="9" class="c0"/>"#)),
        "its references lead to",
    );
    refused_soon(
        svg(r##"width="9" height="9"><g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>"##),
        "in a circle",
    );
    let deep = format!(r#"width="9" height="9">{}{}"#, "<g>".repeat(90_000), "</g>".repeat(90_000));
    refused_soon(svg(&deep), "deeper than 100 levels");
    let corners = "L1 2".repeat(200_000);
    refused_soon(
        svg(&format!(
            r#"width="9" height="9"><marker id="m"><rect width="2" height="2"/></marker><path marker-mid="url(#m)" d="M0 0{corners}"/>"#
        )),
        "elements after copying",
    );
    let rules = ".c g{fill:red}".repeat(9000);
    let groups = "<g/>".repeat(9000);
    refused_soon(svg(&format!(r#"width="9" height="9"><style>{rules}</style>{groups}"#)), "9000 selectors");
    let words = "word ".repeat(50_000);
    refused_soon(
        svg(&format!(r#"width="9" height="9"><text y="9">{words}</text>"#)),
        "a text has 250000 letters",
    );
}

#[test]
fn what_costs_too_much_is_refused() {
    let square = r#"width="1000" height="1000" filter="url(#f)"/>"#;
    for (rest, why) in [
        (format!(r#"<filter id="f"><feTurbulence baseFrequency=".1" numOctaves="99999999"/></filter><rect {square}"#), "too much area"),
        (format!(r#"<filter id="f"><feMorphology radius="500"/></filter><rect {square}"#), "too much area"),
        (
            format!(r#"<filter id="f" x="-2" y="-2" width="5" height="5">{}</filter><rect {square}"#, r#"<feGaussianBlur stdDeviation="50"/>"#.repeat(90)),
            "MiB of memory",
        ),
        (
            r#"<pattern id="f" width="1e6" height="1e6" patternUnits="userSpaceOnUse"><rect width="5" height="5"/></pattern><rect width="99" height="99" fill="url(#f)"/>"#.to_owned(),
            "MiB of memory",
        ),
        (r#"<path stroke="red" stroke-dasharray=".0001" d="M0 0L1000 1000"/>"#.to_owned(), "MiB of memory"),
        (
            format!(r#"{}<rect x="-9000" y="-9000" width="20000" height="20000"/>{}"#, r#"<g opacity=".9">"#.repeat(50), "</g>".repeat(50)),
            "MiB of memory",
        ),
    ] {
        refused_soon(svg(&format!(r#"width="1000" height="1000">{rest}"#)), why);
    }
}

#[test]
fn nesting_that_is_allowed_does_not_overflow_the_stack() {
    let deep = |open: &str, close: &str| {
        format!(
            r#"width="600" height="600">{}<rect width="600" height="600"/>{}"#,
            open.repeat(97),
            close.repeat(97)
        )
    };
    ok(svg(&deep(r#"<g transform="scale(.99)">"#, "</g>")));
    ok(svg(&deep(r#"<svg width="600" height="600">"#, "</svg>")));
}

#[test]
fn texts_that_are_no_drawing_are_refused() {
    assert!(refused(format!("{HEAD}width='9' height='9'><rect").into_bytes()).contains("damaged"));
    let mut utf16 = vec![0xff, 0xfe];
    utf16.extend("<svg/>".encode_utf16().flat_map(u16::to_le_bytes));
    assert!(refused(utf16).contains("looks like text in UTF-16"));
    assert!(refused(svg(r#"width="9" height="9"><!-- "#)).contains("damaged"));
}
