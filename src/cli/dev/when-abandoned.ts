/** The parent's id, read when the process begins. By the time that somebody watches, the parent may be gone. */
const parent = process.ppid;

/**
 * Calls `act` once, when the npm that began this process is gone. A killed npm does not tell its child. Without npm
 * nothing is watched: a server that was begun from a shell may be meant to outlive that shell.
 */
export function whenAbandoned(act: () => void): void {
  if (process.env["npm_lifecycle_event"] === undefined) return;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    act();
  }, 500);
  timer.unref();
}
