/** What to type after a development server has started: lines of curl for one of its workflows. */
import type { Contract } from "../../core/contract/contract.ts";
import type { Schema } from "../../core/contract/schema.ts";
import { exampleOf } from "./example-of.ts";

export interface LineToTry {
  readonly purpose: string;
  /** The command, for a POSIX shell. It uses $KEY, $RUN and $URL. */
  readonly command: string;
}

const withKey = `-H "authorization: Bearer $KEY"`;
const asJson = `-H "content-type: application/json"`;

export function linesToTry(url: string, contract: Contract): readonly LineToTry[] {
  const get = (path: string) => `curl -sw "\\n" "${url}${path}" ${withKey}`;
  const post = (path: string, value: unknown) => `${get(path)} ${asJson} ${body(value)}`;
  const [signal] = Object.entries(contract.signals);
  const [callback] = Object.values(contract.callbacks);
  const start = post(`/v1/workflows/${encodeURIComponent(contract.name)}/runs`, inputOf(contract));
  return [
    { purpose: "Start a run", command: `RUN=$(${start} | cut -d'"' -f4); echo $RUN` },
    { purpose: "Look at it", command: get("/v1/runs/$RUN") },
    { purpose: "See what it did", command: get("/v1/runs/$RUN/history") },
    ...(signal === undefined ? [] : [signalLine(signal)]),
    ...(callback === undefined ? [] : [callbackLine(callback)]),
    { purpose: "Wait for its result", command: get("/v1/runs/$RUN/result?wait=30s") },
  ];

  function signalLine([name, schema]: [string, Schema]): LineToTry {
    const path = `/v1/runs/$RUN/signals/${encodeURIComponent(name)}`;
    return { purpose: `Send it the signal "${name}"`, command: post(path, { payload: exampleOf(schema) }) };
  }
}

function callbackLine(schema: Schema): LineToTry {
  return {
    purpose: "Answer what it asks. It logs a URL here: open that in a browser, or put it into URL",
    command: `curl -sw "\\n" "$URL" ${asJson} ${body(exampleOf(schema))}`,
  };
}

function inputOf({ input }: Contract): unknown {
  return input === undefined ? {} : { input: exampleOf(input) ?? null };
}

function body(value: unknown): string {
  return `-d ${quoted(value)}`;
}

function quoted(value: unknown): string {
  return `'${JSON.stringify(value ?? null).replaceAll("'", `'\\''`)}'`;
}
