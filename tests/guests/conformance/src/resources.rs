//! Resources.

use crate::exports::scorpiox::tool::resources::Guest;
use crate::scorpiox::tool::contents::{Body, ResourceContents};
use crate::scorpiox::tool::offers::{ListedResource, ReadError, ResourceTemplate};
use crate::{Conformance, data};

fn resource(uri: &str, name: &str, mime_type: &str) -> ListedResource {
    ListedResource {
        uri: uri.to_owned(),
        name: name.to_owned(),
        title: None,
        description: Some("For the conformance suite".to_owned()),
        mime_type: Some(mime_type.to_owned()),
    }
}

impl Guest for Conformance {
    fn list_resources() -> Vec<ListedResource> {
        vec![
            resource("test://static-text", "Static text", "text/plain"),
            resource("test://static-binary", "Static picture", "image/png"),
            resource("test://watched-resource", "Watched", "text/plain"),
        ]
    }

    fn list_templates() -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: "test://template/{id}/data".to_owned(),
            name: "Data by id".to_owned(),
            title: None,
            description: Some("For the conformance suite".to_owned()),
            mime_type: Some("application/json".to_owned()),
        }]
    }

    fn read(uri: String) -> Result<Vec<ResourceContents>, ReadError> {
        let (mime_type, body) = match uri.as_str() {
            "test://static-text" => {
                ("text/plain", Body::Text("This is the content of the static text resource.".to_owned()))
            }
            "test://static-binary" => ("image/png", Body::Bytes(data::picture().data)),
            "test://watched-resource" => ("text/plain", Body::Text("Nothing has changed.".to_owned())),
            other => {
                let id = other.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
                let id = id.ok_or(ReadError::NotFound)?;
                let text = format!(r#"{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}"#);
                ("application/json", Body::Text(text))
            }
        };
        Ok(vec![ResourceContents { uri, mime_type: Some(mime_type.to_owned()), body }])
    }
}
