//! Measures pages and images: the code in the sandbox side by side with the same code in this process.
//!
//! The figures of the server include the transport, the download and the file access.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use scorpiox_tool_kit::files::{Files, FilesError};
use scorpiox_tool_kit::memory::{MemoryClient, MemoryFiles, MemoryWeb, Silent};

use crate::measure::median;
use crate::requests::{Requests, call};
use crate::server::{Program, Server};
use crate::table::{Row, Target, Unit};
use crate::{Effort, Programs};

const PAGES: usize = 12;
const WORDS: &str =
    "harbour tide a measured of water the lighthouse is north evening and keeper slowly for figures";
/// Size of a 24-bit image, which is scaled down.
const PICTURE: (u32, u32) = (2400, 1600);
/// Maximum times for a page and an image, as multiples of the native time.
const MOST_OF_PAGE: f64 = 2.0;
const MOST_OF_PICTURE: f64 = 2.5;

pub fn rows(programs: &Programs, effort: Effort) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    rows.extend(documents(&programs.reader, Arc::new(pages()), effort)?);
    rows.extend(pictures(&programs.reader, effort)?);
    Ok(rows)
}

fn pair(what: &str, native: f64, ours: f64, most: f64) -> [Row; 2] {
    let target = Target::Times { most, base: native, of: "native" };
    [
        Row::ours(format!("{what}, natively in one process"), Unit::Seconds, native, Target::None),
        Row::ours(format!("{what}, by the server"), Unit::Seconds, ours, target),
    ]
}

/// Generates articles from 16 to 170 KB, smallest first.
fn pages() -> Vec<Vec<u8>> {
    (0..PAGES).map(|page| article(4 + 5 * page).into_bytes()).collect()
}

/// Generates a page with a menu, an article and a sidebar of links.
fn article(sections: usize) -> String {
    let all: Vec<&str> = WORDS.split(' ').collect();
    let mut state = 0x2545_f491_u32;
    let mut words = |count: usize| {
        let one = |_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            all[(state >> 8) as usize % all.len()]
        };
        (0..count).map(one).collect::<Vec<_>>().join(" ")
    };
    let links = |count: usize, words: &mut dyn FnMut(usize) -> String| {
        let link = |n| format!("<li class=\"item\"><a href=\"/other/{n}.html\">{}</a></li>\n", words(3));
        (0..count).map(link).collect::<String>()
    };
    let mut page =
        format!("<!DOCTYPE html><html lang=\"en\"><head><title>{}</title></head>\n<body>", words(6));
    page +=
        &format!("<nav><ul>{}</ul></nav>\n<main><article>\n<h1>{}</h1>\n", links(40, &mut words), words(6));
    for section in 0..sections {
        page += &format!("<h2 id=\"s{section}\">{}</h2>\n", words(4));
        for _ in 0..4 {
            let (before, link, after) = (words(40), words(2), words(20));
            page += &format!(
                "<p>{before} <a href=\"#s{section}\">{link}</a> <em>{after}</em>, {}.</p>\n",
                words(30)
            );
        }
        page += &match section % 3 {
            0 => format!("<ul>{}</ul>\n", links(8, &mut words)),
            1 => {
                format!("<table>{}</table>\n", format!("<tr><td>{}</td><td>7</td></tr>", words(3)).repeat(8))
            }
            _ => format!("<pre><code>{}\n</code></pre>\n", words(30)),
        };
    }
    page + &format!("</article></main>\n<aside><ul>{}</ul></aside></body></html>\n", links(30, &mut words))
}

fn documents(program: &Program, bodies: Arc<Vec<Vec<u8>>>, effort: Effort) -> Result<Vec<Row>> {
    let count = bodies.len();
    let site = serve(Arc::clone(&bodies))?;
    let (mut server, _) = program.start()?;
    let read = |server: &mut Server, page: usize, round: usize| {
        // Each page has a unique URL, because pages are cached.
        let arguments = format!(r#"{{"url":"http://127.0.0.1:{site}/{page}/{round}"}}"#);
        timed_call(server, "ReadDocs", &arguments, "\"isError\":false")
    };
    let first = read(&mut server, 0, 0)?;
    ensure!(!has_browser()?, "a browser was started for a page that needs none");
    let (mut native, mut ours) = (Vec::new(), Vec::new());
    for round in 1..=effort.rounds.div_ceil(8) {
        let (mut native_sum, mut our_sum) = (0.0, 0.0);
        for (page, body) in bodies.iter().enumerate() {
            let begin = Instant::now();
            read_docs::call(
                &mut MemoryWeb { content_type: "text/html", body },
                &mut Silent,
                &mut MemoryFiles(body),
                &MemoryClient::default(),
                r#"{"url":"http://example.org/"}"#,
            )
            .ok()
            .context("the page cannot be read")?;
            native_sum += begin.elapsed().as_secs_f64();
            our_sum += read(&mut server, page, round)?;
        }
        native.push(native_sum / count as f64);
        ours.push(our_sum / count as f64);
    }
    server.close()?;
    let mut rows = vec![Row::ours("ReadDocs, the first of a server", Unit::Seconds, first, Target::None)];
    rows.extend(pair(
        &format!("HTML to markdown, mean of {count} pages"),
        median(native),
        median(ours),
        MOST_OF_PAGE,
    ));
    Ok(rows)
}

fn pictures(program: &Program, effort: Effort) -> Result<[Row; 2]> {
    let bytes = picture();
    let path = program.workspace().join("picture.bmp");
    fs::write(&path, &bytes)?;
    let arguments = format!(r#"{{"file_path":"{}"}}"#, path.display());
    let (mut server, _) = program.start()?;
    let (mut native, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds.div_ceil(8) {
        let begin = Instant::now();
        read_image::call(&mut Disk, &arguments).ok().context("the picture cannot be read")?;
        native.push(begin.elapsed().as_secs_f64());
        ours.push(timed_call(&mut server, "ReadImage", &arguments, "\"type\":\"image\"")?);
    }
    server.close()?;
    Ok(pair("image of 4 megapixels resized", median(native), median(ours), MOST_OF_PICTURE))
}

fn timed_call(server: &mut Server, tool: &str, arguments: &str, expected: &'static str) -> Result<f64> {
    let mut requests = Requests::repeat(1, &call(tool, arguments), expected);
    let begin = Instant::now();
    let answer = server.exchange(requests.take(1))?;
    let time = begin.elapsed();
    requests.check_last(answer)?;
    Ok(time.as_secs_f64())
}

/// `true` if any browser runs on the machine. Only the server can have started one.
fn has_browser() -> Result<bool> {
    let names = fs::read_dir("/proc")?.flatten().map(|entry| fs::read_to_string(entry.path().join("comm")));
    Ok(names.flatten().any(|name| name.starts_with("chrom")))
}

/// Serves the pages at `/NUMBER/ANYTHING` and returns the port.
fn serve(bodies: Arc<Vec<Vec<u8>>>) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let bodies = Arc::clone(&bodies);
            thread::spawn(move || answer(&stream, &bodies));
        }
    });
    Ok(port)
}

/// Answers the requests of a connection until it ends.
fn answer(mut stream: &TcpStream, bodies: &[Vec<u8>]) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    loop {
        let request = lines.next()?.ok()?;
        let page: usize = request.split('/').nth(1)?.parse().ok()?;
        while !lines.next()?.ok()?.is_empty() {}
        let body = bodies.get(page)?;
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), body].concat()).ok()?;
    }
}

/// Returns an uncompressed image with edges, gradients and noise, like a photograph.
fn picture() -> Vec<u8> {
    let (width, height) = PICTURE;
    let row = width * 3;
    let size = 54 + row * height;
    let mut bytes = Vec::with_capacity(size as usize);
    bytes.extend_from_slice(b"BM");
    for word in [size, 0, 54, 40, width, height, 1 | 24 << 16, 0, 0, 2835, 2835, 0, 0] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    let mut noise = 0x2545_f491_u32;
    for y in 0..height {
        for x in 0..width {
            noise ^= noise << 13;
            noise ^= noise >> 17;
            noise ^= noise << 5;
            let edge = if (x / 200 + y / 160) % 2 == 0 { 40 } else { 0 };
            let shade = (x * 200 / width + edge + noise % 8).min(255);
            bytes.extend_from_slice(
                &[shade, y * 255 / height, 255 - shade].map(|value| value.to_le_bytes()[0]),
            );
        }
    }
    bytes
}

struct Disk;

impl Files for Disk {
    fn read(&mut self, path: &str, _: u64) -> Result<Vec<u8>, FilesError> {
        fs::read(path).map_err(|error| FilesError::Failed(error.to_string()))
    }
}
