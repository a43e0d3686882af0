use crate::timetable::Parts;

pub(crate) fn describe(parts: &Parts) -> String {
    let texts: Vec<&str> = parts.expressions.iter().map(|(text, _)| text.as_str()).collect();
    format!("{} ({})", texts.join(" or "), parts.zone.name())
}
