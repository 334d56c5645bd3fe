/** Decides what a role may do, by the policies of a template, and keeps which of them were needed. */
import type { Resolved } from "./template.ts";

interface Statement {
  readonly role: string;
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly conditions: Readonly<Record<string, string>>;
}

interface PolicyDocument {
  readonly Statement: readonly {
    readonly Effect: string;
    readonly Action: string | readonly string[];
    readonly Resource: string | readonly string[];
    readonly Condition?: { readonly StringEquals?: Readonly<Record<string, string>> };
  }[];
}

export interface Request {
  /** The logical name of the role. */
  readonly role: string;
  readonly action: string;
  readonly resource: string;
  readonly context?: Readonly<Record<string, string>>;
}

export class Policies {
  readonly #statements: readonly Statement[];
  /** What was granted and needed: role, action and the resource as the policy has it. */
  readonly #used = new Set<string>();

  constructor(template: Resolved) {
    this.#statements = [...template.all("AWS::IAM::Policy").values()].flatMap(({ PolicyDocument, Roles }) => {
      const { Statement } = PolicyDocument as PolicyDocument;
      return (Roles as readonly string[]).flatMap((role) =>
        Statement.map(({ Effect, Action, Resource, Condition }) => {
          const unknown = Object.keys(Condition ?? {}).filter((operator) => operator !== "StringEquals");
          if (Effect !== "Allow" || unknown.length > 0)
            throw new Error("this evaluation knows Allow and StringEquals only");
          return {
            role,
            actions: [Action].flat(),
            resources: [Resource].flat(),
            conditions: Condition?.StringEquals ?? {},
          };
        }),
      );
    });
  }

  /** Whether the role may do it. */
  allows({ role, action, resource, context = {} }: Request): boolean {
    for (const statement of this.#statements) {
      if (statement.role !== role || !statement.actions.some((pattern) => fits(pattern, action))) continue;
      const granted = statement.resources.find((pattern) => fits(pattern, resource));
      if (granted === undefined) continue;
      if (!Object.entries(statement.conditions).every(([key, value]) => context[key] === value)) continue;
      this.#used.add(`${role} ${action} ${granted}`);
      return true;
    }
    return false;
  }

  /** What was granted and never needed, one line each. */
  unused(): readonly string[] {
    const granted = this.#statements.flatMap(({ role, actions, resources }) =>
      actions.flatMap((action) => resources.map((resource) => `${role} ${action} ${resource}`)),
    );
    return [...new Set(granted)].filter((line) => !this.#used.has(line)).toSorted();
  }
}

function fits(pattern: string, value: string): boolean {
  const text = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${text}$`).test(value);
}
