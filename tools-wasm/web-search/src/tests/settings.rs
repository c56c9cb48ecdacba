use super::fake::{Server, at_the_fake, failed, normal};
use super::*;
use crate::EngineSettings;
use crate::settings::choose;

fn names(settings: &[EngineSettings]) -> Vec<&'static str> {
    choose(settings).iter().map(|target| target.engine.name).collect()
}

#[test]
fn without_settings_the_eleven_are_asked_at_their_own_addresses() {
    assert_eq!(names(&[]), OPEN);
    assert!(choose(&[]).iter().all(|target| target.base == target.engine.base));
    assert!(
        ENGINES
            .iter()
            .all(|e| e.base.is_empty() || (e.base.starts_with("https://") && !e.base.ends_with('/')))
    );
}

#[test]
fn a_key_adds_an_engine_and_a_switch_takes_one_away() {
    let off = EngineSettings { name: "bing".to_owned(), enabled: Some(false), ..Default::default() };
    let keyed =
        EngineSettings { name: "tavily".to_owned(), key: Some(" k ".to_owned()), ..Default::default() };
    let chosen = choose(&[off, keyed]);
    assert!(chosen.iter().all(|target| target.engine.name != "bing"));
    let last = chosen.last().expect("some");
    assert_eq!(
        (last.engine.name, last.key.as_str(), last.base.as_str()),
        ("tavily", "k", "https://api.tavily.com")
    );
}

#[test]
fn engines_without_their_key_or_address_are_not_asked() {
    let on = |name: &str| EngineSettings { name: name.to_owned(), enabled: Some(true), ..Default::default() };
    let blank = EngineSettings { key: Some("  ".to_owned()), ..on("exa") };
    assert_eq!(names(&[on("kagi"), on("searxng"), on("nobody"), blank]), OPEN);
    assert!(names(&[at_the_fake("searxng", None)]).contains(&"searxng"));
}

#[test]
fn an_address_may_end_in_a_slash() {
    let set = EngineSettings {
        name: "bing".to_owned(),
        base_url: Some("http://a.test/b/".to_owned()),
        ..Default::default()
    };
    assert!(choose(&[set]).iter().any(|target| target.base == "http://a.test/b"));
}

#[test]
fn when_all_are_disabled_it_says_so() {
    let mut server = Server::only(&[]);
    assert!(failed(server.search("x", &normal)).starts_with("Every search engine is disabled"));
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = ENGINES.iter().map(|engine| engine.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ENGINES.len());
}
