/**
 * `npm run dev:aws`: the functions of this repository as they are deployed on AWS, on this machine: processes that Lambda's
 * Runtime API feeds and freezes, AWS' services on the wire, and a Postgres behind Neon's endpoint. It prints lines to try.
 */
import { once } from "node:events";
import { deployWhole } from "./whole.ts";

const ended = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
const whole = await deployWhole({ entry: "functions/lambda.ts" });
const { cloud, databaseUrl, endpoint, key } = whole;
console.log(`
The functions answer at ${cloud.url}. Their data are gone when you end this, with Ctrl-C.

export LAYOVER_URL=${cloud.url} LAYOVER_KEY=${key} DATABASE_URL=${databaseUrl}
npm run layover -- start order --input '{"customer": "Ada", "amount": 42, "items": ["lamp"], "address": {"street": "1 Rose St", "city": "London"}}'
npm run layover -- runs
AWS_ENDPOINT_URL=${cloud.wire.endpoint} AWS_REGION=eu-central-1 AWS_ACCESS_KEY_ID=operator AWS_SECRET_ACCESS_KEY=none npm run layover -- doctor --endpoint ${endpoint} --aws ${cloud.template.output("Name")}
`);
let told = 0;
const telling = setInterval(() => {
  for (const line of cloud.output.slice(told)) console.log(line);
  told = cloud.output.length;
}, 100);
await ended;
clearInterval(telling);
await whole.end();
