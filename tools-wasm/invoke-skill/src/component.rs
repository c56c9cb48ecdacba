//! The component: converts between WIT types and the kit's types.

use scorpiox_tool_kit as kit;

wit_bindgen::generate!({
    path: "../../wit",
    generate_all,
    // The imports are the component's only capabilities.
    inline: "
        package scorpiox:invoke-skill;
        world invoke-skill {
            import scorpiox:tool/skills@0.1.0;
            import scorpiox:tool/bounds@0.1.0;
            export scorpiox:tool/tool@0.1.0;
            export scorpiox:tool/skill-catalogue@0.1.0;
        }
    ",
});

kit::bridge_client!();
kit::bridge_tool!();

use exports::scorpiox::tool::skill_catalogue;
use scorpiox::tool::skills;

use crate::catalogue::{Skill, Skipped};
use crate::description::describe;
use crate::{Caller, FileList, ReadError, Scope, Skills, Source};

struct HostSkills;

impl From<skills::Source> for Source {
    fn from(source: skills::Source) -> Self {
        let scope = match source.scope {
            skills::Scope::Workspace => Scope::Workspace,
            skills::Scope::User => Scope::User,
            skills::Scope::Additional => Scope::Additional,
        };
        let skills::Source { id, folder_name, path, file, .. } = source;
        Self { id, folder_name, path, scope, file }
    }
}

impl From<skills::Error> for ReadError {
    fn from(error: skills::Error) -> Self {
        match error {
            skills::Error::NotFound => Self::NotFound,
            skills::Error::TooLarge(limit) => Self::TooLarge(limit),
            skills::Error::Unreadable(why) => Self::Unreadable(why),
        }
    }
}

impl Skills for HostSkills {
    fn list(&self) -> Vec<Source> {
        skills::list().into_iter().map(Source::from).collect()
    }

    fn asked_by(&self) -> Caller {
        match skills::asked_by() {
            skills::Caller::Model => Caller::Model,
            skills::Caller::Person => Caller::Person,
        }
    }

    fn read(&self, id: u32, limit: u32) -> Result<Vec<u8>, ReadError> {
        Ok(skills::read(id, limit)?)
    }

    fn files(&self, id: u32, limit: u32) -> Result<FileList, ReadError> {
        let list = skills::files(id, limit)?;
        let paths = list.files.into_iter().map(|file| file.path).collect();
        Ok(FileList { paths, truncated: list.truncated })
    }

    fn read_file(&self, id: u32, path: &str, limit: u32) -> Result<Vec<u8>, ReadError> {
        Ok(skills::read_file(id, path, limit)?)
    }

    fn variables(&self, id: u32) -> Vec<(String, String)> {
        skills::variables(id)
    }

    fn required(&self) -> Vec<String> {
        skills::required()
    }

    fn invoked(&self, id: u32, arguments: &str, words: &[String]) {
        skills::invoked(id, arguments, words);
    }
}

impl kit::Client for HostSkills {
    fn room(&self) -> usize {
        HostClient.room()
    }

    fn tool_name(&self, tool: &str) -> String {
        HostClient.tool_name(tool)
    }
}

struct InvokeSkill;

impl exports::scorpiox::tool::tool::Guest for InvokeSkill {
    fn list_tools() -> Vec<ToolDefinition> {
        crate::definitions(&HostSkills).into_iter().map(tool_definition).collect()
    }

    fn call(name: String, arguments: String) -> Result<ToolResult, ToolError> {
        tool_result(crate::call(&HostSkills, &name, &arguments))
    }
}

impl skill_catalogue::Guest for InvokeSkill {
    fn read_catalogue() -> skill_catalogue::Catalogue {
        let catalogue = crate::catalogue::read(&HostSkills);
        let listing = describe(&HostSkills, &catalogue.skills);
        let skills = catalogue.skills.into_iter().zip(listing.listed);
        skill_catalogue::Catalogue {
            skills: skills.map(|(skill, listed)| described(skill, listed)).collect(),
            skipped: catalogue.skipped.into_iter().map(skipped).collect(),
            more: listing.more,
        }
    }

    fn inspect(id: u32, arguments: String) -> Result<skill_catalogue::Inspection, String> {
        let inspected = crate::inspect::inspect(&HostSkills, id, &arguments)?;
        let crate::inspect::Inspection { text, warnings } = inspected;
        Ok(skill_catalogue::Inspection { text, warnings })
    }
}

fn described(skill: Skill, listed: Option<String>) -> skill_catalogue::Skill {
    let fields = skill.fields;
    let ignored = fields.ignored.into_iter();
    skill_catalogue::Skill {
        id: skill.source.id,
        name: skill.name,
        description: skill.description,
        front_matter: skill.front_matter,
        listed,
        for_models: fields.for_models,
        for_people: fields.for_people,
        argument_hint: fields.argument_hint,
        arguments: fields.arguments,
        ignored: ignored.map(|field| skill_catalogue::Ignored { key: field.key, why: field.why }).collect(),
        warnings: skill.warnings,
    }
}

fn skipped(skipped: Skipped) -> skill_catalogue::Skipped {
    skill_catalogue::Skipped { path: crate::hygiene::line(&skipped.source.path).text, reason: skipped.reason }
}

export!(InvokeSkill);
