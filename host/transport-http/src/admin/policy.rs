//! Policy page: the effective policy, each line with its source.

use crate::pages::Asked;
use askama::Template;

use crate::admin::{Admin, Frame};

#[derive(Template)]
#[template(path = "policy.html")]
pub(crate) struct Policies<'a> {
    frame: Frame<'a>,
    /// Files that the policy was read from.
    files: Vec<String>,
    hash: String,
    /// Reason why the policy is not valid any more.
    stale: Option<String>,
    lines: Vec<Line>,
}

/// A line with its source.
struct Line {
    text: String,
    source: String,
    is_header: bool,
}

impl<'a> Policies<'a> {
    pub(crate) fn of(admin: &Admin, asked: &'a Asked<'_>) -> Result<Self, String> {
        let Some((_, workspace)) = admin.workspaces.first() else {
            return Err("nothing is served".to_owned());
        };
        let workspace = workspace.current();
        let operator = workspace.operator();
        let loaded = operator.loaded().map_err(|error| error.to_string())?;
        let policy = operator.server_policy().map_err(|error| error.to_string())?;
        let text = scorpiox_policy::render(policy);
        let line = |line: &str| {
            let (text, source) = line.rsplit_once(" # ").unwrap_or((line, ""));
            Line {
                text: text.trim_end().to_owned(),
                source: source.to_owned(),
                is_header: line.starts_with('['),
            }
        };
        Ok(Self {
            frame: Frame::new("Policy", asked),
            files: loaded.files.iter().map(|file| file.display().to_string()).collect(),
            hash: loaded.hash.clone(),
            stale: operator
                .check_current()
                .map_err(|error| error.to_string())
                .and_then(|()| operator.policy().map_err(|error| error.to_string()))
                .err(),
            lines: text.lines().filter(|text| !text.is_empty()).map(line).collect(),
        })
    }
}
