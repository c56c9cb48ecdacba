//! Forests of decision trees. The result of a forest is the sum of its trees' leaves.
//!
//! A forest is a file of 8-byte nodes. The trees follow each other, and each tree is stored in pre-order,
//! left side first. A node has the index of the tested feature (16 bits), the distance to the right child, or
//! from a leaf to the next tree (16 bits), and the maximum value that goes left, or the value of the leaf (32
//! bits). All fields are little-endian.

/// Feature index that marks a leaf.
const LEAF: u16 = u16::MAX;
const NODE: usize = 8;

/// A forest.
pub(crate) struct Forest(&'static [u8]);

impl Forest {
    /// Wraps the bytes of a forest. Incomplete nodes, and trees that lead out of the forest, contribute
    /// nothing.
    pub(crate) const fn of(bytes: &'static [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the probability for a row of features.
    pub(crate) fn probability(&self, features: &[f32]) -> f32 {
        let (nodes, _) = self.0.as_chunks::<NODE>();
        let mut sum = 0.0;
        let mut at = 0;
        while let Some(node) = nodes.get(at) {
            let [a, b, c, d, value @ ..] = *node;
            let (feature, right) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
            let value = f32::from_le_bytes(value);
            if feature == LEAF {
                sum += f64::from(value);
                at += usize::from(right).max(1);
                continue;
            }
            let goes_left = features.get(usize::from(feature)).is_some_and(|feature| *feature <= value);
            at += if goes_left { 1 } else { usize::from(right).max(1) };
        }
        #[expect(clippy::cast_possible_truncation, reason = "it is between 0 and 1")]
        let probability = (1.0 / (1.0 + (-sum).exp())) as f32;
        probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two trees: a tree that tests if the second feature is at most 1.5, and a single leaf.
    const BYTES: [u8; 32] = {
        let mut bytes = [0; 32];
        let nodes: [(u16, u16, f32); 4] = [(1, 2, 1.5), (LEAF, 2, -2.0), (LEAF, 1, 2.0), (LEAF, 1, 0.5)];
        let mut index = 0;
        while index < nodes.len() {
            let (feature, right, value) = nodes[index];
            let (f, r, v) = (feature.to_le_bytes(), right.to_le_bytes(), value.to_le_bytes());
            let node = [f[0], f[1], r[0], r[1], v[0], v[1], v[2], v[3]];
            let mut byte = 0;
            while byte < NODE {
                bytes[index * NODE + byte] = node[byte];
                byte += 1;
            }
            index += 1;
        }
        bytes
    };

    #[test]
    fn trees_are_summed_up() {
        let forest = Forest::of(&BYTES);
        let says = |sum: f32| 1.0 / (1.0 + (-sum).exp());
        assert!((forest.probability(&[0.0, 1.5]) - says(-1.5)).abs() < 1e-6);
        assert!((forest.probability(&[0.0, 1.6]) - says(2.5)).abs() < 1e-6);
        assert!((forest.probability(&[]) - says(2.5)).abs() < 1e-6, "what is not known goes right");
    }

    #[test]
    fn a_broken_forest_says_something() {
        for length in 0..BYTES.len() {
            let said = Forest::of(&BYTES[..length]).probability(&[1.0, 1.0]);
            assert!((0.0..=1.0).contains(&said));
        }
        assert!((Forest::of(&[]).probability(&[]) - 0.5).abs() < 1e-6);
    }
}
