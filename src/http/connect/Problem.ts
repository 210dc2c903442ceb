/** Turns failures into problems that the connect form shows, worded for people who connect an account. */
import type { ConnectionRequestFailure, CredentialSecrets } from "../../actors/ports/connection/Connections.js"
import type { JsonObject } from "../../domain/Json.js"
import type { ConnectField } from "../../domain/connection/ConnectForm.js"
import type { Problem } from "./Form.js"

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** A failure as a sentence. */
export const failureText = (failure: ConnectionRequestFailure): string => {
  switch (failure._tag) {
    case "NotFound":
      return "This connection does not exist any more."
    case "Unavailable":
      return "The connection could not be made just now. Please try again in a moment."
    default:
      return sentence(failure.message)
  }
}

/** The problem of the first required field that is empty. */
export const missingField = (
  fields: ReadonlyArray<ConnectField>,
  given: { readonly config: JsonObject; readonly fields: CredentialSecrets }
): Problem | undefined => {
  const isGiven = ({ name }: ConnectField) => {
    const [part, ...rest] = name.split(".")
    return Object.hasOwn(part === "config" ? given.config : given.fields, rest.join("."))
  }
  const empty = fields.find((field) => field.required && !isGiven(field))
  return empty === undefined ? undefined : { field: empty.name, text: `${empty.title}: please fill this in.` }
}

/** The end of an error message: the form that the field's value must have. */
const expectedForm = ({ description, form, max, min, options, type }: ConnectField): string => {
  const hint = description === null ? "" : ` (${description})`
  if (options !== null) return "please choose one of the list."
  if (type === "number" || type === "integer") {
    const kind = type === "integer" ? "a whole number" : "a number"
    const from = min === null ? "" : `, ${min} or more`
    const to = max === null ? "" : `, ${max} or less`
    return `this must be ${kind}${from}${to}.`
  }
  if (form.pattern?.startsWith("^https://") === true) return "this must begin with https://."
  if (form.pattern?.startsWith("^https?://") === true) return "this must begin with https:// or http://."
  if (form.format === "uri") return "this must be a web address, such as https://example.com."
  if (form.format === "email") return "this must be an e-mail address."
  return `this does not look right. Please check it${hint}.`
}

/** A failure as a problem of the field that it concerns; a refused credential concerns its first secret field. */
export const problemOf = (
  connector: string,
  fields: ReadonlyArray<ConnectField>,
  failure: ConnectionRequestFailure
): Problem => {
  const detail = failure._tag === "ValidationFailed" ? failure.details[0] : undefined
  if (detail === undefined) return { field: null, text: failureText(failure) }
  if (detail.code === "CREDENTIAL_TEST_FAILED") {
    const entered = fields.filter(({ name }) => name.startsWith("credential."))
    const field = entered.find(({ secret }) => secret) ?? entered[0]
    return {
      field: field?.name ?? null,
      text: `${connector} did not accept this. Please check what you entered. ${sentence(detail.message)}`
    }
  }
  const field = fields.find(({ name }) => detail.path === name || detail.path.startsWith(`${name}.`))
  return field === undefined
    ? { field: null, text: failureText(failure) }
    : { field: field.name, text: `${field.title}: ${expectedForm(field)}` }
}
