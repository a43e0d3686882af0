//! Interprets the terms of a search.

use uuid::Uuid;

use super::{
    Comparator, Criterion, Search, SearchError, SearchSpan, SearchedList, Term, TimeField,
    TimeOperand, Trigger,
    error::{one_of, quoted},
    field::Field,
    lexer::{self, Raw, RawValue},
    time,
};

/// Maximum length of a search. People type searches, so a longer one is a mistake, and each term
/// costs an SQL condition.
pub(super) const MAX_SEARCH_BYTES: usize = 1_000;
const MAX_TERMS: usize = 20;
const MAX_VALUES: usize = 20;

/// The operands with which a time may be compared, for errors.
const TIMES: &str = "compare with a distance from now (<1h, >2d), with a day or an instant \
    (>2026-01-31, <=2026-01-31T12:00:00Z), or give a day or 'never'";

pub(super) fn parse(list: SearchedList, text: &str) -> Result<Search, SearchError> {
    if text.len() > MAX_SEARCH_BYTES {
        let problem =
            format!("the search has {} bytes; the limit is {MAX_SEARCH_BYTES}", text.len());
        let start = text.floor_char_boundary(MAX_SEARCH_BYTES);
        return Err(SearchError::new(start..text.len(), problem, "shorten it"));
    }
    if let Some(at) = text.find('\0') {
        let problem = "the search has a NUL character";
        return Err(SearchError::new(at..at + 1, problem, "remove it"));
    }
    let raw = lexer::terms(text)?;
    if let Some(first) = raw.get(MAX_TERMS) {
        let problem = format!("the search has {} terms; the limit is {MAX_TERMS}", raw.len());
        return Err(SearchError::new(first.at.start..text.len(), problem, "leave some out"));
    }
    let terms = raw.into_iter().map(|raw| term(list, text, raw)).collect::<Result<_, _>>()?;
    Ok(Search { terms })
}

fn term(list: SearchedList, text: &str, raw: Raw<'_>) -> Result<Term, SearchError> {
    let Raw { at, negated, field, mut values } = raw;
    let whole = quoted(text.get(at.clone()).unwrap_or_default());
    let Some((name, name_at)) = field else {
        let text = values.pop().map(|value| value.text).unwrap_or_default();
        return Ok(Term { negated, test: Criterion::Text(text) });
    };
    let lower = name.to_ascii_lowercase();
    let known = list.fields();
    let Some(field) = known.iter().copied().find(|field| field.name() == lower) else {
        let names: Vec<_> = known.iter().map(|field| field.name()).collect();
        let noun = list.noun();
        let problem = format!("{noun} have no field '{name}' (term {whole})");
        let help = one_of(name, "the fields are", &names);
        let help = format!("{help}; to find it as text, put the term in quotes");
        return Err(SearchError::new(name_at, problem, help));
    };
    if let Some(first) = values.get(MAX_VALUES) {
        let problem = format!("term {whole} has {} values", values.len());
        let help = format!("give at most {MAX_VALUES}");
        return Err(SearchError::new(first.at.start..at.end, problem, help));
    }
    let test = match field {
        Field::State => Criterion::State(
            words(&whole, values, |word| {
                let word = word.replace('-', "_");
                list.states().find(|state| state.word() == word)
            })
            .map_err(|bad| bad.known(list.states().map(|state| state.word()).collect()))?,
        ),
        Field::Id => Criterion::Id(ids(&whole, values)?),
        Field::Trigger => Criterion::Trigger(
            words(&whole, values, |word| {
                Trigger::ALL.iter().copied().find(|trigger| trigger.word() == word)
            })
            .map_err(|bad| bad.known(Trigger::ALL.iter().map(|it| it.word()).collect()))?,
        ),
        Field::Word(field) => {
            Criterion::Word(field, values.into_iter().map(|value| value.text).collect())
        }
        Field::No => {
            let optional = list.optional_fields();
            Criterion::No(
                words(&whole, values, |word| {
                    optional.iter().copied().find(|field| field.word() == word)
                })
                .map_err(|bad| bad.known(optional.iter().map(|field| field.word()).collect()))?,
            )
        }
        Field::Time(field) => {
            Criterion::Time(field, moment(&whole, field, &single(&whole, values)?)?)
        }
        Field::Span(field) => {
            let value = single(&whole, values)?;
            let (order, rest) = order(&value);
            let span = SearchSpan::parse(rest).filter(|_| !value.is_quoted);
            let (Some(order), Some(span)) = (order, span) else {
                let problem = format!("{} is not a comparison (term {whole})", quoted(&value.text));
                let help = "compare with a duration, as in >5s, <=1h30m or <500ms";
                return Err(SearchError::new(value.at, problem, help));
            };
            Criterion::Span(field, order, span)
        }
    };
    Ok(Term { negated, test })
}

/// A word that has no meaning in this place.
struct Unknown {
    value: RawValue,
    whole: String,
}

impl Unknown {
    fn known(self, known: Vec<&str>) -> SearchError {
        let problem = format!("{} is not known (term {})", quoted(&self.value.text), self.whole);
        SearchError::new(self.value.at, problem, one_of(&self.value.text, "there are", &known))
    }
}

/// Interprets each word with `meaning`, ignoring case.
fn words<T>(
    whole: &str,
    values: Vec<RawValue>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, Unknown> {
    let one = |value: RawValue| {
        let found = read(&value.text.to_lowercase());
        found.ok_or_else(|| Unknown { value, whole: whole.to_owned() })
    };
    values.into_iter().map(one).collect()
}

/// The ids of the values. Each must be complete: a search by a part of an id would have to read
/// every row.
fn ids(whole: &str, values: Vec<RawValue>) -> Result<Vec<Uuid>, SearchError> {
    let id = |value: RawValue| match Uuid::try_parse(&value.text) {
        Ok(id) => Ok(id),
        Err(_) => {
            let problem = format!("{} is not an id (term {whole})", quoted(&value.text));
            let help = "give a whole id, as in id:0190163d-8694-739b-aea5-966c26f8ad91";
            Err(SearchError::new(value.at, problem, help))
        }
    };
    values.into_iter().map(id).collect()
}

/// The only value of a term, because several values would contradict each other.
fn single(whole: &str, mut values: Vec<RawValue>) -> Result<RawValue, SearchError> {
    let more = values.get(1).map(|second| second.at.clone());
    match (values.pop(), more) {
        (Some(value), None) => Ok(value),
        (_, more) => {
            let problem = format!("term {whole} has several values");
            let help = "give one, and write another term for another comparison";
            Err(SearchError::new(more.unwrap_or_default(), problem, help))
        }
    }
}

/// The comparison at the beginning of a value, and the rest.
fn order(value: &RawValue) -> (Option<Comparator>, &str) {
    let orders = [
        ("<=", Comparator::AtMost),
        (">=", Comparator::AtLeast),
        ("<", Comparator::Less),
        (">", Comparator::More),
    ];
    let found = orders.into_iter().find_map(|(sign, order)| {
        let rest = value.text.strip_prefix(sign)?;
        Some((Some(order), rest))
    });
    found.unwrap_or((None, &value.text))
}

fn moment(whole: &str, field: TimeField, value: &RawValue) -> Result<TimeOperand, SearchError> {
    let refused = |problem: String, help: String| {
        Err(SearchError::new(value.at.clone(), format!("{problem} (term {whole})"), help))
    };
    let shown = quoted(&value.text);
    if value.is_quoted {
        return refused(format!("{shown} is a text"), format!("{TIMES}, without quotes"));
    }
    match order(value) {
        (None, "never" | "Never" | "NEVER") => Ok(TimeOperand::Never),
        (None, text) => match (time::day(text), SearchSpan::parse(text), time::instant(text)) {
            (Some(day), ..) => Ok(TimeOperand::On(day)),
            (None, Some(span), _) => {
                let name = field.word();
                let problem = format!("{shown} lacks a comparison");
                refused(problem, format!("write {name}:<{span} or {name}:>{span}"))
            }
            (None, None, Some(_)) => {
                let problem = format!("{shown} lacks a comparison");
                refused(problem, "write < or > before it; only a whole day works without".into())
            }
            (None, None, None) => refused(format!("{shown} is not a time"), TIMES.into()),
        },
        (Some(order), text) => match (SearchSpan::parse(text), time::instant(text)) {
            (Some(span), _) => Ok(TimeOperand::Away(order, span)),
            (None, Some(at)) => Ok(TimeOperand::At(order, at)),
            (None, None) => refused(format!("{shown} is not a time"), TIMES.into()),
        },
    }
}
