/** Mutants of the orders and margins by which a call to the database is armed, sent and sent again. */
import { type Ordering, waking } from "./orderings.ts";

const calls = "src/postgres/calls/call-sender.ts";
const clientCalls = "src/postgres/calls/client-calls.ts";
const alarms = "src/postgres/alarms.ts";

export const ofCalls: readonly Ordering[] = [
  {
    name: "a call does not wait until it is armed",
    file: calls,
    why: "A process that dies between its commit and its alarm leaves a run for which nothing rings.",
    find: "return send({ armed: await this.alarms.armFor(notAfter, wakeInstants(now)), notAfter });",
    replace: `const armed = [Math.ceil(now / 60_000 + 1) * 60_000, ...wakeInstants(now).filter((at) => at > notAfter + 30_000)];
      void this.alarms.armFor(notAfter, wakeInstants(now)).catch(() => {});
      return send({ armed, notAfter });`,
  },
  {
    name: "a call arms after its answer",
    file: calls,
    why: "The same, and the commit stands whatever becomes of the alarm.",
    find: "return send({ armed: await this.alarms.armFor(notAfter, wakeInstants(now)), notAfter });",
    replace: `const armed = [Math.ceil(now / 60_000 + 1) * 60_000, ...wakeInstants(now).filter((at) => at > notAfter + 30_000)];
      const answer = await send({ armed, notAfter });
      await this.alarms.armFor(notAfter, wakeInstants(now));
      return answer;`,
  },
  {
    name: "wake instants of a call are not armed",
    file: calls,
    why: "A wait's end would be looked at by the sweep, hours later.",
    find: "armed: await this.alarms.armFor(notAfter, wakeInstants(now)), notAfter });",
    replace: "armed: await this.alarms.armFor(notAfter, []), notAfter });",
  },
  {
    name: "a call that came too late is not sent again",
    file: calls,
    why: "Its work would be lost, and done again, with each slow lock.",
    find: "if (tries === lastTry || (state !== tooLate && state !== unlisted)) throw error;",
    replace: "if (tries >= 1) throw error;",
  },
  {
    name: "a call that broke is not sent again",
    file: calls,
    why: "Each broken connection would cost a lease.",
    find: 'if (again === "never" || sends === lastSend || isTimeUp) throw error;',
    replace: "throw error;",
  },
  {
    name: "an ambiguous call is sent again after its limit",
    file: calls,
    why: "It would lean on alarms that may have rung already.",
    find: "if (this.clock.isKnown && this.clock.now() + pauseMs > notAfter) throw error;",
    replace: "",
  },
  {
    name: "answers do not tell the time",
    file: calls,
    why: "A process would count from its first answer on, and drift away from the database.",
    find: "const isStep = answer.now !== undefined && this.clock.learn(answer.now, sentAt);",
    replace: "const isStep = answer.now !== undefined && !this.clock.isKnown && this.clock.learn(answer.now, sentAt);",
  },
  {
    name: "a start inside a transaction is armed for an instant before its commit",
    file: clientCalls,
    why: "The alarm rings while nobody can see the run yet, and then never again.",
    find: "latestCommit(commitBy));",
    replace: "now);",
  },
  {
    name: "a start inside a transaction counts its time from when its statement gets its turn",
    file: clientCalls,
    why: "Its alarm may have rung by then, and the commit is allowed all the same.",
    find: "...call, commitBy, endpoint",
    replace: "...call, endpoint",
  },
  {
    name: "an alarm may ring before the commit that it serves",
    file: waking,
    why: "A commit that takes up to 30 s after the call's limit is then without an alarm.",
    find: "const after = isBeat ? now : latestCommit(notAfter);",
    replace: "const after = now;",
  },
  {
    name: "the margin ends with the call's limit",
    file: waking,
    why: "The same: from there to COMMIT it may take 30 s.",
    find: "return notAfter + commitMs;",
    replace: "return notAfter;",
  },
  {
    name: "the motion minute is not armed",
    file: waking,
    why: "A run in motion whose dispatch is lost has nothing that rings for it.",
    find: "return [motionMinute(now), ...due];",
    replace: "return due;",
  },
  {
    name: "alarms are not waited for",
    file: alarms,
    why: "What is not armed yet may never be.",
    find: "await Promise.all(wanted.map((at) => this.#standing.get(at)?.armed));",
    replace: "void Promise.all(wanted.map((at) => this.#standing.get(at)?.armed)).catch(() => {});",
  },
  {
    name: "an alarm that failed counts as standing",
    file: alarms,
    why: "Every later call of the process would lean on it.",
    find: "for (const at of instants) if (this.#standing.get(at)?.armed === armed) this.#standing.delete(at);",
    replace:
      "for (const { at, inMs } of set) this.#standing.set(at, { ringsAt: since + inMs, armed: Promise.resolve() });",
  },
  {
    name: "what has rung counts as standing",
    file: alarms,
    why: "A due instant in the past would be taken for armed.",
    find: "for (const [at, { ringsAt }] of this.#standing) if (ringsAt <= through) this.#standing.delete(at);",
    replace: "",
  },
];
