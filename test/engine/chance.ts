/** Everything random in a world, from one seed: the same seed plays the same story again. */

export class Chance {
  #state: number;
  #count = 0;
  readonly #room: string;

  /** `room`: a number that goes into each uuid. Two worlds with one seed and one room make the same uuids. */
  constructor(seed: number, room: number) {
    this.#state = seed >>> 0;
    this.#room = room.toString(16).padStart(4, "0");
  }

  /** Draws a number in [0, 1) by mulberry32: small, fast, good enough for choices. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };

  /** Draws a whole number from 0 on, below `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("there is nothing to pick from");
    return item;
  }

  /** Makes a uuid v7. They ascend, and none comes twice. */
  readonly uuid = (): string => {
    const digits = () =>
      Math.floor(this.next() * 0x10000)
        .toString(16)
        .padStart(4, "0");
    this.#count += 1;
    const count = this.#count.toString(16).padStart(8, "0");
    return `${count}-${this.#room}-7${digits().slice(1)}-8${digits().slice(1)}-${digits()}${digits()}${digits()}`;
  };
}
