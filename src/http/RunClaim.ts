/** Reads the Idempotency-Key of a request that starts a run as the claim that commits with the run's first row. */
import { Either } from "effect"
import type { Principal } from "../actors/management/Caller.js"
import type { Digests } from "../actors/ports/Digests.js"
import type { InvalidRequest } from "../domain/Failure.js"
import type { RunClaim } from "../domain/run/RunClaim.js"
import { idempotencyKey } from "./pipeline/Idempotency.js"
import { type RequestHead, targetIndexKey } from "./Wire.js"

/** `undefined` for a request without the header. `body`: its hash tells a repetition from a different request. */
export const runClaim = (
  { sha256Hex }: Digests["Type"],
  caller: Principal,
  request: RequestHead,
  body: Uint8Array | string
): Either.Either<RunClaim | undefined, InvalidRequest> =>
  Either.map(idempotencyKey(request), (key) =>
    key === undefined
      ? undefined
      : { key: `${caller.id}|${targetIndexKey(request.target, sha256Hex)}|${key}`, hash: sha256Hex(body) }
  )
