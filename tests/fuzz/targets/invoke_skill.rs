//! Fuzzes skills and arguments: each call yields a result or an error, and the description stays within its
//! limit.

#![no_main]

use arbitrary::Arbitrary;
use invoke_skill::{Caller, FileList, ReadError, Scope, Skills, Source};
use libfuzzer_sys::fuzz_target;
use scorpiox_tool_kit::Client;
use serde_json::json;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    files: Vec<&'a [u8]>,
    skill_name: &'a str,
    arguments: Option<&'a str>,
    pattern: &'a str,
    raw: &'a str,
}

struct Files<'a>(&'a [&'a [u8]]);

impl Skills for Files<'_> {
    fn list(&self) -> Vec<Source> {
        let source = |id| Source {
            id,
            folder_name: format!("skill-{id}"),
            path: format!("/skills/skill-{id}"),
            scope: if id % 2 == 0 { Scope::Workspace } else { Scope::User },
            file: "SKILL.md".to_owned(),
        };
        (0..).take(self.0.len()).map(source).collect()
    }
    fn asked_by(&self) -> Caller {
        Caller::Model
    }
    fn read(&self, id: u32, limit: u32) -> Result<Vec<u8>, ReadError> {
        let file = self.0.get(id as usize).ok_or(ReadError::NotFound)?;
        Ok(file[..file.len().min(limit as usize)].to_vec())
    }
    fn files(&self, _id: u32, _limit: u32) -> Result<FileList, ReadError> {
        Ok(FileList::default())
    }
    fn read_file(&self, id: u32, _path: &str, limit: u32) -> Result<Vec<u8>, ReadError> {
        self.read(id, limit)
    }
    fn variables(&self, _id: u32) -> Vec<(String, String)> {
        Vec::new()
    }
    fn required(&self) -> Vec<String> {
        Vec::new()
    }

    fn invoked(&self, _id: u32, _arguments: &str, _words: &[String]) {}
}

impl Client for Files<'_> {
    fn room(&self) -> usize {
        10_000
    }

    fn tool_name(&self, tool: &str) -> String {
        tool.to_owned()
    }
}

fuzz_target!(|input: Input<'_>| {
    let skills = Files(&input.files);
    for definition in invoke_skill::definitions(&skills) {
        assert!(definition.description.len() < 2048, "{} bytes", definition.description.len());
    }
    let named = json!({ "skill_name": input.skill_name, "arguments": input.arguments }).to_string();
    let first = json!({ "skill_name": "skill-0", "arguments": input.arguments }).to_string();
    let file = json!({ "skill_name": "skill-0/a.md", "arguments": input.arguments }).to_string();
    for arguments in [&named, &first, &file, input.raw] {
        if let Ok(output) = invoke_skill::call(&skills, "InvokeSkill", arguments) {
            let ends = ["</skill_content", "</skill_file"].map(|end| output.text.matches(end).count());
            assert_eq!(ends.iter().sum::<usize>(), 1, "the body cannot end its block");
        }
    }
    let _ = invoke_skill::inspect::inspect(&skills, 0, input.arguments.unwrap_or_default());
    let _ = invoke_skill::call(&skills, "SearchSkills", &json!({ "pattern": input.pattern }).to_string());
});
