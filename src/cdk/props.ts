/** The properties of the construct `Layover`. All but two have a default. */
import type { Duration } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { BundleOptions } from "./bundle.ts";

export interface LayoverProps extends BundleOptions {
  /** The path of the deployment's parameters in Systems Manager: `/orders`. */
  readonly parameters: string;
  /** Further parameters under that path that the functions read: `serve`'s option of the same name. Default: none. */
  readonly parameterNames?: readonly string[];
  /** The key of the parameters, if it is one of your own. Default: the key that AWS keeps for Systems Manager. */
  readonly parametersKey?: IKey;
  /** Name of the environment. A database belongs to one. Default: "default". */
  readonly environment?: string;
  /** The memory of each function, in MiB. More memory is more CPU. Default: 512. */
  readonly memorySize?: number;
  /** How long an invocation of `turns` may take, and so a step. Default: 15 minutes, which is the most. */
  readonly turnsTimeout?: Duration;
  /**
   * How many requests from outside are answered at a time. The function is public, and shares the concurrency of the account
   * with all others. Default: no limit of its own.
   */
  readonly httpConcurrency?: number;
  /**
   * Whether the function `http` has a URL of its own. If you put an API before it instead, set it to false and give
   * `publicUrl`. Default: true.
   */
  readonly functionUrl?: boolean;
  /** The address at which the world reaches the function `http`, with the prefix. Default: its own URL. */
  readonly publicUrl?: string;
  /** How often a tick looks through the database though nobody asked: an alarm may have been lost. Default: 6 hours. */
  readonly sweep?: Duration;
  /** How long logs are kept. Default: a month. */
  readonly logRetention?: RetentionDays;
}
