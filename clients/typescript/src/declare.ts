/** The declarations of the code: tasks and their schedules. */

import { DeclarationError } from "./errors.js";
import type { Schema } from "./fields.js";
import type { Context } from "./job.js";

export type TaskFunction<I, O> = (input: I, context: Context) => O | Promise<O>;

export type Overlap = "skip" | "buffer_one" | "buffer_all" | "cancel_other" | "terminate_other" | "allow";

export interface TaskOptions<I> {
  /** The name by which jobs call it. */
  name: string;
  /** The queue in which its jobs wait. */
  queue: string;
  /** The schema of its input. Without it, the function gets the JSON as `unknown`. */
  accepts?: Schema<I>;
}

export interface ScheduleOptions {
  /** As `when` in a module file: one expression or several, `@every 6h`, `@at ...`. */
  cron: string | string[];
  /** Defaults to UTC. */
  zone?: string;
  /** Defaults to `skip`. */
  overlap?: Overlap;
  /** The schedule's name; defaults to the task's. */
  schedule?: string;
  /** The function's input; strings in it may be templates. Defaults to the run's context. */
  input?: Record<string, unknown>;
  /** The timeout of an attempt, such as `10m`. */
  timeout?: string;
  /** As in a module file: `{ max_attempts: 3 }`. */
  retry?: Record<string, unknown>;
  note?: string;
  tags?: string[];
  /** The tags that a worker must have to take its jobs. */
  workerTags?: string[];
  /** Further keys of the schedule, as a module file names them. */
  options?: Record<string, unknown>;
}

/** A schedule of a task. */
export interface Schedule {
  readonly name: string;
  readonly definition: Readonly<Record<string, unknown>>;
}

/** A function that jobs call by name. */
export class Task<I, O> {
  readonly schedules: Schedule[] = [];
  readonly name: string;
  readonly queue: string;
  readonly accepts: Schema<I> | undefined;

  constructor(
    options: TaskOptions<I>,
    readonly run: TaskFunction<I, O>,
  ) {
    this.name = options.name;
    this.queue = options.queue;
    this.accepts = options.accepts;
  }

  /** Adds a schedule. */
  scheduled(options: ScheduleOptions): this {
    const schedule = scheduleOf(this, options);
    checkSchedule(declared.values(), this, schedule);
    this.schedules.push(schedule);
    return this;
  }
}

// There is no narrower common type for functions with different inputs.
export type AnyTask = Task<any, any>;

/** Every task of the process, by name. */
const declared = new Map<string, AnyTask>();

export function task<I = unknown, O = unknown>(options: TaskOptions<I>, run: TaskFunction<I, O>): Task<I, O> {
  const made = new Task(options, run);
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(made.name)) {
    throw new DeclarationError(`"${made.name}" is not a valid task name: 1 to 64 of a-z A-Z 0-9 . _ -`);
  }
  if (!/^[a-z0-9._-]{1,64}$/.test(made.queue)) {
    throw new DeclarationError(`"${made.queue}" is not a valid queue name: 1 to 64 of a-z 0-9 . _ -`);
  }
  addTask(declared, made);
  return made;
}

export function scheduled<I = unknown, O = unknown>(
  options: TaskOptions<I> & ScheduleOptions,
  run: TaskFunction<I, O>,
): Task<I, O> {
  const { name, queue, accepts, ...schedule } = options;
  const made = task<I, O>(accepts === undefined ? { name, queue } : { name, queue, accepts }, run);
  try {
    return made.scheduled(schedule);
  } catch (error) {
    declared.delete(name);
    throw error;
  }
}

/** The given tasks, or all declared ones; one task per name. */
export function collect(tasks: Iterable<AnyTask> | undefined): Map<string, AnyTask> {
  if (tasks === undefined) return new Map(declared);
  const found = new Map<string, AnyTask>();
  for (const each of tasks) addTask(found, each);
  return found;
}

function addTask(tasks: Map<string, AnyTask>, made: AnyTask): void {
  const there = tasks.get(made.name);
  if (there !== undefined && there !== made) {
    throw new DeclarationError(`two declare the task ${made.name}; give one of them another name`);
  }
  for (const schedule of made.schedules) checkSchedule(tasks.values(), made, schedule);
  tasks.set(made.name, made);
}

function checkSchedule(tasks: Iterable<AnyTask>, made: AnyTask, schedule: Schedule): void {
  for (const other of new Set([...tasks, made])) {
    const twin = other.schedules.find((each) => each !== schedule && each.name === schedule.name);
    if (twin === undefined) continue;
    throw new DeclarationError(
      `the tasks ${other.name} and ${made.name} declare the schedule ${schedule.name}; ` +
        "give one of them another name",
    );
  }
}

function scheduleOf(made: AnyTask, given: ScheduleOptions): Schedule {
  const name = given.schedule ?? made.name;
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?$/.test(name)) {
    throw new DeclarationError(
      `"${name}" is not a valid schedule name: 1 to 128 of A-Z a-z 0-9 . _ / -, ` +
        "with a letter or digit first and last",
    );
  }
  for (const taken of ["task", "workflow"]) {
    if (given.options !== undefined && taken in given.options) {
      throw new DeclarationError(`options: ${taken} is what the function itself is`);
    }
  }
  const worker = { queue: made.queue, task: made.name, input: given.input, tags: given.workerTags };
  const definition = {
    ...given.options,
    when: given.cron,
    zone: given.zone ?? "UTC",
    overlap: given.overlap ?? "skip",
    note: given.note,
    tags: given.tags,
    task: { timeout: given.timeout, retry: given.retry, target: { worker } },
  };
  // Copied through JSON: undefined keys disappear, and later changes do not affect the copy.
  return { name, definition: JSON.parse(JSON.stringify(definition)) as Record<string, unknown> };
}
