//! Macros that join a component's generated bindings to the kit's types. Each
//! component has bindings of its own, so the glue has to be expanded in each.

/// `tool_definition` and `tool_result` for a world that exports `tool`.
#[macro_export]
macro_rules! bridge_tool {
    () => {
        use exports::scorpiox::tool::tool::{ToolDefinition, ToolError, ToolResult};
        use scorpiox::tool::types::{Content, Hints};

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
                Ok(output) => Ok(ToolResult {
                    content: vec![Content::Text(output.text)],
                    structured: output.structured,
                }),
                Err(failure) => Err(tool_error(failure)),
            }
        }

        fn tool_error(failure: $crate::Failure) -> ToolError {
            match failure {
                $crate::Failure::InvalidInput(text) => ToolError::InvalidInput(text),
                $crate::Failure::NotFound(text) => ToolError::NotFound(text),
                $crate::Failure::Failed(text) => ToolError::Failed(text),
            }
        }
    };
}

/// `HostStore` (the kit's `Store` on the imported one) and `clock` for a world that
/// imports both.
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
        }
    };
}
