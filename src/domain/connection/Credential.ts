/** What a connection proves itself with. It is sealed at rest and leaves its actor only as a sealed injection. */
import { type Option, Redacted, Schema } from "effect"
import type { Lifetime } from "./Refresh.js"

type Secrets = { readonly [name: string]: Redacted.Redacted }

/** `fields`: what the customer entered, by name. Times are Unix milliseconds. */
export type Credential =
  | {
      readonly _tag: "Tokens"
      readonly accessToken: Redacted.Redacted
      readonly refreshToken: Redacted.Redacted | null
      readonly issuedAt: number
      readonly expiresAt: number | null
      readonly fields: Secrets
      /** Id of the auth provider whose client it was given to: no other can renew it. Null where none is known. */
      readonly provider: string | null
    }
  | { readonly _tag: "Fields"; readonly fields: Secrets }

const Fields = Schema.Record({ key: Schema.String, value: Schema.Redacted(Schema.String) })

const Stored = Schema.parseJson(
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
const decode = Schema.decodeOption(Stored)
const encode = Schema.encodeSync(Stored)

/** The text that is sealed. */
export const credentialText = (credential: Credential): Redacted.Redacted => Redacted.make(encode(credential))

/** The credential of such a text; none when the text is no credential. */
export const credentialOf = (text: Redacted.Redacted): Option.Option<Credential> => decode(Redacted.value(text))

const plain = (fields: Secrets): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, Redacted.value(value)]))

/** Its members in the clear: for injections, and for those who may reveal it. */
export const valuesOf = (credential: Credential): { readonly [name: string]: string } =>
  credential._tag === "Fields"
    ? plain(credential.fields)
    : {
        ...plain(credential.fields),
        accessToken: Redacted.value(credential.accessToken),
        ...(credential.refreshToken === null ? {} : { refreshToken: Redacted.value(credential.refreshToken) })
      }

/** The names of its members, in order. */
export const membersOf = (credential: Credential): ReadonlyArray<string> => Object.keys(valuesOf(credential)).sort()

/** How long it lives; what a customer entered lives until it is replaced. */
export const lifetimeOf = (credential: Credential): Lifetime =>
  credential._tag === "Tokens" ? credential : { issuedAt: 0, expiresAt: null }

/** Eight hexadecimal digits by which two credentials can be compared, and nothing else. */
export const fingerprintOf = (credential: Credential, sha256Hex: (text: string) => string): string =>
  sha256Hex(JSON.stringify(Object.entries(valuesOf(credential)).sort(([a], [b]) => (a < b ? -1 : 1)))).slice(0, 8)
