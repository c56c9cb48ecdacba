//! Limits the request data that the host stores for a guest, as for WASI 0.2.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::p3::Request;
use wasmtime_wasi_http::p3::bindings::http::types::{HostRequest as _, Method, Scheme};

use crate::HasWasi;
use crate::requests::{MAX_AUTHORITY_BYTES, MAX_METHOD_BYTES, MAX_PATH_BYTES};

/// Name of the WASI interface.
const TYPES: &str = "wasi:http/types@0.3.0";

pub(super) fn link_bounded<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    type Done = wasmtime::Result<(Result<(), ()>,)>;
    type This = Resource<Request>;
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[method]request.set-method",
        |mut store: StoreContextMut<'_, T>, (request, method): (This, Method)| -> Done {
            if matches!(&method, Method::Other(name) if name.len() > MAX_METHOD_BYTES) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_method(request, method)?,))
        },
    )?;
    types.func_wrap(
        "[method]request.set-authority",
        |mut store: StoreContextMut<'_, T>, (request, authority): (This, Option<String>)| -> Done {
            if authority.as_ref().is_some_and(|authority| authority.len() > MAX_AUTHORITY_BYTES) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_authority(request, authority)?,))
        },
    )?;
    types.func_wrap(
        "[method]request.set-path-with-query",
        |mut store: StoreContextMut<'_, T>, (request, path): (This, Option<String>)| -> Done {
            if path.as_ref().is_some_and(|path| path.len() > MAX_PATH_BYTES) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_path_with_query(request, path)?,))
        },
    )?;
    types.func_wrap(
        "[method]request.set-scheme",
        |mut store: StoreContextMut<'_, T>, (request, scheme): (This, Option<Scheme>)| -> Done {
            if matches!(&scheme, Some(Scheme::Other(name)) if name.len() > MAX_METHOD_BYTES) {
                return Ok((Err(()),));
            }
            Ok((store.data_mut().http().set_scheme(request, scheme)?,))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}
