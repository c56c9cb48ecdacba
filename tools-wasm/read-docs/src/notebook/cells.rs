//! A notebook in its JSON form. Every text may be a string or a list of strings. Values of unexpected types
//! are ignored.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Notebook {
    cells: Vec<Cell>,
    worksheets: Vec<Worksheet>,
    metadata: Option<Metadata>,
}

/// Worksheet of nbformat 3.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Worksheet {
    cells: Vec<Cell>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    kernelspec: Option<Kernel>,
    language_info: Option<Language>,
    title: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Kernel {
    language: Text,
    name: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Language {
    name: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cell {
    #[serde(rename = "cell_type")]
    pub(super) kind: Text,
    source: Text,
    input: Text,
    pub(super) outputs: Vec<Output>,
    pub(super) level: Option<usize>,
    pub(super) language: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Output {
    #[serde(rename = "output_type")]
    pub(super) kind: Text,
    pub(super) text: Text,
    pub(super) data: Option<Bundle>,
    pub(super) ename: Text,
    pub(super) evalue: Text,
    pub(super) traceback: Trace,
    html: Text,
    latex: Text,
    png: Option<IgnoredAny>,
    jpeg: Option<IgnoredAny>,
    svg: Option<IgnoredAny>,
}

/// A value in several representations.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    pub(super) plain: Text,
    pub(super) html: Text,
    pub(super) markdown: Text,
    pub(super) latex: Text,
    /// Media types of the images.
    pub(super) images: Vec<String>,
}

/// A text, as one string or as lines.
#[derive(Debug, Default)]
pub(super) struct Text(pub(super) String);

/// Lines without line breaks.
#[derive(Debug, Default)]
pub(super) struct Trace(pub(super) String);

impl Notebook {
    pub(super) fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().chain(self.worksheets.iter().flat_map(|sheet| &sheet.cells))
    }

    /// Returns the language for code blocks.
    pub(super) fn language(&self) -> String {
        let metadata = self.metadata.as_ref();
        let by_info = metadata.and_then(|data| data.language_info.as_ref()).map(|info| &info.name.0);
        let kernel = metadata.and_then(|data| data.kernelspec.as_ref());
        let by_kernel = kernel.map(|kernel| &kernel.language.0).filter(|name| !name.is_empty());
        let by_name = kernel.map(|kernel| &kernel.name.0);
        let name = by_info.filter(|name| !name.is_empty()).or(by_kernel).or(by_name);
        match name.map(|name| name.to_ascii_lowercase()) {
            Some(name) if name.starts_with("python") || name.starts_with("ipython") => "python".to_owned(),
            Some(name) => name,
            // Notebooks of version 3 contain Python.
            None => "python".to_owned(),
        }
    }

    pub(super) fn title(&self) -> Option<String> {
        let title = self.metadata.as_ref()?.title.0.trim();
        (!title.is_empty()).then(|| title.to_owned())
    }
}

impl Cell {
    pub(super) fn source(&self) -> &str {
        if self.source.0.is_empty() { &self.input.0 } else { &self.source.0 }
    }
}

impl Output {
    /// Returns the representations of a value in version 3, where they are separate members.
    pub(super) fn of_old_version(&self) -> Bundle {
        let images = [(&self.png, "image/png"), (&self.jpeg, "image/jpeg"), (&self.svg, "image/svg+xml")];
        Bundle {
            plain: Text(self.text.0.clone()),
            html: Text(self.html.0.clone()),
            markdown: Text::default(),
            latex: Text(self.latex.0.clone()),
            images: images
                .iter()
                .filter(|(is, _)| is.is_some())
                .map(|(_, name)| (*name).to_owned())
                .collect(),
        }
    }
}

/// Visitor that accepts a string, or a list of strings to be joined, and ignores everything else.
struct Strings(&'static str);

impl<'de> Visitor<'de> for Strings {
    type Value = String;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_string<E>(self, text: String) -> Result<String, E> {
        Ok(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<String, A::Error> {
        let mut all = String::new();
        while let Some(Line(line)) = elements.next_element()? {
            if !all.is_empty() {
                all.push_str(self.0);
            }
            all.push_str(&line);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<String, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(String::new())
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_bool<E>(self, _: bool) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_i64<E>(self, _: i64) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_u64<E>(self, _: u64) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_f64<E>(self, _: f64) -> Result<String, E> {
        Ok(String::new())
    }
}

/// An element of a list of lines.
struct Line(String);

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Strings("")).map(Self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Strings("")).map(Self)
    }
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Strings("\n")).map(Self)
    }
}

impl<'de> Deserialize<'de> for Bundle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Forms)
    }
}

struct Forms;

impl<'de> Visitor<'de> for Forms {
    type Value = Bundle;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value by its types")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut forms: A) -> Result<Bundle, A::Error> {
        /// Maximum number of images of one value.
        const MAX_IMAGES: usize = 4;
        let mut bundle = Bundle::default();
        while let Some(name) = forms.next_key::<String>()? {
            match name.as_str() {
                "text/plain" => bundle.plain = forms.next_value()?,
                "text/html" => bundle.html = forms.next_value()?,
                "text/markdown" => bundle.markdown = forms.next_value()?,
                "text/latex" => bundle.latex = forms.next_value()?,
                _ => {
                    forms.next_value::<IgnoredAny>()?;
                    if name.starts_with("image/") && bundle.images.len() < MAX_IMAGES {
                        bundle.images.push(name.chars().take(40).collect());
                    }
                }
            }
        }
        Ok(bundle)
    }
}
