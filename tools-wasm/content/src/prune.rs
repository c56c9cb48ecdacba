//! Removes everything but the content from a page.

use dom_query::{Document, NodeId};

use crate::outline::Outline;

/// An element without text, such as an image, stays if at least this percentage of the surrounding words
/// stays.
const STAYS_WITH: u32 = 50;

/// Removes the text of the blocks that are not kept, and elements that become empty. Unseen images are
/// removed too, because they may have a description.
pub(crate) fn prune(dom: &Document, outline: &Outline, kept: &[bool], unseen: &[bool]) {
    let mut words = vec![0; outline.elements.len()];
    for (block, is_kept) in outline.blocks.iter().zip(kept) {
        if *is_kept {
            words[block.element] += block.words;
        } else {
            outline.nodes(block).iter().for_each(|text| remove(dom, *text));
        }
    }
    for at in (1..words.len()).rev() {
        words[outline.elements[at].parent] += words[at];
    }
    let mut stays = vec![true; words.len()];
    for (at, element) in outline.elements.iter().enumerate().skip(1) {
        let around = &outline.elements[element.parent];
        stays[at] = if element.sums.blocks > 0 || unseen[at] {
            words[at] > 0
        } else if around.sums.blocks > 0 {
            let left = words[element.parent];
            left > 0 && left * 100 >= around.sums.words * STAYS_WITH
        } else {
            stays[element.parent]
        };
        if !stays[at] {
            remove(dom, element.node);
        }
    }
}

fn remove(dom: &Document, node: NodeId) {
    if let Some(node) = dom.tree.get(&node) {
        node.remove_from_parent();
    }
}
