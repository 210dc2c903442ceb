/** How a flow checks a token of its own before surface B starts it. Contract: surface B. */
import { secretNamePattern } from "../access/Secret.js"
import type { Mistakes } from "../expression/Checks.js"
import { isObject, type Json } from "../Json.js"
import type { CustomAuth, FlowSpec } from "./Spec.js"

/** How long a workflow that checks a token may take. Milliseconds. */
export const customAuthMillis = 5_000

/** Wrong tokens a minute, for one flow of one address: the token may be short enough to guess. */
export const customAuthGuesses = 10

type Member = "secretName" | "workflowId"

const wanted: { readonly [Type in CustomAuth["type"]]: Member } = {
  bearer: "secretName",
  header: "secretName",
  workflow: "workflowId"
}

const forms: { readonly [Name in Member]: { readonly pattern: RegExp; readonly message: string } } = {
  secretName: { pattern: secretNamePattern, message: "must be the name of a secret: capitals, digits and _" },
  workflowId: { pattern: /^wf_[0-9a-f]{12}$/, message: "must be the id of a workflow: wf_ and 12 hexadecimal digits" }
}

/** What is wrong with the flow's `customAuth`. */
export const customAuthMistakes = ({ customAuth }: FlowSpec): Mistakes => {
  if (customAuth === undefined || customAuth === null) return []
  const member = wanted[customAuth.type]
  const other: Member = member === "secretName" ? "workflowId" : "secretName"
  const value = customAuth[member]
  const { message, pattern } = forms[member]
  return [
    ...(value === undefined ? [{ path: `customAuth.${member}`, code: "REQUIRED", message: "is required" }] : []),
    ...(value === undefined || pattern.test(value)
      ? []
      : [{ path: `customAuth.${member}`, code: "INVALID_VALUE", message }]),
    ...(customAuth[other] === undefined
      ? []
      : [
          {
            path: `customAuth.${other}`,
            code: "UNKNOWN_FIELD",
            message: `does not belong to the type ${customAuth.type}: leave it out`
          }
        ])
  ]
}

/** What a flow's own authentication asks. */
export interface AskedByAuth {
  /** The place of the name in the document. */
  readonly path: string
  readonly member: Member
  readonly name: string
}

/** What the document's own authentication asks; `undefined`: it has none, or one with mistakes. */
export const askedByAuth = (document: Json): AskedByAuth | undefined => {
  const auth = isObject(document) ? (document["customAuth"] ?? null) : null
  if (!isObject(auth)) return undefined
  const { type = null } = auth
  const member = type === "workflow" || type === "bearer" || type === "header" ? wanted[type] : undefined
  const name = member === undefined ? undefined : auth[member]
  return member !== undefined && typeof name === "string" && forms[member].pattern.test(name)
    ? { path: `customAuth.${member}`, member, name }
    : undefined
}

const bearer = /^bearer +/i

/** The token of the header `authorization`; `undefined`: it has none of the form that the type takes. */
export const presentedToken = ({ type }: CustomAuth, authorization: string | undefined): string | undefined => {
  const header = authorization?.trim() ?? ""
  if (header === "") return undefined
  if (type === "header") return header
  if (bearer.test(header)) return header.replace(bearer, "") || undefined
  return type === "workflow" ? header : undefined
}

/** Whether a workflow's output accepts the token: only an object whose `allow` is `true` does. */
export const accepts = (output: Json): boolean => isObject(output) && output["allow"] === true
