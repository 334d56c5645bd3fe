/** Bodies of steps that fail, and the options with which they are tried once only. */

export const failing = (message: string) => () => {
  throw new Error(message);
};
export const once = { retry: { maxAttempts: 1 } };
