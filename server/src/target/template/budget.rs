//! The budget for rendering the templates of one target. The library counts steps, but a step may
//! be cheap or may process a large text. So filters and their results are charged by the byte, and
//! large values reduce the number of steps.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use minijinja::{Error, ErrorKind};

/// Maximum number of bytes that the filters and outputs of one target may process together.
pub(super) const MAX_WORK_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum number of steps of one template.
const MAX_STEPS: u64 = 20_000;

/// Maximum number of steps of all templates of one target.
const MAX_TARGET_STEPS: u64 = 200_000;

/// The bytes that all steps may process: each step may compare, slice or join values as large as
/// all values together.
const STEP_BYTES: u64 = 1024 * 1024 * 1024;

/// Steps that any template may take, however large its values are.
const MIN_STEPS: u64 = 1_000;

/// The remaining budget of one target.
#[derive(Debug)]
pub(super) struct Budget {
    work: AtomicU64,
    steps: AtomicU64,
    most_steps: u64,
    is_over: AtomicBool,
    stop: Arc<AtomicBool>,
}

impl Budget {
    /// A budget for values of `bytes`. Once `stop` is set, the next charge ends the work.
    pub(super) fn new(bytes: u64, stop: Arc<AtomicBool>) -> Self {
        let fit = STEP_BYTES / bytes.max(1);
        Self {
            work: AtomicU64::new(MAX_WORK_BYTES),
            steps: AtomicU64::new(fit.clamp(MIN_STEPS, MAX_TARGET_STEPS)),
            most_steps: fit.clamp(MIN_STEPS, MAX_STEPS),
            is_over: AtomicBool::new(false),
            stop,
        }
    }

    /// Charges `bytes`, or fails if they exceed the budget.
    pub(super) fn charge(&self, bytes: usize) -> Result<(), Error> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let left = self.work.load(Ordering::Relaxed);
        self.work.store(left.saturating_sub(bytes), Ordering::Relaxed);
        if bytes > left {
            self.is_over.store(true, Ordering::Relaxed);
        }
        if bytes > left || self.is_stopped() {
            return Err(Error::from(ErrorKind::OutOfFuel));
        }
        Ok(())
    }

    /// Whether the budget was exceeded.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The steps available for the next template.
    pub(super) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed).min(self.most_steps)
    }

    /// Charges the steps that a template took.
    pub(super) fn stepped(&self, steps: u64) {
        let left = self.steps.load(Ordering::Relaxed);
        self.steps.store(left.saturating_sub(steps), Ordering::Relaxed);
    }
}
