//! An ordinary program: it prints its arguments and its input, and ends as it is told.

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
        let _ = stdout::get_stdout().blocking_write_and_flush(text.as_bytes());
        match arguments.get(1).map(String::as_str) {
            Some("fail") => {
                let _ = stderr::get_stderr().blocking_write_and_flush(b"it went wrong\n");
                Err(())
            }
            Some("exit") => {
                exit::exit_with_code(arguments[2].parse().unwrap_or(255));
                Ok(())
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
