//! Component that tries the functions of WASI 0.3, with asynchronous exports.

wasip3::wit_bindgen::generate!({ path: "wit", world: "newer", runtime_path: "wasip3::wit_bindgen::rt" });

mod files;
mod requests;

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::task::Poll;

use exports::test::newer::jars::{Guest as Jars, GuestJar};
use wasip3::cli::{environment, exit, stderr, stdout};
use wasip3::clocks::{monotonic_clock, system_clock};
use wasip3::sockets::ip_name_lookup::resolve_addresses;
use wasip3::sockets::types::{IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, TcpSocket};
use wasip3::wit_bindgen::{FutureReader, StreamReader, spawn_local, yield_async};

const MILLISECOND: u64 = 1_000_000;

struct Newer;

export!(Newer);

impl Guest for Newer {
    fn folders() -> Vec<String> {
        wasip3::filesystem::preopens::get_directories().into_iter().map(|(_, name)| name).collect()
    }

    async fn read_file(path: String) -> Result<String, String> {
        files::read(&path).await
    }

    async fn write_file(path: String, text: String) -> Result<(), String> {
        files::write(&path, text, false).await
    }

    async fn append_to(path: String, text: String) -> Result<(), String> {
        files::write(&path, text, true).await
    }

    async fn names_in(path: String) -> Result<Vec<String>, String> {
        files::names(&path).await
    }

    async fn size_of(path: String) -> Result<u64, String> {
        files::size(&path).await
    }

    async fn make_folder(path: String) -> Result<(), String> {
        let (folder, path) = files::place(&path)?;
        folder.create_directory_at(path).await.map_err(files::said)
    }

    async fn remove_folder(path: String) -> Result<(), String> {
        let (folder, path) = files::place(&path)?;
        folder.remove_directory_at(path).await.map_err(files::said)
    }

    async fn remove_file(path: String) -> Result<(), String> {
        let (folder, path) = files::place(&path)?;
        folder.unlink_file_at(path).await.map_err(files::said)
    }

    async fn move_to(old: String, new: String) -> Result<(), String> {
        let ((from, old), (to, new)) = (files::place(&old)?, files::place(&new)?);
        from.rename_at(old, &to, new).await.map_err(files::said)
    }

    async fn hard_link(old: String, new: String) -> Result<(), String> {
        let ((from, old), (to, new)) = (files::place(&old)?, files::place(&new)?);
        from.link_at(files::no_flags(), old, &to, new).await.map_err(files::said)
    }

    async fn soft_link(target: String, path: String) -> Result<(), String> {
        let (folder, path) = files::place(&path)?;
        folder.symlink_at(target, path).await.map_err(files::said)
    }

    async fn link_target(path: String) -> Result<String, String> {
        let (folder, path) = files::place(&path)?;
        folder.readlink_at(path).await.map_err(files::said)
    }

    async fn touch(path: String) -> Result<(), String> {
        files::touch(&path).await
    }

    async fn flood(path: String, bytes: u64) -> Result<(), String> {
        let zeros = files::zeros(&path, bytes).await?;
        stdout::write_via_stream(zeros).await.map_err(|error| format!("{error:?}"))
    }

    fn variables() -> Vec<(String, String)> {
        environment::get_environment()
    }

    fn arguments() -> Vec<String> {
        environment::get_arguments()
    }

    fn times() -> (i64, u64, u64) {
        let before = monotonic_clock::now();
        let work: u64 = (0..1_000_000).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        std::hint::black_box(work);
        (system_clock::now().seconds, before, monotonic_clock::now())
    }

    fn random(count: u64) -> Vec<u8> {
        wasip3::random::random::get_random_bytes(count)
    }

    async fn sleep(milliseconds: u64) -> u64 {
        monotonic_clock::wait_for(milliseconds * MILLISECOND).await;
        milliseconds
    }

    async fn wait_for_ever() {
        monotonic_clock::wait_for(u64::MAX).await;
    }

    async fn spin() {
        spin().await;
    }

    async fn print(text: String) {
        print(text).await;
    }

    async fn leave(code: u8) {
        say(stderr::write_via_stream, "it leaves".to_owned()).await;
        exit::exit_with_code(code);
    }

    async fn connect(port: u16) -> Result<(), String> {
        let said = |error| format!("{error:?}");
        let socket = TcpSocket::create(IpAddressFamily::Ipv4).map_err(said)?;
        let to = Ipv4SocketAddress { port, address: (127, 0, 0, 1) };
        socket.connect(IpSocketAddress::Ipv4(to)).await.map_err(said)
    }

    async fn look_up(name: String) -> Result<(), String> {
        resolve_addresses(name).await.map(drop).map_err(|error| format!("{error:?}"))
    }

    async fn request_with_trailer(authority: String, name: String) -> Result<u16, String> {
        requests::send_with_trailer(&authority, &name).await
    }

    async fn request(
        method: String,
        authority: String,
        path: String,
        body: String,
    ) -> Result<(u16, String), String> {
        requests::send(&method, &authority, &path, body).await
    }

    async fn hoard() -> u32 {
        let mut waits = Vec::new();
        loop {
            let mut wait = Box::pin(monotonic_clock::wait_for(u64::MAX));
            poll_fn(|context| Poll::Ready(wait.as_mut().poll(context).is_ready())).await;
            waits.push(wait);
        }
    }

    async fn linger(how: String) -> String {
        let given = how.clone();
        // A yield passes the result to the host. A short wait may be over at once on a busy machine.
        spawn_local(async move {
            match how.as_str() {
                "waits" => pending().await,
                "sleeps" => monotonic_clock::wait_for(60_000 * MILLISECOND).await,
                "prints" => {
                    monotonic_clock::wait_for(20 * MILLISECOND).await;
                    print("printed after its result".to_owned()).await;
                }
                "spins" => {
                    yield_async().await;
                    spin().await;
                }
                "traps" => {
                    yield_async().await;
                    panic!("after its result");
                }
                _ => {}
            }
        });
        given
    }

    async fn bytes(count: u64) -> StreamReader<u8> {
        bytes(count)
    }

    async fn bytes_or(count: Option<u64>) -> Result<StreamReader<u8>, String> {
        count.map(bytes).ok_or_else(|| "no bytes today".to_owned())
    }

    fn numbers() -> StreamReader<u32> {
        wit_stream::new().1
    }

    fn later() -> FutureReader<u32> {
        wit_future::new(|| 7).1
    }
}

struct OneJar(String);

impl Jars for Newer {
    type Jar = OneJar;
}

impl GuestJar for OneJar {
    fn new(text: String) -> Self {
        Self(text)
    }

    async fn text(&self) -> String {
        monotonic_clock::wait_for(MILLISECOND).await;
        self.0.clone()
    }

    async fn linger(&self, how: String) -> String {
        <Newer as Guest>::linger(how).await;
        self.0.clone()
    }

    async fn bytes(&self, count: u64) -> StreamReader<u8> {
        bytes(count)
    }
}

async fn spin() {
    let mut at = 0_u64;
    loop {
        at = std::hint::black_box(at.wrapping_add(1));
    }
}

/// Returns this number of letters, in pieces.
fn bytes(count: u64) -> StreamReader<u8> {
    let (mut writer, reader) = wit_stream::new();
    spawn_local(async move {
        let mut left = usize::try_from(count).unwrap_or(usize::MAX);
        while left > 0 {
            let piece = left.min(4096);
            if !writer.write_all(vec![b'a'; piece]).await.is_empty() {
                return;
            }
            left -= piece;
        }
    });
    reader
}

async fn print(text: String) {
    say(stdout::write_via_stream, text).await;
}

/// Writes a complete text.
async fn say<E>(to: impl FnOnce(StreamReader<u8>) -> FutureReader<Result<(), E>>, text: String)
where
    Result<(), E>: 'static,
{
    let (mut writer, reader) = wasip3::wit_stream::new();
    let said = to(reader);
    let _ = writer.write_all(text.into_bytes()).await;
    drop(writer);
    let mut said = pin!(said.into_future());
    let _ = said.as_mut().await;
}
