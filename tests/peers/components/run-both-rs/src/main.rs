//! A program for WASI 0.3 whose build for 0.2 leaves `main` as a stub.

wasip3::cli::command::export!(Peer);

struct Peer;

impl wasip3::exports::cli::run::Guest for Peer {
    async fn run() -> Result<(), ()> {
        let args = wasip3::cli::environment::get_arguments();
        let text = format!("0.3 with {}\n", args[1..].join(" "));
        let (mut sender, receiver) = wasip3::wit_stream::new();
        wasip3::wit_bindgen::spawn_local(async move {
            sender.write_all(text.into_bytes()).await;
        });
        wasip3::cli::stdout::write_via_stream(receiver).await.map_err(|_| ())
    }
}

fn main() {
    eprintln!("This is a program for WASI 0.3.");
    std::process::exit(1);
}
