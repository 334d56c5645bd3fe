/**
 * Notices that the machine was suspended: a laptop that slept, a virtual machine that was paused. Linux and macOS stop the
 * monotonic clock meanwhile, by which timers count. So every alarm would ring as much too late. The time of day has gone
 * on. Somebody may set it, too: that looks the same, and costs one tick.
 */
import type { WallClock } from "../../../core/ports.ts";

const lookMs = 20_000;

/** How far the time of day must have gone ahead. Shorter suspensions count together. */
const aheadMs = 5_000;

/** Calls `onSuspended` within 20 s after a suspension. The function that it answers ends that. */
export function watchSuspends(host: Pick<WallClock, "now" | "monotonic">, onSuspended: () => void): () => void {
  const apart = () => host.now() - host.monotonic();
  let before = apart();
  const looks = setInterval(() => {
    const nowApart = apart();
    const jumpMs = nowApart - before;
    if (Math.abs(jumpMs) <= aheadMs) return;
    before = nowApart;
    if (jumpMs > 0) onSuspended();
  }, lookMs);
  looks.unref();
  return () => clearInterval(looks);
}
