/** Checks a known key against a request: revoked, expired, rotated, suspended organisation, address list, Test mode, workspace. */
import type { Addresses } from "../../actors/ports/Addresses.js"
import type { KnownKey } from "../../actors/ports/Keys.js"
import { keyStatus } from "../../domain/ApiKey.js"
import { type Failure, Forbidden, Unauthorized } from "../../domain/Failure.js"
import type { RequestHead } from "../Wire.js"

/** The refusal of a key by its state, address list, Test mode or workspace; `undefined` if it is admitted. */
export const keyRefusal = (
  addresses: Addresses["Type"],
  { key, organisation, rotated }: KnownKey,
  request: RequestHead,
  ip: string,
  now: number,
  openWhileSuspended: boolean
): Failure | undefined => {
  const status = keyStatus(key, now)
  if (status === "revoked") return new Unauthorized({ code: "KEY_REVOKED", message: "this key was revoked" })
  if (status === "expired") return new Unauthorized({ code: "KEY_EXPIRED", message: "this key has expired" })
  if (rotated && (key.beforeUntil === null || Date.parse(key.beforeUntil) <= now))
    return new Unauthorized({ code: "UNAUTHORIZED", message: "this key was rotated: send its new text" })
  if (organisation.status !== "active" && !openWhileSuspended)
    return new Forbidden({ code: "FORBIDDEN", message: "the organisation is suspended" })
  if (key.allowedIps.length > 0 && !addresses.within(ip, key.allowedIps)) {
    return new Forbidden({ code: "IP_NOT_ALLOWED", message: `this key may not be used from ${ip}` })
  }
  if (key.mode === "test" && request.headers["x-svc-test-mode"]?.toLowerCase() !== "true") {
    return new Forbidden({
      code: "TEST_MODE_HEADER_REQUIRED",
      message: "a Test key must send the header X-svc-Test-Mode: true"
    })
  }
  const space = request.headers["x-svc-space-id"]
  if (space !== undefined && space !== "" && space !== key.spaceId) {
    return new Forbidden({ code: "FORBIDDEN", message: "x-svc-space-id names another workspace than the key's" })
  }
  return undefined
}
