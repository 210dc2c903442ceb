/** The claim of an Idempotency-Key by a run, which commits with the run's first row. Contract: conventions. */
import { ValidationFailed } from "../Failure.js"

/** A claimed key. */
export interface RunClaim {
  /** Unique for each caller, path and Idempotency-Key. */
  readonly key: string
  /** The hash of the body, which a repetition must match. */
  readonly hash: string
}

/** The refusal of a key that was used with another body. */
export const idempotencyKeyReused = () =>
  new ValidationFailed({
    code: "IDEMPOTENCY_KEY_REUSED",
    message: "this Idempotency-Key was used for a request with another body: use a new one",
    details: [
      {
        path: "Idempotency-Key",
        code: "IDEMPOTENCY_KEY_REUSED",
        message: "was used for another request: send a new one"
      }
    ]
  })
