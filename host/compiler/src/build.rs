//! Build step between the guests and the host.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

struct Arguments {
    out: PathBuf,
    /// Target of the native code.
    target: String,
    guests: Vec<(String, PathBuf)>,
}

/// Processes all guests.
pub(crate) fn run(words: impl Iterator<Item = String>) -> Result<()> {
    let arguments = parse(words)?;
    fs::create_dir_all(&arguments.out)?;
    for (name, guest) in &arguments.guests {
        prepare(&arguments, name, guest).with_context(|| format!("guest {name}"))?;
    }
    Ok(())
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments> {
    let mut out = None;
    let mut target = env!("TARGET").to_owned();
    let mut guests = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" => out = words.next().map(PathBuf::from),
            "--target" => target = words.next().context("--target names no system")?,
            guest => match guest.split_once('=') {
                Some((name, path)) => guests.push((name.to_owned(), PathBuf::from(path))),
                None => bail!("{guest:?} is not NAME=FILE"),
            },
        }
    }
    Ok(Arguments { out: out.context("--out is missing")?, target, guests })
}

fn prepare(Arguments { out, target, .. }: &Arguments, name: &str, guest: &Path) -> Result<()> {
    let core = fs::read(guest).with_context(|| format!("cannot read {}", guest.display()))?;
    let component = crate::encode::component(&core)?;
    let native = crate::compile::compile(&component, target)?;
    write_if_changed(&out.join(format!("{name}.component.wasm")), &component)?;
    write_if_changed(&out.join(format!("{name}.cwasm")), &native)
}

fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'a>(words: &'a [&str]) -> impl Iterator<Item = String> + 'a {
        words.iter().map(|word| (*word).to_owned())
    }

    #[test]
    fn guests_have_a_name_and_a_file() {
        let arguments = parse(words(&["--out", "o", "a=b/c.wasm", "d=e=f"])).expect("arguments");
        assert_eq!(arguments.out, Path::new("o"));
        let expected = [("a", "b/c.wasm"), ("d", "e=f")];
        assert_eq!(arguments.guests, expected.map(|(name, path)| (name.to_owned(), path.into())));
        assert_eq!(arguments.target, env!("TARGET"));
        let other = parse(words(&["--target", "x", "--out", "o"])).expect("arguments");
        assert_eq!(other.target, "x");
        assert!(parse(words(&["a=b"])).is_err(), "nowhere to write");
        assert!(parse(words(&["--out", "o", "a"])).is_err(), "no file");
    }
}
