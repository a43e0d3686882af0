//! Shapes in SVG. Their geometry is pure and tested; the style sheet sets the colours by `data-state`. Each shape has
//! a text twin for screen readers: a name that sums up the shape, and a table if there are more details.
//!
//! - `sparkline`: the last runs as bars; `trend`: values over time as bars
//! - `stacked_bars`: counts over time
//! - `band_chart`: durations over time
//! - `heat_map`: a week by the hour
//! - `gantt`: a run's tasks and attempts over time
//! - `dag`: tasks and their dependencies; `dag_layout` computes their positions
//! - `chart`: the frame of charts over time; `drag`: selects a range of a chart
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
mod trend;
mod twin;

pub(crate) use band_chart::{Band, band_chart};
pub(crate) use dag::{DagNode, DagView, dag, use_dag_view};
pub(super) use drag::column;
pub(crate) use drag::{Drag, use_drag};
pub(crate) use gantt::{Chosen, GanttBar, GanttRow, gantt};
pub(crate) use heat_map::{Week, heat_map};
pub(super) use sparkline::{HEIGHT, outlines, slots, view_box};
pub(crate) use sparkline::{SparkBar, sparkline};
pub(crate) use stacked_bars::{BarColumn, peak_bars, stacked_bars};
pub(crate) use trend::{TrendLayer, trend};
