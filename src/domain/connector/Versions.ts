/** Versions of connectors (MAJOR.MINOR.PATCH) and of their actions (1, 2, 3 …). Contract: versioning policy. */
import { canonicalJson } from "../Json.js"
import type { ActionDefinition } from "./Action.js"
import { type BuiltInConnector, type ConnectorDefinition, semverPattern } from "./Definition.js"

/** Below zero where `a` is older. Both must be versions. */
export const compareVersions = (a: string, b: string): number => {
  const [left, right] = [numbersOf(a), numbersOf(b)]
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2]
}

/** The version that a change of `before` into `after` asks for: what breaks callers, what adds, what only mends. */
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
 * The definition as it is published after `before`: an action that says the same keeps its version, one that says
 * something else gets the next one, or the one it claims where that is higher.
 */
export const assignActionVersions = (
  before: ConnectorDefinition | undefined,
  after: ConnectorDefinition
): ConnectorDefinition => {
  const known = new Map(before?.actions.map((action) => [action.name, action]))
  return {
    ...after,
    actions: after.actions.map((action) => {
      const old = known.get(action.name)
      if (old === undefined) return action
      return { ...action, version: isSameAction(old, action) ? old.version : Math.max(action.version, old.version + 1) }
    })
  }
}

/** How many of an action's versions stay callable beside the bound ones. */
export const callableVersions = 3

/**
 * The versions of an action that can be called: the three newest, and those that a live deployment is bound to.
 * `published`: every version that there ever was.
 */
export const callableActionVersions = (
  published: ReadonlyArray<number>,
  bound: ReadonlyArray<number>
): ReadonlyArray<number> => {
  const all = [...new Set(published)].sort((a, b) => b - a)
  return all.filter((version, at) => at < callableVersions || bound.includes(version))
}

/**
 * A built-in connector with that version of the action in the place of its newest; `undefined` where this release does
 * not carry it, or where it is neither bound nor among those that stay callable.
 */
export const builtInAtVersion = (
  { definition, previous }: BuiltInConnector,
  { bound, name, version }: { readonly name: string; readonly version: number; readonly bound: boolean }
): ConnectorDefinition | undefined => {
  const newest = definition()
  const carried = [...newest.actions, ...previous()].filter((action) => action.name === name)
  const versions = carried.map((action) => action.version)
  const found = carried.find((action) => action.version === version)
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

const isSameAction = (a: ActionDefinition, b: ActionDefinition): boolean =>
  canonicalJson({ ...a, version: 0 }) === canonicalJson({ ...b, version: 0 })

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

/** Whether some action asks for an argument that it did not ask for, or connecting for config that it did not. */
const requiresMore = (before: ConnectorDefinition, after: ConnectorDefinition): boolean => {
  const more = (old: unknown, now: unknown) =>
    Array.isArray(now) && now.some((name) => !(Array.isArray(old) && old.includes(name)))
  const known = new Map(before.actions.map((action) => [action.name, action.inputSchema["required"]]))
  return (
    more(before.connectionConfig?.["required"], after.connectionConfig?.["required"]) ||
    after.actions.some(({ inputSchema, name }) => known.has(name) && more(known.get(name), inputSchema["required"]))
  )
}
