/** Reads the definition from the body of an update, which may be the connector's record as it was read. Contract: conventions. */
import { Either } from "effect"
import { ValidationFailed } from "../Failure.js"
import { canonicalJson, type JsonObject } from "../Json.js"

/** Members of the record that definitions do not have. */
const readOnlyMembers = [
  "id",
  "visibility",
  "latestVersion",
  "status",
  "createdAt",
  "updatedAt",
  "redirectUri",
  "webhookUrls"
]
/** Members that the record shows as `null` if the definition does not have them. */
const nullableMembers = ["domain", "iconUrl", "connectionConfig", "test", "rateLimit"]

const refuse = (changed: ReadonlyArray<string>): ValidationFailed => {
  const message = "cannot be changed: send it as it was read, or leave it out"
  return new ValidationFailed({
    code: "IMMUTABLE_FIELD",
    message: `${changed[0] ?? ""} ${message}`,
    details: changed.map((path) => ({ path, code: "IMMUTABLE_FIELD", message }))
  })
}

/**
 * The definition in a body. `record`: the connector as the API shows it. A body without read-only members is a definition
 * or an import already. Left: read-only members were changed.
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
