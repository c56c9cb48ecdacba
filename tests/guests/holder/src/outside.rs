//! Resources that refer to external objects.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, FutureIncomingResponse, OutgoingRequest, Scheme};

use super::Holder;
use super::exports::test::holder::outside::{File, Guest, GuestFile, GuestNotes, GuestRequest, Request};
use super::scorpiox::tool::store;

pub struct Open(Descriptor);

impl Guest for Holder {
    type File = Open;
    type Request = Begun;
    type Notes = Notes;
}

impl GuestFile for Open {
    fn open(path: String, write: bool) -> Result<File, String> {
        let folders = get_directories();
        let (folder, _) = folders.into_iter().find(|(_, name)| name == ".").ok_or("no folder")?;
        let (create, flags) = if write {
            (OpenFlags::CREATE, DescriptorFlags::READ | DescriptorFlags::WRITE)
        } else {
            (OpenFlags::empty(), DescriptorFlags::READ)
        };
        let file = folder.open_at(PathFlags::empty(), &path, create, flags);
        Ok(File::new(Self(file.map_err(|error| error.name().to_owned())?)))
    }

    fn write(&self, text: String) -> Result<u64, String> {
        self.0.write(text.as_bytes(), 0).map_err(|error| error.name().to_owned())
    }

    fn read(&self) -> Result<String, String> {
        let (bytes, _) = self.0.read(1 << 20, 0).map_err(|error| error.name().to_owned())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

pub struct Begun(FutureIncomingResponse);

impl GuestRequest for Begun {
    fn begin(authority: String, path: String) -> Result<Request, String> {
        let request = OutgoingRequest::new(Fields::new());
        let refused = |()| "it cannot be set".to_owned();
        request.set_scheme(Some(&Scheme::Http)).map_err(refused)?;
        request.set_authority(Some(&authority)).map_err(refused)?;
        request.set_path_with_query(Some(&path)).map_err(refused)?;
        let response = handle(request, None).map_err(|error| format!("{error:?}"))?;
        Ok(Request::new(Self(response)))
    }

    fn answer(&self) -> Result<u16, String> {
        self.0.subscribe().block();
        let answer = self.0.get().ok_or("no answer")?.map_err(|()| "taken already")?;
        Ok(answer.map_err(|error| format!("{error:?}"))?.status())
    }
}

pub struct Notes;

impl GuestNotes for Notes {
    fn new() -> Self {
        Self
    }

    fn put(&self, key: String, value: String, after: String) -> Result<(), String> {
        store::set(&key, value.as_bytes()).map_err(|error| format!("{error:?}"))?;
        match after.as_str() {
            "fail" => Err("it failed on purpose".to_owned()),
            "trap" => panic!("on purpose"),
            _ => Ok(()),
        }
    }

    fn get(&self, key: String) -> Result<Option<String>, String> {
        let found = store::get(&key).map_err(|error| format!("{error:?}"))?;
        Ok(found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }
}
