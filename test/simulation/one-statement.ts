/** How the transaction of a step is one statement, as on Neon over HTTP. */
import type { Sent } from "../engine/mortal.ts";

/** A statement is carried out as a whole or not at all. */
export function inOneStatement(writes: readonly Sent[], last: Sent): Sent {
  const parameters = [...last.parameters];
  const parts = writes.map(({ text, parameters: values }, index) => {
    const before = parameters.length;
    parameters.push(...values);
    return `write_${index} as (${text.replaceAll(/\$(\d+)/g, (_, number) => `$${before + Number(number)}`)})`;
  });
  return { text: parts.length === 0 ? last.text : `with ${parts.join(", ")} ${last.text}`, parameters };
}
