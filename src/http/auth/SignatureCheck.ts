/** Verifies the identity signature of a request: header, time window, HMAC over the request, and the nonce's first use. */
import { Effect, Either } from "effect"
import { Digests } from "../../actors/ports/Digests.js"
import { Keys, type KnownKey } from "../../actors/ports/organisation/Keys.js"
import { Nonces } from "../../actors/ports/connection/Nonces.js"
import { Unauthorized } from "../../domain/Failure.js"
import { nonceLifetime } from "../../domain/Limits.js"
import { identityHeader, verifyIdentity } from "../../domain/delivery/Signature.js"
import type { LazyRequest } from "../Wire.js"

const problems = {
  malformed: `${identityHeader} is not of the form t=<unix seconds>,v1=<hex>`,
  stale: `${identityHeader} has a time that is more than 300 seconds from the service's clock`,
  mismatch: `${identityHeader} does not match this request: sign it with this key's identity secret`
} as const

/** Makes the check. It fails with `IDENTITY_HMAC_REQUIRED` without a signature and `IDENTITY_HMAC_INVALID` for a wrong one. */
export const makeSignatureCheck = Effect.gen(function* () {
  const digests = yield* Digests
  const keys = yield* Keys
  const nonces = yield* Nonces

  return Effect.fnUntraced(function* ({ key }: KnownKey, request: LazyRequest, now: number) {
    const header = request.headers[identityHeader]
    if (header === undefined || header === "") {
      return yield* new Unauthorized({
        code: "IDENTITY_HMAC_REQUIRED",
        message: `this key verifies its caller: sign the request in ${identityHeader}`
      })
    }
    const invalid = (message: string) => new Unauthorized({ code: "IDENTITY_HMAC_INVALID", message })
    const body = request.body instanceof Uint8Array ? request.body : yield* request.body
    const secret = yield* keys.identitySecret(key.organisationId, key)
    const signed = {
      method: request.method,
      target: request.target,
      header: (name: string) => request.headers[name],
      bodySha256: digests.sha256Hex(body)
    }
    const { nonce } = yield* Either.mapLeft(
      verifyIdentity(digests, [secret], signed, header, Math.floor(now / 1000)),
      (problem) => invalid(problems[problem])
    )
    if (nonce !== "" && !(yield* nonces.use(key.organisationId, `${key.id}|${nonce}`, nonceLifetime))) {
      return yield* invalid("the nonce was used before: sign each request with a new one")
    }
  })
})
