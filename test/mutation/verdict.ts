/** What became of a mutant under one killer. `invalid`: it cannot run, so it proves nothing about the tests. */
export interface Verdict {
  readonly kind: "killed" | "hung" | "invalid" | "survived";
  readonly why?: string;
  /** File of the test that failed. */
  readonly test?: string;
}
