//! The median and the spread of a figure over several rounds.

use std::fmt;

use serde::Serialize;

/// Median, minimum and maximum of a figure over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// The spread of `figures`; `None` if there are none.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        Some(Self {
            median: percentile(&figures, 50)?,
            min: *figures.first()?,
            max: *figures.last()?,
        })
    }
}

/// The `percent`th percentile of the `sorted` values.
pub(crate) fn percentile<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank).copied()
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, min, max } = self;
        let digits = match median.abs() {
            size if size >= 100.0 => 0,
            size if size >= 10.0 => 1,
            _ => 2,
        };
        f.pad(&format!("{median:.digits$} ({min:.digits$}-{max:.digits$})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_five_rounds_is_the_third() {
        let spread = Spread::of([5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert_eq!(spread, Spread { median: 3.0, min: 1.0, max: 5.0 });
        assert_eq!(spread.to_string(), "3.00 (1.00-5.00)");
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let hundred: Vec<i64> = (1..=100).collect();
        assert_eq!(percentile(&hundred, 99), Some(99));
        assert_eq!(percentile(&hundred, 50), Some(50));
        assert_eq!(percentile(&[7], 99), Some(7));
        assert_eq!(percentile::<i64>(&[], 50), None);
    }
}
