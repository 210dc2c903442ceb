/**
 * A credential on its way to one request: sealed to the connection, the origin, the run and its end, and opened only
 * where requests leave. Design: the actor is the lock.
 */
import { Redacted, Schema } from "effect"
import type { Injected } from "../connector/Injection.js"

/** How long a grant can be used. */
export const grantLifetimeMillis = 60_000

/** Where a grant is sealed: it opens for this request and no other. `expiresAt`: Unix milliseconds. */
export const grantPlace = (connectionId: string, origin: string, executionId: string | null, expiresAt: number) => ({
  table: "grants",
  column: connectionId,
  row: `${executionId ?? "-"}|${origin}|${expiresAt}`
})

/** A grant as it travels: its end, which is sealed in, and the sealed parts. */
export const grantBytes = (expiresAt: number, sealed: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(8 + sealed.length)
  new DataView(bytes.buffer).setFloat64(0, expiresAt)
  bytes.set(sealed, 8)
  return bytes
}

/** Its end and the sealed parts; `undefined` where it is no grant. */
export const readGrant = (bytes: Uint8Array): { readonly expiresAt: number; readonly sealed: Uint8Array } | undefined =>
  bytes.length <= 8
    ? undefined
    : {
        expiresAt: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getFloat64(0),
        sealed: bytes.subarray(8)
      }

const Part = Schema.Struct({
  in: Schema.Literal("header", "query", "body"),
  name: Schema.String,
  value: Schema.Redacted(Schema.String)
})
/**
 * `signs`: the request is to be signed by the connection's actor as well. `secrets`: what of the credential is in the
 * parts, and must not come back.
 */
const Granted = Schema.parseJson(
  Schema.Struct({
    parts: Schema.Array(Part),
    signs: Schema.Boolean,
    secrets: Schema.Array(Schema.Redacted(Schema.String))
  })
)
const decode = Schema.decodeOption(Granted)

/** The text that is sealed. */
export const grantText = (
  parts: ReadonlyArray<Injected>,
  signs: boolean,
  secrets: ReadonlyArray<Redacted.Redacted>
): string =>
  JSON.stringify({
    parts: parts.map((part) => ({ ...part, value: Redacted.value(part.value) })),
    signs,
    secrets: secrets.map((secret) => Redacted.value(secret))
  })

export const grantOf = (text: string) => decode(text)
