//! Formats that programs write and clients do not accept: files from other programs' encoders, and handmade
//! files of variants that no encoder writes anymore.

use std::path::Path;

use crate::common::{chunk, data, encoded, files, ok, photo, refused, sent};
use image::{DynamicImage, GrayImage, ImageFormat, Rgba, RgbaImage};

#[test]
fn files_of_other_programs_are_the_same_picture() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/others");
    let mut compared = 0;
    for (name, bytes) in files(&folder) {
        let Some((kind, _)) = name.split_once('-') else { continue };
        let expected = image::open(folder.join(format!("{kind}.png"))).expect("a picture").to_rgba8();
        let output = ok(bytes);
        assert_eq!(sent(&output).to_rgba8(), expected, "{name}: {}", output.text);
        assert!(output.text.contains(" to PNG."), "{name}: {}", output.text);
        compared += 1;
    }
    assert_eq!(compared, 22);
}

/// Creates a TGA file of 2 × 2 pixels without a palette: red, green, blue and gray, each with `alpha`.
fn tga(bits: u8, about: u8, alpha: u8) -> Vec<u8> {
    let mut file = vec![0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, bits, about];
    for [r, g, b] in [[255, 0, 0], [0, 255, 0], [0, 0, 255], [99, 99, 99]] {
        file.extend([b, g, r, alpha].iter().take(usize::from(bits / 8)));
    }
    file
}

#[test]
fn tga_is_told_by_its_header_and_not_taken_for_a_cursor() {
    for file in [tga(24, 0x20, 0), tga(32, 0x28, 255), tga(32, 0x20, 0), tga(32, 0x28, 0)] {
        let output = ok(file);
        assert!(output.text.contains(": TGA, 2 × 2 pixels"), "{}", output.text);
        let picture = sent(&output).to_rgba8();
        assert_eq!(picture.get_pixel(0, 0), &Rgba([255, 0, 0, 255]));
        assert_eq!(picture.get_pixel(0, 1), &Rgba([0, 0, 255, 255]));
    }
    let bottom_up = sent(&ok(tga(24, 0, 0))).to_rgb8();
    assert_eq!(bottom_up.get_pixel(0, 1).0, [255, 0, 0]);
    // A signature at the end, and a description at the beginning.
    let mut second = tga(24, 0x20, 0);
    second[0] = 5;
    second.splice(18..18, *b"hello");
    second.extend([[0; 8].as_slice(), b"TRUEVISION-XFILE.\0"].concat());
    ok(second);
    let cut = refused(tga(24, 0x20, 0)[..24].to_vec());
    assert!(cut.starts_with("The TGA file is damaged or incomplete: the file ends too early"), "{cut}");
}

#[test]
fn texts_and_data_that_begin_like_a_picture_are_none() {
    for (text, what) in [
        (&b"P1 is a priority\n"[..], "text"),
        (b"P5 10 items are left\n", "text"),
        (b"P7 332\n", "text"),
        (b"qoi", "text"),
        (&[0, 0, 2, 0, 0, 0, 0, 0, 9, 9, 9, 9, 0, 0, 0, 0, 24, 0], "data of an unknown kind"),
        (b"PF\n2 2\n-1.0\n", "a PFM image"),
        (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1", "an AVIF image"),
    ] {
        assert!(refused(text.to_vec()).contains(&format!("looks like {what}")), "{text:?}");
    }
    // Comments are allowed between the numbers.
    ok(b"P2 # by hand\n2 # wide\n1\n255 0 255\n".to_vec());
}

#[test]
fn numbers_of_a_pnm_file_are_checked() {
    for (file, why) in [
        (&b"P5 9 9 255 abc"[..], "ends too early"),
        (b"P5 0 9 255 abc", "0 × 9 pixels"),
        (b"P5 9 9 99999 abc", "99999"),
        (b"P3 1 1 255 1 2 x", "digit"),
        (b"P6 16385 1 255 ", "at most 16384 × 16384"),
        (b"P7\nWIDTH 1\nENDHDR\n", "Missing header line"),
    ] {
        let text = refused(file.to_vec());
        assert!(text.starts_with("The PNM ") && text.contains(why), "{text}");
    }
}

/// Creates an icon from image files, with a list of wrong properties.
fn icon(pictures: &[&[u8]]) -> Vec<u8> {
    let mut file = vec![0, 0, 1, 0, u8::try_from(pictures.len()).expect("few"), 0];
    let mut at = 6 + 16 * pictures.len();
    for picture in pictures {
        file.extend([16, 16, 0, 0, 1, 0, 32, 0]);
        file.extend(u32::try_from(picture.len()).expect("short").to_le_bytes());
        file.extend(u32::try_from(at).expect("short").to_le_bytes());
        at += picture.len();
    }
    file.extend(pictures.concat());
    file
}

#[test]
fn pictures_in_icons_may_have_any_colours() {
    let picture = DynamicImage::from(photo(40, 30));
    let palette = include_bytes!("../data/others/bits.png").to_vec();
    for (inside, same) in [
        (encoded(&picture, ImageFormat::Png), picture.clone()),
        (encoded(&picture.to_luma8().into(), ImageFormat::Png), picture.to_luma8().into()),
        (encoded(&picture.to_luma_alpha8().into(), ImageFormat::Png), picture.to_luma8().into()),
        (palette.clone(), image::load_from_memory(&palette).expect("a picture")),
    ] {
        let output = ok(icon(&[&inside]));
        assert_eq!(data(&output)["format"], "ico");
        assert_eq!(sent(&output).to_rgb8(), same.to_rgb8());
    }
}

#[test]
fn the_best_picture_of_an_icon_is_shown() {
    let png = |edge, value| {
        encoded(&GrayImage::from_pixel(edge, edge, image::Luma([value])).into(), ImageFormat::Png)
    };
    let colour = encoded(&RgbaImage::from_pixel(64, 64, Rgba([1, 2, 3, 255])).into(), ImageFormat::Png);
    let (small, gray, large) = (png(32, 9), png(64, 8), png(400, 7));
    let shown = |pictures: &[&[u8]]| {
        let output = ok(icon(pictures));
        (sent(&output).to_rgb8().get_pixel(0, 0).0, output.text)
    };
    let (colours, text) = shown(&[&small, &large, &colour]);
    assert_eq!(colours, [7; 3], "the largest");
    assert!(text.contains("The icon has 3 pictures: the largest is shown."), "{text}");
    assert_eq!(shown(&[&colour, &gray]).0, [1, 2, 3], "the one with more bits");
    assert_eq!(shown(&[&gray, &colour]).0, [1, 2, 3], "wherever it stands");
    let cut = &large[..large.len() - 20];
    let (colours, text) = shown(&[cut, &small]);
    assert_eq!(colours, [9; 3]);
    assert!(text.contains("some of them damaged"), "{text}");
    assert!(refused(icon(&[cut])).contains("The ICO file is damaged or incomplete"));
}

/// Creates an icon bitmap of 2 × 1 pixels, whose mask hides the second one.
fn masked(alpha: u8) -> Vec<u8> {
    let mut bitmap = [40_u32, 2, 2].map(u32::to_le_bytes).concat();
    bitmap.extend([1, 0, 32, 0]);
    bitmap.extend([0; 24]);
    bitmap.extend([30, 20, 10, alpha, 60, 50, 40, alpha]);
    bitmap.extend([0b0100_0000, 0, 0, 0]);
    bitmap
}

#[test]
fn the_mask_of_an_icon_decides_where_its_picture_says_nothing() {
    for alpha in [0, 255] {
        let picture = sent(&ok(icon(&[&masked(alpha)]))).to_rgba8();
        assert_eq!(picture.get_pixel(0, 0), &Rgba([10, 20, 30, 255]), "{alpha}");
        assert_eq!(picture.get_pixel(1, 0)[3], 0, "{alpha}");
    }
}

/// Creates a BMP file with a header of `header` bytes, and pixels in the encoding `form`.
fn bmp(header: u32, size: (i32, i32), bits: u16, form: u32, data: &[u8]) -> Vec<u8> {
    let mut picture = header.to_le_bytes().to_vec();
    picture.extend([size.0.to_le_bytes(), size.1.to_le_bytes()].concat());
    picture.extend([[1, 0], bits.to_le_bytes()].concat());
    picture.extend(form.to_le_bytes());
    picture.resize(header as usize, 0);
    let start = 14 + header;
    let file = [b"BM".as_slice(), &[0; 8], &start.to_le_bytes(), &picture, data];
    file.concat()
}

#[test]
fn run_lengths_of_24_bits_are_decoded() {
    let data = [
        &[2, 3, 2, 1][..],                     // two pixels of one color
        &[0, 3, 1, 0, 0, 2, 0, 0, 3, 0, 0, 0], // three literal pixels, and a padding byte
        &[0, 0],                               // end of the row
        &[0, 2, 1, 0, 1, 9, 9, 9],             // one pixel to the right
        &[0, 1],
    ]
    .concat();
    for header in [40, 64] {
        let picture = sent(&ok(bmp(header, (5, 2), 24, 4, &data))).to_rgb8();
        let row = |y| (0..5).map(|x| picture.get_pixel(x, y).0).collect::<Vec<_>>();
        assert_eq!(row(1), [[1, 2, 3], [1, 2, 3], [0, 0, 1], [0, 0, 2], [0, 0, 3]]);
        assert_eq!(row(0), [[0; 3], [9; 3], [0; 3], [0; 3], [0; 3]]);
    }
    let early = refused(bmp(64, (5, 2), 24, 4, &data[..9]));
    assert!(early.contains("damaged or incomplete: the file ends too early"), "{early}");
    assert!(refused(bmp(64, (5, 1), 24, 4, &data)).contains("more rows than it says"));
    assert!(refused(bmp(64, (5, -2), 24, 4, &data)).contains("from the top down"));
    assert!(refused(bmp(64, (16_000, 16_000), 24, 4, &data)).contains("decoding it takes"));
}

#[test]
fn headers_of_os2_are_read() {
    let data = [3, 2, 1, 6, 5, 4, 0, 0];
    for header in [16, 24, 40, 64] {
        let picture = sent(&ok(bmp(header, (2, 1), 24, 0, &data))).to_rgb8();
        assert_eq!(
            (picture.get_pixel(0, 0).0, picture.get_pixel(1, 0).0),
            ([1, 2, 3], [4, 5, 6]),
            "{header}"
        );
    }
    assert!(refused(bmp(64, (2, 1), 1, 3, &data)).contains("Huffman"));
    for place in [u32::MAX, u32::MAX - 15] {
        let mut elsewhere = bmp(64, (2, 1), 24, 0, &data);
        elsewhere[10..14].copy_from_slice(&place.to_le_bytes());
        assert!(refused(elsewhere).contains("damaged"), "{place}");
    }
}

#[test]
fn pictures_in_a_bitmap_are_decoded() {
    let picture = DynamicImage::from(photo(40, 30));
    let output = ok(bmp(40, (40, 30), 0, 5, &encoded(&picture, ImageFormat::Png)));
    assert_eq!((&data(&output)["format"], sent(&output).to_rgb8()), (&"bmp".into(), picture.to_rgb8()));
    ok(bmp(40, (40, 30), 0, 4, &encoded(&picture, ImageFormat::Jpeg)));
    let text = refused(bmp(40, (40, 30), 0, 5, b"hello"));
    assert!(text.contains("neither JPEG nor PNG"), "{text}");
}

/// Creates a GIF file with one frame of `pixels` (0 is red, 1 is green) at a position on its canvas.
fn gif(canvas: (u16, u16), place: (u16, u16), size: (u16, u16), pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let palette = [255, 0, 0, 0, 255, 0];
    let mut encoder =
        gif::Encoder::new(&mut file, canvas.0.max(1), canvas.1.max(1), &palette).expect("a header");
    let mut frame = gif::Frame::from_indexed_pixels(size.0, size.1, pixels, None);
    (frame.left, frame.top) = place;
    encoder.write_frame(&frame).expect("a picture");
    drop(encoder);
    file[6..10].copy_from_slice(&[canvas.0.to_le_bytes(), canvas.1.to_le_bytes()].concat());
    file
}

#[test]
fn gif_pictures_that_reach_over_the_canvas_are_cut() {
    // Every second column is green.
    let columns: Vec<u8> = [0, 1].repeat(18);
    let cases = [
        ((4, 3), (0, 0), (6, 6)),
        ((4, 9), (0, 0), (6, 6)),
        ((9, 4), (0, 0), (6, 6)),
        ((4, 3), (2, 1), (6, 6)),
        ((6, 3), (0, 0), (6, 6)),
    ];
    for (canvas, place, size) in cases {
        let output = ok(gif(canvas, place, size, &columns));
        assert!(output.text.contains("cut at the edges of its canvas"), "{}", output.text);
        let picture = sent(&output).to_rgba8();
        assert_eq!(picture.dimensions(), (canvas.0.into(), canvas.1.into()));
        for (x, y, pixel) in picture.enumerate_pixels() {
            let (column, row) = (x.checked_sub(place.0.into()), y.checked_sub(place.1.into()));
            let expected = match (column, row) {
                (Some(column), Some(row)) if column < 6 && row < 6 => {
                    if column % 2 == 0 {
                        [255, 0, 0, 255]
                    } else {
                        [0, 255, 0, 255]
                    }
                }
                _ => [0; 4],
            };
            assert_eq!(pixel.0[3], expected[3], "{canvas:?} {x} {y}");
            assert!(expected[3] == 0 || pixel.0 == expected, "{canvas:?} {x} {y}");
        }
    }
    // A frame outside of the canvas, and a canvas without a size.
    ok(gif((4, 3), (9, 9), (6, 6), &columns));
    let output = ok(gif((0, 0), (0, 0), (6, 6), &columns));
    assert_eq!(sent(&output).to_rgb8().dimensions(), (6, 6));
    let large = gif((4, 3), (0, 0), (17_000, 1), &vec![0; 17_000]);
    assert!(refused(large).contains("17000 × 1 pixels; at most"));
}

/// A PNG in an icon must be as intact as any other.
#[test]
fn bombs_in_icons_and_bitmaps_are_refused() {
    let header = [&16_384_u32.to_be_bytes()[..], &16_384_u32.to_be_bytes(), &[8, 2, 0, 0, 1]].concat();
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &chunk(*b"IHDR", &header), &chunk(*b"IDAT", &[0x78, 0x9c])]
        .concat();
    for file in [icon(&[&png]), icon(&[&png[..]; 200]), bmp(40, (9, 9), 0, 5, &png)] {
        let text = refused(file);
        assert!(text.contains("16384 × 16384 pixels; decoding it takes"), "{text}");
    }
}
