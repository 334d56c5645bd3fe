/** What nobody finds out about schedules (see explained.ts). */
import type { Explanation } from "./explained.ts";

export const ofSchedules: readonly Explanation[] = [
  {
    why: "check_key lets a call pass that names no key.",
    mutants: [
      "create_schedule: p ? 'keyId' → true",
      "get_schedule: p ? 'keyId' → true",
      "list_schedules: p ? 'keyId' → true",
      "lock_schedule: p ? 'keyId' → true",
    ],
  },
  {
    why: "What is null is not true.",
    mutants: ["create_schedule: coalesce((p->>'replaces')::boolean, false) → coalesce((p->>'replaces')::boolean)"],
  },
];
