//! Macros that connect a component's generated bindings to the kit's types. Each component has its own
//! bindings, so the glue code is expanded in each component.

/// Defines `tool_definition` and `tool_result` for a world that exports `tool`.
#[macro_export]
macro_rules! bridge_tool {
    () => {
        use exports::scorpiox::tool::tool::{ToolDefinition, ToolError, ToolResult};
        use scorpiox::tool::types::{Content, Hints, Image};

        fn tool_definition(definition: $crate::Definition) -> ToolDefinition {
            ToolDefinition {
                name: definition.name.to_owned(),
                title: definition.title.to_owned(),
                description: definition.description,
                input_schema: definition.input_schema.to_owned(),
                output_schema: definition.output_schema.map(str::to_owned),
                hints: Hints {
                    read_only: definition.hints.read_only,
                    destructive: definition.hints.destructive,
                    idempotent: definition.hints.idempotent,
                    open_world: definition.hints.open_world,
                },
            }
        }

        fn tool_result(result: Result<$crate::Output, $crate::Failure>) -> Result<ToolResult, ToolError> {
            match result {
                Ok(output) => {
                    let image = |image: $crate::Image| {
                        Content::Image(Image { data: image.data, mime_type: image.mime_type })
                    };
                    let text = std::iter::once(Content::Text(output.text));
                    let content = text.chain(output.images.into_iter().map(image)).collect();
                    Ok(ToolResult { content, structured: output.structured })
                }
                Err(failure) => Err(tool_error(failure)),
            }
        }

        fn tool_error(failure: $crate::Failure) -> ToolError {
            match failure {
                $crate::Failure::InvalidInput(text) => ToolError::InvalidInput(text),
                $crate::Failure::NotFound(text) => ToolError::NotFound(text),
                $crate::Failure::Denied(text) => ToolError::Denied(text),
                $crate::Failure::TimedOut(text) => ToolError::TimedOut(text),
                $crate::Failure::Failed(text) => ToolError::Failed(text),
                $crate::Failure::Cancelled => ToolError::Cancelled,
            }
        }
    };
}

/// Defines `HostClient`, which implements [`Client`](crate::Client) with the imported `bounds` interface.
#[macro_export]
macro_rules! bridge_client {
    () => {
        use scorpiox::tool::bounds;

        struct HostClient;

        impl $crate::Client for HostClient {
            fn room(&self) -> usize {
                bounds::result_characters() as usize
            }

            fn tool_name(&self, tool: &str) -> String {
                bounds::tool_name(tool)
            }
        }
    };
}

/// Defines `HostStore`, which implements [`Store`](crate::Store) with the imported `store` interface, and
/// imports `clock`.
#[macro_export]
macro_rules! bridge_store {
    () => {
        use scorpiox::tool::{clock, store};

        struct HostStore;

        impl From<store::Error> for $crate::StoreError {
            fn from(error: store::Error) -> Self {
                match error {
                    store::Error::QuotaExceeded(bytes) => Self::QuotaExceeded(bytes),
                    store::Error::TooLarge(what) => Self::TooLarge(what),
                    store::Error::Unavailable(why) => Self::Unavailable(why),
                }
            }
        }

        impl $crate::Store for HostStore {
            fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, $crate::StoreError> {
                Ok(store::get(key)?)
            }

            fn set(&mut self, key: &str, value: &[u8]) -> Result<(), $crate::StoreError> {
                Ok(store::set(key, value)?)
            }

            fn delete(&mut self, key: &str) -> Result<(), $crate::StoreError> {
                Ok(store::delete(key)?)
            }

            fn scan(
                &mut self,
                prefix: &str,
                after: Option<&str>,
                limit: u32,
                order: $crate::Order,
            ) -> Result<Vec<$crate::Entry>, $crate::StoreError> {
                let order = match order {
                    $crate::Order::Ascending => store::Order::Ascending,
                    $crate::Order::Descending => store::Order::Descending,
                };
                let entries = store::scan(prefix, after, limit, order)?;
                Ok(entries.into_iter().map(|e| $crate::Entry { key: e.key, value: e.value }).collect())
            }

            fn increment(&mut self, key: &str, delta: i64) -> Result<i64, $crate::StoreError> {
                Ok(store::increment(key, delta)?)
            }

            fn commit(&mut self) -> Result<(), $crate::StoreError> {
                Ok(store::commit()?)
            }
        }
    };
}

/// Defines `HostFiles`, which implements [`Files`](crate::Files) with the imported `files` interface.
#[macro_export]
macro_rules! bridge_files {
    () => {
        use scorpiox::tool::files;

        struct HostFiles;

        impl From<files::Error> for $crate::FilesError {
            fn from(error: files::Error) -> Self {
                match error {
                    files::Error::Denied(text) => Self::Denied(text),
                    files::Error::NotFound(text) => Self::NotFound(text),
                    files::Error::Invalid(text) => Self::Invalid(text),
                    files::Error::TooLarge(bytes) => Self::TooLarge(bytes),
                    files::Error::Failed(text) => Self::Failed(text),
                }
            }
        }

        impl $crate::Files for HostFiles {
            fn read(&mut self, path: &str, limit: u64) -> Result<Vec<u8>, $crate::FilesError> {
                Ok(files::read(path, limit)?)
            }
        }
    };
}

/// Defines `HostWeb`, which implements [`Web`](crate::web::Web) and [`Progress`](crate::web::Progress) with
/// the imported `web` and `progress` interfaces.
#[macro_export]
macro_rules! bridge_web {
    () => {
        use scorpiox::tool::{progress, web};

        struct HostWeb;

        impl From<web::Error> for $crate::web::WebError {
            fn from(error: web::Error) -> Self {
                match error {
                    web::Error::Denied(text) => Self::Denied(text),
                    web::Error::Invalid(text) => Self::Invalid(text),
                    web::Error::Moved(url) => Self::Moved(url),
                    web::Error::TooLarge(bytes) => Self::TooLarge(bytes),
                    web::Error::TimedOut(text) => Self::TimedOut(text),
                    web::Error::Failed(text) => Self::Failed(text),
                    web::Error::NoBrowser(text) => Self::NoBrowser(text),
                    web::Error::Cancelled => Self::Cancelled,
                }
            }
        }

        fn web_request(request: $crate::web::Request) -> web::Request {
            web::Request {
                method: match request.method {
                    $crate::web::Method::Get => web::Method::Get,
                    $crate::web::Method::Post => web::Method::Post,
                },
                url: request.url,
                headers: request
                    .headers
                    .into_iter()
                    .map(|(name, value)| web::Header { name, value })
                    .collect(),
                body: request.body,
                timeout_ms: request.timeout_ms,
                cached: request.cached,
            }
        }

        fn web_response(
            outcome: Result<web::Response, web::Error>,
        ) -> Result<$crate::web::Response, $crate::web::WebError> {
            let response = outcome?;
            Ok($crate::web::Response {
                url: response.url,
                status: response.status,
                headers: response.headers.into_iter().map(|header| (header.name, header.value)).collect(),
                body: response.body,
            })
        }

        impl $crate::web::Web for HostWeb {
            fn fetch(
                &mut self,
                request: $crate::web::Request,
            ) -> Result<$crate::web::Response, $crate::web::WebError> {
                web_response(web::fetch(&web_request(request)))
            }

            fn begin(&mut self, request: $crate::web::Request) -> Result<u32, $crate::web::WebError> {
                Ok(web::begin(&web_request(request))?)
            }

            fn next(
                &mut self,
                timeout_ms: u32,
            ) -> Option<(u32, Result<$crate::web::Response, $crate::web::WebError>)> {
                web::next(timeout_ms).map(|finished| (finished.id, web_response(finished.outcome)))
            }

            fn render(
                &mut self,
                url: &str,
                wait_ms: u32,
            ) -> Result<$crate::web::Rendered, $crate::web::WebError> {
                let page = web::render(url, wait_ms)?;
                Ok($crate::web::Rendered {
                    url: page.url,
                    status: page.status,
                    html: page.html,
                    notes: page.notes,
                })
            }
        }

        impl $crate::web::Progress for HostWeb {
            fn report(&mut self, done: u32, total: Option<u32>, message: &str) {
                progress::report(done, total, message);
            }
        }
    };
}
