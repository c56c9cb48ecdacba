//! Positions of links on a page (ISO 32000-1, 12.5.6.5).

use std::collections::HashMap;

use hayro_syntax::object::{Array, Dict, Name, String as PdfString};
use hayro_syntax::page::Page;

use super::fragment::whole;

/// Maximum number of links of a page. `MAX_IN_CELL` is the maximum number in one cell of the grid.
const MAX_LINKS: usize = 2000;
const MAX_IN_CELL: usize = 32;
/// Cell size of the lookup grid, in points. `MAX_CELLS` is the maximum number of cells of a link.
const CELL: f64 = 24.0;
const MAX_CELLS: i32 = 64;
/// Maximum length of a URL, in bytes.
const MAX_BYTES: usize = 4096;

type Point = (f64, f64);

#[derive(Debug)]
struct Link {
    from: Point,
    to: Point,
    /// Index of the URL. A link over two lines has two areas with the same URL.
    address: usize,
}

/// Links of a page.
#[derive(Debug, Default)]
pub(super) struct Links {
    addresses: Vec<String>,
    numbers: HashMap<String, usize>,
    areas: Vec<Link>,
    /// Areas by row of the grid.
    rows: HashMap<i32, Vec<usize>>,
}

impl Links {
    pub(super) fn of(page: &Page<'_>) -> Self {
        let mut links = Self::default();
        if let Some(annotations) = page.raw().get::<Array<'_>>("Annots") {
            for annotation in annotations.iter::<Dict<'_>>().take(MAX_LINKS) {
                if let Some((address, from, to)) = read(&annotation) {
                    links.add(address, from, to);
                }
            }
        }
        links
    }

    fn add(&mut self, address: String, from: Point, to: Point) {
        let rows = cell(from.1)..=cell(to.1);
        if rows.end().saturating_sub(*rows.start()) >= MAX_CELLS {
            return;
        }
        let number = self.areas.len();
        for row in rows {
            let there = self.rows.entry(row).or_default();
            if there.len() < MAX_IN_CELL {
                there.push(number);
            }
        }
        let next = self.addresses.len();
        let address = *self.numbers.entry(address).or_insert_with_key(|address| {
            self.addresses.push(address.clone());
            next
        });
        self.areas.push(Link { from, to, address });
    }

    /// Returns the index of the URL at a point.
    pub(super) fn at(&self, x: f64, y: f64) -> Option<usize> {
        if self.areas.is_empty() {
            return None;
        }
        let there = self.rows.get(&cell(y))?;
        let is_at =
            |link: &Link| (link.from.0..=link.to.0).contains(&x) && (link.from.1..=link.to.1).contains(&y);
        let mut there = there.iter().filter_map(|number| self.areas.get(*number));
        there.find(|link| is_at(link)).map(|link| link.address)
    }

    pub(super) fn address(&self, number: usize) -> Option<&str> {
        self.addresses.get(number).map(String::as_str)
    }
}

fn cell(y: f64) -> i32 {
    whole((y / CELL).floor())
}

/// Returns the URL of a link, and two corners of its area.
fn read(annotation: &Dict<'_>) -> Option<(String, Point, Point)> {
    let action = annotation.get::<Dict<'_>>("A")?;
    if action.get::<Name<'_>>("S")?.as_str() != "URI" {
        return None;
    }
    let address = action.get::<PdfString<'_>>("URI")?;
    let address = String::from_utf8_lossy(address.as_bytes()).trim().to_owned();
    let is_web = ["http://", "https://", "mailto:"].iter().any(|scheme| address.starts_with(scheme));
    let is_usable = is_web
        && address.len() <= MAX_BYTES
        && !address.contains(|c: char| c.is_whitespace() || c.is_control());
    let sides: Vec<f64> = annotation.get::<Array<'_>>("Rect")?.iter::<f64>().take(4).collect();
    let [x0, y0, x1, y1] = <[f64; 4]>::try_from(sides).ok()?;
    let is_there = [x0, y0, x1, y1].iter().all(|side| side.is_finite());
    (is_usable && is_there).then(|| (address, (x0.min(x1), y0.min(y1)), (x0.max(x1), y0.max(y1))))
}
