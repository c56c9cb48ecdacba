//! Images of public test suites.

use crate::common::{call, files, ok, sent, with_png_exif};
use crate::suite;
use scorpiox_tool_kit::Failure;

/// Files of `misc` that are invalid on purpose: a palette larger than the file, and top-down run-length
/// encoding, which BMP does not have.
const WRONG: [&str; 2] = ["badpalettesize.bmp", "rletopdown.bmp"];

fn check(folder: &str, wrong: impl Fn(&str) -> bool) {
    let files = files(&suite(folder));
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

/// Compares with the results of the `image` crate. EXIF data rotate the images, so that they are not sent
/// unchanged; small ones are sent without loss.
#[test]
fn small_pictures_of_any_depth_have_the_right_colours() {
    for (name, bytes) in files(&suite("pngsuite")).into_iter().filter(|(name, _)| !name.starts_with('x')) {
        let expected = image::load_from_memory(&bytes).expect("decodes").rotate180().to_rgba8();
        let ours = sent(&ok(with_png_exif(&bytes, 3))).to_rgba8();
        assert_eq!(ours.dimensions(), expected.dimensions(), "{name}");
        let same = |(a, b): (&image::Rgba<u8>, &image::Rgba<u8>)| {
            // One decoder rounds 16-bit values, and the other truncates them.
            (0..4).all(|i| a[i].abs_diff(b[i]) <= 1)
        };
        assert!(ours.pixels().zip(expected.pixels()).all(same), "{name}");
    }
}
