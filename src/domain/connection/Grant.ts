/**
 * Grants: the credential for one request, sealed to connection, origin, run and expiry, and opened only by egress.
 * Design: the actor is the lock.
 */
import { Redacted, Schema } from "effect"
import { InjectedPart } from "../connector/request/Injection.js"

/** The time for which a grant is valid. */
export const grantLifetimeMillis = 60_000

/** The place to which a grant is sealed, so that it opens for one request only. `expiresAt`: Unix milliseconds. */
export const grantPlace = (connectionId: string, origin: string, executionId: string | null, expiresAt: number) => ({
  table: "grants",
  column: connectionId,
  row: `${executionId ?? "-"}|${origin}|${expiresAt}`
})

/** The bytes of a grant: its expiry, which the seal also covers, and the sealed content. */
export const grantBytes = (expiresAt: number, sealed: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(8 + sealed.length)
  new DataView(bytes.buffer).setFloat64(0, expiresAt)
  bytes.set(sealed, 8)
  return bytes
}

/** The expiry and the sealed content; `undefined` if the bytes are not a grant. */
export const readGrant = (bytes: Uint8Array): { readonly expiresAt: number; readonly sealed: Uint8Array } | undefined =>
  bytes.length <= 8
    ? undefined
    : {
        expiresAt: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getFloat64(0),
        sealed: bytes.subarray(8)
      }

/**
 * The sealed content. `signs`: the connection's owner must also sign the request. `secrets`: the secret values in `parts`,
 * which egress removes from the answer.
 */
const GrantContent = Schema.parseJson(
  Schema.Struct({
    parts: Schema.Array(InjectedPart),
    signs: Schema.Boolean,
    secrets: Schema.Array(Schema.Redacted(Schema.String))
  })
)
const decode = Schema.decodeOption(GrantContent)

/** The text to seal. */
export const grantText = (
  parts: ReadonlyArray<InjectedPart>,
  signs: boolean,
  secrets: ReadonlyArray<Redacted.Redacted>
): string =>
  JSON.stringify({
    parts: parts.map((part) => ({ ...part, value: Redacted.value(part.value) })),
    signs,
    secrets: secrets.map((secret) => Redacted.value(secret))
  })

/** The content of an opened text; none if the text is not a grant. */
export const grantOf = (text: string) => decode(text)
