//! The results of a scenario as tables. Each line has a figure, its goal, and whether the goal is
//! met.

use anyhow::Result;
use serde::Serialize;

use crate::{goals::Goal, process, report, spread::Spread};

/// All results of one scenario.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Findings {
    tables: Vec<Table>,
    /// The machine's load at each measurement.
    loads: Vec<f64>,
}

/// Related figures.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    title: String,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    what: String,
    /// The figures, one per round.
    figures: Vec<f64>,
    goal: Option<Goal>,
    verdict: Option<&'static str>,
}

impl Findings {
    /// Appends a table.
    pub(crate) fn add(&mut self, table: Table) {
        self.loads.push(process::load());
        self.tables.push(table);
    }

    /// Prints the results for people, or as JSON for tools.
    pub(crate) fn print(&self, rounds: usize, json: bool) -> Result<()> {
        if json {
            println!("{}", serde_json::to_string_pretty(self)?);
            return Ok(());
        }
        report::heading(rounds, self.loads.iter().copied());
        self.tables.iter().for_each(Table::print);
        Ok(())
    }
}

impl Table {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), lines: Vec::new() }
    }

    /// Adds a figure without a goal.
    pub(crate) fn line(self, what: &str, figures: impl IntoIterator<Item = f64>) -> Self {
        self.put(what, figures, None)
    }

    /// Adds a figure with its goal. The median is compared with the goal.
    pub(crate) fn goal(
        self,
        what: &str,
        figures: impl IntoIterator<Item = f64>,
        goal: Goal,
    ) -> Self {
        self.put(what, figures, Some(goal))
    }

    /// Adds a figure that has a goal only in some tables.
    pub(crate) fn put(
        mut self,
        what: &str,
        figures: impl IntoIterator<Item = f64>,
        goal: Option<Goal>,
    ) -> Self {
        let figures: Vec<f64> = figures.into_iter().collect();
        let median = Spread::of(figures.iter().copied()).map(|spread| spread.median);
        let verdict = goal.zip(median).map(|(goal, median)| goal.verdict(median));
        self.lines.push(Line { what: what.to_owned(), figures, goal, verdict });
        self
    }

    pub(crate) fn print(&self) {
        println!("\n{}", self.title);
        for Line { what, figures, goal, verdict } in &self.lines {
            let shown = report::shown(Spread::of(figures.iter().copied()));
            let goal = goal.map_or_else(String::new, |goal| goal.to_string());
            let line = format!("  {what:<36} {shown:<26} {goal:<16} {}", verdict.unwrap_or(""));
            println!("{}", line.trim_end());
        }
    }
}
