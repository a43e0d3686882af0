//! Rules for expressions of every kind.

use crate::error::{Fault, cut};

/// The longest expression, in bytes.
const LIMIT: usize = 256;

const LAYOUT: &str = "write 5 fields (minute, hour, day of month, month, day of week), 6 (a second \
                      in front) or 7 (a year at the end)";

/// Splits an expression into words with their byte positions.
///
/// Only spaces and tabs separate words. Other whitespace (a no-break space, a line break) was
/// probably pasted by mistake, and guessing its meaning could silently change the schedule.
pub(crate) fn words(text: &str) -> Result<Vec<(&str, usize)>, Fault> {
    if text.len() > LIMIT {
        return Err(Fault::new(
            format!("the expression is {} bytes long", text.len()),
            format!("an expression has at most {LIMIT} bytes: split it into several"),
        )
        .at(0..text.len()));
    }
    for (at, c) in text.char_indices() {
        let here = at..at + c.len_utf8();
        if !c.is_ascii() {
            return Err(Fault::new(
                format!("{c:?} (U+{:04X}) is not an ASCII character", u32::from(c)),
                "type the expression with plain digits, letters, signs and spaces",
            )
            .at(here));
        }
        if c.is_ascii_control() && c != '\t' {
            return Err(Fault::new(
                format!("a control character, {c:?}"),
                "separate the fields by spaces or tabs, on one line",
            )
            .at(here));
        }
    }
    let mut words = Vec::with_capacity(7);
    let mut at = 0;
    for word in text.split([' ', '\t']) {
        if !word.is_empty() {
            words.push((word, at));
        }
        at += word.len() + 1;
    }
    Ok(words)
}

/// The error for a wrong number of fields, with the expression that was probably meant.
pub(crate) fn field_count(words: &[(&str, usize)]) -> Fault {
    let first = words.first().map_or("", |(word, _)| word);
    let count = words.len();
    let position = match words.get(7) {
        Some((_, extra)) => *extra..words.last().map_or(*extra, |(word, at)| at + word.len()),
        None => 0..words.last().map_or(0, |(word, at)| at + word.len()),
    };
    let fields = if count == 1 { "field" } else { "fields" };
    Fault::new(format!("{count} {fields}, beginning with {:?}", cut(first)), LAYOUT).at(position)
}

/// Refuses EventBridge's dialect, which puts the minute first and the year last: read as this
/// crate's dialect, such an expression would mean something else or nothing.
pub(crate) fn other_dialect(words: &[(&str, usize)]) -> Option<Fault> {
    let (first, at) = *words.first()?;
    let (last, from) = *words.last()?;
    let is_call = ["cron(", "rate(", "at("].iter().any(|call| first.starts_with(call));
    // `?` is valid only in the day fields, whose positions
    // move by one in an expression of six fields.
    let is_shifted = words.len() == 6 && [words[2], words[4]].iter().any(|(word, _)| *word == "?");
    if !is_call && !is_shifted {
        return None;
    }
    let text: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let here = crate::dialect::Dialect::EventBridge.translate(&text.join(" ")).ok();
    let help = here.map_or(String::new(), |here| format!("write `{here}`, or "));
    Some(
        Fault::new(
            "this is how EventBridge writes: the minute first, the year last, weekdays from 1, Sunday",
            format!("{help}translate it by 'carillon preview --dialect eventbridge'"),
        )
        .at(at..from + last.len()),
    )
}

/// Refuses a zone inside the expression (`TZ=...`), which some crontabs allow.
pub(crate) fn zone_inside(words: &[(&str, usize)]) -> Option<Fault> {
    let (word, at) = words.first()?;
    let zone = word.starts_with("TZ=") || word.starts_with("CRON_TZ=");
    zone.then(|| {
        Fault::new(
            format!("{:?} is not part of a cron expression", cut(word)),
            "name the zone in the schedule's zone field",
        )
        .at(*at..at + word.len())
    })
}
