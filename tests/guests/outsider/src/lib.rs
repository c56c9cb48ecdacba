//! Component without any knowledge of this project that tries the functions of WASI.

wit_bindgen::generate!({ path: "wit", world: "outsider" });

mod files;
mod requests;
mod sockets;

use wasip2::cli::{environment, exit, stderr, stdin, stdout};
use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::random::{insecure, insecure_seed, random};

struct Outsider;

impl Guest for Outsider {
    fn folders() -> Vec<String> {
        wasip2::filesystem::preopens::get_directories().into_iter().map(|(_, name)| name).collect()
    }

    fn read_file(path: String) -> Result<String, String> {
        files::read(&path)
    }

    fn write_file(path: String, text: String) -> Result<u64, String> {
        files::write(&path, &text)
    }

    fn create_new(path: String) -> Result<(), String> {
        files::create_new(&path)
    }

    fn truncate(path: String) -> Result<(), String> {
        files::truncate(&path)
    }

    fn names_in(path: String) -> Result<Vec<String>, String> {
        files::names(&path)
    }

    fn size_of(path: String) -> Result<u64, String> {
        files::size(&path)
    }

    fn make_folder(path: String) -> Result<(), String> {
        files::at(&path, |folder, path| folder.create_directory_at(path))
    }

    fn remove_folder(path: String) -> Result<(), String> {
        files::at(&path, |folder, path| folder.remove_directory_at(path))
    }

    fn remove_file(path: String) -> Result<(), String> {
        files::at(&path, |folder, path| folder.unlink_file_at(path))
    }

    fn move_to(old: String, new: String) -> Result<(), String> {
        files::move_to(&old, &new)
    }

    fn hard_link(old: String, new: String) -> Result<(), String> {
        files::hard_link(&old, &new)
    }

    fn soft_link(target: String, path: String) -> Result<(), String> {
        files::at(&path, |folder, path| folder.symlink_at(&target, path))
    }

    fn link_target(path: String) -> Result<String, String> {
        files::at(&path, |folder, path| folder.readlink_at(path))
    }

    fn touch(path: String) -> Result<(), String> {
        files::touch(&path)
    }

    fn read_from(folder: String, path: String) -> Result<String, String> {
        files::read_from(&folder, &path)
    }

    fn variables() -> Vec<(String, String)> {
        environment::get_environment()
    }

    fn arguments() -> Vec<String> {
        environment::get_arguments()
    }

    fn working_folder() -> Option<String> {
        environment::initial_cwd()
    }

    fn times() -> (u64, u64, u64) {
        let before = monotonic_clock::now();
        let work: u64 = (0..200_000u64).fold(0, |sum, n| sum.wrapping_mul(31) ^ n);
        std::hint::black_box(work);
        (wall_clock::now().seconds, before, monotonic_clock::now())
    }

    fn random(count: u64) -> Vec<u8> {
        random::get_random_bytes(count)
    }

    fn seeds() -> (u64, u64, u64, u64) {
        let (low, high) = insecure_seed::insecure_seed();
        (low, high, insecure::get_insecure_random_u64(), random::get_random_u64())
    }

    fn sleep(milliseconds: u64) {
        monotonic_clock::subscribe_duration(milliseconds * 1_000_000).block();
    }

    fn wait_for_ever() {
        monotonic_clock::subscribe_duration(u64::MAX).block();
    }

    fn wait_for_input() -> Result<Vec<u8>, String> {
        stdin::get_stdin().blocking_read(100).map_err(|error| format!("{error:?}"))
    }

    fn print(text: String) {
        let _ = stdout::get_stdout().blocking_write_and_flush(text.as_bytes());
        let _ = stderr::get_stderr().blocking_write_and_flush(b"a complaint\n");
    }

    fn leave(code: u8) {
        let _ = stderr::get_stderr().blocking_write_and_flush(b"it leaves\n");
        exit::exit_with_code(code);
    }

    fn connect(port: u16) -> Result<(), String> {
        sockets::connect(port)
    }

    fn listen() -> Result<(), String> {
        sockets::listen()
    }

    fn datagram() -> Result<(), String> {
        sockets::datagram()
    }

    fn look_up(name: String) -> Result<(), String> {
        sockets::look_up(&name)
    }

    fn request(
        method: String,
        scheme: String,
        authority: String,
        path: String,
        body: String,
    ) -> Result<(u16, String), String> {
        requests::send(&method, &scheme, &authority, &path, &body)
    }

    fn keep_methods(count: u32, bytes: u32) -> u32 {
        requests::keep_methods(count, bytes)
    }

    fn hoard() -> u32 {
        let mut held = Vec::new();
        loop {
            // Each is a resource of the host.
            held.push(monotonic_clock::subscribe_duration(0));
            if held.len() > 1_000_000 {
                return u32::MAX;
            }
        }
    }
}

export!(Outsider);
