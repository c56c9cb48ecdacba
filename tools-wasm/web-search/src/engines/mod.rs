//! The engines, with one file each.
//!
//! For the markers of empty results, each file says if they are known or assumed. A wrong assumption turns an
//! empty result into a reported failure, never a failure into an empty result.

mod bing;
mod brave;
mod brave_api;
mod duckduckgo;
mod exa;
mod google;
mod kagi;
mod mojeek;
mod mwmbl;
mod qwant;
mod searxng;
mod startpage;
mod tavily;
mod wiby;
mod wikipedia;
mod yahoo;
mod yep;

use crate::engine::Engine;

/// All engines: eleven without requirements, then those that require a setting. The order breaks ties between
/// equal results.
pub(crate) static ENGINES: [Engine; 17] = [
    duckduckgo::ENGINE,
    brave::ENGINE,
    startpage::ENGINE,
    bing::ENGINE,
    mojeek::ENGINE,
    qwant::ENGINE,
    yahoo::ENGINE,
    yep::ENGINE,
    mwmbl::ENGINE,
    wikipedia::ENGINE,
    wiby::ENGINE,
    brave_api::ENGINE,
    tavily::ENGINE,
    exa::ENGINE,
    kagi::ENGINE,
    google::ENGINE,
    searxng::ENGINE,
];

/// Returns the position of an engine in the table.
pub(crate) fn position(engine: &Engine) -> usize {
    ENGINES.iter().position(|known| known.name == engine.name).unwrap_or(ENGINES.len())
}
