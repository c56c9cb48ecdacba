use std::fs;

use crate::PluginName;
use proptest::prelude::*;
use tar::{Builder, EntryType, Header};

use super::*;

const MANIFEST_TEXT: &str = "name = \"weather\"\nversion = \"1.2.0\"\ncomponent = \"c.wasm\"\n";

fn files() -> Vec<(String, Vec<u8>)> {
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    vec![file("wit/world.wit", "package a:b;"), file("README.md", "# x"), file("wit/deps/a/b.wit", "x")]
}

fn package() -> Package {
    Package::new(MANIFEST_TEXT.to_owned(), b"\0asm component".to_vec(), files()).expect("a pack")
}

fn bytes() -> Vec<u8> {
    package().to_bytes().expect("bytes")
}

/// Creates an archive with these entries, as another program might.
fn archive(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, kind, content) in entries {
        let mut header = Header::new_ustar();
        // `set_path` rejects some of these names.
        let field = &mut header.as_mut_bytes()[..100];
        field[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_mtime(946_684_800);
        header.set_uid(0);
        header.set_gid(0);
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            header.set_link_name("/etc/passwd").expect("a link");
        }
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, *content).expect("appends");
    }
    builder.into_inner().expect("bytes")
}

fn with(more: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut entries = vec![
        ("plugin.toml", EntryType::Regular, MANIFEST_TEXT.as_bytes()),
        ("c.wasm", EntryType::Regular, &b"\0asm component"[..]),
    ];
    entries.extend_from_slice(more);
    archive(&entries)
}

fn refused(bytes: &[u8]) -> String {
    Package::read(bytes).expect_err("no pack").to_string()
}

#[test]
fn what_was_packed_is_read_and_is_packed_as_the_same_bytes() {
    let bytes = bytes();
    let read = Package::read(&bytes).expect("a pack");
    assert_eq!(read, package());
    assert_eq!(read.to_bytes().expect("bytes"), bytes);
    assert_eq!(read.file_name(), "weather-1.2.0.plugin");
    let names: Vec<_> = read.files().map(|(name, _)| name).collect();
    assert_eq!(names, ["README.md", "wit/deps/a/b.wit", "wit/world.wit"]);
    let mut other_order = files();
    other_order.reverse();
    let other = Package::new(MANIFEST_TEXT.to_owned(), b"\0asm component".to_vec(), other_order);
    assert_eq!(other.expect("a pack").to_bytes().expect("bytes"), bytes);
    assert_eq!(read.into_parts(), (MANIFEST_TEXT.to_owned(), b"\0asm component".to_vec()));
}

/// The bytes of a pack must never change: published hashes and signatures depend on them.
#[test]
fn the_bytes_of_a_pack_are_these_in_each_version_of_this_program() {
    let digest = scorpiox_signature::digest(&bytes());
    assert_eq!(digest, "62123d5fda8cc9404b9b0b6ceb662b5bf61822fdbb3e9a1b6960d5d09616ea84");
    // Layout of a tar archive, which other tools can list.
    assert_eq!(&bytes()[..12], b"plugin.toml\0");
    assert_eq!(bytes().len() % 512, 0);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for (name, why) in [
        ("/etc/passwd", "leads out of the folder"),
        ("../README", "leads out of the folder"),
        ("wit/../../x.wit", "leads out of the folder"),
        ("wit//x.wit", "leads out of the folder"),
        ("wit/", "leads out of the folder"),
        ("./README", "leads out of the folder"),
        (".README", "begins with a dot"),
        ("wit/.x.wit", "begins with a dot"),
        ("wit\\x.wit", "other characters"),
        ("C:README", "other characters"),
        ("README\u{202e}", "other characters"),
        ("README x", "other characters"),
        ("wit/a/b/c/d/e/f/g/h.wit", "folders in one another"),
    ] {
        let said = refused(&with(&[(name, EntryType::Regular, b"x")]));
        assert!(said.contains(why), "{name}: {said}");
    }
}

#[test]
fn what_is_no_file_is_refused() {
    for (kind, what) in [
        (EntryType::Symlink, "a link"),
        (EntryType::Link, "a link"),
        (EntryType::Directory, "a folder"),
        (EntryType::Char, "a device"),
        (EntryType::Fifo, "a device"),
        (EntryType::GNULongName, "an extension"),
        (EntryType::GNUSparse, "an extension"),
        (EntryType::XHeader, "an extension"),
        (EntryType::XGlobalHeader, "an extension"),
        (EntryType::Continuous, "an extension"),
    ] {
        let said = refused(&with(&[("README", kind, b"")]));
        assert!(said.contains(&format!("\"README\", which is {what}")), "{kind:?}: {said}");
    }
}

#[test]
fn what_does_not_belong_into_a_pack_is_refused() {
    let regular = EntryType::Regular;
    let large = vec![b'x'; usize::try_from(MAX_TEXT_BYTES).expect("fits") + 1];
    for (more, why) in [
        (vec![("README", regular, &b"a"[..]), ("README", regular, b"b")], "are one name on some systems"),
        (vec![("README", regular, b"a"), ("ReadMe", regular, b"b")], "nothing that a pack has"),
        (vec![("README.md", regular, b"a"), ("README.MD", regular, b"b")], "are one name on some systems"),
        (vec![("PLUGIN.toml", regular, b"a")], "are one name on some systems"),
        (vec![("C.wasm", regular, b"a")], "are one name on some systems"),
        (vec![("setup.sh", regular, b"a")], "nothing that a pack has"),
        (vec![("wit/setup.sh", regular, b"a")], "nothing that a pack has"),
        (vec![("lib/README", regular, b"a")], "nothing that a pack has"),
        (vec![("README", regular, &large)], "the limit is 4194304"),
        // Entries in an order that the writer does not produce.
        (vec![("wit/b.wit", regular, b""), ("wit/a.wit", regular, b"")], "it differs at byte"),
    ] {
        let said = refused(&with(&more));
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn more_files_than_the_limit_are_refused() {
    let names: Vec<String> = (0..5000).map(|n| format!("wit/{n:05}.wit")).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), EntryType::Regular, &b""[..])).collect();
    assert_eq!(refused(&with(&many)), "the pack has more than 256 files");
    let files = names.iter().map(|name| (name.clone(), Vec::new())).collect();
    let said = Package::new(MANIFEST_TEXT.to_owned(), Vec::new(), files).expect_err("too many").to_string();
    assert_eq!(said, "it has 5002 files; the limit is 256");
}

#[test]
fn a_pack_that_is_cut_off_or_longer_is_refused_at_each_place() {
    let bytes = bytes();
    for length in 0..bytes.len() {
        assert!(Package::read(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
    }
    assert!(refused(&bytes[..1536]).contains("cut off"), "{}", refused(&bytes[..1536]));
    for more in [&[0_u8; 512][..], b"x", &bytes] {
        let said = refused(&[&bytes, more].concat());
        assert!(said.contains("it differs at byte") || said.contains("damaged"), "{said}");
    }
}

#[test]
fn no_bit_of_a_pack_can_be_another() {
    let bytes = bytes();
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1;
        // A modified pack that is accepted must be a different plugin, and must be written as the modified
        // bytes.
        if let Ok(read) = Package::read(&other) {
            assert!(read != package() && read.to_bytes().expect("bytes") == other, "byte {at}");
        }
    }
}

#[test]
fn sizes_that_lie_do_not_reserve_memory() {
    let mut bytes = with(&[]);
    // Size of the component, in octal.
    bytes[1024 + 124..1024 + 135].copy_from_slice(b"77777777777");
    let mut header = Header::new_ustar();
    header.as_mut_bytes().copy_from_slice(&bytes[1024..1536]);
    header.set_cksum();
    bytes[1024..1536].copy_from_slice(header.as_bytes());
    assert!(refused(&bytes).contains("cut off"), "{}", refused(&bytes));
}

#[test]
fn what_is_no_pack_is_told_from_one() {
    for other in [&b""[..], b"\0asm", b"PK\x03\x04", b"plugin.toml", &[0; 1024]] {
        assert_eq!(refused(other), "it is no pack of a plugin; `scorpiox-code plugin pack` makes one");
    }
    let other = archive(&[("plugin.toml", EntryType::Regular, b"name = 1")]);
    assert!(refused(&other).contains("has no component"));
    let other =
        archive(&[("plugin.toml", EntryType::Regular, b"name = 1"), ("c.wasm", EntryType::Regular, b"x")]);
    assert!(refused(&other).contains("plugin.toml cannot be used"), "{}", refused(&other));
    let other = archive(&[
        ("plugin.toml", EntryType::Regular, MANIFEST_TEXT.as_bytes()),
        ("other.wasm", EntryType::Regular, b"x"),
    ]);
    assert!(refused(&other).contains("come first"), "{}", refused(&other));
}

#[test]
fn a_version_has_three_numbers() {
    for version in ["", "1", "1.2", "v1.2.0", "1.2.0 ", "01.2.0"] {
        let text = MANIFEST_TEXT.replace("1.2.0", version);
        let said = Package::new(text, Vec::new(), Vec::new()).expect_err("no version").to_string();
        assert!(said.contains("version = \"1.2.0\""), "{said}");
    }
}

#[test]
fn of_a_folder_only_what_belongs_into_a_pack_is_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
        fs::write(path, text).expect("writes");
    };
    for name in
        ["plugin.toml", "c.wasm", "README.md", "LICENSE-MIT", "src/lib.rs", ".git/config", ".env", "Makefile"]
    {
        put(name, "x");
    }
    for name in
        ["wit/world.wit", "wit/deps/a b/c.wit", "wit/deps/x/d.wit", "wit/deps.lock", "plugin.hash.minisig"]
    {
        put(name, "x");
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("README.link")).expect("a link");
    let Collected { files, left_out } = collect(folder.path(), "c.wasm").expect("collects");
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["LICENSE-MIT", "README.md", "wit/deps/x/d.wit", "wit/world.wit"]);
    let left_out: Vec<_> =
        left_out.iter().map(String::as_str).filter(|name| *name != "README.link").collect();
    assert_eq!(
        left_out,
        [".env", ".git/", "Makefile", "plugin.hash.minisig", "src/", "wit/deps/a b/c.wit", "wit/deps.lock"]
    );
    put("README.large", &"x".repeat(5_000_000));
    assert!(collect(folder.path(), "c.wasm").is_err());
}

fn index(entries: &str) -> Result<Index, IndexError> {
    Index::parse(format!("{{\"version\": 1, \"plugins\": [{entries}]}}").as_bytes())
}

fn entry(name: &str, version: &str, description: &str) -> String {
    let hash = "0".repeat(64);
    format!(
        "{{\"name\": \"{name}\", \"version\": \"{version}\", \"description\": \"{description}\", \
         \"address\": \"{name}-{version}.plugin\", \"sha256\": \"{hash}\"}}"
    )
}

#[test]
fn an_index_has_the_newest_version_of_each_plugin() {
    let weather = |version| entry("weather", version, "The weather of a place");
    let entries =
        [weather("1.10.0"), weather("1.9.0"), weather("2.0.0-rc.1"), entry("notes", "0.1.0", "Keeps notes")];
    let index = index(&entries.join(",")).expect("an index");
    let name = PluginName::try_from("weather".to_owned()).expect("a name");
    let newest = |installed: Option<&str>| {
        let installed = installed.map(|text| Version::parse(text).expect("a version"));
        index.newest(&name, installed.as_ref()).map(|entry| entry.version.to_string())
    };
    assert_eq!(newest(None).as_deref(), Some("1.10.0"));
    assert_eq!(newest(Some("1.0.0")).as_deref(), Some("1.10.0"));
    assert_eq!(newest(Some("2.0.0-beta.1")).as_deref(), Some("2.0.0-rc.1"));
    let found = |text| index.search(text).iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>();
    assert_eq!(found("WEATHER place"), ["weather"]);
    assert_eq!(found(""), ["notes", "weather"]);
    assert!(found("weather notes").is_empty());
}

#[test]
fn an_index_that_is_wrong_is_refused_whole() {
    let good = entry("a", "1.0.0", "x");
    for (entries, why) in [
        (format!("{good},{good}"), "a 1.0.0 is in it twice"),
        (good.replace("1.0.0", "1.0"), "no version with three numbers"),
        (good.replace("\"a\"", "\"A\""), "is not a plugin name"),
        (good.replace('0', "g"), "no version"),
        (good.replace(&"0".repeat(64), "12"), "not 64 digits"),
        (good.replace("\"x\"", "\"x\\u202e\""), "its description has a character that cannot be seen"),
        (good.replace("\"x\"", "\"x\\ny\""), "a second line"),
        (good.replace("a-1.0.0.plugin", ""), "an address has"),
        (good.replace("description", "summary"), "unknown field `summary`"),
    ] {
        let said = index(&entries).expect_err("no index").to_string();
        assert!(said.contains(why), "{said}");
    }
    for (text, why) in
        [("", "EOF"), ("{}", "missing field"), ("{\"version\": 2, \"plugins\": []}", "is of version 2")]
    {
        let said = Index::parse(text.as_bytes()).expect_err("no index").to_string();
        assert!(said.contains(why), "{said}");
    }
}

proptest! {
    #[test]
    fn no_bytes_end_the_reader(noise in prop::collection::vec(any::<u8>(), 0..2048), at in 0..4096_usize) {
        let mut bytes = bytes();
        let at = at.min(bytes.len());
        let end = (at + noise.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&noise[..end - at]);
        if let Ok(read) = Package::read(&bytes) {
            prop_assert_eq!(read.to_bytes().expect("bytes"), bytes);
        }
    }
}
