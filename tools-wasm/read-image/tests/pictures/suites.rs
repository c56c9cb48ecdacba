//! The pictures of public test suites.

use crate::common::{call, files, ok, sent, suite, with_png_exif};
use scorpiox_tool_kit::Failure;

/// Files of `misc` that are wrong on purpose: a palette larger than the file, and run lengths
/// from the top down, which BMP does not have.
const WRONG: [&str; 2] = ["badpalettesize.bmp", "rletopdown.bmp"];

fn check(folder: &str, wrong: impl Fn(&str) -> bool) {
    let Some(folder) = suite(folder) else { return };
    let files = files(&folder);
    assert!(files.len() > 20);
    for (name, bytes) in files {
        match (call(bytes), wrong(&name)) {
            (Ok(_), false) => {}
            (Err(Failure::Failed(text)), true) => {
                assert!(text.contains("damaged"), "{name}: {text}");
                assert!(!text.contains("ChunkType") && text.ends_with('.'), "{name}: {text}");
            }
            (result, _) => panic!("{name}: {:?}", result.map(|output| output.text)),
        }
    }
}

#[test]
fn png_suite_is_decoded_and_its_broken_files_are_refused() {
    check("pngsuite", |name| name.starts_with('x'));
}

#[test]
fn other_formats_are_decoded() {
    check("misc", |name| WRONG.contains(&name));
}

/// Compared with what the `image` crate decodes. Turned by EXIF, so that they are not sent
/// untouched; small ones are sent without loss.
#[test]
fn small_pictures_of_any_depth_have_the_right_colours() {
    let Some(folder) = suite("pngsuite") else { return };
    for (name, bytes) in files(&folder).into_iter().filter(|(name, _)| !name.starts_with('x')) {
        let expected = image::load_from_memory(&bytes).expect("decodes").rotate180().to_rgba8();
        let ours = sent(&ok(with_png_exif(&bytes, 3))).to_rgba8();
        assert_eq!(ours.dimensions(), expected.dimensions(), "{name}");
        let same = |(a, b): (&image::Rgba<u8>, &image::Rgba<u8>)| {
            // 16 bits are rounded in one and cut in the other.
            (0..4).all(|i| a[i].abs_diff(b[i]) <= 1)
        };
        assert!(ours.pixels().zip(expected.pixels()).all(same), "{name}");
    }
}
