//! `carillon verify`: an independent check of the ledger.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Map, Value, json};

use super::{CliError, client::Server, output, progress::ProgressLine, search, when::past};
use crate::search::SearchedList;

/// Check that the ledger accounts for every instant at which schedules were due; exit with 1 if not
///
/// Computes from the history of the schedules' definitions when they should have been due, and from
/// that of their calendars which of these instants were suppressed, and compares both with the rows
/// of the ledger. Schedules that were deleted in the last 7 days are checked, too. Instants that no
/// scheduler has claimed yet and those of a current pause are counted separately.
#[derive(Debug, Args)]
pub(super) struct Verify {
    #[command(flatten)]
    server: Server,
    /// Namespace of the schedules [default: all you may see]
    #[arg(long)]
    namespace: Option<String>,
    /// Only schedules that match this search, such as 'tag:billing'
    #[arg(long, value_name = "SEARCH", allow_hyphen_values = true)]
    search: Option<String>,
    /// Due at this instant or later, at most 31 days before the end [default: 24 hours before it]
    #[arg(long, value_name = "WHEN", value_parser = past)]
    since: Option<DateTime<Utc>>,
    /// Due before this instant [default: now]
    #[arg(long, value_name = "WHEN", value_parser = past)]
    until: Option<DateTime<Utc>>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const ACTION: &str = "check the ledger";

/// How many schedules are checked by one request.
const PAGE: u32 = 100;
/// Maximum number of faults that are listed.
const LISTED: usize = 100;

/// The figures that add up over the pages.
const FIGURES: [&str; 8] = [
    "expected",
    "accounted",
    "unexplained",
    "unexpected",
    "waiting",
    "paused",
    "unjudged",
    "unchecked",
];

const CHECK: &str = "query ($in: String, $search: String, $from: DateTime, $until: DateTime,
        $deleted: Boolean!, $first: Int!, $after: String) {
    ledgerCheck(namespace: $in, search: $search, from: $from, until: $until, deleted: $deleted,
            first: $first, after: $after) {
        from until expected accounted unexplained unexpected waiting paused unjudged unchecked
        findings { schedule { namespace name } at fault text fireId version }
        schedules { schedule { namespace name } from deletedAt problem }
        hasNextPage endCursor
    }
}";

impl Verify {
    pub(super) async fn run(self) -> Result<(), CliError> {
        search::check(SearchedList::Schedules, "--search", self.search.as_deref())?;
        let found = self.check().await?;
        if self.json { output::json(&found) } else { print(&found) }?;
        faults(&found).map_or(Ok(()), |text| Err(CliError::Unaccounted(text)))
    }

    /// The results of all pages in one: those of the schedules, and then those of deleted ones.
    async fn check(&self) -> Result<Value, CliError> {
        let mut asked = json!({
            "in": self.namespace, "search": self.search, "from": self.since, "until": self.until,
            "deleted": false, "first": PAGE, "after": null,
        });
        let mut sums = FIGURES.map(|figure| (figure, 0_u64));
        let (mut schedules, mut findings, mut partial) = (0, Vec::new(), Vec::new());
        let progress = ProgressLine::begin(ACTION);
        loop {
            let mut page =
                self.server.ask(ACTION, CHECK, asked.clone()).await?["ledgerCheck"].take();
            for (figure, sum) in &mut sums {
                *sum += page[*figure].as_u64().unwrap_or_default();
            }
            // All pages are about the range of the first one.
            for end in ["from", "until"] {
                asked[end] = page[end].clone();
            }
            if let Value::Array(mut of_page) = page["findings"].take() {
                for finding in &mut of_page {
                    finding["deleted"] = asked["deleted"].clone();
                }
                findings.extend(of_page.into_iter().take(LISTED - findings.len()));
            }
            if let Value::Array(of_page) = page["schedules"].take() {
                schedules += of_page.len();
                let is_partial =
                    |one: &Value| !one["problem"].is_null() || one["from"] != asked["from"];
                partial.extend(of_page.into_iter().filter(is_partial));
            }
            progress.tell(format_args!("{schedules} schedules checked"));
            if page["hasNextPage"] == true {
                asked["after"] = page["endCursor"].take();
            } else if asked["deleted"] == false {
                asked["deleted"] = true.into();
                asked["after"] = Value::Null;
            } else {
                break;
            }
        }
        let mut found: Map<String, Value> =
            sums.into_iter().map(|(figure, sum)| (figure.to_owned(), json!(sum))).collect();
        for (name, value) in [
            ("from", asked["from"].take()),
            ("until", asked["until"].take()),
            ("schedules", json!(schedules)),
            ("findings", json!(findings)),
            ("partial", json!(partial)),
        ] {
            found.insert(name.to_owned(), value);
        }
        Ok(Value::Object(found))
    }
}

/// What is wrong; `None` if nothing is.
fn faults(found: &Value) -> Option<String> {
    let parts = [
        ("unexplained", "instants without a row"),
        ("unexpected", "faults of rows"),
        ("unchecked", "schedules that could not be checked"),
    ];
    let part = |(figure, text): (&str, &str)| {
        let number = found[figure].as_u64().filter(|number| *number > 0)?;
        Some(format!("{text}: {}", grouped(number)))
    };
    let parts: Vec<String> = parts.into_iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn print(found: &Value) -> Result<(), CliError> {
    let of = |figure: &str| grouped(found[figure].as_u64().unwrap_or_default());
    output::line(format!(
        "{} schedules from {} until {}: expected {}, accounted {}, unexplained {}, unexpected {}",
        of("schedules"),
        output::cell(&found["from"]),
        output::cell(&found["until"]),
        of("expected"),
        of("accounted"),
        of("unexplained"),
        of("unexpected"),
    ))?;
    if found["waiting"] != 0 || found["paused"] != 0 {
        let (waiting, paused) = (of("waiting"), of("paused"));
        output::line(format!(
            "open: {waiting} wait for a scheduler, {paused} get their rows when a pause ends"
        ))?;
    }
    if found["unjudged"] != 0 {
        output::line(format!(
            "{} instants cannot be judged: it is not known what their calendars were",
            of("unjudged")
        ))?;
    }
    let name = |of: &Value| {
        let schedule = &of["schedule"];
        let (namespace, name) =
            (output::cell(&schedule["namespace"]), output::cell(&schedule["name"]));
        let is_deleted = of["deleted"] == true || !of["deletedAt"].is_null();
        format!("{namespace}/{name}{}", if is_deleted { " (deleted)" } else { "" })
    };
    for one in found["partial"].as_array().into_iter().flatten() {
        match one["problem"].as_str() {
            Some(problem) => output::aside(format!("{}: not checked: {problem}", name(one))),
            None => output::aside(format!(
                "{}: checked from {} on: earlier history has been removed",
                name(one),
                output::cell(&one["from"])
            )),
        }
    }
    let findings = found["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    if findings.is_empty() {
        return Ok(());
    }
    let row = |finding: &Value| {
        let [at, text, fire] = ["at", "text", "fireId"].map(|field| output::cell(&finding[field]));
        [at, name(finding), text, fire]
    };
    let rows: Vec<[String; 4]> = findings.iter().map(row).collect();
    output::table(["AT", "SCHEDULE", "WHAT IS WRONG", "FIRE"], &rows)
}

/// A number with its digits in groups: `1,440`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1_440, 1_234_567].map(grouped), ["0", "999", "1,440", "1,234,567"]);
    }

    #[test]
    fn what_cannot_be_judged_is_no_fault() {
        let found = json!({ "unexplained": 0, "unexpected": 0, "unchecked": 0, "unjudged": 5 });
        assert_eq!(faults(&found), None);
    }

    #[test]
    fn a_fault_is_told_with_its_number() {
        let clean = json!({ "expected": 3, "unexplained": 0, "unexpected": 0, "unchecked": 0 });
        assert_eq!(faults(&clean), None);
        let wrong = json!({ "unexplained": 2, "unexpected": 0, "unchecked": 1 });
        let told = "instants without a row: 2; schedules that could not be checked: 1";
        assert_eq!(faults(&wrong).as_deref(), Some(told));
    }
}
