/** What somebody outside has the processes of a world do: answer a question, carry out a tick, begin, give leases back. */
import type { Client } from "../../src/client/over-postgres/client.ts";
import type { TickOptions } from "../../src/engine/scheduler/tick.ts";
import type { Course } from "./course.ts";
import type { Fleet } from "./fleet.ts";
import type { Platform } from "./platform.ts";
import { missing, type WorldNotes } from "./world-notes.ts";

interface ErrandsStage {
  readonly fleet: Fleet;
  readonly course: Course;
  readonly platform: Platform;
  readonly notes: WorldNotes;
  /** The database's time and the hosts' time, in epoch milliseconds. */
  readonly clocks: { readonly now: number; readonly hostNow: number };
}

export class Errands {
  readonly #stage: ErrandsStage;

  constructor(stage: ErrandsStage) {
    this.#stage = stage;
  }

  /** Asks something of the system from outside. Asks again where the process dies over it. */
  async ask<Answer>(question: (client: Client) => Promise<Answer>): Promise<Answer> {
    const { fleet, course, notes } = this.#stage;
    for (;;) {
      fleet.respawn();
      const asked = fleet.next();
      let outcome: (() => Answer) | undefined;
      question(asked.client).then(
        (answer) => {
          outcome = () => answer;
        },
        (error: unknown) => {
          outcome = () => {
            throw error;
          };
        },
      );
      while (!asked.isDead) {
        await course.rest();
        if (outcome !== undefined) return outcome();
        if (!(await course.event(Number.POSITIVE_INFINITY))) throw missing("a question is never answered", notes);
      }
    }
  }

  /** Has a process give its leases back, as one does that was asked to end and whose grace is over. */
  async giveBack(process = this.#stage.fleet.processes[0]): Promise<void> {
    const { course, notes } = this.#stage;
    if (process === undefined) return;
    let isOver = false;
    process.engine.close();
    void process.engine.giveBack().then(() => {
      isOver = true;
    });
    while (!isOver) {
      await course.rest();
      if (!isOver && !(await course.event(Number.POSITIVE_INFINITY)))
        throw missing("leases are never given back", notes);
    }
  }

  /** Lets all processes begin, and things happen until one has done so. */
  async beginAll(): Promise<void> {
    const { fleet, course, notes } = this.#stage;
    fleet.beginAll();
    while (fleet.isBeginning) {
      await course.rest();
      if (fleet.isBeginning && !(await course.event(Number.POSITIVE_INFINITY)))
        throw missing("a process never begins", notes);
    }
  }

  /** Carries out a tick that nobody armed. */
  async tick(options: TickOptions): Promise<void> {
    const { fleet, course, platform, notes, clocks } = this.#stage;
    const process = fleet.next();
    const unarmed = { at: clocks.now, ringsAt: clocks.hostNow, isRinging: true, isUnarmed: true };
    platform.alarms.push(unarmed);
    const over = () => {
      platform.alarms = platform.alarms.filter((other) => other !== unarmed);
    };
    process.tick(options).then(over, over);
    while (platform.alarms.includes(unarmed) && !process.isDead) {
      await course.rest();
      if (platform.alarms.includes(unarmed) && !(await course.event(Number.POSITIVE_INFINITY))) {
        throw missing("a tick never ends", notes);
      }
    }
    over();
  }
}
