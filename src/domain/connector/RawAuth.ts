/** Types of authentication as other tools name them, made into the ones known here. Contract: connector definition, raw values. */
import { isObject, type Json, type JsonObject } from "../Json.js"

/** The document with every known raw type replaced; everything else stays, for validation to judge. */
export const replaceRawAuth = (document: Json): Json => {
  if (!isObject(document) || !isList(document["auth"])) return document
  return { ...document, auth: document["auth"].map((method) => (isObject(method) ? replaceRawType(method) : method)) }
}

const replaceRawType = (method: JsonObject): JsonObject => {
  const type = method["type"]
  const made = typeof type === "string" && Object.hasOwn(rawTypes, type) ? rawTypes[type] : undefined
  // What the document says itself goes before what is filled in.
  return made === undefined ? method : { ...made, ...method, type: made["type"] ?? null }
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

const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)
