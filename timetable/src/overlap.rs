//! What a due fire does while a run of the same schedule is alive.

/// What to do about a fire while a run of the same schedule is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The fire is skipped.
    #[default]
    Skip,
    /// Both run.
    Allow,
}

impl Policy {
    /// How many of `wanting` due fires, the earliest first, may start beside `live` runs.
    pub fn admit(self, live: usize, wanting: usize) -> usize {
        match self {
            Self::Allow => wanting,
            Self::Skip if live == 0 => wanting.min(1),
            Self::Skip => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skip_lets_one_start_and_only_when_nothing_is_alive() {
        assert_eq!(Policy::Skip.admit(0, 3), 1);
        assert_eq!(Policy::Skip.admit(1, 3), 0);
        assert_eq!(Policy::Skip.admit(0, 0), 0);
    }

    #[test]
    fn allow_lets_all_start() {
        assert_eq!(Policy::Allow.admit(5, 3), 3);
    }
}
