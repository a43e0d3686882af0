/** A program's declarations as one module of the server. */

import { collect, type AnyTask } from "./declare.js";
import { DeployError } from "./errors.js";
import { Http, textOf } from "./http.js";

const DEPLOY = `
mutation Deploy($source: String!, $dryRun: Boolean!, $adopt: Boolean!, $reason: String) {
  deployModule(source: $source, format: YAML, dryRun: $dryRun, prune: true, adopt: $adopt,
      reason: $reason) {
    changes { action kind name detail }
  }
}`;

export interface ProgramOptions {
  /** The name of the program's own module. */
  name: string;
  /** Defaults to `default`. */
  namespace?: string;
  /** Defaults to all that are declared when the module is built. */
  tasks?: Iterable<AnyTask>;
}

export interface DeployOptions {
  /** Only report what would happen. */
  dryRun?: boolean;
  /** Take over objects that were created by hand under the same names. */
  adopt?: boolean;
  /** For the audit log. */
  reason?: string;
  /** How many seconds to retry while the server cannot be reached; defaults to 60. */
  timeout?: number;
}

/** What a deployment did to one object, or would do. */
export interface Change {
  action: string;
  kind: string;
  name: string;
  detail: string | null;
}

export class Program {
  readonly name: string;
  readonly namespace: string;
  private readonly tasks: Map<string, AnyTask> | undefined;

  constructor(options: ProgramOptions) {
    this.name = options.name;
    this.namespace = options.namespace ?? "default";
    this.tasks = options.tasks === undefined ? undefined : collect(options.tasks);
  }

  /** The module file for the program's declarations. */
  module(): Record<string, unknown> {
    const tasks = this.tasks ?? collect(undefined);
    const schedules = [...tasks.values()].flatMap((task) => task.schedules);
    const entries = schedules.map(({ name, definition }) => [name, definition]);
    return { module: this.name, namespace: this.namespace, schedules: Object.fromEntries(entries) };
  }

  /**
   * Replaces the program's earlier declarations by the current ones, all at once. A schedule that
   * the code no longer has is deleted. The token needs the role EDITOR in the namespace.
   */
  async deploy(url: string, token: string, options: DeployOptions = {}): Promise<Change[]> {
    const variables = {
      // JSON is also valid YAML, so no YAML writer is needed.
      source: JSON.stringify(this.module()),
      dryRun: options.dryRun ?? false,
      adopt: options.adopt ?? false,
      reason: options.reason ?? null,
    };
    const patience = AbortSignal.timeout((options.timeout ?? 60) * 1000);
    let answer;
    try {
      answer = await new Http(url, token).call("/graphql", { query: DEPLOY, variables }, patience);
    } catch (error) {
      throw new DeployError(`module ${this.name}: ${textOf(error)}`, { cause: error });
    }
    const { data, errors } = answer as {
      data?: { deployModule: { changes: Change[] } };
      errors?: { message: string }[];
    };
    if (errors !== undefined || data === undefined) {
      const said = errors?.map(({ message }) => message).join("; ") ?? "the answer has no data";
      throw new DeployError(`module ${this.name}: ${said}`);
    }
    return data.deployModule.changes;
  }
}
