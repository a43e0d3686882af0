//! Parses and checks the expression that a user types.
//!
//! Any text is answered in microseconds, either with a value or with a [`Fault`] that says where
//! the text is wrong, what was expected and how to correct it.
//! Croner never refuses a text that is accepted here. This module knows neither zones nor instants.
//!
//! - [`text`]: rules for every expression: length, ASCII, splitting into words.
//! - [`mod@unit`]: the seven fields, their bounds and names.
//! - [`field`], [`item`], [`value`], [`hashed`]: the grammar of a cron field.
//! - [`every`], [`at`]: the arguments of `@every` and `@at`.

mod at;
mod every;
mod field;
mod hashed;
mod item;
mod text;
pub(crate) mod unit;
mod value;

pub(crate) use at::LAST_SECOND;
pub(crate) use field::Field;
pub(crate) use item::Item;
pub(crate) use unit::Unit;

use crate::error::Fault;

/// One checked expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expression {
    /// A cron expression, or a nickname for one.
    Cron(Cron),
    /// `@every`: an interval in seconds.
    Every(i64),
    /// `@at`: an instant in unix milliseconds.
    At(i64),
    /// `@manually`: never fires on its own.
    Manually,
}

/// The nicknames and the expressions that they stand for.
pub(crate) const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

const NICKNAME_HELP: &str = "use @yearly, @annually, @monthly, @weekly, @daily, @midnight, \
                             @hourly, @manually, `@every 90s` or `@at 2026-11-01T09:00:00Z`, and \
                             nothing after it";

impl Expression {
    /// Parses and checks `text`; `seed` determines the value of `H`.
    pub(crate) fn parse(text: &str, seed: &[u8; 16]) -> Result<Expression, Fault> {
        let words = text::words(text)?;
        let Some(&(first, at)) = words.first() else {
            return Err(Fault::new(
                "the expression is empty",
                "write five fields, as in `30 2 * * *`, or a nickname such as @daily",
            ));
        };
        if !first.starts_with('@') {
            return Cron::parse(&words, seed).map(Expression::Cron);
        }
        match (first.to_ascii_lowercase().as_str(), &words[1..]) {
            ("@manually", []) => Ok(Expression::Manually),
            ("@manually", [(_, from), ..]) => {
                Err(Fault::new("@manually takes nothing after it", NICKNAME_HELP)
                    .at(*from..text.len()))
            }
            ("@every", [(interval, at)]) => every::parse(interval, *at).map(Expression::Every),
            ("@at", [(instant, at)]) => at::parse(instant, *at).map(Expression::At),
            ("@every", _) => Err(Fault::new(
                "@every takes one interval",
                "write it without spaces, as in `@every 1h30m`",
            )
            .at(at..text.len())),
            ("@at", _) => Err(Fault::new(
                "@at takes one instant",
                "write unix seconds or RFC 3339, as in `@at 2026-11-01T09:00:00Z`",
            )
            .at(at..text.len())),
            (folded, rest) => {
                let name = first;
                let known = NICKNAMES.iter().find(|(known, _)| *known == folded);
                match (known, rest) {
                    (Some((_, cron)), []) => {
                        Cron::parse(&text::words(cron)?, seed).map(Expression::Cron)
                    }
                    (Some(_), [(_, from), ..]) => {
                        Err(Fault::new(format!("{} takes nothing after it", name), NICKNAME_HELP)
                            .at(*from..text.len()))
                    }
                    (None, _) => Err(Fault::new(
                        format!("{:?} is not a nickname", crate::error::cut(name)),
                        NICKNAME_HELP,
                    )
                    .at(at..at + name.len())),
                }
            }
        }
    }
}

/// A checked cron expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cron {
    /// All seven fields in order; a field that was left out has its default.
    fields: Box<[Field; 7]>,
}

impl Cron {
    fn parse(words: &[(&str, usize)], seed: &[u8; 16]) -> Result<Cron, Fault> {
        if let Some(fault) = text::zone_inside(words) {
            return Err(fault);
        }
        if let Some(fault) = text::other_dialect(words) {
            return Err(fault);
        }
        let Some(layout) = Unit::layout(words.len()) else {
            return Err(text::field_count(words));
        };
        let mut fields = [
            Field::default_of(Unit::Second),
            Field::default_of(Unit::Minute),
            Field::default_of(Unit::Hour),
            Field::default_of(Unit::DayOfMonth),
            Field::default_of(Unit::Month),
            Field::default_of(Unit::DayOfWeek),
            Field::default_of(Unit::Year),
        ];
        for (&unit, &(word, at)) in layout.iter().zip(words) {
            fields[unit as usize] = Field::parse(unit, word, at, seed)?;
        }
        Ok(Cron { fields: Box::new(fields) })
    }

    pub(crate) fn field(&self, unit: Unit) -> &Field {
        &self.fields[unit as usize]
    }

    /// Whether no field of the time of day begins with `*`.
    /// The DST policy protects fixed times when the clock changes; wildcard times follow the clock.
    pub(crate) fn fixed(&self) -> bool {
        [Unit::Second, Unit::Minute, Unit::Hour].iter().all(|unit| !self.field(*unit).starred)
    }

    /// Whether any field contains an `H`.
    pub(crate) fn hashed(&self) -> bool {
        self.fields.iter().any(|field| field.hashed)
    }

    /// Whether a day must match both day fields.
    /// Otherwise, if both are restricted, a match of either is enough.
    pub(crate) fn both_days(&self) -> bool {
        let (month, week) = (self.field(Unit::DayOfMonth), self.field(Unit::DayOfWeek));
        month.starred || week.starred || week.both
    }

    /// The first six fields in a canonical form: equal meanings have equal texts.
    pub(crate) fn canonical(&self) -> String {
        let fields: Vec<String> = self.fields[..6].iter().map(Field::canonical).collect();
        fields.join(" ")
    }

    /// The first six fields as croner's strict parser expects them, for months of `length` days.
    pub(crate) fn canonical_of(&self, length: u16) -> String {
        let fields: Vec<String> =
            self.fields[..6].iter().map(|field| field.canonical_of(length)).collect();
        fields.join(" ")
    }
}
