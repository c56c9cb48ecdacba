//! Positions on a page (ISO 32000-1, 8.3.4).

/// The matrix `[a b c d e f]`, which maps (x, y) to (ax + cy + e, bx + dy + f).
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix(pub(super) [f64; 6]);

impl Matrix {
    pub(super) const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    pub(super) const fn shift(x: f64, y: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// Transforms a point.
    pub(super) fn point(self, x: f64, y: f64) -> (f64, f64) {
        let at = Self::shift(x, y).then(self).0;
        (at[4], at[5])
    }

    /// Returns the transformation that applies this matrix first, then `other`.
    pub(super) fn then(self, other: Self) -> Self {
        let (one, two) = (self.0, other.0);
        let row = |x: f64, y: f64| (x * two[0] + y * two[2], x * two[1] + y * two[3]);
        let (first, second, shift) = (row(one[0], one[1]), row(one[2], one[3]), row(one[4], one[5]));
        Self([first.0, first.1, second.0, second.1, shift.0 + two[4], shift.1 + two[5]])
    }
}
