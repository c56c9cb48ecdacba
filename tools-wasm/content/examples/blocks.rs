//! Splits pages into blocks for training forests: `blocks LIST OUT [FIRST]` or `blocks LIST OUT LIKELY kept`
//!
//! Each line of LIST has the file of a page, a tab, and the page's URL. The program writes to OUT a
//! `NAME.txt` with the text of each block on a line, and a `NAME.f32` with the features of each block. If
//! FIRST contains a `NAME.f32` with the first probability of each block, the features are those of the second
//! forest. If LIKELY contains a `NAME.f32` with the final probabilities, the output is a `NAME.kept` with one
//! byte for each block: 1 if the block is kept.

use std::fs;
use std::io;
use std::path::Path;

use scorpiox_content::Blocks;
use scorpiox_page::Limits;
use url::Url;

const LIMITS: Limits = Limits { depth: 1000, elements: 120_000 };

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (list, out, given, is_last) = match arguments.as_slice() {
        [list, out] => (list, Path::new(out), None, false),
        [list, out, first] => (list, Path::new(out), Some(Path::new(first)), false),
        [list, out, likely, "kept"] => (list, Path::new(out), Some(Path::new(likely)), true),
        _ => return Err(io::Error::other("usage: blocks LIST OUT [FIRST], or blocks LIST OUT LIKELY kept")),
    };
    for line in fs::read_to_string(list)?.lines() {
        let (file, url) = line.split_once('\t').ok_or_else(|| io::Error::other("a line has no tab"))?;
        let url = Url::parse(url).map_err(io::Error::other)?;
        let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let source = String::from_utf8_lossy(&fs::read(file)?).into_owned();
        let page = scorpiox_page::parse(&source, LIMITS);
        page.drop_no_scripts();
        let blocks = Blocks::of(&page.document, &url);
        let rows = match given {
            None => {
                let texts: String = blocks.texts().map(|text| text.replace('\n', " ") + "\n").collect();
                fs::write(out.join(&name).with_extension("txt"), texts)?;
                blocks.rows()
            }
            Some(given) => {
                let bytes = fs::read(given.join(&name).with_extension("f32"))?;
                let (numbers, _) = bytes.as_chunks::<4>();
                let first: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
                if is_last {
                    let kept: Vec<u8> = blocks.kept(first).into_iter().map(u8::from).collect();
                    fs::write(out.join(&name).with_extension("kept"), kept)?;
                    continue;
                }
                blocks.rows_after(&first)
            }
        };
        let bytes: Vec<u8> = rows.into_iter().flatten().flat_map(f32::to_le_bytes).collect();
        fs::write(out.join(&name).with_extension("f32"), bytes)?;
    }
    Ok(())
}
