//! Writes a batch of which the database may refuse some items.
//! The batch is tried as a whole. A refused part is split in half and tried again,
//! until the refused items are isolated and the others are written.

use std::ops::Range;

/// The parts of a batch that are still to be tried.
#[derive(Debug)]
pub(in crate::engine) struct Bisect {
    /// The parts in reverse order: the last element is tried next.
    parts: Vec<Range<usize>>,
}

impl Bisect {
    /// Starts with the given parts of a batch, in order.
    pub(in crate::engine) fn new(
        parts: impl IntoIterator<Item = Range<usize>, IntoIter: DoubleEndedIterator>,
    ) -> Self {
        Self { parts: parts.into_iter().rev().collect() }
    }

    /// Takes the next part to try.
    pub(in crate::engine) fn pop(&mut self) -> Option<Range<usize>> {
        self.parts.pop()
    }

    /// Puts a part back, to be tried before the others.
    pub(in crate::engine) fn again(&mut self, part: Range<usize>) {
        self.parts.push(part);
    }

    /// Splits a refused part, so that its halves are tried next.
    /// Returns the item's index as `Err` if the part is a single item.
    pub(in crate::engine) fn split(&mut self, part: Range<usize>) -> Result<(), usize> {
        if part.len() < 2 {
            return Err(part.start);
        }
        let middle = usize::midpoint(part.start, part.end);
        self.parts.extend([middle..part.end, part.start..middle]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refused_are_found_and_the_others_are_written_in_their_order() {
        let is_refused = |one: &usize| matches!(one, 3 | 7);
        let (mut written, mut refused) = (Vec::new(), Vec::new());
        let mut parts = Bisect::new([0..5, 5..9]);
        while let Some(part) = parts.pop() {
            if !part.clone().any(|one| is_refused(&one)) {
                written.extend(part);
            } else if let Err(alone) = parts.split(part) {
                refused.push(alone);
            }
        }
        assert_eq!(written, [0, 1, 2, 4, 5, 6, 8]);
        assert_eq!(refused, [3, 7]);
    }
}
