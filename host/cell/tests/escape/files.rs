//! Writing to what is outside.

use crate::bed::for_each_tier;

#[test]
fn a_command_cannot_write_outside_by_any_spelling() {
    for_each_tier(|bed| {
        bed.run("./probe write-outside").assert_nothing_escaped();
        bed.assert_outside_is_whole();
    });
}
