/** Transactions of steps by node-postgres. */
import { type Transact, UnknownCommit } from "../core/ports.ts";
import { parserOf } from "./columns.ts";
import { failedAfterSending } from "./failure.ts";
import { lend, type PgPool } from "./pg-connections.ts";
import { OpenTransaction } from "./transaction-client.ts";

const types = { getTypeParser: parserOf };

/** `timeoutMs`: how long to wait for a connection. */
export function pgTransact(pool: PgPool, timeoutMs: number): Transact {
  return async (limitMs, work) => {
    const client = await lend(pool, timeoutMs);
    let isSound = false;
    const send = async (text: string, values: readonly unknown[] = []) => {
      const answer = await client.query({ text, values: [...values], types });
      return (Array.isArray(answer) ? answer.at(-1) : answer)?.rows ?? [];
    };
    const open = new OpenTransaction(async (text, values) => {
      const answer = await client.query({ text, values });
      return { rows: (Array.isArray(answer) ? answer.at(-1) : answer)?.rows ?? [] };
    });
    try {
      await send("begin isolation level read committed read write");
      try {
        await send(`set local statement_timeout = ${Math.ceil(limitMs)}`);
        const result = await work(open, async (text, values) => {
          await open.flush();
          return await send(text, values);
        });
        open.close();
        await commit(send);
        isSound = true;
        return result;
      } catch (error) {
        open.close();
        // Where a statement is still under way, the connection is ended, and Postgres rolls back.
        if (open.isAtRest && !(error instanceof UnknownCommit))
          isSound = await send("rollback").then(
            () => true,
            () => false,
          );
        throw error;
      }
    } finally {
      client.release(!isSound);
    }
  };
}

async function commit(send: (text: string) => Promise<unknown>): Promise<void> {
  try {
    await send("commit");
  } catch (error) {
    throw commitFailure(error);
  }
}

/** Makes the error of a COMMIT: that of Postgres if it says that all is rolled back. */
export function commitFailure(error: unknown): Error {
  const failure = failedAfterSending(error);
  if (failure.isRolledBack) return failure;
  return new UnknownCommit(`nobody knows whether the transaction was committed: ${failure.message}`, { cause: error });
}
