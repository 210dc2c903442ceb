/** A connection's credential. It is sealed at rest and leaves the connection's owner only in a sealed, short-lived grant. */
import { type Option, Redacted, Schema } from "effect"
import type { Lifetime } from "./Refresh.js"

type Secrets = { readonly [name: string]: Redacted.Redacted }

/** OAuth tokens, or the fields that the customer entered. Times are Unix milliseconds. */
export type Credential =
  | {
      readonly _tag: "Tokens"
      readonly accessToken: Redacted.Redacted
      readonly refreshToken: Redacted.Redacted | null
      readonly issuedAt: number
      readonly expiresAt: number | null
      readonly fields: Secrets
      /** The id of the auth provider whose client the tokens were issued to, which alone can refresh them; null: unknown. */
      readonly provider: string | null
    }
  | { readonly _tag: "Fields"; readonly fields: Secrets }

const Fields = Schema.Record({ key: Schema.String, value: Schema.Redacted(Schema.String) })

const StoredCredential = Schema.parseJson(
  Schema.Union(
    Schema.TaggedStruct("Tokens", {
      accessToken: Schema.Redacted(Schema.String),
      refreshToken: Schema.NullOr(Schema.Redacted(Schema.String)),
      issuedAt: Schema.Number,
      expiresAt: Schema.NullOr(Schema.Number),
      fields: Fields,
      provider: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null })
    }),
    Schema.TaggedStruct("Fields", { fields: Fields })
  )
)
const decode = Schema.decodeOption(StoredCredential)
const encode = Schema.encodeSync(StoredCredential)

/** The text to seal. */
export const credentialText = (credential: Credential): Redacted.Redacted => Redacted.make(encode(credential))

/** The credential of an opened text; none if the text is not a credential. */
export const credentialOf = (text: Redacted.Redacted): Option.Option<Credential> => decode(Redacted.value(text))

const plainValues = (fields: Secrets): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, Redacted.value(value)]))

/** The plain values, for injections and for callers that may reveal the credential. */
export const credentialValues = (credential: Credential): { readonly [name: string]: string } =>
  credential._tag === "Fields"
    ? plainValues(credential.fields)
    : {
        ...plainValues(credential.fields),
        accessToken: Redacted.value(credential.accessToken),
        ...(credential.refreshToken === null ? {} : { refreshToken: Redacted.value(credential.refreshToken) })
      }

/** The names of the members, sorted. */
export const credentialMembers = (credential: Credential): ReadonlyArray<string> =>
  Object.keys(credentialValues(credential)).sort()

/** The lifetime of the access token; entered fields do not expire. */
export const credentialLifetime = (credential: Credential): Lifetime =>
  credential._tag === "Tokens" ? credential : { issuedAt: 0, expiresAt: null }

/** Eight hexadecimal digits that show whether two credentials are equal. */
export const credentialFingerprint = (credential: Credential, sha256Hex: (text: string) => string): string =>
  sha256Hex(JSON.stringify(Object.entries(credentialValues(credential)).sort(([a], [b]) => (a < b ? -1 : 1)))).slice(
    0,
    8
  )
