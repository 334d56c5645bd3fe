/** Read when the process begins: by the time that somebody watches, its parent may be gone. */
const parent = process.ppid;

/**
 * Calls this once when npm, which began this process, is gone: killed, it tells nobody. Without npm nothing is watched, as
 * who begins a server from a shell may want it to outlive that.
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
