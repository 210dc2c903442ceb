/** Versions of connectors (MAJOR.MINOR.PATCH) and of their actions (1, 2, 3 …). Contract: versioning policy. */
import { canonicalJson } from "../Json.js"
import type { ActionDefinition } from "./Action.js"
import { type BundledConnector, type ConnectorDefinition, semverPattern } from "./Definition.js"

/** Negative if `a` is older than `b`. Both must be valid versions. */
export const compareVersions = (a: string, b: string): number => {
  const [left, right] = [numbersOf(a), numbersOf(b)]
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2]
}

/** The next version for a change: major if it breaks callers, minor if it adds, else patch. */
export const nextVersion = (before: ConnectorDefinition, after: ConnectorDefinition): string => {
  const [major, minor, patch] = numbersOf(before.version)
  switch (changeOf(before, after)) {
    case "breaks":
      return `${major + 1}.0.0`
    case "adds":
      return `${major}.${minor + 1}.0`
    case "mends":
      return `${major}.${minor}.${patch + 1}`
  }
}

/**
 * The definition `after` with the versions of its actions: an unchanged action keeps its version; a changed one gets the
 * next, or its own if that is higher. `before`: the published definition.
 */
export const assignActionVersions = (
  before: ConnectorDefinition | undefined,
  after: ConnectorDefinition
): ConnectorDefinition => {
  const publishedActions = new Map(before?.actions.map((action) => [action.name, action]))
  return {
    ...after,
    actions: after.actions.map((action) => {
      const published = publishedActions.get(action.name)
      if (published === undefined) return action
      return {
        ...action,
        version: isSameAction(published, action) ? published.version : Math.max(action.version, published.version + 1)
      }
    })
  }
}

/** The draft with at least the version that its change of the published definition needs. */
export const raiseVersion = (published: ConnectorDefinition, draft: ConnectorDefinition): ConnectorDefinition => {
  const needed = nextVersion(published, draft)
  return compareVersions(draft.version, needed) < 0 ? { ...draft, version: needed } : draft
}

/** Whether two forms of an action differ in nothing but their version. */
export const isSameAction = (a: ActionDefinition, b: ActionDefinition): boolean =>
  canonicalJson({ ...a, version: 0 }) === canonicalJson({ ...b, version: 0 })

/** The number of newest versions of an action that are callable besides the bound ones. */
export const callableVersions = 3

/** The callable versions of an action: the newest, and those that a deployment is bound to. `published`: all versions. */
export const callableActionVersions = (
  published: ReadonlyArray<number>,
  bound: ReadonlyArray<number>
): ReadonlyArray<number> => {
  const all = [...new Set(published)].sort((a, b) => b - a)
  return all.filter((version, at) => at < callableVersions || bound.includes(version))
}

/**
 * A built-in connector with a version of an action instead of its newest one; `undefined` if this release does not have
 * that version, or it is not callable.
 */
export const builtInAtVersion = (
  { definition, previous }: BundledConnector,
  { bound, name, version }: { readonly name: string; readonly version: number; readonly bound: boolean }
): ConnectorDefinition | undefined => {
  const newest = definition()
  const candidates = [...newest.actions, ...previous()].filter((action) => action.name === name)
  const versions = candidates.map((action) => action.version)
  const found = candidates.find((action) => action.version === version)
  if (found === undefined || !callableActionVersions(versions, bound ? [version] : []).includes(version))
    return undefined
  if (newest.actions.includes(found)) return newest
  return { ...newest, actions: [...newest.actions.filter((action) => action.name !== name), found] }
}

type Numbers = readonly [major: number, minor: number, patch: number]

const numbersOf = (version: string): Numbers => {
  const [, major, minor, patch] = semverPattern.exec(version) ?? []
  return [Number(major ?? 0), Number(minor ?? 0), Number(patch ?? 0)]
}

const changeOf = (before: ConnectorDefinition, after: ConnectorDefinition): "breaks" | "adds" | "mends" => {
  const names = (definition: ConnectorDefinition) => [
    ...definition.actions.map(({ name }) => `action ${name}`),
    ...definition.auth.map(({ id }) => `auth ${id}`),
    ...definition.events.map(({ id }) => `event ${id}`),
    ...definition.entities.map(({ name }) => `entity ${name}`)
  ]
  const [old, now] = [new Set(names(before)), new Set(names(after))]
  if ([...old].some((name) => !now.has(name)) || requiresMore(before, after)) return "breaks"
  return [...now].some((name) => !old.has(name)) ? "adds" : "mends"
}

/** Whether an action requires a new argument, or a connection new config. */
const requiresMore = (before: ConnectorDefinition, after: ConnectorDefinition): boolean => {
  const more = (old: unknown, now: unknown) =>
    Array.isArray(now) && now.some((name) => !(Array.isArray(old) && old.includes(name)))
  const requiredBefore = new Map(before.actions.map((action) => [action.name, action.inputSchema["required"]]))
  return (
    more(before.connectionConfig?.["required"], after.connectionConfig?.["required"]) ||
    after.actions.some(
      ({ inputSchema, name }) => requiredBefore.has(name) && more(requiredBefore.get(name), inputSchema["required"])
    )
  )
}
