/** The Idempotency-Key of a request that starts a run: claimed together with the run's first row. Contract: conventions. */
import { ValidationFailed } from "./Failure.js"

export interface RunClaim {
  /** One for each caller, path and Idempotency-Key. */
  readonly key: string
  /** Of the body: a repetition has the same. */
  readonly hash: string
}

export const keyReused = () =>
  new ValidationFailed({
    code: "IDEMPOTENCY_KEY_REUSED",
    message: "this Idempotency-Key was used for a request with another body: use a new one",
    details: [{ path: "Idempotency-Key", code: "IDEMPOTENCY_KEY_REUSED", message: "belongs to another request" }]
  })
