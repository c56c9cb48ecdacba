//! In-memory store, client, web and disk for tests of a tool's logic.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::client::Client;
use crate::files::{Files, FilesError};
use crate::store::{Entry, Order, Store, StoreError};
use crate::web::{Progress, Rendered, Request, Response, Web, WebError};

/// Store in a map. It counts reads and writes so that tests can assert the cost of an operation.
#[derive(Debug, Default, Clone)]
pub struct MemoryStore {
    entries: BTreeMap<String, Vec<u8>>,
    /// Number of entries read by `get` and `scan`.
    pub reads: usize,
    /// Number of entries written by `set`, `delete` and `increment`.
    pub writes: usize,
}

impl Store for MemoryStore {
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.reads += 1;
        Ok(self.entries.get(key).cloned())
    }

    fn set(&mut self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.writes += 1;
        self.entries.insert(key.to_owned(), value.to_vec());
        Ok(())
    }

    fn delete(&mut self, key: &str) -> Result<(), StoreError> {
        self.writes += 1;
        self.entries.remove(key);
        Ok(())
    }

    fn scan(
        &mut self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        order: Order,
    ) -> Result<Vec<Entry>, StoreError> {
        let entry = |(key, value): (&String, &Vec<u8>)| Entry { key: key.clone(), value: value.clone() };
        let limit = limit.min(1000) as usize;
        let within = |key: &String| key.starts_with(prefix);
        let found: Vec<Entry> = match order {
            Order::Ascending => {
                let start = match after {
                    Some(after) if after >= prefix => Bound::Excluded(after.to_owned()),
                    _ => Bound::Included(prefix.to_owned()),
                };
                let range = self.entries.range((start, Bound::Unbounded));
                range.take_while(|(key, _)| within(key)).take(limit).map(entry).collect()
            }
            Order::Descending => {
                let below = after.map(str::to_owned);
                let range = self.entries.range(prefix.to_owned()..).take_while(|(key, _)| within(key));
                let kept = range.filter(|(key, _)| below.as_ref().is_none_or(|b| *key < b));
                let mut kept: Vec<_> = kept.map(entry).collect();
                kept.reverse();
                kept.truncate(limit);
                kept
            }
        };
        self.reads += found.len();
        Ok(found)
    }

    fn increment(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        let now = self.get(key)?.map_or(Ok(0), |bytes| crate::store::decode::<i64>(key, &bytes))?;
        self.set(key, (now + delta).to_string().as_bytes())?;
        Ok(now + delta)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Client with the usual result length and a prefix for tool names.
#[derive(Debug, Clone, Copy)]
pub struct MemoryClient {
    /// Maximum length of a result, in characters.
    pub room: usize,
    /// Prefix of tool names.
    pub prefix: &'static str,
}

impl Default for MemoryClient {
    fn default() -> Self {
        Self { room: 17_600, prefix: "" }
    }
}

impl Client for MemoryClient {
    fn room(&self) -> usize {
        self.room
    }

    fn tool_name(&self, tool: &str) -> String {
        format!("{}{tool}", self.prefix)
    }
}

/// Web where every URL has the same response, and there is no browser.
#[derive(Debug, Clone, Copy)]
pub struct MemoryWeb<'a> {
    /// Value of the `Content-Type` header.
    pub content_type: &'a str,
    /// Body of the response.
    pub body: &'a [u8],
}

impl Web for MemoryWeb<'_> {
    fn fetch(&mut self, request: Request) -> Result<Response, WebError> {
        let headers = vec![("content-type".to_owned(), self.content_type.to_owned())];
        Ok(Response { url: request.url, status: 200, headers, body: self.body.to_vec() })
    }

    fn begin(&mut self, _request: Request) -> Result<u32, WebError> {
        Err(WebError::Failed("one request at a time".to_owned()))
    }

    fn next(&mut self, _timeout_ms: u32) -> Option<(u32, Result<Response, WebError>)> {
        None
    }

    fn render(&mut self, _url: &str, _wait_ms: u32) -> Result<Rendered, WebError> {
        Err(WebError::NoBrowser("There is no browser.".to_owned()))
    }
}

/// Disk where every path has the same content.
#[derive(Debug, Clone, Copy)]
pub struct MemoryFiles<'a>(pub &'a [u8]);

impl Files for MemoryFiles<'_> {
    fn read(&mut self, _path: &str, limit: u64) -> Result<Vec<u8>, FilesError> {
        let length = self.0.len() as u64;
        if length > limit { Err(FilesError::TooLarge(length)) } else { Ok(self.0.to_vec()) }
    }
}

/// Progress sink that discards all reports.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn report(&mut self, _done: u32, _total: Option<u32>, _message: &str) {}
}
