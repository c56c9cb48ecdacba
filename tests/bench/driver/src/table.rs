//! Formats the result table.

use std::fmt::Write as _;

/// Unit of a figure.
#[derive(Clone, Copy)]
pub enum Unit {
    Seconds,
    PerSecond,
    Bytes,
    BytesPerSecond,
}

/// Target for one of our figures.
#[derive(Clone, Copy)]
pub enum Target {
    /// At most this multiple of rmcp's figure.
    TimesRmcp(f64),
    /// At least this multiple of rmcp's figure.
    FasterThanRmcp(f64),
    /// At most this multiple of the floor's figure.
    TimesFloor(f64),
    /// At most this value.
    AtMost(f64),
    /// At least this value.
    AtLeast(f64),
    /// At most `most` times the figure `base`, which `of` describes.
    Times { most: f64, base: f64, of: &'static str },
    /// No target; shown for comparison.
    None,
}

/// Row of the table.
pub struct Row {
    pub figure: String,
    pub unit: Unit,
    pub floor: Option<f64>,
    pub rmcp: Option<f64>,
    pub ours: f64,
    pub target: Target,
}

impl Row {
    /// Creates a row with our figure alone.
    pub fn ours(figure: impl Into<String>, unit: Unit, ours: f64, target: Target) -> Self {
        Self { figure: figure.into(), unit, floor: None, rmcp: None, ours, target }
    }

    /// Creates a row with the floor's figure and ours.
    pub fn beside_floor(figure: impl Into<String>, [floor, ours]: [f64; 2], target: Target) -> Self {
        Self { figure: figure.into(), unit: Unit::Seconds, floor: Some(floor), rmcp: None, ours, target }
    }

    /// Creates a row with the figures of the floor, rmcp and our server.
    pub fn side_by_side(
        figure: impl Into<String>,
        unit: Unit,
        [floor, rmcp, ours]: [f64; 3],
        target: Target,
    ) -> Self {
        Self { figure: figure.into(), unit, floor: Some(floor), rmcp: Some(rmcp), ours, target }
    }

    fn cells(&self) -> [String; 7] {
        let show = |value: Option<f64>| value.map_or("-".to_owned(), |value| self.unit.show(value));
        let ratio = match &self.target {
            Target::Times { base, .. } => Some(self.ours / base),
            Target::TimesFloor(_) => self.floor.map(|floor| self.ours / floor),
            _ => self.rmcp.map(|rmcp| self.ours / rmcp),
        };
        let (target, met) = match &self.target {
            Target::TimesRmcp(most) => (format!("<= {most} x rmcp"), ratio.map(|ratio| ratio <= *most)),
            Target::FasterThanRmcp(least) => {
                (format!(">= {least} x rmcp"), ratio.map(|ratio| ratio >= *least))
            }
            Target::TimesFloor(most) => (format!("<= {most} x floor"), ratio.map(|ratio| ratio <= *most)),
            Target::AtLeast(least) => (format!(">= {}", self.unit.show(*least)), Some(self.ours >= *least)),
            Target::AtMost(most) => (format!("<= {}", self.unit.show(*most)), Some(self.ours <= *most)),
            Target::Times { most, of, .. } => {
                (format!("<= {most} x {of}"), ratio.map(|ratio| ratio <= *most))
            }
            Target::None => ("-".to_owned(), None),
        };
        let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        let verdict = met.map_or("", |met| if met { "ok" } else { "MISS" });
        [
            self.figure.clone(),
            show(self.floor),
            show(self.rmcp),
            self.unit.show(self.ours),
            ratio,
            target,
            verdict.to_owned(),
        ]
    }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Seconds if value < 1e-3 => format!("{:.1} us", value * 1e6),
            Self::Seconds => format!("{:.2} ms", value * 1e3),
            Self::PerSecond => format!("{value:.0} /s"),
            Self::BytesPerSecond => format!("{:.2} GB/s", value / (1024.0 * 1024.0 * 1024.0)),
            Self::Bytes => format!("{:.1} MB", value / (1024.0 * 1024.0)),
        }
    }
}

const HEADINGS: [&str; 7] = ["figure", "floor", "rmcp", "ours", "ratio", "target", ""];

/// Renders the rows, with the first column left-aligned and numbers right-aligned.
pub fn render(rows: &[Row]) -> String {
    let mut lines = vec![HEADINGS.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let widths: [usize; 7] =
        std::array::from_fn(|column| lines.iter().map(|cells| cells[column].len()).max().unwrap_or(0));
    let mut text = String::new();
    for [figure, floor, rmcp, ours, ratio, target, verdict] in &lines {
        let _ = writeln!(
            text,
            "{figure:<0$}  {floor:>1$}  {rmcp:>2$}  {ours:>3$}  {ratio:>4$}  {target:<5$}  {verdict}",
            widths[0], widths[1], widths[2], widths[3], widths[4], widths[5],
        );
    }
    text
}
