//! Compares a new version of a plugin with the approved version.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::asks::{Ask, Limits};
use crate::decisions::Pins;
use crate::hashes::led_elsewhere;
use crate::manifest::Manifest;

/// A plugin's manifest and its tool definitions.
pub type Version<'a> = (&'a Manifest, &'a [Value]);

/// Members of a tool definition that contain text or a schema. A trusted signer can vouch for changes to
/// them.
const WORDS: [(&str, &str); 4] = [
    ("title", "its title"),
    ("description", "its description"),
    ("input_schema", "its arguments"),
    ("output_schema", "its result"),
];

/// Hints of a tool, with the description of a change to `true` and to `false`.
const HINTS: [(&str, &str, &str); 4] = [
    ("read_only", "now says that it changes nothing", "no longer says that it changes nothing"),
    ("destructive", "now says that it may destroy something", "now says that it destroys nothing"),
    (
        "idempotent",
        "now says that twice is the same as once",
        "no longer says that twice is the same as once",
    ),
    ("open_world", "may now reach other systems, such as the web", "no longer reaches other systems"),
];

/// List of differences between two versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    lines: Vec<Line>,
}

/// A single difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Kind of the difference.
    pub kind: Kind,
    /// Description for users.
    pub text: String,
}

/// Kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The new version requests more; the user must decide.
    More,
    /// The new version requests less.
    Less,
    /// The new version differs in text or a schema, but requests nothing more.
    Words,
}

impl Difference {
    /// Compares two versions in both directions. Differences in capabilities come last.
    pub fn between(old: Version<'_>, new: Version<'_>) -> Self {
        let mut difference = Self::default();
        difference.tools(old.1, new.1);
        difference.settings(old.0, new.0);
        difference.secrets(old.0, new.0);
        difference.limits(&old.0.limits, &new.0.limits);
        difference.rights(old.0, new.0);
        difference
    }

    /// Returns all differences.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns `true` if the new version requests anything that is not approved.
    pub fn asks_more(&self) -> bool {
        self.lines.iter().any(|line| line.kind == Kind::More)
    }

    /// Compares prompts and resources, given as complete definitions by displayed name. Their differences are
    /// inserted before the existing ones.
    pub fn add_offers(&mut self, old: &BTreeMap<String, Value>, new: &BTreeMap<String, Value>) {
        let known = std::mem::take(&mut self.lines);
        for (name, definition) in new {
            match old.get(name) {
                None => self.push(Kind::More, name),
                Some(before) if before != definition => {
                    self.push(Kind::Words, format!("{name}: what it says"));
                }
                Some(_) => {}
            }
        }
        for name in old.keys().filter(|name| !new.contains_key(*name)) {
            self.push(Kind::Less, name);
        }
        self.lines.extend(known);
    }

    /// Compares whether the names of a plugin are known without its own.
    pub fn plain_names(&mut self, old: bool, new: bool) {
        let said = "its tools, prompts and addresses are known without its own name (--plain-names)";
        match (old, new) {
            (false, true) => self.push(Kind::More, said),
            (true, false) => self.push(Kind::Less, said),
            _ => {}
        }
    }

    /// Names where the folders of the new version lead: those that it asks for by a link, and those that led elsewhere
    /// when the old version was approved.
    pub fn targets(&mut self, old: &Pins, new: &Pins, home: Option<&Path>) {
        let shown = |place: &Path| place.display().to_string().replace('\n', "\\n");
        for (folder, place) in led_elsewhere(new, home) {
            let end = format!(": {folder}");
            let asks = |line: &&mut Line| {
                line.kind == Kind::More && line.text.starts_with("files, ") && line.text.ends_with(&end)
            };
            for line in self.lines.iter_mut().filter(asks) {
                line.text = format!("{}, which leads to {}", line.text, shown(place));
            }
        }
        for (folder, place) in new {
            if let Some(before) = old.get(folder).filter(|before| *before != place) {
                let (before, now) = (shown(before), shown(place));
                self.push(
                    Kind::More,
                    format!("files: {folder} led to {before} before, and leads to {now} now"),
                );
            }
        }
    }

    fn push(&mut self, kind: Kind, text: impl Into<String>) {
        self.lines.push(Line { kind, text: text.into() });
    }

    fn rights(&mut self, old: &Manifest, new: &Manifest) {
        let (had, asks) = (old.capabilities.lines(), new.capabilities.lines());
        for ask in &asks {
            let before = had.iter().find(|other| other.name == ask.name);
            let Some(before) = before else {
                // If the capability has details, their lines contain its name.
                if ask.details.is_empty() {
                    self.push(Kind::More, ask.name);
                }
                self.details(Kind::More, ask, None);
                continue;
            };
            self.details(Kind::More, ask, Some(before));
            self.details(Kind::Less, before, Some(ask));
            if before.why != ask.why {
                self.push(Kind::Words, format!("{}, because: {}", ask.name, ask.why));
            }
        }
        for gone in had.iter().filter(|ask| !asks.iter().any(|other| other.name == ask.name)) {
            self.push(Kind::Less, gone.name);
        }
    }

    /// Lists the values that `ask` has and `other` lacks. A changed number thus appears both as `More` and as
    /// `Less`.
    fn details(&mut self, kind: Kind, ask: &Ask<'_>, other: Option<&Ask<'_>>) {
        for (what, values) in &ask.details {
            let others = other.and_then(|other| other.details.iter().find(|(name, _)| name == what));
            let has = |value: &String| others.is_some_and(|(_, others)| others.contains(value));
            for value in values.iter().filter(|value| !has(value)) {
                self.push(kind, format!("{}, {what}: {value}", ask.name));
            }
        }
    }

    fn limits(&mut self, old: &Limits, new: &Limits) {
        let all = |limits: &Limits| {
            let Limits { cpu_seconds, wait_seconds, memory_mib, output_kib, store_mib, calls } = *limits;
            [
                ("cpu_seconds", cpu_seconds),
                ("wait_seconds", wait_seconds),
                ("memory_mib", memory_mib),
                ("output_kib", output_kib),
                ("store_mib", store_mib),
                ("calls", calls),
            ]
        };
        for ((name, before), (_, after)) in all(old).into_iter().zip(all(new)) {
            if before != after {
                let kind = if after > before { Kind::More } else { Kind::Less };
                self.push(kind, format!("limit {name}: {before} before, {after} now"));
            }
        }
    }

    fn secrets(&mut self, old: &Manifest, new: &Manifest) {
        for (name, what_for) in &new.secrets {
            match old.secrets.get(name) {
                None => self.push(Kind::More, format!("secret {name}: {what_for}")),
                Some(before) if before != what_for => {
                    self.push(Kind::Words, format!("secret {name}: {what_for}"));
                }
                Some(_) => {}
            }
        }
        for name in old.secrets.keys().filter(|name| !new.secrets.contains_key(name)) {
            self.push(Kind::Less, format!("secret {name}"));
        }
    }

    fn settings(&mut self, old: &Manifest, new: &Manifest) {
        let names: BTreeSet<_> = old.config.keys().chain(new.config.keys()).collect();
        for name in names.into_iter().filter(|name| old.config.get(*name) != new.config.get(*name)) {
            let now = new.config.get(name).map_or_else(|| "gone".to_owned(), |value| format!("{value:?}"));
            self.push(Kind::Words, format!("setting {name}: {now}"));
        }
    }

    fn tools(&mut self, old: &[Value], new: &[Value]) {
        fn by_name(tools: &[Value]) -> BTreeMap<&str, &Value> {
            tools.iter().filter_map(|tool| Some((tool["name"].as_str()?, tool))).collect()
        }
        let (old, new) = (by_name(old), by_name(new));
        for (name, tool) in &new {
            let Some(before) = old.get(name) else {
                self.push(Kind::More, format!("tool {name}"));
                continue;
            };
            // Hints determine whether clients ask the user for confirmation.
            for (hint, yes, no) in HINTS {
                let says = |tool: &Value| tool["hints"][hint].as_bool();
                if says(before) != says(tool) {
                    let now = if says(tool) == Some(true) { yes } else { no };
                    self.push(Kind::More, format!("tool {name}: {now} ({hint})"));
                }
            }
            for (member, what) in WORDS {
                if before[member] != tool[member] {
                    self.push(Kind::Words, format!("tool {name}: {what}"));
                }
            }
            if before["function"] != tool["function"] {
                self.push(Kind::More, format!("tool {name}: the function behind it"));
            }
        }
        for name in old.keys().filter(|name| !new.contains_key(*name)) {
            self.push(Kind::Less, format!("tool {name}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn manifest(more: &str) -> Manifest {
        Manifest::parse(&format!("name = \"a\"\ncomponent = \"a.wasm\"\n{more}")).expect("a manifest")
    }

    fn lines(old: &str, new: &str) -> Vec<(Kind, String)> {
        let difference = Difference::between((&manifest(old), &[]), (&manifest(new), &[]));
        difference.lines.into_iter().map(|line| (line.kind, line.text)).collect()
    }

    #[test]
    fn each_right_that_was_not_approved_is_more() {
        let web = "[capabilities.web]\nwhy = \"x\"\nhosts = [\"a.example.com\"]\n";
        let wider = web.replace("[\"a.example.com\"]", "[\"a.example.com\", \"*.example.com\"]");
        assert!(lines(web, web).is_empty());
        assert_eq!(lines(web, &wider), [(Kind::More, "web, hosts: *.example.com".to_owned())]);
        assert_eq!(lines(&wider, web), [(Kind::Less, "web, hosts: *.example.com".to_owned())]);
        assert_eq!(lines("", web), [(Kind::More, "web, hosts: a.example.com".to_owned())]);
        let clock = "[capabilities.clock]\nwhy = \"x\"\n";
        assert_eq!(lines("", clock), [(Kind::More, "clock".to_owned())]);
        assert_eq!(lines(web, ""), [(Kind::Less, "web".to_owned())]);
        assert_eq!(lines(web, &web.replace("\"x\"", "\"y\"")), [(Kind::Words, "web, because: y".to_owned())]);
        let shell = "[capabilities.shell]\nwhy = \"x\"\nprofile = \"readonly\"\n";
        assert_eq!(lines(shell, &shell.replace("readonly", "open"))[0].0, Kind::More);
        let sampling = "[capabilities.sampling]\nwhy = \"x\"\ncalls = 2\ntokens = 100\n";
        assert_eq!(lines(sampling, &sampling.replace("100", "200"))[0].0, Kind::More);
    }

    #[test]
    fn folders_are_compared_by_where_they_lead() {
        let files = "[capabilities.files]\nwhy = \"x\"\nread = [\"~/notes\"]\n";
        let (old, new) = (manifest(files), manifest(&format!("{files}write = [\"/srv/data\"]\n")));
        let mut difference = Difference::between((&old, &[]), (&new, &[]));
        let pins = |notes: &str| -> Pins {
            [("~/notes", notes), ("/srv/data", "/home/u")]
                .map(|(name, place)| (name.to_owned(), place.into()))
                .into()
        };
        difference.targets(&pins("/home/u/notes"), &pins("/home"), Some(Path::new("/home/u")));
        let lines: Vec<_> = difference.lines.into_iter().map(|line| (line.kind, line.text)).collect();
        assert_eq!(
            lines,
            [
                (Kind::More, "files, write: /srv/data, which leads to /home/u".to_owned()),
                (Kind::More, "files: ~/notes led to /home/u/notes before, and leads to /home now".to_owned()),
            ]
        );
    }

    #[test]
    fn a_secret_or_its_header_for_another_host_is_more() {
        let secret = "[secrets]\nKEY = \"of x\"\n";
        assert_eq!(lines("", secret), [(Kind::More, "secret KEY: of x".to_owned())]);
        assert_eq!(lines(secret, ""), [(Kind::Less, "secret KEY".to_owned())]);
        let web = |hosts: &str| {
            format!(
                "{secret}[capabilities.web]\nwhy = \"x\"\nhosts = [\"a.example.com\", \"b.example.com\"]\nheaders = {{ {hosts} }}\n"
            )
        };
        let (one, other) =
            (web("\"a.example.com\" = { A = \"${KEY}\" }"), web("\"b.example.com\" = { A = \"${KEY}\" }"));
        assert!(
            lines(&one, &other)
                .iter()
                .any(|(kind, text)| *kind == Kind::More && text.contains("b.example.com"))
        );
    }

    #[test]
    fn rights_stand_behind_all_that_differs() {
        let more =
            "[limits]\ncpu_seconds = 9\n[secrets]\nKEY = \"of x\"\n[capabilities.clock]\nwhy = \"x\"\n";
        let (old, new) = (manifest(""), manifest(more));
        let mut difference = Difference::between((&old, &[]), (&new, &[json!({ "name": "t" })]));
        difference.add_offers(&BTreeMap::new(), &[("prompt a".to_owned(), json!("x"))].into());
        let lines: Vec<_> = difference.lines().iter().map(|line| line.text.as_str()).collect();
        let expected =
            ["prompt a", "tool t", "secret KEY: of x", "limit cpu_seconds: 5 before, 9 now", "clock"];
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_is_offered_in_addition_is_more_and_other_words_are_not() {
        let offers = |all: &[(&str, &str)]| {
            all.iter().map(|(name, says)| ((*name).to_owned(), json!(says))).collect::<BTreeMap<_, _>>()
        };
        let mut difference = Difference::default();
        let old = offers(&[("prompt a", "x"), ("prompt b", "x"), ("prompt c", "x")]);
        difference.add_offers(&old, &offers(&[("prompt a", "x"), ("prompt b", "y"), ("resource d:e", "x")]));
        let lines: Vec<_> = difference.lines().iter().map(|line| (line.kind, line.text.as_str())).collect();
        let expected =
            [(Kind::Words, "prompt b: what it says"), (Kind::More, "resource d:e"), (Kind::Less, "prompt c")];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_larger_limit_is_more_and_a_smaller_one_is_not() {
        let (small, large) = ("[limits]\ncpu_seconds = 1", "[limits]\ncpu_seconds = 9");
        assert_eq!(lines(small, large), [(Kind::More, "limit cpu_seconds: 1 before, 9 now".to_owned())]);
        assert_eq!(lines(large, small)[0].0, Kind::Less);
    }

    #[test]
    fn new_tools_and_other_hints_are_more_and_other_words_are_not() {
        let manifest = manifest("");
        let tool = |name: &str, description: &str, read_only: bool| json!({ "name": name, "description": description, "hints": { "read_only": read_only } });
        let between = |old: &[Value], new: &[Value]| {
            let difference = Difference::between((&manifest, old), (&manifest, new));
            (
                difference.asks_more(),
                difference.lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>(),
            )
        };
        let old = [tool("a", "x", false)];
        assert_eq!(between(&old, &old), (false, vec![]));
        assert_eq!(
            between(&old, &[tool("a", "y", false)]),
            (false, vec!["tool a: its description".to_owned()])
        );
        assert!(between(&old, &[tool("a", "x", true)]).0);
        assert!(between(&old, &[tool("a", "x", false), tool("b", "x", false)]).0);
        assert_eq!(between(&old, &[]), (false, vec!["tool a".to_owned()]));
    }
}
