//! The objects that prevent a deletion.

use crate::time::amount;

/// A text about the schedules that refer to an object, which can only be deleted once no schedule does. `uses` and
/// `use_it` are the verb for one and for several schedules.
pub(in crate::pages) fn in_use(schedules: i64, uses: &str, use_it: &str) -> String {
    match schedules {
        0 => format!("No schedule {uses} it."),
        1 => format!("1 schedule {uses} it: this is refused until it no longer does."),
        many => {
            let many = amount(many, "schedule", "schedules");
            format!("{many} {use_it} it: this is refused until they no longer do.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_use;

    #[test]
    fn what_refers_to_it_is_counted() {
        assert_eq!(in_use(0, "uses", "use"), "No schedule uses it.");
        assert_eq!(
            in_use(1, "runs", "run"),
            "1 schedule runs it: this is refused until it no longer does."
        );
        assert_eq!(
            in_use(2, "runs", "run"),
            "2 schedules run it: this is refused until they no longer do."
        );
    }
}
