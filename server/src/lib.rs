//! Carillon: a distributed cron with guaranteed execution.
