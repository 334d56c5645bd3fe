/** What to type after a development server has started: lines of curl for one of its workflows. */
import type { Contract } from "../core/contract.ts";
import { exampleOf } from "./example-of.ts";

export interface LineToTry {
  readonly purpose: string;
  /** For a POSIX shell. Uses $KEY, $RUN and $URL. */
  readonly command: string;
}

const asKey = `-H "authorization: Bearer $KEY"`;
const asJson = `-H "content-type: application/json"`;

export function linesToTry(url: string, contract: Contract): readonly LineToTry[] {
  const curl = (path: string, ...flags: string[]) => ["curl -s", `${url}${path}`, ...flags].join(" ");
  const start = curl(`/v1/workflows/${encodeURIComponent(contract.name)}/runs`, asKey, asJson, body(inputOf(contract)));
  const [signal] = Object.entries(contract.signals);
  const [callback] = Object.values(contract.callbacks);
  return [
    { purpose: "Start a run", command: `RUN=$(${start} | cut -d'"' -f4); echo $RUN` },
    { purpose: "Look at it", command: curl("/v1/runs/$RUN", asKey) },
    { purpose: "What it did", command: curl("/v1/runs/$RUN/history", asKey) },
    ...(signal === undefined ? [] : [{ purpose: `Signal "${signal[0]}"`, command: signalCommand(signal) }]),
    ...(callback === undefined
      ? []
      : [
          {
            purpose: "Answer its callback, at the URL it gave",
            command: `curl -s "$URL" ${asJson} ${body(exampleOf(callback))}`,
          },
        ]),
    { purpose: "Wait for its result", command: curl(`"/v1/runs/$RUN/result?wait=30s"`, asKey) },
  ];

  function signalCommand([name, schema]: [string, Contract["signals"][string]]): string {
    const payload = body({ payload: exampleOf(schema) });
    return curl(`/v1/runs/$RUN/signals/${encodeURIComponent(name)}`, asKey, asJson, payload);
  }
}

function inputOf({ input }: Contract): unknown {
  return input === undefined ? {} : { input: exampleOf(input) ?? null };
}

function body(value: unknown): string {
  return `-d '${JSON.stringify(value ?? null).replaceAll("'", `'\\''`)}'`;
}
