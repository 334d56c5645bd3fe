/** The ids of a scenario's runs tell which of them they are. */

export function runIdOf(index: number): string {
  return `0000000${index + 1}-0000-7000-8000-000000000000`;
}

/** Answers the id that its user gives to the run. */
export function userIdOf(runId: string): string {
  return `the id of ${runId}`;
}

/** Answers which run of the scenario has this id. */
export function indexOf(runId: string): number {
  return Number(runId.slice(0, 8)) - 1;
}

/** Answers the line with numbers in place of ids. */
export function numbered(line: string): string {
  return line
    .replace(/0{7}(\d)-0000-7000-8000-0{12}/g, "run $1")
    .replace(/0{7}(\d)-0000-7000-8000-0{11}(\d)/g, "fork $2 of run $1");
}
