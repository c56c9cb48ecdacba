//! Command-line program that prints its arguments and its input, and exits as requested.

use wasip2::cli::{environment, exit, stderr, stdin, stdout};

struct Program;

wasip2::cli::command::export!(Program);

impl wasip2::exports::cli::run::Guest for Program {
    fn run() -> Result<(), ()> {
        let arguments = environment::get_arguments();
        let mut input = Vec::new();
        let stream = stdin::get_stdin();
        while let Ok(chunk) = stream.blocking_read(4096) {
            input.extend(chunk);
        }
        let input = String::from_utf8_lossy(&input).into_owned();
        let text = format!("{:?} {input:?}\n", &arguments[1..]);
        let command = arguments.get(1).map(String::as_str);
        if command != Some("bytes") {
            let _ = stdout::get_stdout().blocking_write_and_flush(text.as_bytes());
        }
        match command {
            Some("fail") => {
                let _ = stderr::get_stderr().blocking_write_and_flush(b"it went wrong\n");
                Err(())
            }
            Some("exit") => {
                exit::exit_with_code(arguments[2].parse().unwrap_or(255));
                Ok(())
            }
            // Writes each argument separately.
            Some("bytes") => {
                for hex in &arguments[2..] {
                    let bytes = (0..hex.len() / 2)
                        .filter_map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok())
                        .collect::<Vec<_>>();
                    let _ = stdout::get_stdout().blocking_write_and_flush(&bytes);
                }
                Ok(())
            }
            Some("forever") => {
                let out = stdout::get_stdout();
                loop {
                    let _ = out.blocking_write_and_flush(b"and so on ");
                }
            }
            Some("flood") => {
                let out = stdout::get_stdout();
                for _ in 0..4096 {
                    let _ = out.blocking_write_and_flush(&[b'x'; 4096]);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
