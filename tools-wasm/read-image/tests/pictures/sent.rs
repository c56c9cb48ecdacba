//! Sent images: the file itself if it fits, else a smaller image of the right kind.

use crate::common::{
    OneFile, SENT_EDGE, TAKEN, call, chunk, data, encoded, exif, noise, ok, photo, sent, with_png_exif,
};
use image::codecs::gif::GifEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ExtendedColorType, Frame, ImageEncoder, ImageFormat, RgbImage, RgbaImage};
use scorpiox_tool_kit::Failure;

#[test]
fn the_definition_is_of_the_specification() {
    let definition = read_image::definition();
    assert_eq!((definition.name, definition.title), ("ReadImage", "Read image"));
    assert_eq!(definition.description, "Read an image file and display it visually");
    let hints = definition.hints;
    assert_eq!(
        (hints.read_only, hints.destructive, hints.idempotent, hints.open_world),
        (true, false, true, false)
    );
    for schema in [Some(definition.input_schema), definition.output_schema] {
        let schema: serde_json::Value = serde_json::from_str(schema.expect("there")).expect("JSON");
        assert_eq!(schema["type"], "object");
    }
}

#[test]
fn wrong_arguments_are_named() {
    let refused = |arguments: &str| match read_image::call(&mut OneFile(Vec::new()), arguments) {
        Err(Failure::InvalidInput(text)) => text,
        other => panic!("not refused: {:?}", other.map(|output| output.text)),
    };
    assert!(refused("{}").starts_with("file_path is missing"));
    assert!(refused(r#"{"file_path":""}"#).starts_with("file_path is missing"));
    assert!(refused(r#"{"file_path":7}"#).starts_with("file_path must be a string"));
}

#[test]
fn small_files_are_sent_untouched() {
    let picture = DynamicImage::from(photo(300, 200));
    for format in TAKEN {
        let bytes = encoded(&picture, format);
        let output = ok(bytes.clone());
        assert!(output.images[0].data == bytes, "{format:?}");
        assert_eq!(output.images[0].mime_type, format.to_mime_type());
        assert!(output.text.ends_with("\nSent untouched."), "{}", output.text);
        let data = data(&output);
        assert_eq!(
            (&data["path"], &data["width"], &data["height"]),
            (&"/some/file".into(), &300.into(), &200.into())
        );
        assert_eq!((&data["bytes"], &data["notes"]), (&bytes.len().into(), &serde_json::json!([])));
    }
}

#[test]
fn a_client_expands_no_large_chunk() {
    let bytes = encoded(&DynamicImage::from(photo(300, 200)), ImageFormat::Png);
    let (head, rest) = bytes.split_at(8 + 25);
    for kind in [*b"iCCP", *b"zTXt", *b"iTXt"] {
        let with = |length: usize| [head, &chunk(kind, &vec![0; length]), rest].concat();
        let small = with(4000);
        assert!(ok(small.clone()).images[0].data == small, "a profile of a screen");
        let output = ok(with(20_000));
        assert!(output.images[0].data.len() < bytes.len() + 20_000);
        assert!(
            output.text.contains("A large color profile or text in the file was left out."),
            "{}",
            output.text
        );
    }
}

#[test]
fn other_formats_are_converted() {
    let picture = DynamicImage::from(photo(200, 100));
    for (format, name) in [(ImageFormat::Bmp, "bmp"), (ImageFormat::Tiff, "tiff"), (ImageFormat::Ico, "ico")]
    {
        let output = ok(encoded(&picture.to_rgba8().into(), format));
        assert_eq!(data(&output)["format"], name);
        assert_eq!(output.images[0].mime_type, "image/png");
        assert_eq!(sent(&output).to_rgb8(), picture.to_rgb8(), "{name}");
    }
}

#[test]
fn large_files_of_every_format_are_reduced() {
    let picture = DynamicImage::from(photo(2400, 1200));
    for format in TAKEN.into_iter().chain([ImageFormat::Bmp, ImageFormat::Tiff]) {
        let output = ok(encoded(&picture, format));
        let small = sent(&output);
        assert_eq!((small.width(), small.height()), (SENT_EDGE, SENT_EDGE / 2), "{format:?}");
        assert!(output.text.contains("Reduced to 66 %."), "{}", output.text);
        corners(&small.to_rgb8(), [[255, 0, 0], [0, 255, 0], [0, 0, 255]]);
    }
}

/// Checks the colors of the corners: upper left, upper right, lower left.
#[track_caller]
fn corners(picture: &RgbImage, expected: [[u8; 3]; 3]) {
    let (right, bottom) = (picture.width() - 5, picture.height() - 5);
    for ((x, y), expected) in [(4, 4), (right, 4), (4, bottom)].into_iter().zip(expected) {
        let found = picture.get_pixel(x, y).0;
        assert!((0..3).all(|i| found[i].abs_diff(expected[i]) < 60), "{x} {y}: {found:?}, not {expected:?}");
    }
}

#[test]
fn pictures_are_turned_upright() {
    let (red, green, blue, other) = ([255, 0, 0], [0, 255, 0], [0, 0, 255], [210, 210, 110]);
    let expected = [
        (1, [red, green, blue]),
        (2, [green, red, other]),
        (3, [other, blue, green]),
        (4, [blue, other, red]),
        (5, [red, blue, green]),
        (6, [blue, red, other]),
        (7, [other, green, blue]),
        (8, [green, other, red]),
    ];
    let picture = photo(200, 120);
    for (orientation, corner) in expected {
        let mut jpeg = Vec::new();
        let mut encoder = JpegEncoder::new(&mut jpeg);
        encoder.set_exif_metadata(exif(orientation)).expect("supported");
        encoder.encode(&picture, 200, 120, ExtendedColorType::Rgb8).expect("encodes");
        let mut webp = Vec::new();
        let mut encoder = WebPEncoder::new_lossless(&mut webp);
        encoder.set_exif_metadata(exif(orientation)).expect("supported");
        encoder.encode(&picture, 200, 120, ExtendedColorType::Rgb8).expect("encodes");
        let png = with_png_exif(&encoded(&picture.clone().into(), ImageFormat::Png), orientation);
        for file in [jpeg, webp, png] {
            let output = ok(file.clone());
            corners(&sent(&output).to_rgb8(), corner);
            assert_eq!(output.images[0].data == file, orientation == 1);
            assert_eq!(output.text.contains(&format!("EXIF orientation {orientation}")), orientation != 1);
        }
    }
}

#[test]
fn drawings_stay_sharp_and_photos_become_small() {
    let lines = RgbImage::from_fn(2000, 1000, |_, y| image::Rgb(if y % 50 < 5 { [0; 3] } else { [255; 3] }));
    let output = ok(encoded(&lines.into(), ImageFormat::Bmp));
    assert_eq!(output.images[0].mime_type, "image/png");
    let output = ok(encoded(&photo(2000, 1000).into(), ImageFormat::Bmp));
    assert_eq!(output.images[0].mime_type, "image/jpeg");
}

#[test]
fn transparency_is_kept_if_it_fits() {
    let mut picture = RgbaImage::from_pixel(2000, 1000, image::Rgba([10, 200, 30, 0]));
    (0..1000).for_each(|x| picture.put_pixel(x, x, image::Rgba([255, 0, 0, 128])));
    let output = ok(encoded(&picture.into(), ImageFormat::Png));
    assert_eq!(output.images[0].mime_type, "image/png");
    assert_eq!(sent(&output).to_rgba8().get_pixel(1500, 5)[3], 0);

    let output = ok(encoded(&noise(900, 900).into(), ImageFormat::Png));
    assert_eq!(output.images[0].mime_type, "image/jpeg");
    assert!(output.text.contains("Transparent parts are white."), "{}", output.text);
}

#[test]
fn animations_are_sent_as_their_first_picture() {
    let frame = |colour| Frame::new(RgbaImage::from_pixel(20, 10, image::Rgba(colour)));
    let mut gif = Vec::new();
    GifEncoder::new(&mut gif)
        .encode_frames([frame([255, 0, 0, 255]), frame([0, 255, 0, 255])])
        .expect("encodes");
    let mut apng = Vec::new();
    let mut encoder = png::Encoder::new(&mut apng, 20, 10);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_animated(2, 0).expect("two frames");
    let mut writer = encoder.write_header().expect("header");
    writer.write_image_data(&[255, 0, 0].repeat(200)).expect("first");
    writer.write_image_data(&[0, 255, 0].repeat(200)).expect("second");
    writer.finish().expect("end");
    for (file, note) in [(gif, "Animated GIF with 2 frames"), (apng, "Animated PNG with 2 frames")] {
        let output = ok(file);
        assert!(output.text.contains(note), "{}", output.text);
        assert_eq!(output.images[0].mime_type, "image/png");
        assert!(sent(&output).to_rgb8().pixels().all(|pixel| pixel.0 == [255, 0, 0]));
    }
}

#[test]
fn four_colours_become_three() {
    let output = ok(include_bytes!("../data/cmyk.jpg").to_vec());
    assert!(output.text.contains("CMYK colours were converted to RGB."), "{}", output.text);
    let picture = sent(&output).to_rgb8();
    let near = |x, expected: [u8; 3]| {
        let found = picture.get_pixel(x, 8).0;
        (0..3).all(|i| found[i].abs_diff(expected[i]) < 12)
    };
    assert!(near(3, [200, 40, 40]) && near(12, [40, 40, 200]), "{picture:?}");
}

#[test]
fn sixteen_bits_and_floats_are_shown() {
    let picture = DynamicImage::from(photo(60, 40));
    for deep in
        [picture.to_rgb16().into(), DynamicImage::from(picture.to_luma16()), picture.to_rgb32f().into()]
    {
        let expected = deep.to_rgb8();
        let ours = sent(&ok(encoded(&deep, ImageFormat::Tiff))).to_rgb8();
        assert!(ours.iter().zip(expected.iter()).all(|(a, b)| a.abs_diff(*b) <= 1), "{:?}", deep.color());
    }
}

/// Every size and content yields a result within the limits, which `call` checks.
#[test]
fn what_is_sent_is_never_too_large() {
    for (width, height) in [(1, 1), (1, 9000), (9000, 1), (1567, 1568), (1569, 3), (2500, 2500), (700, 3137)]
    {
        call(encoded(&noise(width, height).into(), ImageFormat::Png)).expect("succeeds");
        call(encoded(&photo(width, height).into(), ImageFormat::Jpeg)).expect("succeeds");
    }
}
