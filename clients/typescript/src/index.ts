/** Runs tasks of Carillon in Node.js, and declares their schedules beside the code. */

export { scheduled, task } from "./declare.js";
export type { AnyTask, Overlap, ScheduleOptions, Task, TaskFunction, TaskOptions } from "./declare.js";
export { ApiError, CarillonError, DeclarationError, DeployError, InputError, Permanent } from "./errors.js";
export * as fields from "./fields.js";
export type { Infer, Schema } from "./fields.js";
export type { Context } from "./job.js";
export { Program } from "./program.js";
export type { Change, DeployOptions, ProgramOptions } from "./program.js";
export { VERSION } from "./version.js";
export { Worker } from "./worker.js";
export type { WorkerOptions } from "./worker.js";
