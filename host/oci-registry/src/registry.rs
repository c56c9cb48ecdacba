//! Client for one repository of a registry (OCI Distribution 1.1).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use scorpiox_web::{Arrived, Courier, Gauge, Times, Transfer, is_same_origin};
use url::Url;

use crate::address::{Repository, Version};
use crate::authorization::{Asks, without_credentials};
use crate::credentials::Keyring;
use crate::digest::Digest;
use crate::error::{RegistryError, said};
use crate::manifest::Layer;
use crate::{INDEX_TYPE, MANIFEST_TYPE, MAX_MANIFEST_BYTES};

/// Timeouts for small content. A registry that depends on another one may need some seconds.
pub(crate) const QUICK: Times = Times { silence: Duration::from_secs(20), whole: Duration::from_secs(30) };
/// Timeouts for a file: 136 MiB in ten minutes are 2 Mbit/s, slower than any usual connection.
pub(crate) const LARGE: Times = Times { silence: Duration::from_secs(30), whole: Duration::from_mins(10) };

/// Timeouts of requests.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For small content.
    pub quick: Times,
    /// For a file.
    pub large: Times,
}

impl Default for Patience {
    fn default() -> Self {
        Self { quick: QUICK, large: LARGE }
    }
}

/// Access to a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Pull,
    Push,
}

impl Access {
    pub(crate) const fn scope(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "pull,push",
        }
    }
}

/// Client for one repository.
pub struct Registry<'a> {
    courier: &'a Courier,
    keyring: &'a dyn Keyring,
    repository: Repository,
    access: Access,
    pub(crate) patience: Patience,
    /// Authorization that the registry accepted, or that the next request tries.
    authorization: Option<HeaderValue>,
    /// Description of the credentials in use.
    whose: Option<String>,
}

/// A received manifest.
pub(crate) struct Got {
    pub(crate) bytes: Vec<u8>,
    /// Digest of these bytes.
    pub(crate) digest: Digest,
    pub(crate) content_type: String,
}

/// A request to a repository.
pub(crate) struct Wanted {
    /// Requested content, for errors.
    pub(crate) what: String,
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) limit: u64,
    pub(crate) times: Times,
    /// Reason for the limit, to complete the sentence "more than the … bytes that".
    pub(crate) of: &'static str,
    pub(crate) gauge: Option<Arc<Gauge>>,
}

impl<'a> Registry<'a> {
    /// Creates a client with read access.
    pub fn new(courier: &'a Courier, keyring: &'a dyn Keyring, repository: &Repository) -> Self {
        let (repository, access) = (repository.clone(), Access::Pull);
        Self {
            courier,
            keyring,
            repository,
            access,
            patience: Patience::default(),
            authorization: None,
            whose: None,
        }
    }

    /// Creates a client with write access.
    pub(crate) fn for_push(courier: &'a Courier, keyring: &'a dyn Keyring, repository: &Repository) -> Self {
        Self { access: Access::Push, ..Self::new(courier, keyring, repository) }
    }

    /// Sets the timeouts.
    #[must_use]
    pub fn patient(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Fetches a manifest or index. If the version is a digest, the content must match it.
    pub(crate) fn manifest(&mut self, version: &Version) -> Result<Got, RegistryError> {
        let mut headers = HeaderMap::new();
        for accepted in [MANIFEST_TYPE, INDEX_TYPE] {
            headers.append(ACCEPT, HeaderValue::from_static(accepted));
        }
        let what = match version {
            Version::Tag(tag) => format!("oci://{}/{}:{tag}", self.repository.host(), self.repository.name()),
            Version::Digest(digest) => {
                format!("oci://{}/{}@{digest}", self.repository.host(), self.repository.name())
            }
        };
        let arrived = self.get(&what, &format!("manifests/{version}"), headers)?;
        let digest = Digest::of(&arrived.body);
        if let Version::Digest(expected) = version
            && *expected != digest
        {
            return Err(RegistryError::Digest { what, found: digest, expected: expected.clone() });
        }
        let content_type = arrived.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        Ok(Got { bytes: arrived.body, digest, content_type })
    }

    /// Fetches small content.
    pub(crate) fn get(
        &mut self,
        what: &str,
        rest: &str,
        headers: HeaderMap,
    ) -> Result<Arrived, RegistryError> {
        let url = self.repository.url(rest);
        self.get_at(what, url, headers, MAX_MANIFEST_BYTES)
    }

    pub(crate) fn get_at(
        &mut self,
        what: &str,
        url: Url,
        headers: HeaderMap,
        limit: u64,
    ) -> Result<Arrived, RegistryError> {
        let wanted = Wanted {
            what: what.to_owned(),
            method: Method::GET,
            url,
            headers,
            body: Bytes::new(),
            limit,
            times: self.patience.quick,
            of: "a manifest may have",
            gauge: None,
        };
        match self.ask(&wanted)? {
            arrived if arrived.status == 200 => Ok(arrived),
            arrived => Err(RegistryError::status(what, &arrived)),
        }
    }

    /// Fetches the content of a layer and checks its size and digest.
    pub(crate) fn layer(&mut self, layer: &Layer, gauge: &Arc<Gauge>) -> Result<Vec<u8>, RegistryError> {
        self.blob((&layer.digest, layer.size), self.patience.large, Some(gauge))
    }

    pub(crate) fn blob(
        &mut self,
        (digest, size): (&Digest, u64),
        times: Times,
        gauge: Option<&Arc<Gauge>>,
    ) -> Result<Vec<u8>, RegistryError> {
        let what = format!("layer {digest} of oci://{}/{}", self.repository.host(), self.repository.name());
        let wanted = Wanted {
            what: what.clone(),
            method: Method::GET,
            url: self.repository.url(&format!("blobs/{digest}")),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            limit: size,
            times,
            of: "its manifest says it has",
            gauge: gauge.cloned(),
        };
        let arrived = self.ask(&wanted)?;
        if arrived.status != 200 {
            return Err(RegistryError::status(&what, &arrived));
        }
        let found = Digest::of(&arrived.body);
        if found != *digest {
            return Err(RegistryError::Digest { what, found, expected: digest.clone() });
        }
        Ok(arrived.body)
    }

    /// Sends a request; on a refusal, authenticates once.
    pub(crate) fn ask(&mut self, wanted: &Wanted) -> Result<Arrived, RegistryError> {
        let arrived = self.carry(wanted)?;
        // The target of a redirect must not choose the token server.
        let is_own = is_same_origin(&arrived.url, self.repository.base());
        if !matches!(arrived.status, 401 | 403) || !is_own {
            return Ok(arrived);
        }
        if arrived.status == 401 && self.authorization.is_none() {
            let asks = Asks {
                courier: self.courier,
                keyring: self.keyring,
                repository: &self.repository,
                access: self.access,
            };
            let (authorization, whose) = asks.answer(&arrived)?;
            (self.authorization, self.whose) = (Some(authorization), whose);
            let again = self.carry(wanted)?;
            if !matches!(again.status, 401 | 403) {
                return Ok(again);
            }
            return Err(self.unauthorized(wanted, &again));
        }
        Err(self.unauthorized(wanted, &arrived))
    }

    fn carry(&self, wanted: &Wanted) -> Result<Arrived, RegistryError> {
        let is_own = is_same_origin(&wanted.url, self.repository.base());
        let transfer = Transfer {
            method: wanted.method.clone(),
            url: wanted.url.clone(),
            headers: wanted.headers.clone(),
            authorization: self.authorization.clone().filter(|_| is_own),
            body: wanted.body.clone(),
            limit: wanted.limit,
            times: wanted.times,
            gauge: wanted.gauge.clone(),
        };
        let carried = self.courier.carry(transfer);
        carried.map_err(|error| RegistryError::web(&wanted.what, error, wanted.of))
    }

    fn unauthorized(&self, wanted: &Wanted, arrived: &Arrived) -> RegistryError {
        let host = self.repository.host();
        let fix = match &self.whose {
            Some(whose) => {
                format!(
                    "the credentials for {host} are not accepted, or do not suffice for `{}` ({whose})",
                    self.access.scope()
                )
            }
            None => without_credentials(host),
        };
        RegistryError::Unauthorized { what: wanted.what.clone(), said: said(&arrived.body), fix }
    }
}
