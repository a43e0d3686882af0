//! The icons, drawn on a grid of 16. They are decorative: the adjacent text or the control's name conveys the
//! meaning.

use leptos::{prelude::*, tachys::html::InertElement};

/// Every icon that the console uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glyph {
    Alert,
    Back,
    Bell,
    Box,
    Calendar,
    Clock,
    Close,
    Edit,
    Feed,
    Flow,
    Grid,
    Key,
    Keyboard,
    Lanes,
    Layers,
    Lock,
    Minus,
    Moon,
    Pause,
    People,
    Play,
    Plus,
    Resume,
    Search,
    SignOut,
    Slots,
    Star,
    Starred,
    Sun,
    Display,
    Down,
    Gauge,
    Menu,
    Person,
    Server,
    Trash,
    Up,
    Bars,
    Eye,
    List,
    Pulse,
}

impl Glyph {
    fn path(self) -> &'static str {
        match self {
            Self::Alert => "M8 2 14.500 13.500H1.500zM8 6.500v3.200M8 11.600v.1",
            Self::Bell => {
                "M8 2v1.200M3.500 11.500h9l-1.200-1.700V7.200a3.300 3.300 0 0 0-6.600 0v2.600zM6.700 13.600a1.400 1.400 0 0 0 2.600 0"
            }
            Self::Back => "M3 8a5 5 0 1 0 1.600-3.700L3 5.800M3 2.500v3.300h3.300",
            Self::Box => "M8 2 13.500 5v6L8 14 2.500 11V5zM2.500 5 8 8l5.500-3M8 8v6",
            Self::Calendar => "M2.500 4h11v9.500h-11zM2.500 7h11M5.500 2.500V5M10.500 2.500V5",
            Self::Feed => {
                "M3.500 12.500h.1M3.500 8.500a4 4 0 0 1 4 4M3.500 4a8.500 8.500 0 0 1 8.500 8.500"
            }
            Self::Flow => "M2.500 3h4v3.500h-4zM9.500 9.500h4V13h-4zM4.500 6.500v4.700h5",
            Self::Grid => {
                "M2.500 2.500h11v11h-11zM2.500 6.200h11M2.500 9.800h11M6.200 2.500v11M9.800 2.500v11"
            }
            Self::Key => {
                "M10.500 2.500a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8.300 7.700 3 13M4.500 11.500 6 13"
            }
            Self::Lanes => "M2.500 3.500h5M6.500 8h7M4 12.500h4.500M2 1.500v13",
            Self::Layers => "M8 2.500 14 6 8 9.500 2 6zM2.500 9.500 8 12.700l5.500-3.200",
            Self::Lock => "M3.500 7h9v6.500h-9zM5.500 7V5a2.500 2.500 0 0 1 5 0v2",
            Self::People => {
                "M6 3a2 2 0 1 1 0 4 2 2 0 0 1 0-4zM2.500 13c0-2.500 1.500-4 3.500-4s3.500 1.500 3.500 4M10.500 3.300a2 2 0 0 1 0 3.600M11.500 9.300c1.400.5 2.200 1.800 2.200 3.700"
            }
            Self::Slots => "M2.500 3h11v2.800h-11zM2.500 8.500h7M2.500 12h4.500",
            Self::Close => "m4 4 8 8M12 4l-8 8",
            Self::Edit => "M3 13h2.200l7.300-7.300-2.200-2.200L3 10.800zM9 4.800 11.200 7",
            Self::Keyboard => {
                "M1.500 4.500h13v7.500h-13zM4 7h.1M6.700 7h.1M9.300 7h.1M12 7h.1M5 9.600h6"
            }
            Self::Minus => "M3.500 8h9",
            Self::Moon => "M13 9.600A5.500 5.500 0 1 1 6.400 3a4.400 4.400 0 0 0 6.600 6.600z",
            Self::Pause => "M5.500 3.500v9M10.500 3.500v9",
            Self::Play => "M5 3.200 12.500 8 5 12.800z",
            Self::Plus => "M8 3.500v9M3.500 8h9",
            Self::Resume => "M3.500 3.500v9M6.500 3.500 13 8l-6.500 4.500z",
            Self::Search => {
                "M7 2.800a4.200 4.200 0 1 1 0 8.400 4.200 4.200 0 0 1 0-8.400zM10.200 10.200 13.500 13.500"
            }
            Self::SignOut => {
                "M6.500 2.800h-3.500v10.400h3.500M6.500 8h7M10.800 5.200 13.500 8l-2.700 2.800"
            }
            Self::Star => {
                "M8 2.200 9.800 5.900 13.800 6.500 10.900 9.300 11.600 13.300 8 11.400 4.400 13.300 5.100 9.300 2.200 6.500 6.200 5.900z"
            }
            Self::Starred => {
                "M8 2.200 9.800 5.900 13.800 6.500 10.900 9.300 11.600 13.300 8 11.400 4.400 13.300 5.100 9.300 2.200 6.500 6.200 5.900zM8 5v5.500M6 7.200l4 2.500M10 7.200 6 9.700M7 6v4.800M9 6v4.800"
            }
            Self::Sun => {
                "M8 5.200a2.800 2.800 0 1 1 0 5.600 2.800 2.800 0 0 1 0-5.600zM8 1.500v1.400M8 13.100v1.400M1.500 8h1.400M13.100 8h1.400M3.400 3.400l1 1M11.600 11.600l1 1M12.600 3.400l-1 1M4.400 11.600l-1 1"
            }
            Self::Display => "M2 3h12v8H2zM6 13.500h4M8 11v2.500",
            Self::Clock => "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 4.800V8l2.300 1.600",
            Self::Down => "m4 6 4 4 4-4",
            Self::Gauge => "M2.200 11.500a6 6 0 1 1 11.600 0M8 9.500l3-3.500",
            Self::Menu => "M2.500 4.500h11M2.500 8h11M2.500 11.500h11",
            Self::Person => {
                "M8 2.500a2.600 2.600 0 1 1 0 5.200 2.600 2.600 0 0 1 0-5.200zM3 13.500c.5-2.700 2.400-4 5-4s4.500 1.300 5 4"
            }
            Self::Server => "M2.500 3h11v4h-11zM2.500 9h11v4h-11zM5 5h.1M5 11h.1",
            Self::Up => "m4 10 4-4 4 4",
            Self::Bars => "M3 13.500V8.500M6.500 13.500v-10M10 13.500V6M13.500 13.500v-3",
            Self::Eye => {
                "M1.500 8c1.600-3 3.800-4.500 6.500-4.500s4.900 1.500 6.500 4.500c-1.600 3-3.800 4.500-6.500 4.500S3.100 11 1.500 8zM8 6.200a1.800 1.800 0 1 1 0 3.600 1.800 1.800 0 0 1 0-3.600z"
            }
            Self::List => "M5.500 4h8.500M5.500 8h8.500M5.500 12h8.500M2 4h.1M2 8h.1M2 12h.1",
            Self::Pulse => "M1.500 8.500h3l2-5 3 9 2-4h3",
            Self::Trash => "M3 4.500h10M6 4.500V3h4v1.500M4.300 4.500l.6 8.500h6.200l.6-8.500",
        }
    }
}

/// An icon, hidden from screen readers. It is a copy of an element that is parsed once. A list has hundreds of icons,
/// and building each from its attributes would take ten calls into the browser.
pub(crate) fn icon(glyph: Glyph) -> AnyView {
    let frame = r#"class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true""#;
    let path = glyph.path();
    let html = format!(r#"<svg {frame} focusable="false"><path d="{path}"/></svg>"#);
    InertElement::new(html).into_any()
}
