//! Command-line program for WASI 0.3 that prints its arguments and its input, and exits as requested.

use wasip3::cli::{environment, exit, stderr, stdin, stdout};
use wasip3::clocks::monotonic_clock;

struct Program;

wasip3::cli::command::export!(Program);

async fn print(text: Vec<u8>) {
    let (mut writer, reader) = wasip3::wit_stream::new();
    let ended = stdout::write_via_stream(reader);
    let _ = writer.write_all(text).await;
    drop(writer);
    let _ = ended.await;
}

async fn complain(text: &str) {
    let (mut writer, reader) = wasip3::wit_stream::new();
    let ended = stderr::write_via_stream(reader);
    let _ = writer.write_all(text.as_bytes().to_vec()).await;
    drop(writer);
    let _ = ended.await;
}

impl wasip3::exports::cli::run::Guest for Program {
    async fn run() -> Result<(), ()> {
        let arguments = environment::get_arguments();
        let (input, _) = stdin::read_via_stream();
        let input = String::from_utf8_lossy(&input.collect().await).into_owned();
        print(format!("{:?} {input:?}\n", &arguments[1..]).into_bytes()).await;
        match arguments.get(1).map(String::as_str) {
            Some("fail") => {
                complain("it went wrong\n").await;
                Err(())
            }
            Some("exit") => {
                exit::exit_with_code(arguments[2].parse().unwrap_or(255));
                Ok(())
            }
            Some("flood") => {
                print(vec![b'x'; 16 * 1024 * 1024]).await;
                Ok(())
            }
            Some("later") => {
                wasip3::spawn_local(async {
                    monotonic_clock::wait_for(20_000_000).await;
                    print(b"and more\n".to_vec()).await;
                });
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
