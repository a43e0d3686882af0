//! The schedule of a function, checked by the same calculator that the server uses.

use proc_macro2::Span;
use serde_json::{Map, Value, json};
use syn::LitStr;
use timetable::{Definition, Timetable};

use crate::arguments::Arguments;

const OVERLAPS: &[&str] =
    &["skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow"];

const RETRY_KEYS: &[&str] = &["max_attempts", "backoff", "initial", "max", "jitter"];

/// A schedule as in a module file, without its target.
pub(crate) struct Schedule {
    pub(crate) name: String,
    /// The keys of the schedule.
    pub(crate) keys: String,
    /// The keys of its task.
    pub(crate) task_keys: String,
    /// The function's input.
    pub(crate) input: Option<String>,
    /// The tags that workers must have to take its jobs.
    pub(crate) worker_tags: Vec<String>,
}

impl Schedule {
    pub(crate) const KEYS: &[&str] = &[
        "cron",
        "zone",
        "overlap",
        "queue",
        "name",
        "schedule",
        "input",
        "timeout",
        "attempts",
        "retry",
        "note",
        "tags",
        "worker_tags",
        "options",
    ];

    pub(crate) fn read(arguments: &Arguments, task: &str) -> syn::Result<Self> {
        let cron = arguments.texts("cron")?;
        if cron.is_empty() {
            let problem = "`cron` is missing: write `cron = \"0 2 * * *\"`";
            return Err(syn::Error::new(Span::call_site(), problem));
        }
        let zone = arguments.text("zone")?;
        check_timing(&cron, zone.as_ref())?;

        let mut keys = match arguments.text("options")? {
            None => Map::new(),
            Some(text) => json_object(&text)?,
        };
        keys.insert("when".to_owned(), cron.iter().map(LitStr::value).collect());
        keys.insert("zone".to_owned(), json!(zone.map_or("UTC".to_owned(), |zone| zone.value())));
        keys.insert("overlap".to_owned(), json!(overlap(arguments)?));
        if let Some(note) = arguments.text("note")? {
            keys.insert("note".to_owned(), json!(note.value()));
        }
        let tags = arguments.texts("tags")?;
        if !tags.is_empty() {
            keys.insert("tags".to_owned(), tags.iter().map(LitStr::value).collect());
        }

        let mut task_keys = Map::new();
        if let Some(timeout) = arguments.text("timeout")? {
            task_keys.insert("timeout".to_owned(), json!(timeout.value()));
        }
        if let Some(retry) = retry(arguments)? {
            task_keys.insert("retry".to_owned(), Value::Object(retry));
        }
        let input = arguments.text("input")?.map(|text| json_object(&text)).transpose()?;
        Ok(Self {
            name: schedule_name(arguments, task)?,
            keys: Value::Object(keys).to_string(),
            task_keys: Value::Object(task_keys).to_string(),
            input: input.map(|input| Value::Object(input).to_string()),
            worker_tags: worker_tags(arguments)?,
        })
    }
}

/// Checks the timing. An invalid expression is reported at that expression, and an invalid zone at
/// the zone.
fn check_timing(cron: &[LitStr], zone: Option<&LitStr>) -> syn::Result<()> {
    if let Some(zone) = zone {
        timing(vec!["@daily".to_owned()], &zone.value())
            .map_err(|problem| syn::Error::new(zone.span(), problem))?;
    }
    let name = zone.map_or("UTC".to_owned(), LitStr::value);
    for each in cron {
        timing(vec![each.value()], &name)
            .map_err(|problem| syn::Error::new(each.span(), problem))?;
    }
    let all = cron.iter().map(LitStr::value).collect();
    let last = cron.last().map_or_else(Span::call_site, LitStr::span);
    timing(all, &name).map_err(|problem| syn::Error::new(last, problem))
}

fn timing(expressions: Vec<String>, zone: &str) -> Result<(), String> {
    let definition = Definition::new(expressions, zone);
    Timetable::new(&definition).map(drop).map_err(|error| error.to_string())
}

fn overlap(arguments: &Arguments) -> syn::Result<String> {
    let Some(text) = arguments.text("overlap")? else { return Ok("skip".to_owned()) };
    let value = text.value();
    if OVERLAPS.contains(&value.as_str()) {
        return Ok(value);
    }
    let problem = format!("`{value}` is not an overlap; there is {}", OVERLAPS.join(", "));
    Err(syn::Error::new(text.span(), problem))
}

/// The retry policy: as in a module file, or the number of attempts alone.
fn retry(arguments: &Arguments) -> syn::Result<Option<Map<String, Value>>> {
    let attempts = arguments.number("attempts")?;
    let Some(text) = arguments.text("retry")? else {
        let Some(attempts) = attempts else { return Ok(None) };
        let attempts: u32 = attempts.base10_parse()?;
        return Ok(Some(Map::from_iter([("max_attempts".to_owned(), json!(attempts))])));
    };
    if let Some(attempts) = attempts {
        let problem = "`attempts` is `max_attempts` of `retry`: write one of them";
        return Err(syn::Error::new(attempts.span(), problem));
    }
    let retry = json_object(&text)?;
    match retry.keys().find(|key| !RETRY_KEYS.contains(&key.as_str())) {
        None => Ok(Some(retry)),
        Some(key) => {
            let problem = format!("`retry` has no `{key}`; it has {}", RETRY_KEYS.join(", "));
            Err(syn::Error::new(text.span(), problem))
        }
    }
}

fn worker_tags(arguments: &Arguments) -> syn::Result<Vec<String>> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-=".contains(c);
    let checked = |text: LitStr| {
        let tag = text.value();
        if (1..=64).contains(&tag.len()) && tag.chars().all(fits) {
            return Ok(tag);
        }
        Err(syn::Error::new(text.span(), "a worker's tag is 1 to 64 of a-z 0-9 . _ - ="))
    };
    arguments.texts("worker_tags")?.into_iter().map(checked).collect()
}

fn json_object(text: &LitStr) -> syn::Result<Map<String, Value>> {
    let refused = |problem: String| syn::Error::new(text.span(), problem);
    match serde_json::from_str(&text.value()) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(refused("write a JSON object".to_owned())),
        Err(error) => Err(refused(format!("this is not JSON: {error}"))),
    }
}

fn schedule_name(arguments: &Arguments, task: &str) -> syn::Result<String> {
    let Some(text) = arguments.text("schedule")? else { return Ok(task.to_owned()) };
    let name = text.value();
    let inner = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    let is_edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let fits = name.len() <= 128 && name.chars().all(inner);
    if fits && is_edge(name.chars().next()) && is_edge(name.chars().last()) {
        return Ok(name);
    }
    let help = "write 1 to 128 of A-Z a-z 0-9 . _ / -, with a letter or digit first and last";
    Err(syn::Error::new(text.span(), help))
}
