/**
 * The lock file of the built-in connectors' actions: what a caller of `slug.action@version` depends on must never
 * change under that version. The file has a digest of each action, under the version of the connector that introduced
 * it. `npm run generate` adds entries and never replaces one. Contract: versioning policy.
 */
import { createHash } from "node:crypto"
import { type ActionDefinition, ActionRequest, ActionResponse } from "../../src/domain/connector/Action.js"
import type { BundledConnector, ConnectorDefinition } from "../../src/domain/connector/Definition.js"
import { standaloneSchema } from "../../src/domain/connector/Validation.js"
import { compareVersions } from "../../src/domain/connector/Versions.js"
import { canonicalJson, isObject, type Json } from "../../src/domain/Json.js"

/** Slug → version of the connector → `action@version` → digest. */
export type ActionLock = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>

export const actionLockFile = "test/domain/connectors/actions.lock.json"

/** The lock with new entries added, and a message for each action that violates it, with what to do. */
export const addToLock = (
  lock: ActionLock,
  builtIns: ReadonlyArray<BundledConnector>
): { readonly lock: ActionLock; readonly broken: ReadonlyArray<string> } => {
  const each = builtIns.map((one) => ({ slug: one.slug, ...lockedConnector(lock[one.slug] ?? {}, one) }))
  const slugs = new Set(each.map(({ slug }) => slug))
  const gone = Object.keys(lock).filter((slug) => !slugs.has(slug))
  return {
    lock: Object.fromEntries([
      ...each.map(({ slug, versions }) => [slug, versions] as const),
      ...gone.map((slug) => [slug, lock[slug] ?? {}] as const)
    ]),
    broken: [
      ...each.flatMap(({ broken }) => broken),
      ...gone.map((slug) => `the connector ${slug} is gone, and published workflows may call it: put it back`)
    ]
  }
}

/**
 * The lock without these actions (`slug.action@version`), which no release contains. Throws if the lock does not have
 * one.
 */
export const removeFromLock = (lock: ActionLock, names: ReadonlyArray<string>): ActionLock => {
  const left = new Set(names)
  const kept = mapValues(lock, (versions, slug) =>
    mapValues(versions, (actions) =>
      Object.fromEntries(Object.entries(actions).filter(([name]) => !left.delete(`${slug}.${name}`)))
    )
  )
  if (left.size > 0) throw new Error(`${actionLockFile} holds no ${[...left].join(", ")}`)
  return withoutEmpty(mapValues(kept, withoutEmpty))
}

/** The text of the lock file. */
export const actionLockText = (lock: ActionLock): string => `${JSON.stringify(lock, null, 2)}\n`

const lockedConnector = (before: ActionLock[string], { definition, previous, slug }: BundledConnector) => {
  const newest = definition()
  const carried = [...newest.actions, ...previous()]
  const known = Object.entries(before).flatMap(([since, actions]) =>
    Object.entries(actions).map(([name, digest]) => ({ name, since, digest }))
  )
  const broken: Array<string> = []
  const fresh: Record<string, string> = {}
  for (const action of carried) {
    const name = nameOf(action)
    const digest = digestOf(newest, action)
    const found = known.find((one) => one.name === name)
    const last = known
      .filter((one) => one.name.startsWith(`${action.name}@`))
      .find(({ since }) => compareVersions(since, newest.version) >= 0)
    if (found === undefined && last !== undefined)
      broken.push(
        `${slug}.${name} is new and ${last.name} came with the connector's version ${last.since}: raise that of ${slug}`
      )
    else if (found === undefined) fresh[name] = digest
    else if (found.digest !== digest) broken.push(changed(slug, action))
  }
  for (const { name } of known)
    if (!carried.some((action) => nameOf(action) === name))
      broken.push(`${slug}.${name} is gone, and published workflows may be bound to it: keep it in \`previous\``)
  const here = sorted({ ...before[newest.version], ...fresh })
  return { broken, versions: Object.keys(here).length === 0 ? before : { ...before, [newest.version]: here } }
}

const changed = (slug: string, { name, version }: ActionDefinition): string =>
  `${slug}.${name}@${version} is no longer what it was, and published workflows are bound to it: give the action ` +
  `version ${version + 1}, raise the version of ${slug}, and keep the action as it was in \`previous\``

const nameOf = ({ name, version }: ActionDefinition): string => `${name}@${version}`

// --- The part of an action that callers depend on ---

const digestOf = (definition: ConnectorDefinition, action: ActionDefinition): string => {
  const { idempotency, inputSchema, outputSchema, pagination, readOnly, request, response } = action
  const contract = {
    idempotency,
    pagination,
    readOnly,
    request: withoutDefaults(request, ActionRequest.make({ method: "GET", path: "" })),
    response: withoutDefaults(response, ActionResponse.make({})),
    inputSchema: withoutAnnotations(standaloneSchema(definition, inputSchema)),
    outputSchema: withoutAnnotations(standaloneSchema(definition, outputSchema))
  }
  return createHash("sha256").update(canonicalJson(contract)).digest("hex").slice(0, 32)
}

/**
 * Removes members with default values, so that a new member with a default does not change the digests of all actions.
 */
const withoutDefaults = (value: object, defaults: object): object => {
  const defaultTexts = new Map(Object.entries(defaults).map(([name, member]) => [name, canonicalJson(member)]))
  return Object.fromEntries(
    Object.entries(value).filter(
      ([name, member]) => name === "method" || defaultTexts.get(name) !== canonicalJson(member)
    )
  )
}

/** Keywords that do not change which values a JSON Schema accepts. */
const annotationKeywords: ReadonlySet<string> = new Set(["title", "description", "examples", "$comment"])
/** Keywords whose members are named by the data and not by JSON Schema. */
const keywordsWithNames: ReadonlySet<string> = new Set(["properties", "patternProperties", "dependentSchemas", "$defs"])
/** Keywords that contain data. */
const dataKeywords: ReadonlySet<string> = new Set(["const", "enum", "default"])

/** A JSON Schema without annotations such as titles and descriptions. */
const withoutAnnotations = (schema: Json): Json => {
  if (Array.isArray(schema)) return schema.map(withoutAnnotations)
  if (!isObject(schema)) return schema
  return mapValues(
    Object.fromEntries(Object.entries(schema).filter(([name]) => !annotationKeywords.has(name))),
    (member, name): Json =>
      dataKeywords.has(name)
        ? member
        : keywordsWithNames.has(name) && isObject(member)
          ? mapValues(member, withoutAnnotations)
          : withoutAnnotations(member)
  )
}

// --- Records ---

const mapValues = <A, B>(
  record: { readonly [name: string]: A },
  to: (value: A, name: string) => B
): { readonly [name: string]: B } =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, to(value, name)]))

const withoutEmpty = <A extends object>(record: Readonly<Record<string, A>>): Readonly<Record<string, A>> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => Object.keys(value).length > 0))

const sorted = (record: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))
