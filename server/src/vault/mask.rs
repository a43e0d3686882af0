//! Removes secrets from texts, unencoded and in the encodings that programs and protocols use.

use std::{collections::HashMap, ops::Range};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use secrecy::SecretString;
use serde_json::Value;

use super::{
    MASK,
    forms::{self, MIN},
};
use crate::target::AttemptOutcome;

/// A text of this length may have been cut in the middle of a secret.
const CUT: usize = 1_000;
/// A line of this length may have been cut off from the next one.
const MIN_CUT: usize = 16 * 1024 - 8;
/// Minimum number of characters of a partial secret that is searched for next to a cut.
const MIN_PART: usize = 4;
/// Number of bytes of a form that the finder searches for; the rest is compared. So the cost of a
/// large secret grows with its number of lines and not with its size.
const HEAD: usize = 32;
/// The line lengths of `xxd -p`, `openssl base64` and `base64`.
const WRAPS: [usize; 3] = [60, 64, 76];

/// Where a secret may have been cut off before a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextStart {
    /// Nowhere: the text is whole.
    Whole,
    /// Before its first word: it continues a text that was cut off.
    Continues,
    /// Before each word: lines may be missing between them.
    WordsContinue,
}

/// The texts to remove: every encoding of the secrets.
#[derive(Clone, Default)]
pub(crate) struct Mask {
    /// All forms, the longest first.
    forms: Vec<String>,
    /// The indices of the forms with the same beginning.
    by_head: HashMap<Vec<u8>, Vec<usize>>,
    /// Finds the beginnings of all forms in one pass.
    finder: Option<AhoCorasick>,
}

impl Mask {
    /// A mask for these secrets.
    pub(crate) fn of<'a>(secrets: impl Iterator<Item = &'a SecretString>) -> Self {
        let forms = forms::of(secrets);
        // Most tasks have no secrets, and building an unused finder costs more than such a run.
        if forms.is_empty() {
            return Self::default();
        }
        let mut by_head: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (index, form) in forms.iter().enumerate() {
            let head = &form.as_bytes()[..form.len().min(HEAD)];
            by_head.entry(head.to_vec()).or_default().push(index);
        }
        let finder = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .match_kind(MatchKind::LeftmostLongest)
            .build(by_head.keys());
        Self { forms, by_head, finder: finder.ok() }
    }

    /// Whether the next line may begin in the middle of a secret with which this line ends.
    pub(crate) fn is_cut(line: &str) -> bool {
        let last = line.split_ascii_whitespace().next_back();
        line.len() > MIN_CUT || last.is_some_and(is_wrapped)
    }

    /// Removes the secrets from a text. `goes_on` says whether the text continues one that was cut
    /// off.
    pub(crate) fn text(&self, text: String, goes_on: bool) -> String {
        self.masked(text, if goes_on { TextStart::Continues } else { TextStart::Whole })
    }

    /// Removes the secrets from an attempt's outcome.
    pub(crate) fn outcome(&self, outcome: AttemptOutcome) -> AttemptOutcome {
        if self.forms.is_empty() {
            return outcome;
        }
        // The message may repeat a line without the one before it.
        let message = |message| self.masked(message, TextStart::WordsContinue);
        match outcome {
            AttemptOutcome::Succeeded { output } => {
                AttemptOutcome::Succeeded { output: self.json(output) }
            }
            AttemptOutcome::Failed { message: said, output } => {
                AttemptOutcome::Failed { message: message(said), output: self.json(output) }
            }
            AttemptOutcome::TimedOut { message: said, output } => {
                AttemptOutcome::TimedOut { message: message(said), output: self.json(output) }
            }
            AttemptOutcome::Cancelled { output } => {
                AttemptOutcome::Cancelled { output: self.json(output) }
            }
        }
    }

    fn json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text, false)),
            Value::Array(items) => items.into_iter().map(|item| self.json(item)).collect(),
            Value::Object(members) => {
                let masked = |(name, member)| (self.text(name, false), self.json(member));
                Value::Object(members.into_iter().map(masked).collect())
            }
            Value::Number(number) => {
                let hidden = !self.whole(&number.to_string()).is_empty();
                if hidden { Value::from(MASK) } else { Value::Number(number) }
            }
            Value::Null | Value::Bool(_) => value,
        }
    }

    fn masked(&self, text: String, start: TextStart) -> String {
        if self.forms.is_empty() {
            return text;
        }
        let mut hidden = self.whole(&text);
        self.parts(&text, start, &mut hidden);
        if hidden.is_empty() {
            return text;
        }
        hidden.sort_by_key(|range| (range.start, range.end));
        let (mut shown, mut end) = (String::with_capacity(text.len()), 0);
        for range in hidden {
            if range.start >= end {
                shown.push_str(&text[end..range.start]);
                shown.push_str(MASK);
            }
            end = end.max(range.end);
        }
        shown.push_str(&text[end..]);
        shown
    }

    /// The positions of complete forms.
    fn whole(&self, text: &str) -> Vec<Range<usize>> {
        // Without the finder, nothing is known about the text, so all of it is hidden.
        let Some(finder) = &self.finder else { return std::iter::once(0..text.len()).collect() };
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(head) = finder.find(Input::new(text).range(at..)) {
            let start = head.start();
            at = match self.form_at(&text.as_bytes()[start..]) {
                Some(length) => {
                    found.push(start..start + length);
                    start + length
                }
                None => start + 1,
            };
        }
        found
    }

    /// The length of the longest form at the beginning of the text.
    fn form_at(&self, text: &[u8]) -> Option<usize> {
        let heads = (MIN..=HEAD.min(text.len())).filter_map(|at| self.by_head.get(&text[..at]));
        let forms = heads.flatten().map(|index| self.forms[*index].as_bytes());
        forms.filter(|form| text.starts_with(form)).map(<[u8]>::len).max()
    }

    /// The positions of partial forms next to a cut of the text, or of a word that fills a line.
    fn parts(&self, text: &str, start: TextStart, hidden: &mut Vec<Range<usize>>) {
        let goes_on = start == TextStart::Continues;
        self.beside(text, 0..text.len(), goes_on, text.len() >= CUT, hidden);
        let (mut at, mut before) = (0, goes_on);
        for word in text.split(|character: char| character.is_ascii_whitespace()) {
            let range = at..at + word.len();
            at = range.end + 1;
            if !word.is_empty() {
                let after = is_wrapped(word);
                self.beside(
                    text,
                    range,
                    before || start == TextStart::WordsContinue,
                    after,
                    hidden,
                );
                before = after;
            }
        }
    }

    fn beside(
        &self,
        text: &str,
        range: Range<usize>,
        before: bool,
        after: bool,
        hidden: &mut Vec<Range<usize>>,
    ) {
        let part = &text[range.clone()];
        let is_inside = |form: &String| form.len() > part.len() && form.contains(part);
        if before && after && self.forms.iter().any(is_inside) {
            hidden.push(range);
            return;
        }
        if after && let Some(length) = self.forms.iter().filter_map(|form| end(part, form)).max() {
            hidden.push(range.end - length..range.end);
        }
        if before && let Some(length) = self.forms.iter().filter_map(|form| start(part, form)).max()
        {
            hidden.push(range.start..range.start + length);
        }
    }
}

/// The length of the longest end of the text that is a beginning of this form.
fn end(text: &str, form: &str) -> Option<usize> {
    let most = text.len().min(form.len() - 1);
    let mut cuts = (MIN_PART..=most).rev().filter(|at| form.is_char_boundary(*at));
    cuts.find(|at| text.ends_with(&form[..*at]))
}

/// The length of the longest beginning of the text that is an end of this form.
fn start(text: &str, form: &str) -> Option<usize> {
    let first = form.len().saturating_sub(text.len()).max(1);
    let cuts = first..=form.len().saturating_sub(MIN_PART);
    let mut cuts = cuts.filter(|at| form.is_char_boundary(*at));
    cuts.find(|at| text.starts_with(&form[*at..])).map(|at| form.len() - at)
}

/// Whether a word may be a line of a longer text in base64 or hex.
fn is_wrapped(word: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    WRAPS.contains(&word.len()) && word.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde_json::json;

    use super::*;

    const SECRET: &str = "p@ss/wörd \"7?&\\";

    fn mask(secret: &str) -> Mask {
        Mask::of([&SecretString::from(secret)].into_iter())
    }

    fn masked(text: &str) -> String {
        mask(SECRET).text(text.to_owned(), false)
    }

    #[test]
    fn a_secret_is_found_however_it_is_written() {
        let json = Value::from(SECRET).to_string();
        let form: String = url::form_urlencoded::byte_serialize(SECRET.as_bytes()).collect();
        for text in [
            SECRET.to_owned(),
            json.clone(),
            Value::from(json.clone()).to_string(),
            json.replace('/', "\\/"),
            json.replace('ö', "\\u00f6"),
            form.clone(),
            form.to_lowercase(),
            form.replace('+', "%20"),
            "70407373".to_owned()
                + &SECRET[4..].bytes().map(|b| format!("{b:02x}")).collect::<String>(),
        ] {
            let shown = masked(&format!("before {text} after"));
            assert!(shown.contains(MASK), "{text}: {shown}");
            assert!(!shown.contains("rd") && !shown.contains("7264"), "{text}: {shown}");
        }
        for before in ["", "u", "us", "ada:"] {
            let encoded = STANDARD.encode(format!("{before}{SECRET}!"));
            let shown = masked(&encoded);
            // At both ends, a character may remain that contains less than a byte of the secret.
            assert!(shown.len() <= before.len() * 2 + MASK.len() + 6, "{encoded}: {shown}");
        }
    }

    #[test]
    fn every_line_of_a_secret_is_masked() {
        let mask = mask("-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----\n");
        assert_eq!(mask.text("line: MIIEvQIBADANBg".to_owned(), false), "line: ***");
    }

    #[test]
    fn a_secret_that_was_cut_off_is_masked() {
        let long = "x".repeat(2_000);
        assert!(masked(&format!("{long}p@ss/w")).ends_with("x***"));
        assert_eq!(masked("ends in p@ss/w"), "ends in p@ss/w");
        let rest = mask(SECRET).text("rd \"7?&\\ and on".to_owned(), true);
        assert_eq!(rest, "*** and on");
    }

    #[test]
    fn results_are_masked_in_keys_values_and_numbers() {
        let outcome = AttemptOutcome::Failed {
            message: "said 123456".to_owned(),
            output: json!({ "123456": [123_456, "a123456b", 7, true] }),
        };
        let expected = AttemptOutcome::Failed {
            message: "said ***".to_owned(),
            output: json!({ "***": ["***", "a***b", 7, true] }),
        };
        assert_eq!(mask("123456").outcome(outcome), expected);
    }

    #[test]
    fn a_wrapped_secret_is_masked_line_by_line() {
        let secret: String = (0..120).map(|at| char::from(b'!' + (at * 7 % 90) as u8)).collect();
        let mask = mask(&secret);
        for (before, width) in [("", 76), ("user:", 76), ("u", 64), ("us", 64)] {
            let encoded = STANDARD.encode(format!("{before}{secret}"));
            let lines = encoded.as_bytes().chunks(width).map(|line| str::from_utf8(line).unwrap());
            let lines: Vec<&str> = lines.collect();
            let shown = |text: &str| {
                let kept = text.replace(MASK, "").replace(char::is_whitespace, "");
                // The text before the secret, followed at most by characters that contain less than
                // a byte of it.
                assert!(kept.len() <= before.len() * 2 + 6, "{text}");
            };
            // The same text as one result, and as the lines of a log.
            shown(&mask.text(lines.join("\n"), false));
            shown(&mask.text(format!("{}\r\n", lines.join(" ")), false));
            let mut goes_on = false;
            let log = lines.iter().map(|line| {
                let goes_on = std::mem::replace(&mut goes_on, Mask::is_cut(line));
                mask.text((*line).to_owned(), goes_on)
            });
            shown(&log.collect::<Vec<_>>().join("\n"));
            for line in &lines[1..] {
                let failed =
                    AttemptOutcome::Failed { message: (*line).to_owned(), output: Value::Null };
                let AttemptOutcome::Failed { message, .. } = mask.outcome(failed) else { panic!() };
                assert!(message.starts_with(MASK) && message.len() < 9, "{line}: {message}");
            }
        }
        let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        assert_eq!(mask.text(format!("{digest} a file"), false), format!("{digest} a file"));
    }

    #[test]
    fn a_piece_of_a_large_secret_is_masked() {
        let secret: String = (0..50_000_u32).map(|at| format!("{at:x}")).take(50_000).collect();
        let mask = mask(&secret[..60_000]);
        let line = format!("start {}", &secret[..60_000]);
        let mut goes_on = false;
        let shown = line.as_bytes().chunks(16 * 1024).map(|piece| {
            let piece = str::from_utf8(piece).unwrap();
            mask.text(piece.to_owned(), std::mem::replace(&mut goes_on, Mask::is_cut(piece)))
        });
        assert_eq!(shown.collect::<Vec<_>>(), ["start ***", "***", "***", "***"]);
        assert_eq!(mask.text(format!("{line} end"), false), "start *** end");
    }

    #[test]
    fn among_forms_with_the_same_beginning_the_present_one_is_masked() {
        let long = format!("{}first", "same".repeat(10));
        let short = &long[..10];
        let mask = Mask::of([&SecretString::from(&*long), &SecretString::from(short)].into_iter());
        assert_eq!(mask.text(format!("a {long} b"), false), "a *** b");
        assert_eq!(mask.text(format!("a {short}X b"), false), "a ***X b");
        assert_eq!(mask.text("a samesameXX b".to_owned(), false), "a samesameXX b");
    }
}
