//! A badge as an image: two boxes, each as wide as the text in it.

/// The look of the right box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadgeLook {
    Passing,
    Failing,
    Neutral,
}

impl BadgeLook {
    /// The box's colour, dark enough for white text (WCAG AA).
    fn color(self) -> &'static str {
        match self {
            Self::Passing => "#1a7f37",
            Self::Failing => "#c62828",
            Self::Neutral => "#5f6b76",
        }
    }

    /// The name of the look, for Shields.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Passing => "success",
            Self::Failing => "critical",
            Self::Neutral => "inactive",
        }
    }
}

const HEIGHT: u32 = 20;
/// The margin on both sides of each text.
const MARGIN: u32 = 6;

pub(super) fn badge(label: &str, message: &str, look: BadgeLook) -> String {
    let (left, right) = (width(label), width(message));
    let (box_left, box_right) = (left + 2 * MARGIN, right + 2 * MARGIN);
    let whole = box_left + box_right;
    let (label, message) = (escaped(label), escaped(message));
    let text = |x: u32, width: u32, text: &str| {
        format!("<text x=\"{x}\" y=\"14\" textLength=\"{width}\">{text}</text>")
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole}\" height=\"{HEIGHT}\" \
         role=\"img\" aria-label=\"{label}: {message}\"><title>{label}: {message}</title>\
         <clipPath id=\"r\"><rect width=\"{whole}\" height=\"{HEIGHT}\" rx=\"3\"/></clipPath>\
         <g clip-path=\"url(#r)\"><rect width=\"{box_left}\" height=\"{HEIGHT}\" fill=\"#444d56\"/>\
         <rect x=\"{box_left}\" width=\"{box_right}\" height=\"{HEIGHT}\" fill=\"{}\"/></g>\
         <g fill=\"#fff\" font-family=\"Verdana,Geneva,DejaVu Sans,sans-serif\" font-size=\"11\">\
         {}{}</g></svg>",
        look.color(),
        text(MARGIN, left, &label),
        text(box_left + MARGIN, right, &message),
    )
}

/// The approximate width of a text at 11 pixels, in pixels; `textLength` makes it exact.
fn width(text: &str) -> u32 {
    let tenths = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' => 35,
        'f' | 'r' | 't' | ' ' | '-' | '(' | ')' | '[' | ']' | '/' => 45,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 105,
        'A'..='Z' => 78,
        c if c.is_ascii() => 68,
        _ => 110,
    };
    (text.chars().map(tenths).sum::<u32>() / 10).max(1)
}

/// Escapes a text, so that it cannot end its element or attribute.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML cannot represent these characters.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_xml_cannot_represent_is_not_in_the_picture() {
        let picture = badge("a\u{fffe}b\u{ffff}c\u{1b}", "passing", BadgeLook::Passing);
        assert!(picture.contains("a b c : passing"), "{picture}");
    }

    proptest! {
        #[test]
        fn no_label_changes_the_elements_of_the_picture(label in any::<String>()) {
            let picture = badge(&label, "passing", BadgeLook::Passing);
            let plain = badge("x", "passing", BadgeLook::Passing);
            let marks = |text: &str| text.matches(['<', '>']).count();
            prop_assert_eq!(marks(&picture), marks(&plain));
            prop_assert_eq!(picture.matches('"').count(), plain.matches('"').count());
        }
    }
}
