use serde_json::{Value, json};

use crate::cli::{CliError, client::Server, output, pause::afterwards};

const PREVIEW: &str = "query ($input: MaintenanceInput!) {
    maintenancePreview(input: $input) {
        scheduleCount alreadyPaused fireCount isFireCountComplete sample { id name }
        overlapping { id title startsAt endsAt state }
    }
}";

/// Shows what a window would hold back. The window with the id `own` does not overlap itself.
pub(super) async fn show(
    server: &Server,
    input: &Value,
    own: Option<&Value>,
    is_json: bool,
) -> Result<(), CliError> {
    const ACTION: &str = "preview the maintenance";
    let mut answer = server.ask(ACTION, PREVIEW, json!({ "input": input })).await?;
    let mut preview = answer["maintenancePreview"].take();
    if let (Some(own), Some(others)) = (own, preview["overlapping"].as_array_mut()) {
        others.retain(|other| other["id"] != *own);
    }
    if is_json {
        return output::json(&preview);
    }
    lines(&preview, input).iter().try_for_each(output::line)
}

/// The preview, for people.
fn lines(preview: &Value, input: &Value) -> Vec<String> {
    let count = |name: &str| preview[name].as_u64().unwrap_or(0);
    let (schedules, paused) = (count("scheduleCount"), count("alreadyPaused"));
    let already = match paused {
        0 => String::new(),
        paused => format!(", {paused} of them paused already"),
    };
    let mut lines = vec![format!("{} would be in it{already}", many(schedules, "schedule"))];
    let sample: Vec<&Value> = preview["sample"].as_array().into_iter().flatten().collect();
    lines.extend(sample.iter().map(|one| format!("  {}", output::cell(&one["name"]))));
    let others = schedules.saturating_sub(sample.len() as u64);
    if others > 0 {
        lines.push(format!("  and {others} others"));
    }
    let at_least = if preview["isFireCountComplete"] == true { "" } else { "at least " };
    let fires = many(count("fireCount"), "fire");
    lines.push(format!("{at_least}{fires} would fall into it{}", afterwards(input)));
    for other in preview["overlapping"].as_array().into_iter().flatten() {
        let cell = |name: &str| output::cell(&other[name]);
        let (title, from, until) = (cell("title"), cell("startsAt"), cell("endsAt"));
        lines.push(format!("it overlaps with {title} from {from} until {until}"));
    }
    lines
}

fn many(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_says_how_much_it_would_hold_back() {
        let preview = json!({
            "scheduleCount": 3, "alreadyPaused": 1, "fireCount": 1, "isFireCountComplete": true,
            "sample": [{ "name": "nightly" }],
            "overlapping": [{ "title": "Move", "startsAt": "a", "endsAt": "b" }],
        });
        let told = lines(&preview, &json!({ "missed": "LATEST" }));
        assert_eq!(
            told,
            [
                "3 schedules would be in it, 1 of them paused already",
                "  nightly",
                "  and 2 others",
                "1 fire would fall into it, then runs the latest",
                "it overlaps with Move from a until b",
            ]
        );
        let cut = json!({ "scheduleCount": 0, "fireCount": 9, "isFireCountComplete": false });
        let told = lines(&cut, &json!({ "missed": "SKIP" }));
        assert_eq!(told, ["0 schedules would be in it", "at least 9 fires would fall into it"]);
    }
}
