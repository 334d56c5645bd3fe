/** Metrics of what the functions log: the lines that a person should look at are counted. Without such lines there is no figure, and no cost. */
import { Metric, type MetricOptions, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { FilterPattern, type LogGroup, MetricFilter } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

/** Each metric, and the level of the lines that it counts. */
const levels = { LoggedErrors: "ERROR", LoggedWarnings: "WARN" } as const;

export class Logged {
  readonly #scope: Construct;
  /** The namespace of the metrics. Each deployment has its own, since a dimension would have to stand in each line of the logs. */
  readonly #namespace: string;

  constructor(scope: Construct, deployment: string) {
    this.#scope = scope;
    this.#namespace = `Layover/${deployment}`;
  }

  metric(metricName: keyof typeof levels, options?: MetricOptions): Metric {
    return new Metric({ namespace: this.#namespace, metricName, statistic: Stats.SUM, ...options });
  }

  /** Counts the lines of one function. */
  count(logGroup: LogGroup, title: string): void {
    for (const [metricName, level] of Object.entries(levels)) {
      new MetricFilter(this.#scope, `${title}${metricName}`, {
        logGroup,
        metricNamespace: this.#namespace,
        metricName,
        filterPattern: FilterPattern.stringValue("$.level", "=", level),
      });
    }
  }
}
