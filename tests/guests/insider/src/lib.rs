//! Component with functions that use the project's own interfaces.

wit_bindgen::generate!({ path: ["../../../wit", "wit"], world: "test:insider/insider", generate_all });

use scorpiox::tool::ask::{self, Choice, Question};
use scorpiox::tool::web::{self, Method, Request};
use scorpiox::tool::{clock, files, log, progress, sampling, shell, store};

struct Insider;

fn said(error: impl std::fmt::Debug) -> String {
    format!("{error:?}")
}

impl Guest for Insider {
    fn ask_person(text: String, choices: Vec<String>) -> Result<Option<Vec<Vec<String>>>, String> {
        let choices = choices.into_iter().map(|label| Choice { label, description: None }).collect();
        ask::ask(&[Question { text, choices, several: false }]).map_err(said)
    }

    fn ask_model(prompt: String, tokens: u32, times: u32) -> Result<Vec<String>, String> {
        let ask = |_| {
            let request = sampling::Request { system: None, prompt: prompt.clone(), max_tokens: tokens };
            sampling::ask_model(&request).map_err(said)
        };
        (0..times).map(ask).collect()
    }

    fn read_file(path: String) -> Result<String, String> {
        let bytes = files::read(&path, 1 << 20).map_err(said)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn fetch(url: String) -> Result<String, String> {
        let request = Request {
            method: Method::Get,
            url,
            headers: Vec::new(),
            body: Vec::new(),
            timeout_ms: 5000,
            cached: true,
        };
        let answer = web::fetch(&request).map_err(said)?;
        Ok(format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body)))
    }

    fn render(url: String) -> Result<String, String> {
        web::render(&url, 0).map(|page| page.html).map_err(said)
    }

    fn run_command(command: String) -> Result<String, String> {
        shell::run(&command, None).map(|completed| completed.output).map_err(said)
    }

    fn now() -> u64 {
        clock::now()
    }

    fn put(key: String, value: String, trap: bool) -> Result<(), String> {
        store::set(&key, value.as_bytes()).map_err(said)?;
        assert!(!trap, "as it was told");
        Ok(())
    }

    fn get(key: String) -> Result<Option<String>, String> {
        let value = store::get(&key).map_err(said)?;
        Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
    }

    fn say(text: String) {
        log::write(log::Level::Warn, &text);
        progress::report(1, Some(2), &text);
    }
}

export!(Insider);
