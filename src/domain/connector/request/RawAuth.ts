/** Replaces types of authentication that other tools use by auth methods. Contract: connector definition, raw values. */
import { isObject, type Json, type JsonObject, isList } from "../../Json.js"

/** The document with known raw types replaced; validation checks the rest. */
export const replaceRawAuth = (document: Json): Json => {
  if (!isObject(document) || !isList(document["auth"])) return document
  return { ...document, auth: document["auth"].map((method) => (isObject(method) ? replaceRawType(method) : method)) }
}

const replaceRawType = (method: JsonObject): JsonObject => {
  const type = method["type"]
  const defaults = typeof type === "string" && Object.hasOwn(rawTypes, type) ? rawTypes[type] : undefined
  // Members of the document override the defaults.
  return defaults === undefined ? method : { ...defaults, ...method, type: defaults["type"] ?? null }
}

const secret = (name: string, title: string): JsonObject => ({ name, title, secret: true })
const user: JsonObject = { name: "username", title: "User name" }

const rawTypes: { readonly [type: string]: JsonObject } = {
  OAUTH_2: { type: "oauth2" },
  API_KEY: { type: "api_key" },
  BEARER: {
    type: "api_key",
    fields: [secret("token", "Token")],
    inject: [{ in: "header", name: "Authorization", value: "Bearer {{credential.token}}" }]
  },
  BASIC: { type: "basic" },
  DIGEST: { type: "custom", fields: [user, secret("password", "Password")], sign: "hook:digest" },
  INPUT: { type: "custom" },
  NO_AUTH: { type: "none" }
}
