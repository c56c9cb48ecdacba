//! Equivalence of file names.

/// Normalizes a name as the most lenient file system compares it.
///
/// Case is ignored, also for non-ASCII letters that fold to ASCII. Invisible characters, and trailing dots
/// and blanks, are removed. Use it for names that must not be created; accidental matches are unlikely.
pub fn folded(name: &str) -> String {
    // Fast path for nearly all names: the same result in a tenth of the time.
    if name.is_ascii() {
        return name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    }
    let seen = name.chars().filter(|c| !is_ignored(*c));
    let folded: String = seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.trim_end_matches(['.', ' ']).to_owned()
}

/// Returns `true` for Unicode's `Default_Ignorable_Code_Point`.
fn is_ignored(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x34F | 0x61C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F
        | 0x202A..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFF8
        | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn names_are_one_when_some_file_system_takes_them_for_one() {
        for name in [".mcp.json", ".MCP.json", ".mcp.j\u{17F}on", ".m\u{200C}cp.json", ".mcp.json. ."] {
            assert_eq!(folded(name), ".mcp.json", "{name:?}");
        }
        assert_eq!(folded("hoo\u{212A}s"), "hooks");
        for name in ["mcp.json", ".mcp.jso", ".mcp.json5", ".mcp-json", "..mcp.json"] {
            assert_ne!(folded(name), ".mcp.json", "{name:?}");
        }
    }
}
