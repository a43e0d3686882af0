/// The kinds of events that a calendar shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedContent {
    /// Upcoming runs.
    pub runs: bool,
    /// Current pauses of schedules, and maintenance windows.
    pub pauses: bool,
    /// Days on which calendars suppress fires.
    pub calendars: bool,
}

impl FeedContent {
    /// Everything that a calendar can show.
    pub const ALL: Self = Self { runs: true, pauses: true, calendars: true };

    /// Parses a list of kinds, such as `runs,pauses`; `None` if one of them does not exist.
    pub fn parse(text: &str) -> Option<Self> {
        let mut content = Self { runs: false, pauses: false, calendars: false };
        for kind in text.split(',') {
            match kind {
                "runs" => content.runs = true,
                "pauses" => content.pauses = true,
                "calendars" => content.calendars = true,
                _ => return None,
            }
        }
        Some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_kinds_is_read_and_an_unknown_one_is_not() {
        let pauses = FeedContent { runs: false, pauses: true, calendars: false };
        assert_eq!(FeedContent::parse("pauses"), Some(pauses));
        assert_eq!(FeedContent::parse("runs,calendars,pauses"), Some(FeedContent::ALL));
        for text in ["", "runs,", "Runs", "fires"] {
            assert_eq!(FeedContent::parse(text), None, "{text}");
        }
    }
}
