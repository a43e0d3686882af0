use crate::expression::Unit;

/// The expression with one field replaced; `None` if the text does not contain that field.
pub(super) fn field(text: &str, unit: Unit, new: &str) -> Option<String> {
    let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
    let index = index(words.len(), unit)?;
    *words.get_mut(index)? = new;
    Some(words.join(" "))
}

/// The text of one field; `None` if the field was left out.
pub(super) fn typed(text: &str, unit: Unit) -> Option<&str> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    words.get(index(words.len(), unit)?).copied()
}

fn index(words: usize, unit: Unit) -> Option<usize> {
    Unit::layout(words)?.iter().position(|other| *other == unit)
}
