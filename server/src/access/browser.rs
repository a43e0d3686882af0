/// Each browser by its product in a `User-Agent` header. Most browsers also name those that they
/// are compatible with, so the first match in this order counts.
const BROWSERS: [(&str, &str); 10] = [
    ("Edg", "Edge"),
    ("EdgA", "Edge"),
    ("EdgiOS", "Edge"),
    ("OPR", "Opera"),
    ("FxiOS", "Firefox"),
    ("Firefox", "Firefox"),
    ("CriOS", "Chrome"),
    ("HeadlessChrome", "Chrome"),
    ("Chrome", "Chrome"),
    // Safari gives its version apart.
    ("Version", "Safari"),
];

/// Each operating system by a part of the header. Android also names Linux, and iOS macOS.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iOS"),
    ("iPad", "iOS"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// Maximum length of the name of an unknown program.
const MAX_NAME: usize = 60;

/// A `User-Agent` header in words, such as `Firefox 140 on Linux`. The name of a program that is no
/// known browser is the header's first word.
pub fn browser_name(user_agent: &str) -> String {
    let product = |word: &'static str| {
        let mut words = user_agent.split_whitespace();
        words.find_map(|other| other.strip_prefix(word)?.strip_prefix('/'))
    };
    let browser = BROWSERS.iter().find_map(|&(word, name)| Some((name, product(word)?)));
    let Some((name, version)) = browser else {
        let first = user_agent.split_whitespace().next().unwrap_or_default();
        return first.chars().take(MAX_NAME).collect();
    };
    let major: String = version.chars().take_while(char::is_ascii_digit).take(6).collect();
    let name = if major.is_empty() { name.to_owned() } else { format!("{name} {major}") };
    match SYSTEMS.iter().find(|(part, _)| user_agent.contains(part)) {
        Some((_, system)) => format!("{name} on {system}"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::browser_name;

    #[test]
    fn browsers_are_named_by_what_they_are() {
        for (user_agent, name) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox 140 on Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
                 Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
                "Edge 140 on Windows",
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) \
                 Chrome/140.0.0.0 Mobile Safari/537.36",
                "Chrome 140 on Android",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like \
                 Gecko) Version/18.5 Safari/605.1.15",
                "Safari 18 on macOS",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 \
                 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
                "Safari 18 on iOS",
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
                 HeadlessChrome/140.0.0.0 Safari/537.36",
                "Chrome 140 on Linux",
            ),
        ] {
            assert_eq!(browser_name(user_agent), name, "{user_agent}");
        }
    }

    #[test]
    fn other_programs_are_named_by_their_first_word() {
        assert_eq!(browser_name("curl/8.14.1"), "curl/8.14.1");
        assert_eq!(browser_name("carillon/0.1.0 (cli)"), "carillon/0.1.0");
        assert_eq!(browser_name(&"x".repeat(300)), "x".repeat(60));
        assert_eq!(browser_name("Firefox/beta"), "Firefox");
        assert_eq!(browser_name(""), "");
    }
}
