/** A Worker of Cloudflare's that rings for deployments on other hosts. wrangler.toml names them. */
export { AppAlarm, default } from "layover/alarm";
