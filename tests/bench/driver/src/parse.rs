//! Pages and pictures: the code in the sandbox beside the same code in this process.
//!
//! What is measured of the server has the transport, the fetch and the file in it, too.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use scorpiox_tool_kit::files::{Files, FilesError};
use scorpiox_tool_kit::memory::{MemoryClient, MemoryWeb, Silent};

use crate::measure::median;
use crate::requests::{Requests, call};
use crate::server::{Program, Server};
use crate::table::{Row, Target, Unit};
use crate::{Effort, Programs};

/// Pages of a usual size, in bytes.
const PAGE_BYTES: std::ops::Range<u64> = 20_000..200_000;
const PAGES: usize = 12;
/// A picture of 24 bits a pixel, which is made smaller.
const PICTURE: (u32, u32) = (2400, 1600);
/// What a page and a picture may take at most, in times of the same natively.
const MOST_OF_PAGE: f64 = 2.0;
const MOST_OF_PICTURE: f64 = 2.5;

pub fn rows(programs: &Programs, effort: Effort) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let bodies = pages()?;
    if bodies.is_empty() {
        eprintln!("bench: no rows about pages, because shared/data/readability is not there");
    } else {
        rows.extend(documents(&programs.reader, bodies, effort)?);
    }
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

/// Real pages, the smaller ones first.
fn pages() -> Result<Arc<Vec<Vec<u8>>>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder =
        here.ancestors().map(|folder| folder.join("shared/data/readability")).find(|data| data.is_dir());
    let Some(folder) = folder else { return Ok(Arc::default()) };
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path().join("source.html");
        let length = path.metadata().map_or(0, |about| about.len());
        if PAGE_BYTES.contains(&length) {
            found.push((length, path));
        }
    }
    found.sort();
    let chosen = found.iter().step_by(found.len().div_ceil(PAGES).max(1));
    let bodies: Result<Vec<_>, _> = chosen.map(|(_, path)| fs::read(path)).collect();
    Ok(Arc::new(bodies?))
}

fn documents(program: &Program, bodies: Arc<Vec<Vec<u8>>>, effort: Effort) -> Result<Vec<Row>> {
    let count = bodies.len();
    let site = serve(Arc::clone(&bodies))?;
    let (mut server, _) = program.start()?;
    let read = |server: &mut Server, page: usize, round: usize| {
        // No page twice: it would be remembered.
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

/// Whether a browser runs anywhere: none does but for the server.
fn has_browser() -> Result<bool> {
    let names = fs::read_dir("/proc")?.flatten().map(|entry| fs::read_to_string(entry.path().join("comm")));
    Ok(names.flatten().any(|name| name.starts_with("chrom")))
}

/// Serves the pages at `/NUMBER/ANYTHING`; gives the port.
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

/// Answers a connection's requests until it ends.
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

/// An uncompressed picture with edges, gradients and noise, as photographs have.
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
