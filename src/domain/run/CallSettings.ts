/** Reads the settings that a run's code gives to a call of the service, such as `svc.notify`. */
import { Either, type Schema } from "effect"
import { valueDetails } from "../Issues.js"
import { findUnstorable, isObject, type Json, unstorableMessage } from "../Json.js"
import { decodeStrict } from "../SchemaIssues.js"

/** Characters of the settings as JSON: more than the longest that are valid. */
export const settingsLength = 512 * 1024
/** Mistakes that one message names. */
const namedMistakes = 10
/** Characters of an unknown member's name that are repeated. */
const nameLength = 100

/** Makes the function that reads settings, which are `length` characters of JSON. Left: what is wrong with them. */
export const settingsReader = <A, I>(schema: Schema.Schema<A, I> & { readonly fields: object }) => {
  const decode = decodeStrict(schema)
  return (given: Json | undefined, length: number): Either.Either<A, string> => {
    if (length > settingsLength) return Either.left(`its settings hold more than ${settingsLength} characters of JSON`)
    // Found here, since the library looks at every member of a large object.
    const unknown = isObject(given ?? null)
      ? Object.keys(given ?? {}).find((name) => !Object.hasOwn(schema.fields, name))
      : undefined
    if (unknown !== undefined) return Either.left(`there is no member ${unknown.slice(0, nameLength)}`)
    return Either.match(decode(given ?? {}), {
      onLeft: (issues) =>
        Either.left(
          valueDetails(issues)
            .slice(0, namedMistakes)
            .map(({ message, path }) => `${path.replace(/^value\.?/, "")} ${message}`)
            .join("; ")
        ),
      onRight: (settings) => {
        const bad = findUnstorable(settings)
        return bad === undefined ? Either.right(settings) : Either.left(`${bad.path} ${unstorableMessage[bad.reason]}`)
      }
    })
  }
}
