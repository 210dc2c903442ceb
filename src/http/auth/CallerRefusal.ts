/** Checks a caller of any kind against its request: suspended organisation, address list, Test mode, workspace. */
import type { Addresses } from "../../actors/ports/organisation/Addresses.js"
import { credentialNounOf, nounOf } from "../../domain/access/CallerKind.js"
import { type Failure, Forbidden } from "../../domain/Failure.js"
import type { RequestHead } from "../Wire.js"
import type { KnownCredential } from "./Credentials.js"

/** The refusal of a caller by its organisation, address list, Test mode or workspace; `undefined` if it is admitted. */
export const callerRefusal = (
  addresses: Addresses["Type"],
  { caller, organisation, spaceId }: KnownCredential,
  request: RequestHead,
  ip: string,
  openWhileSuspended: boolean
): Failure | undefined => {
  const { allowedIps, mode } = caller.bounds
  if (organisation.status !== "active" && !openWhileSuspended)
    return new Forbidden({ code: "FORBIDDEN", message: "the organisation is suspended" })
  if (allowedIps.length > 0 && !addresses.within(ip, allowedIps))
    return new Forbidden({
      code: "IP_NOT_ALLOWED",
      message: `this ${credentialNounOf(caller)} may not be used from ${ip}`
    })
  if (mode === "test" && request.headers["x-svc-test-mode"]?.toLowerCase() !== "true")
    return new Forbidden({
      code: "TEST_MODE_HEADER_REQUIRED",
      message: `a Test ${nounOf(caller)} must send the header X-svc-Test-Mode: true`
    })
  const space = request.headers["x-svc-space-id"]
  if (space !== undefined && space !== "" && space !== spaceId)
    return new Forbidden({
      code: "FORBIDDEN",
      message: `x-svc-space-id names another workspace than the ${nounOf(caller)}'s`
    })
  return undefined
}
