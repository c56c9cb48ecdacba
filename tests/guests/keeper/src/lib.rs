//! Component that reads its configuration, writes to the log, and stores values in buckets.

wit_bindgen::generate!({ path: "wit", world: "keeper", generate_all });

use wasi::config::store as config;
use wasi::keyvalue::{atomics, batch, store};
use wasi::logging::logging::{self, Level};

struct Keeper;

fn said(error: impl std::fmt::Debug) -> String {
    format!("{error:?}")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Guest for Keeper {
    fn setting(name: String) -> Result<Option<String>, String> {
        config::get(&name).map_err(said)
    }

    fn settings() -> Result<Vec<(String, String)>, String> {
        config::get_all().map_err(said)
    }

    fn log(context: String, message: String, times: u32) {
        for number in 0..times {
            logging::log(Level::Warn, &context, &format!("{message} {number}"));
        }
    }

    fn put(bucket: String, key: String, value: String) -> Result<(), String> {
        store::open(&bucket).and_then(|bucket| bucket.set(&key, value.as_bytes())).map_err(said)
    }

    fn put_many(bucket: String, count: u32) -> Result<(), String> {
        let pairs: Vec<_> = (0..count).map(|n| (format!("key{n:06}"), vec![1])).collect();
        let bucket = store::open(&bucket).map_err(said)?;
        batch::set_many(&bucket, &pairs).map_err(said)
    }

    fn put_in_vain(bucket: String, key: String) -> Result<(), String> {
        store::open(&bucket).and_then(|bucket| bucket.set(&key, b"x")).map_err(said)?;
        Err("in vain".to_owned())
    }

    fn fetch(bucket: String, key: String) -> Result<Option<String>, String> {
        let bucket = store::open(&bucket).map_err(said)?;
        let one = bucket.get(&key).map_err(said)?;
        let many = batch::get_many(&bucket, &[key.clone()]).map_err(said)?;
        assert_eq!(many, [one.clone().map(|value| (key.clone(), value))]);
        assert_eq!(bucket.exists(&key).map_err(said)?, one.is_some());
        Ok(one.map(text))
    }

    fn remove(bucket: String, key: String) -> Result<bool, String> {
        let bucket = store::open(&bucket).map_err(said)?;
        bucket.delete(&key).map_err(said)?;
        bucket.exists(&key).map(|exists| !exists).map_err(said)
    }

    fn add(bucket: String, key: String, delta: u64) -> Result<u64, String> {
        let bucket = store::open(&bucket).map_err(said)?;
        atomics::increment(&bucket, &key, delta).map_err(said)
    }

    fn keys(bucket: String) -> Result<(Vec<String>, u32), String> {
        let bucket = store::open(&bucket).map_err(said)?;
        let (mut keys, mut pages, mut cursor) = (Vec::new(), 0, None);
        loop {
            let page = bucket.list_keys(cursor).map_err(said)?;
            keys.extend(page.keys);
            pages += 1;
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok((keys, pages));
            }
        }
    }
}

export!(Keeper);
