//! Functions of the world in wit/world.wit. Each becomes a tool.

wit_bindgen::generate!({ world: "plugin", generate_all });

struct Plugin;

impl Guest for Plugin {
    fn count(text: String, unit: Option<Unit>) -> Result<Tally, String> {
        if text.is_empty() {
            return Err("There is no text.".to_owned());
        }
        Ok(match unit.unwrap_or(Unit::Words) {
            Unit::Words => tally(text.split_whitespace()),
            Unit::Lines => tally(text.lines()),
            Unit::Characters => Tally { count: small(text.chars().count()), longest: None },
        })
    }
}

fn tally<'a>(parts: impl Iterator<Item = &'a str> + Clone) -> Tally {
    let count = small(parts.clone().count());
    // The first of the longest parts.
    let longest = parts.reduce(|best, part| if part.chars().count() > best.chars().count() { part } else { best });
    Tally { count, longest: longest.map(str::to_owned) }
}

fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

export!(Plugin);
