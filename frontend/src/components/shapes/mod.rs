//! Shapes in SVG. Their geometry is pure and tested; colours are the style sheet's, by `data-state`. Each has a text twin
//! for screen readers: a name that sums it up, and where there is more to know a table.
//!
//! - `sparkline`: the last runs as bars
//! - `stacked_bars`: counts over time
//! - `band_chart`: lengths of time over time
//! - `heat_map`: a week by the hour
//! - `gantt`: tasks and attempts along a run
//! - `dag`: tasks and what each of them needs; `dag_layout` finds their places
//! - `chart`: the frame of charts over time; `drag` chooses a range of one
//! - `twin`: the figures as a table
//! - `scale`: round numbers for axes

mod band_chart;
mod chart;
mod dag;
mod dag_layout;
mod drag;
mod gantt;
mod heat_map;
mod scale;
mod sparkline;
mod stacked_bars;
mod twin;

pub(crate) use band_chart::{Band, band_chart};
pub(crate) use dag::{DagNode, DagView, dag, use_dag_view};
pub(crate) use drag::{Drag, use_drag};
pub(crate) use gantt::{Chosen, GanttBar, GanttRow, gantt};
pub(crate) use heat_map::{Week, heat_map};
pub(crate) use sparkline::{SparkBar, sparkline};
pub(crate) use stacked_bars::{BarColumn, stacked_bars};
