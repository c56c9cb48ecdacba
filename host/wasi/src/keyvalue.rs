//! `wasi:keyvalue`: buckets in the component's data of the workspace, which require `[capabilities.store]`.
//! The writes of a call are committed only if the call succeeds.

use scorpiox_store::{Order, StoreError};
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Linker, LinkerInstance, Lower, Resource, ResourceType};

use super::HasWasi;
use scorpiox_capabilities::store::StoreCtx;
use scorpiox_capabilities::view::View;

/// Versions of the interface in use. They differ only in the type of a cursor.
const DRAFT: &str = "0.2.0-draft";
const DRAFT_2: &str = "0.2.0-draft2";

/// Maximum number of keys in a page of a listing.
const PAGE: u32 = 1000;
/// Maximum length of a bucket's name in bytes.
const MAX_NAME_BYTES: usize = 64;

#[derive(Debug, ComponentType, Lower)]
#[component(variant)]
enum Error {
    #[component(name = "no-such-store")]
    NoSuchStore,
    #[component(name = "access-denied")]
    AccessDenied,
    #[component(name = "other")]
    Other(String),
}

/// A collection of keys.
struct Bucket {
    /// Prefix of the bucket's keys in the store.
    prefix: String,
}

#[derive(ComponentType, Lower)]
#[component(record)]
struct Keys<Cursor> {
    keys: Vec<String>,
    cursor: Option<Cursor>,
}

type Guest<V> = wasmtime::Result<(Result<V, Error>,)>;
type In = Resource<Bucket>;

/// Returns the names of the interfaces.
pub(super) fn names() -> impl Iterator<Item = String> {
    let [stores, batches] =
        ["store", "batch"].map(|interface| [DRAFT, DRAFT_2].map(|version| (interface, version)));
    let all = stores.into_iter().chain(batches).chain([("atomics", DRAFT)]);
    all.map(|(interface, version)| format!("wasi:keyvalue/{interface}@{version}"))
}

/// Adds all interfaces to a linker.
pub(super) fn link<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    for version in [DRAFT, DRAFT_2] {
        let mut store = linker.instance(&format!("wasi:keyvalue/store@{version}"))?;
        link_store(&mut store)?;
        if version == DRAFT {
            store.func_wrap("[method]bucket.list-keys", |store, (bucket, cursor): (In, Option<u64>)| {
                list(store, &bucket, cursor, |next| next)
            })?;
        } else {
            store.func_wrap(
                "[method]bucket.list-keys",
                |store, (bucket, cursor): (In, Option<String>)| {
                    let cursor = cursor.map(|cursor| cursor.parse().unwrap_or(u64::MAX));
                    list(store, &bucket, cursor, |next| next.to_string())
                },
            )?;
        }
        link_batch(&mut linker.instance(&format!("wasi:keyvalue/batch@{version}"))?)?;
    }
    let mut atomics = linker.instance(&format!("wasi:keyvalue/atomics@{DRAFT}"))?;
    atomics.func_wrap("increment", |mut store, (bucket, key, delta): (In, String, u64)| -> Guest<u64> {
        let Ok(delta) = i64::try_from(delta) else {
            return Ok((Err(Error::Other(format!("{delta} is more than can be added"))),));
        };
        with(&mut store, &bucket, |view, prefix| {
            let key = format!("{prefix}{key}");
            view.call.transaction.get()?.increment(&view.call.name, &key, delta, view.ctx.quota())
        })
        .map(|(sum,)| (sum.map(i64::cast_unsigned),))
    })
}

fn link_store<T: HasWasi>(store: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    store.resource("bucket", ResourceType::host::<Bucket>(), |mut store, rep| {
        store.data_mut().table().delete(Resource::<Bucket>::new_own(rep))?;
        Ok(())
    })?;
    store.func_wrap("open", |mut store: StoreContextMut<'_, T>, (name,): (String,)| -> Guest<In> {
        let data = store.data_mut();
        if data.kept().is_none() {
            return Ok((Err(Error::AccessDenied),));
        }
        if name.len() > MAX_NAME_BYTES {
            return Ok((Err(Error::NoSuchStore),));
        }
        // The length of the name makes the combination of name and key unambiguous.
        let prefix = format!("keyvalue/{}/{name}/", name.len());
        Ok((Ok(data.table().push(Bucket { prefix })?),))
    })?;
    store.func_wrap("[method]bucket.get", |mut store, (bucket, key): (In, String)| -> Guest<_> {
        with(&mut store, &bucket, |view, prefix| get(view, prefix, &key))
    })?;
    store.func_wrap(
        "[method]bucket.set",
        |mut store, (bucket, key, value): (In, String, Vec<u8>)| -> Guest<()> {
            with(&mut store, &bucket, |view, prefix| set(view, prefix, &key, &value))
        },
    )?;
    store.func_wrap("[method]bucket.delete", |mut store, (bucket, key): (In, String)| -> Guest<()> {
        with(&mut store, &bucket, |view, prefix| delete(view, prefix, &key))
    })?;
    store.func_wrap("[method]bucket.exists", |mut store, (bucket, key): (In, String)| -> Guest<bool> {
        with(&mut store, &bucket, |view, prefix| Ok(get(view, prefix, &key)?.is_some()))
    })
}

fn link_batch<T: HasWasi>(batch: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    type Found = Vec<Option<(String, Vec<u8>)>>;
    batch.func_wrap("get-many", |mut store, (bucket, keys): (In, Vec<String>)| -> Guest<Found> {
        with(&mut store, &bucket, |view, prefix| {
            let found = keys.into_iter().map(|key| Ok(get(view, prefix, &key)?.map(|value| (key, value))));
            found.collect()
        })
    })?;
    batch.func_wrap("set-many", |mut store, (bucket, pairs): (In, Vec<(String, Vec<u8>)>)| -> Guest<()> {
        with(&mut store, &bucket, |view, prefix| {
            pairs.iter().try_for_each(|(key, value)| set(view, prefix, key, value))
        })
    })?;
    batch.func_wrap("delete-many", |mut store, (bucket, keys): (In, Vec<String>)| -> Guest<()> {
        with(&mut store, &bucket, |view, prefix| keys.iter().try_for_each(|key| delete(view, prefix, key)))
    })
}

type Kept<'a> = View<'a, StoreCtx>;

fn get(view: &mut Kept<'_>, prefix: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    view.call.transaction.get()?.get(&view.call.name, &format!("{prefix}{key}"))
}

fn set(view: &mut Kept<'_>, prefix: &str, key: &str, value: &[u8]) -> Result<(), StoreError> {
    let key = format!("{prefix}{key}");
    view.call.transaction.get()?.set(&view.call.name, &key, value, view.ctx.quota())
}

fn delete(view: &mut Kept<'_>, prefix: &str, key: &str) -> Result<(), StoreError> {
    view.call.transaction.get()?.delete(&view.call.name, &format!("{prefix}{key}"))
}

/// Returns a page of keys. The cursor is the number of keys already listed.
fn list<T: HasWasi, C>(
    mut store: StoreContextMut<'_, T>,
    bucket: &In,
    cursor: Option<u64>,
    next: impl Fn(u64) -> C,
) -> Guest<Keys<C>> {
    let begin = cursor.unwrap_or(0);
    with(&mut store, bucket, |view, prefix| {
        let mut skipped = 0;
        let mut after: Option<String> = None;
        loop {
            // A cursor cannot contain a key, so the preceding pages are read again.
            let limit = u32::try_from(begin - skipped).unwrap_or(PAGE).clamp(1, PAGE);
            let limit = if skipped == begin { PAGE } else { limit };
            let transaction = view.call.transaction.get()?;
            let page =
                transaction.scan(&view.call.name, prefix, after.as_deref(), limit, Order::Ascending)?;
            if skipped == begin {
                let listed = page.len() as u64;
                let keys = page.into_iter().map(|entry| entry.key[prefix.len()..].to_owned()).collect();
                let cursor = (listed == u64::from(PAGE)).then(|| next(begin + listed));
                return Ok(Keys { keys, cursor });
            }
            let Some(last) = page.last() else { return Ok(Keys { keys: Vec::new(), cursor: None }) };
            after = Some(last.key.clone());
            skipped += page.len() as u64;
        }
    })
}

/// Runs `act` on the component's data. An error that the guest cannot handle ends its run.
fn with<T: HasWasi, V>(
    store: &mut StoreContextMut<'_, T>,
    bucket: &In,
    act: impl FnOnce(&mut Kept<'_>, &str) -> Result<V, StoreError>,
) -> Guest<V> {
    let data = store.data_mut();
    let prefix = data.table().get(bucket)?.prefix.clone();
    let Some(mut view) = data.kept() else { return Ok((Err(Error::AccessDenied),)) };
    view.call.use_of("store");
    match act(&mut view, &prefix) {
        Ok(value) => Ok((Ok(value),)),
        Err(error @ (StoreError::Conflict | StoreError::Cancelled)) => Err(error.into()),
        Err(error) => {
            view.call.uses.failed("wasi:keyvalue", &error);
            Ok((Err(Error::Other(error.to_string())),))
        }
    }
}
