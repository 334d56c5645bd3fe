import type { WallClock } from "../../src/core/ports.ts";
import { PlayedObject } from "../platform/minute-storage.ts";

/** An object's storage whose alarm rings by this clock. */
export class RingingStorage extends PlayedObject {
  readonly #host: WallClock;
  readonly #ring: () => void;
  #cancel = () => {};

  constructor(host: WallClock, ring: () => void) {
    super();
    this.#host = host;
    this.#ring = ring;
  }

  override async setAlarm(at: number): Promise<void> {
    await super.setAlarm(at);
    this.#cancel();
    this.#cancel = this.#host.after(at - this.#host.now(), () => {
      this.alarmAt = null;
      this.#ring();
    });
  }

  /** The runtime drops the alarm, as it does after seven tries. */
  async dropAlarm(): Promise<void> {
    this.#cancel();
    this.alarmAt = null;
  }
}
