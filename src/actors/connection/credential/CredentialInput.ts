/** Checks the settings and credential fields that a user or client sent against the connector's definition. */
import { Effect, Redacted } from "effect"
import type { CredentialField } from "../../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { invalid, type Unavailable, refuseWith } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { JsonObject } from "../../../domain/Json.js"
import type { CredentialSecrets } from "../../ports/connection/Connections.js"
import { Computations, type TooCostly, tooCostlyDetail } from "../../ports/Computations.js"
import type { CommandRefusal } from "../Protocol.js"

const maxFieldLength = 16_384

/** Runs a computation over a definition's patterns or schemas; refuses one that costs too much. */
const runComputation = <A>(computation: Effect.Effect<A, TooCostly | Unavailable>, path: string) =>
  Effect.catchTag(computation, "TooCostly", (error) => {
    const { code, message } = tooCostlyDetail(path, error)
    return invalid(path, code, message)
  })

/** The checks, with what computes patterns and schemas. */
export const makeInputChecks = Effect.gen(function* () {
  const { compute } = yield* Computations

  /** Refuses settings that do not satisfy the connector's schema. */
  const checkConnectionConfig = Effect.fnUntraced(function* (
    { connectionConfig }: ConnectorDefinition,
    organisation: OrganisationId,
    config: JsonObject,
    /** `incomplete`: required members may be missing; the connect session asks for them. */
    { incomplete = false }: { readonly incomplete?: boolean } = {}
  ): Effect.fn.Return<void, CommandRefusal> {
    if (connectionConfig === undefined) return
    const found = yield* runComputation(
      compute("checkValue", organisation, { schema: connectionConfig, value: config }),
      "config"
    )
    const first = found.find(({ code, path }) => !(incomplete && path === "" && code === "required"))
    if (first !== undefined)
      return yield* invalid(first.path === "" ? "config" : `config.${first.path}`, "INVALID_VALUE", first.message)
  })

  /** Refuses an unknown or missing field, and one that does not match its pattern. */
  const checkFields = Effect.fnUntraced(function* (
    organisation: OrganisationId,
    fields: ReadonlyArray<CredentialField>,
    given: CredentialSecrets
  ): Effect.fn.Return<void, CommandRefusal> {
    yield* refuseWith(findFieldMistake(fields, given))
    const fieldsWithPattern = fields.flatMap(({ name, pattern }) => {
      const text = given[name] === undefined ? "" : Redacted.value(given[name])
      return pattern === undefined || text === "" ? [] : [{ name, pattern, text }]
    })
    if (fieldsWithPattern.length === 0) return
    const asked = fieldsWithPattern.map(({ pattern, text }) => ({ pattern, text }))
    const matched = yield* runComputation(compute("matchPatterns", organisation, asked), "credential")
    const mismatch = fieldsWithPattern.find((_, at) => matched[at] !== true)
    if (mismatch !== undefined)
      return yield* invalid(
        `credential.${mismatch.name}`,
        "INVALID_VALUE",
        "does not have the form that the connector asks for"
      )
  })

  return { checkConnectionConfig, checkFields }
})

const findFieldMistake = (fields: ReadonlyArray<CredentialField>, given: CredentialSecrets) => {
  for (const [name, value] of Object.entries(given)) {
    const field = fields.find((one) => one.name === name)
    const text = Redacted.value(value)
    if (field === undefined) return invalid(`credential.${name}`, "UNKNOWN_FIELD", "is not a field of this method")
    if (text.length > maxFieldLength || text.includes("\u0000") || !text.isWellFormed())
      return invalid(`credential.${name}`, "INVALID_VALUE", "is too long or holds characters that it cannot have")
  }
  const missing = fields.find(
    ({ name, required }) => required && (given[name] === undefined || Redacted.value(given[name]) === "")
  )
  return missing === undefined ? undefined : invalid(`credential.${missing.name}`, "REQUIRED", "is required")
}
