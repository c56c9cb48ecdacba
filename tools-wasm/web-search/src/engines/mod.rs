//! The engines: one file each.
//!
//! Where a file names what an engine shows when it found nothing, it says whether that is known
//! or assumed. An assumption that is wrong makes an empty answer a reported failure, never the
//! other way round.

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

/// All engines: eleven that anybody may ask, then those that need a setting. The order decides
/// between results that are equal otherwise.
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

/// Where an engine stands in the table.
pub(crate) fn position(engine: &Engine) -> usize {
    ENGINES.iter().position(|known| known.name == engine.name).unwrap_or(ENGINES.len())
}
