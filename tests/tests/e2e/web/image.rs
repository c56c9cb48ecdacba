//! Tests of `ReadImage`.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use scorpiox_tests::program::data;
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

use super::support::{failure, start, success};

/// Image of a single red pixel.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

fn dot() -> Vec<u8> {
    STANDARD.decode(DOT).expect("base64")
}

fn read(server: &mut Started, path: &std::path::Path) -> Value {
    server.call("ReadImage", json!({ "file_path": path }))
}

/// Returns the MIME type and the bytes of the image in a result.
fn image(result: &Value) -> (String, Vec<u8>) {
    let content = result["content"].as_array().expect("content");
    let image = content.iter().find(|content| content["type"] == "image").expect("an image");
    let data = image["data"].as_str().expect("data");
    (image["mimeType"].as_str().expect("a type").to_owned(), STANDARD.decode(data).expect("base64"))
}

#[test]
fn a_small_image_is_given_as_it_is() {
    let program = Program::new();
    let path = program.put("workspace/pictures/dot.png", dot());
    let result = read(&mut start(&program), &path);
    assert!(success(&result).contains("1") && success(&result).contains("png"), "{result}");
    assert_eq!(image(&result), ("image/png".to_owned(), dot()));
    let data = result["structuredContent"].to_string();
    assert!(data.len() < 2000 && !data.contains(&DOT[20..40]), "no copy of the image: {data}");
}

#[test]
fn a_relative_path_is_of_the_workspace() {
    let program = Program::new();
    program.put("workspace/pictures/dot.png", dot());
    program.put("dot.png", dot());
    let mut server = start(&program);
    for path in ["pictures/dot.png", "./pictures/../pictures/dot.png"] {
        let result = read(&mut server, path.as_ref());
        assert_eq!(image(&result).1, dot(), "{result}");
    }
    let outside = read(&mut server, "../dot.png".as_ref());
    assert!(failure(&outside).contains("[files]"), "{outside}");
}

/// Covers offsets that overflow the 32-bit addresses of the sandbox.
#[test]
fn numbers_in_a_file_that_no_file_is_as_large_as_lead_nowhere() {
    let bmp = |length: u32, pixels: u32| {
        let mut picture = length.to_le_bytes().to_vec();
        picture.extend([4_u32.to_le_bytes(), 4_u32.to_le_bytes()].concat());
        picture.extend([1, 0, 24, 0]);
        picture.resize(64, 0);
        [b"BM".as_slice(), &[0; 8], &pixels.to_le_bytes(), &picture, &[7; 48]].concat()
    };
    let program = Program::new();
    let mut server = start(&program);
    let right = program.put("workspace/right.bmp", bmp(64, 14 + 64));
    assert!(success(&read(&mut server, &right)).contains("4 × 4"));
    for (length, pixels) in [
        (64, u32::MAX),
        (64, u32::MAX - 15),
        (64, u32::MAX - 63),
        (u32::MAX, 78),
        (u32::MAX - 7, 78),
        (u32::MAX - 13, u32::MAX),
    ] {
        let path = program.put("workspace/wrong.bmp", bmp(length, pixels));
        let result = read(&mut server, &path);
        let why = failure(&result);
        assert!(why.contains("BMP") && !why.contains("failed internally"), "{length} {pixels}: {why}");
    }
}

#[test]
fn real_images_are_shown_and_broken_ones_refused() {
    let program = Program::new();
    let mut server = start(&program);
    let (mut shown, mut refused) = (0, 0);
    let mut folders = vec![data().join("images")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.to_ascii_lowercase().contains("license")
                || name.ends_with(".txt")
                || name.ends_with(".md")
            {
                continue;
            }
            let copy = program.put(&format!("workspace/{name}"), std::fs::read(&path).expect("readable"));
            let result = read(&mut server, &copy);
            if result["isError"] == true {
                assert!(failure(&result).len() > 20, "{name}: {result}");
                refused += 1;
                continue;
            }
            let (mime_type, bytes) = image(&result);
            assert!(
                ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&mime_type.as_str()),
                "{name}"
            );
            assert!(bytes.len() <= 700 * 1024, "{name}: {} bytes", bytes.len());
            assert!(
                !(name.starts_with('x') && path.parent().is_some_and(|p| p.ends_with("pngsuite"))),
                "{name} is broken"
            );
            shown += 1;
        }
    }
    assert_eq!((shown, refused), (77, 16));
}

#[test]
fn what_lies_outside_of_the_workspace_is_not_read() {
    let program = Program::new();
    let outside = program.put("home/secret.png", dot());
    let workspace = program.workspace();
    symlink(&outside, workspace.join("link.png")).expect("a link");
    symlink(program.home(), workspace.join("folder")).expect("a link");
    program.put("workspace/.env.png", dot());
    std::fs::write(workspace.join("real.png"), dot()).expect("written");
    symlink("real.png", workspace.join("inside.png")).expect("a link");
    let mut server = start(&program);
    for path in [
        outside.clone(),
        workspace.join("link.png"),
        workspace.join("folder/secret.png"),
        workspace.join("../home/secret.png"),
        workspace.join(".env.png"),
        "/etc/passwd".into(),
    ] {
        let result = read(&mut server, &path);
        let text = failure(&result);
        assert!(text.contains("[files]") || text.contains("does not exist"), "{}: {text}", path.display());
    }
    success(&read(&mut server, &workspace.join("inside.png")));
    // The operator can allow the file.
    program.put(
        "home/.scorpiox/policy.toml",
        "version = 1\n[files]\nread = [\"@workspace\", \"~/secret.png\"]\n",
    );
    let mut server = start(&program);
    success(&read(&mut server, &outside));
    success(&read(&mut server, &workspace.join("link.png")));
    // Paths in the notation of users.
    success(&read(&mut server, std::path::Path::new("~/secret.png")));
    let text = failure(&read(&mut server, std::path::Path::new("~root/secret.png"))).to_owned();
    assert!(text.contains("workspace/~root/secret.png"), "{text}");
}

#[test]
fn nothing_is_told_of_what_lies_elsewhere() {
    let program = Program::new();
    let workspace = program.workspace();
    program.put("home/there.png", dot());
    symlink(program.home().join("there.png"), workspace.join("to-there.png")).expect("a link");
    symlink(program.home().join("absent.png"), workspace.join("to-absent.png")).expect("a link");
    let mut server = start(&program);
    let mut said = |path: &std::path::Path| {
        let text = failure(&read(&mut server, path)).to_owned();
        assert!(!text.contains("leads to"), "{text}");
        text.replace("there", "it").replace("absent", "it")
    };
    let (there, absent) = (program.home().join("there.png"), program.home().join("absent.png"));
    assert_eq!(said(&there), said(&absent));
    assert_eq!(said(&workspace.join("to-there.png")), said(&workspace.join("to-absent.png")));
    server.close_input();
    assert!(server.wait().0.success());
    let (_, out, _) = program.run(&["audit", "--denied"]);
    assert_eq!(out.lines().filter(|line| line.contains("ReadImage")).count(), 4, "{out}");
}

#[test]
fn what_is_denied_is_denied_by_each_name_on_the_way_and_where_a_link_of_the_glob_leads() {
    let program = Program::new();
    let policy = "version = 1\n[files]\ndeny = [\"conf/*.png\", \"**/private/*.png\", \"/root/*.png\"]\n";
    program.put("home/.scorpiox/policy.toml", policy);
    for folder in ["g/conf", "public", "r", "x"] {
        program.put(&format!("workspace/{folder}/dot.png"), dot());
    }
    let links = [("conf", "g/conf"), ("second", "conf"), ("x/private", "../public"), ("root", "r")];
    for (link, target) in links {
        symlink(target, program.workspace().join(link)).expect("a link");
    }
    let mut server = start(&program);
    for folder in ["conf", "g/conf", "second", "second/../conf", "x/private", "root", "r"] {
        let result = read(&mut server, std::path::Path::new(&format!("{folder}/dot.png")));
        assert!(failure(&result).contains("does not exist, or is "), "{folder}: {result}");
    }
    // The directory's own name and path are not denied.
    for folder in ["public", "x"] {
        success(&read(&mut server, std::path::Path::new(&format!("{folder}/dot.png"))));
    }
}

#[test]
fn a_long_path_is_not_repeated_whole() {
    let program = Program::new();
    let mut server = start(&program);
    for path in ["x".repeat(100_000), format!("/{}", "y/".repeat(20_000))] {
        let result = server.call("ReadImage", json!({ "file_path": path }));
        let text = failure(&result);
        assert!(text.chars().count() < 1000 && !text.contains("os error"), "{text}");
    }
}

#[test]
fn what_is_no_image_is_refused_with_the_reason() {
    let program = Program::new();
    let mut server = start(&program);
    for (name, content, piece) in [
        ("a.png", b"just text".as_slice(), "text"),
        ("b.png", b"%PDF-1.7 ...", "PDF"),
        ("empty.png", b"", "empty"),
        ("cut.png", &dot()[..40], "png"),
    ] {
        let path = program.put(&format!("workspace/{name}"), content);
        let result = read(&mut server, &path);
        let text = failure(&result);
        assert!(text.to_lowercase().contains(&piece.to_lowercase()), "{name}: {text}");
    }
    for (path, piece) in
        [("nowhere.png", "workspace/nowhere.png does not exist"), ("/nowhere/x.png", "does not exist")]
    {
        let result = server.call("ReadImage", json!({ "file_path": path }));
        assert!(failure(&result).contains(piece), "{result}");
    }
    assert!(failure(&read(&mut server, &program.workspace())).contains("not a file"));
    let fifo = program.workspace().join("pipe.png");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("a pipe");
    assert!(failure(&read(&mut server, &fifo)).contains("not a file"));
}

/// Encodes a PNG of a single color row by row.
fn large_png(width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().expect("a header");
    let mut stream = writer.stream_writer().expect("a stream");
    let row = vec![0x7f; width as usize * 3];
    for _ in 0..height {
        std::io::Write::write_all(&mut stream, &row).expect("a row");
    }
    stream.finish().expect("an end");
    drop(writer);
    file
}

#[test]
fn a_hundred_megapixels_are_made_small_in_time() {
    let program = Program::new();
    let path = program.put("workspace/large.png", large_png(10_000, 10_000));
    let mut server = start(&program);
    let begin = Instant::now();
    let result = read(&mut server, &path);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    assert!(success(&result).contains("10000"), "{result}");
    assert!(image(&result).1.len() <= 700 * 1024);
    let bomb = program.put("workspace/bomb.png", {
        let mut png = dot();
        // The header declares a size beyond the limit.
        png[16..24].copy_from_slice(&[0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0]);
        png
    });
    failure(&read(&mut server, &bomb));
    success(&read(&mut server, &path));
}
