/** A run's timeline as bars over one axis of time, with the servers that carried it out above. */
import type { Look } from "./follower.ts";
import { paint } from "./screen.ts";

export interface Bar {
  readonly beganAt: number;
  readonly endedAt: number;
  /** `work`: a body ran. `wait`: nothing ran. `lost`: a body ran and its server was killed. `up`: a server was there. */
  readonly kind: "work" | "wait" | "lost" | "up" | "killed";
}

export interface Lane {
  readonly name: string;
  readonly bars: readonly Bar[];
  readonly remark?: string;
}

const width = 56;

const looks = {
  up: { body: "━", format: "cyan" },
  killed: { body: "━", format: "cyan" },
  work: { body: "█", format: "green" },
  lost: { body: "▒", format: "red" },
  wait: { body: "░", format: "yellow" },
} as const;

/** Makes a lane of each record that has a name. `lost`: when a body ran whose server was killed, by the record's name. */
export function lanesOf({ records, createdAt }: Look, lost: Readonly<Record<string, Bar>>): readonly Lane[] {
  const lanes = records.map(({ path, kind, beganAt, recordedAt }, index): Lane => {
    const began = beganAt ?? records[index - 1]?.recordedAt ?? createdAt;
    const isWork = kind === "step" || kind === "undo";
    const bar: Bar = { beganAt: began, endedAt: recordedAt, kind: isWork ? "work" : "wait" };
    const before = lost[path];
    if (before === undefined) return { name: path, bars: [bar] };
    return { name: path, bars: [before, bar], remark: "begun twice, recorded once" };
  });
  return lanes.filter(({ name }) => name !== "");
}

export function drawTimeline(lanes: readonly Lane[]): string {
  const bars = lanes.flatMap((lane) => lane.bars);
  const from = Math.min(...bars.map(({ beganAt }) => beganAt));
  const to = Math.max(...bars.map(({ endedAt }) => endedAt));
  const columnOf = (at: number) => Math.round(((at - from) / (to - from)) * (width - 1));
  const margin = Math.max(...lanes.map(({ name }) => name.length)) + 4;
  const rows = lanes.map(({ name, bars, remark }) => {
    const row = `  ${name.padEnd(margin - 2)}${drawRow(bars, columnOf)}`;
    return remark === undefined ? row.trimEnd() : `${row}  ${paint("dim", remark)}`;
  });
  return [" ".repeat(margin) + paint("dim", drawAxis((to - from) / 1_000)), ...rows].join("\n");
}

function drawRow(bars: readonly Bar[], columnOf: (at: number) => number): string {
  const cells = Array.from({ length: width }, () => " ");
  for (const { beganAt, endedAt, kind } of bars) {
    const { body, format } = looks[kind];
    const last = columnOf(endedAt);
    for (let column = columnOf(beganAt); column <= last; column += 1) cells[column] = paint(format, body);
    if (kind === "lost" || kind === "killed") cells[last] = paint("red", "✗");
  }
  return cells.join("");
}

/** `0 s        5 s        10 s`: every five seconds, and the end. */
function drawAxis(seconds: number): string {
  let axis = "";
  for (let second = 0; second <= seconds; second += 5) {
    const column = Math.round((second / seconds) * (width - 1));
    const label = `${second} s`;
    if (column + label.length <= width) axis = axis.padEnd(column) + label;
  }
  return axis;
}
