/** Is loaded before the functions: what goes to Neon goes to the local endpoint that takes its place. */
const { FETCH_ENDPOINT: elsewhere = "" } = process.env;
const { fetch } = globalThis;

globalThis.fetch = (input, init) =>
  fetch(/^https:\/\/api\.[^/]*neon\.tech\/sql$/.test(String(input)) ? elsewhere : input, init);
