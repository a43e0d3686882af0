//! Converts `OnCalendar=` expressions to cron.
//!
//! If an expression restricts both the weekday and the date, systemd requires both to match. So the
//! day of week gets a `+`, which has the same effect in our dialect.

/// A systemd expression in our dialect.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConvertedCalendar {
    pub(super) expression: String,
    /// The zone at the end of the expression.
    pub(super) zone: Option<String>,
}

const WEEKDAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

pub(super) fn read(text: &str) -> Result<ConvertedCalendar, String> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let zone = words.last().copied().filter(|word| is_zone(word)).map(str::to_owned);
    if zone.is_some() {
        words.pop();
    }
    if let [word] = words[..] {
        if let Some(expression) = shorthand(word) {
            return Ok(ConvertedCalendar { expression: expression.to_owned(), zone });
        }
        if let Some(seconds) = word.strip_prefix('@') {
            return Ok(ConvertedCalendar { expression: format!("@at {seconds}"), zone });
        }
    }
    let mut fields = Fields::default();
    let mut words = words.into_iter().peekable();
    if let Some(word) = words.next_if(|word| word.starts_with(|c: char| c.is_ascii_alphabetic())) {
        fields.weekday = weekdays(word)?;
    }
    if let Some(word) = words.next_if(|word| !word.contains(':')) {
        fields.date(word)?;
    }
    if let Some(word) = words.next() {
        fields.time(word)?;
    }
    match words.next() {
        Some(word) => Err(format!("{word:?} is not expected here")),
        None => Ok(ConvertedCalendar { expression: fields.expression()?, zone }),
    }
}

fn shorthand(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "minutely" => "* * * * *",
        "hourly" => "0 * * * *",
        "daily" => "0 0 * * *",
        "weekly" => "0 0 * * 1",
        "monthly" => "0 0 1 * *",
        "yearly" | "annually" | "anually" => "0 0 1 1 *",
        "quarterly" => "0 0 1 1,4,7,10 *",
        "semiannually" | "biannually" | "bi-annually" | "semi-annually" => "0 0 1 1,7 *",
        _ => return None,
    })
}

fn is_zone(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && shorthand(word).is_none()
        && weekdays(word).is_err()
}

/// The fields of a cron expression.
struct Fields {
    second: String,
    minute: String,
    hour: String,
    day: String,
    month: String,
    weekday: String,
    year: String,
    /// Whether the day is counted from the end of the month.
    from_end: bool,
}

impl Default for Fields {
    fn default() -> Self {
        let (zero, any) = (|| "0".to_owned(), || "*".to_owned());
        Self {
            second: zero(),
            minute: zero(),
            hour: zero(),
            day: any(),
            month: any(),
            weekday: any(),
            year: any(),
            from_end: false,
        }
    }
}

impl Fields {
    /// Parses a date: `2026-01-01`, `*-*-01`, `01-01`, `*-02~01`.
    fn date(&mut self, word: &str) -> Result<(), String> {
        let (rest, day) = match word.rsplit_once('~') {
            Some(parts) => {
                self.from_end = true;
                parts
            }
            None => word.rsplit_once('-').ok_or_else(|| format!("{word:?} is not a date"))?,
        };
        let (year, month) = rest.rsplit_once('-').unwrap_or(("*", rest));
        self.year = full_years(&values(year)?);
        self.month = values(month)?;
        self.day = values(day)?;
        Ok(())
    }

    /// Parses a time: `02:00`, `*:0/15`, `02:00:30`.
    fn time(&mut self, word: &str) -> Result<(), String> {
        let parts: Vec<&str> = word.split(':').collect();
        let (hour, minute, second) = match parts[..] {
            [hour, minute] => (hour, minute, "0"),
            [hour, minute, second] => (hour, minute, second),
            _ => return Err(format!("{word:?} is not a time of day")),
        };
        self.hour = values(hour)?;
        self.minute = values(minute)?;
        self.second = values(second)?;
        Ok(())
    }

    fn expression(mut self) -> Result<String, String> {
        if self.from_end {
            let is_one_day = self.weekday.len() == 1 && self.weekday != "*";
            match &*self.day {
                "1" => self.day = "L".to_owned(),
                // Each weekday occurs once among the last seven days.
                "7/1" | "1-7" if is_one_day => {
                    self.weekday.push('L');
                    self.day = "*".to_owned();
                }
                day => self.day = before_last(day)?,
            }
        }
        if self.weekday != "*" && !self.day.starts_with('*') {
            self.weekday.insert(0, '+');
        }
        let Self { second, minute, hour, day, month, weekday, year, .. } = self;
        let five = format!("{minute} {hour} {day} {month} {weekday}");
        Ok(match (&*second, &*year) {
            ("0", "*") => five,
            (_, "*") => format!("{second} {five}"),
            _ => format!("{second} {five} {year}"),
        })
    }
}

/// Converts days counted from the end of the month, where 1 is the last day: `5` becomes `L-4`.
fn before_last(text: &str) -> Result<String, String> {
    let day = |text: &str| match text.parse::<u16>() {
        Ok(1) => Ok("L".to_owned()),
        Ok(day @ 2..=28) => Ok(format!("L-{}", day - 1)),
        Ok(_) | Err(_) => Err(format!(
            "~{text} counts days from the end of the month; single days from ~01 to ~28, lists of \
             them, and the last of one weekday (~07/1) can be expressed here"
        )),
    };
    let days: Result<Vec<String>, String> = text.split(',').map(day).collect();
    Ok(days?.join(","))
}

/// Parses the values of a field: `*`, `5`, `1..5`, `0/15`, `8..18/2`, and lists of these.
fn values(text: &str) -> Result<String, String> {
    let items: Result<Vec<String>, String> = text.split(',').map(item).collect();
    Ok(items?.join(","))
}

/// Completes years of two digits: systemd reads 27 as 2027, and 99 as 1999.
fn full_years(years: &str) -> String {
    let full = |year: &str| match year.parse::<u16>() {
        Ok(year @ 0..=69) => (2000 + year).to_string(),
        Ok(year @ 70..=99) => (1900 + year).to_string(),
        Ok(_) | Err(_) => year.to_owned(),
    };
    let item = |item: &str| {
        let (range, step) = item.split_at(item.find('/').unwrap_or(item.len()));
        let ends: Vec<String> = range.split('-').map(full).collect();
        ends.join("-") + step
    };
    years.split(',').map(item).collect::<Vec<_>>().join(",")
}

fn item(text: &str) -> Result<String, String> {
    let (range, step) = match text.split_once('/') {
        Some((range, step)) => (range, Some(number(step)?)),
        None => (text, None),
    };
    let range = match range.split_once("..") {
        Some((low, high)) => format!("{}-{}", number(low)?, number(high)?),
        None if range == "*" => "*".to_owned(),
        None => number(range)?.to_string(),
    };
    Ok(match step {
        Some(step) => format!("{range}/{step}"),
        None => range,
    })
}

fn number(text: &str) -> Result<u16, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = text.parse().ok().filter(|_| is_number);
    parsed.ok_or_else(|| {
        if text.contains('.') {
            format!("{text:?} has a part of a second; fires are at whole seconds here")
        } else {
            format!("{text:?} is not a number")
        }
    })
}

/// Parses weekdays: `Mon..Fri`, `Sat,Sun`.
fn weekdays(text: &str) -> Result<String, String> {
    let list = text.trim_end_matches(',');
    let item = |item: &str| -> Result<String, String> {
        match item.split_once("..").or_else(|| item.split_once('-')) {
            Some((low, high)) => {
                let (low, high) = (weekday(low)?, weekday(high)?);
                Ok(format!("{low}-{}", if high == 0 { 7 } else { high }))
            }
            None => Ok(weekday(item)?.to_string()),
        }
    };
    let items: Result<Vec<String>, String> = list.split(',').map(item).collect();
    Ok(items?.join(","))
}

fn weekday(name: &str) -> Result<usize, String> {
    let name = name.to_ascii_lowercase();
    let found = WEEKDAYS.iter().position(|day| *day == name || day[..3] == name);
    found.ok_or_else(|| format!("{name:?} is not a weekday"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_systemd_are_read() {
        for (text, expression, zone) in [
            ("daily", "0 0 * * *", None),
            ("weekly UTC", "0 0 * * 1", Some("UTC")),
            ("*-*-* 02:30:00", "30 2 * * *", None),
            ("02:30", "30 2 * * *", None),
            ("Mon..Fri *-*-* 08:00", "0 8 * * 1-5", None),
            ("Sat,Sun 10:00", "0 10 * * 6,0", None),
            ("Fri..Sun", "0 0 * * 5-7", None),
            ("*:0/15", "0/15 * * * *", None),
            ("*-*-* *:*:00/10", "0/10 * * * * *", None),
            ("*-*-01,15 00:00", "0 0 1,15 * *", None),
            ("Mon *-*-01..07 03:00", "0 3 1-7 * +1", None),
            ("*-02~01", "0 0 L 2 *", None),
            ("*-*~05", "0 0 L-4 * *", None),
            ("Mon *-*~01,02", "0 0 L,L-1 * +1", None),
            ("Mon *-05~07/1", "0 0 * 5 1L", None),
            ("2027-01-15 08:00:00", "0 0 8 15 1 * 2027", None),
            ("27-01-15 08:00:00", "0 0 8 15 1 * 2027", None),
            ("27..31/2,99-01-15", "0 0 0 15 1 * 2027-2031/2,1999", None),
            ("12-24 18:00 Europe/Berlin", "0 18 24 12 *", Some("Europe/Berlin")),
            ("*-*-* 8..18/2:00", "0 8-18/2 * * *", None),
            ("@1800000000", "@at 1800000000", None),
        ] {
            let expected = ConvertedCalendar {
                expression: expression.to_owned(),
                zone: zone.map(str::to_owned),
            };
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_timing_without_an_equivalent_is_refused() {
        for text in ["", "*-*-* 25", "*-*~29", "*:*:00.5", "Foo 10:00", "a b c d", "*-*-*-* 1:1"] {
            if text.is_empty() {
                // An empty value clears the previous ones, and is never passed to `read`.
                continue;
            }
            assert!(read(text).is_err(), "{text}: {:?}", read(text));
        }
    }
}
