//! What a scenario found, as tables: a line a figure, with the goal that it answers to and whether
//! that is reached.

use anyhow::Result;
use serde::Serialize;

use crate::{goals::Goal, process, report, spread::Spread};

/// All that one scenario found.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Findings {
    tables: Vec<Table>,
    /// The machine's load whenever something was measured.
    loads: Vec<f64>,
}

/// Figures that belong together.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    title: String,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    what: String,
    /// A round each.
    figures: Vec<f64>,
    goal: Option<Goal>,
    verdict: Option<&'static str>,
}

impl Findings {
    /// Puts a table behind the others.
    pub(crate) fn add(&mut self, table: Table) {
        self.loads.push(process::load());
        self.tables.push(table);
    }

    /// To people, or as JSON to tools.
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

    /// A figure that answers to no goal.
    pub(crate) fn line(self, what: &str, figures: impl IntoIterator<Item = f64>) -> Self {
        self.put(what, figures, None)
    }

    /// A figure with its goal; the median is judged.
    pub(crate) fn goal(
        self,
        what: &str,
        figures: impl IntoIterator<Item = f64>,
        goal: Goal,
    ) -> Self {
        self.put(what, figures, Some(goal))
    }

    /// A figure that answers to the goal in some tables only.
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
