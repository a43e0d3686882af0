/** The base class of this package's errors. */
export class CarillonError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** Thrown by a task: another attempt would fail as well, so the server does not make one. */
export class Permanent extends CarillonError {}

/** The input of a job does not fit what its task accepts. */
export class InputError extends Permanent {
  constructor(
    readonly field: string,
    readonly problem: string,
  ) {
    super(`${field}: ${problem}`);
  }
}

/** The declarations contradict each other, or cannot work. */
export class DeclarationError extends CarillonError {}

/** The server refused the module of a program. Nothing was changed. */
export class DeployError extends CarillonError {}

/** An error response of the server. */
export class ApiError extends CarillonError {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly problem: string,
    readonly field: string | undefined,
    readonly retryAfter: number | undefined,
  ) {
    super(`${code}${field === undefined ? "" : ` (${field})`}: ${problem}`);
  }

  /** Whether the same request may succeed later. */
  get isPassing(): boolean {
    // A proxy in front of the server answers with 408 if it has waited too long for a request on an
    // idle connection.
    return [408, 425, 429].includes(this.status) || this.status >= 500;
  }

  /** Whether the job or the worker no longer belongs to this process. */
  get isGone(): boolean {
    return this.status === 404 || this.status === 409;
  }
}
