/** A connector's record, put back by a client that read it, as the definition that it shows. Contract: conventions. */
import { Either } from "effect"
import { ValidationFailed } from "../Failure.js"
import { canonicalJson, type JsonObject } from "../Json.js"

/** Members of the record that its definition does not have. */
const readOnlyMembers = ["id", "visibility", "latestVersion", "status", "createdAt", "updatedAt", "redirectUri"]
/** Members that the record shows as `null` where the definition leaves them out. */
const nullableMembers = ["domain", "iconUrl", "connectionConfig", "test", "rateLimit"]

const refuse = (changed: ReadonlyArray<string>): ValidationFailed => {
  const message = "cannot be changed: send it was read, or leave it out"
  return new ValidationFailed({
    code: "IMMUTABLE_FIELD",
    message: `${changed[0] ?? ""} ${message}`,
    details: changed.map((path) => ({ path, code: "IMMUTABLE_FIELD", message }))
  })
}

/**
 * The definition in the body of an update. `record`: the connector as it is answered. A body without members of the
 * record that no definition has is the definition already, or an import.
 */
export const readDefinitionBody = (
  body: JsonObject,
  record: JsonObject
): Either.Either<JsonObject, ValidationFailed> => {
  const isRecord = "authMethods" in body || readOnlyMembers.some((member) => member in body)
  if (!isRecord) return Either.right(body)
  const isChanged = (member: string) =>
    body[member] !== undefined && canonicalJson(body[member]) !== canonicalJson(record[member] ?? null)
  const { auth, authMethods, ...members } = body
  const changed = [...readOnlyMembers, ...(auth === undefined ? [] : ["authMethods"])].filter(isChanged)
  if (changed.length > 0) return Either.left(refuse(changed))
  const written = Object.entries(members).filter(
    ([member, value]) => !readOnlyMembers.includes(member) && !(value === null && nullableMembers.includes(member))
  )
  const methods = auth ?? authMethods
  return Either.right({
    svcConnector: 1,
    ...Object.fromEntries(written),
    ...(methods === undefined ? {} : { auth: methods })
  })
}
