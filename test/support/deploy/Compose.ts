/** Reads `compose.yaml` as Compose does, with the variables that it is given. */
import { assert } from "@effect/vitest"
import * as fs from "node:fs"
import { parse } from "yaml"
import { root } from "./Dockerfile.js"

export interface ComposeService {
  readonly image: string
  readonly command?: ReadonlyArray<string>
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: ReadonlyArray<string>
  readonly tmpfs?: ReadonlyArray<string>
  readonly read_only?: boolean
  readonly cap_drop?: ReadonlyArray<string>
  readonly security_opt?: ReadonlyArray<string>
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test: ReadonlyArray<string> }
  readonly stop_grace_period?: string
  readonly ports?: ReadonlyArray<string>
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, unknown>>
}

export const composeText = () => fs.readFileSync(`${root}/compose.yaml`, "utf8")

/** The file with YAML's anchors and merges resolved, and its variables as they are written. */
export const composeDocument = (): unknown => parse(composeText(), { merge: true })

/** `$NAME`, `${NAME}`, with `-`, `:-`, `?` and `:?` and what follows, and `$$`. */
const variable = /\$(?:\$|(\w+)|\{(\w+)(?:(:?[-?])([^}]*))?\})/g

/** Puts the variables into a text. Throws for a required one, as Compose refuses the file. */
const interpolate = (text: string, env: Readonly<Record<string, string>>): string =>
  text.replaceAll(variable, (whole, plain: string, braced: string, operator = "", rest = "") => {
    if (whole === "$$") return "$"
    const name = plain ?? braced
    const value = env[name]
    const isThere = operator.startsWith(":") ? (value ?? "") !== "" : value !== undefined
    if (operator.endsWith("?") && !isThere) throw new Error(`required variable ${name} is missing a value: ${rest}`)
    return isThere ? (value ?? "") : operator.endsWith("-") ? rest : (value ?? "")
  })

const interpolated = (value: unknown, env: Readonly<Record<string, string>>): unknown => {
  if (typeof value === "string") return interpolate(value, env)
  if (Array.isArray(value)) return value.map((one) => interpolated(one, env))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, interpolated(one, env)]))
}

/** The file that Compose runs with these variables. */
export const readCompose = (env: Readonly<Record<string, string>>): ComposeFile =>
  interpolated(composeDocument(), env) as ComposeFile

/** The service of this name. */
export const serviceOf = ({ services }: ComposeFile, name: string): ComposeService =>
  services[name] ?? assert.fail(`compose.yaml has no service ${name}`)

/** The names of the variables that the file reads; `required`: those without which Compose refuses it. */
export const composeVariables = () => {
  const found = [...composeText().matchAll(variable)].filter(([whole]) => whole !== "$$")
  const nameOf = ([, plain, braced]: RegExpMatchArray) => plain ?? braced ?? ""
  return {
    all: [...new Set(found.map(nameOf))],
    required: [...new Set(found.filter(([, , , operator = ""]) => operator.endsWith("?")).map(nameOf))]
  }
}
