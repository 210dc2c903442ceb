/** The route table: the operations, looked up by method and path before a request is authenticated. */
import { Array as Arr } from "effect"
import { closestName } from "../../domain/ClosestName.js"
import { memoize } from "../../domain/RecentMap.js"
import type { Contract } from "../operation/Contract.js"

/** The operation that a request asks for. */
export type Route = Contract

/** The outcome of a look-up. */
export type RouteMatch =
  | { readonly _tag: "Found"; readonly route: Route; readonly params: { readonly [name: string]: string } }
  /** The path exists, with these methods only. */
  | { readonly _tag: "OtherMethod"; readonly methods: ReadonlyArray<string> }
  | { readonly _tag: "Unknown"; readonly meant: string | undefined }

const matchPath = (pattern: ReadonlyArray<string>, path: ReadonlyArray<string>) => {
  if (pattern.length !== path.length) return undefined
  const params: { [name: string]: string } = {}
  for (let i = 0; i < pattern.length; i++) {
    const expected = pattern[i] ?? ""
    const actual = path[i] ?? ""
    if (expected.startsWith(":")) {
      if (actual === "") return undefined
      params[expected.slice(1)] = actual
    } else if (expected !== actual) return undefined
  }
  return params
}

/** The look-behind makes a run of slashes that ends in other text cost its length, not the square of it. */
const trailingSlashes = /(?<!\/)\/+$/

/** The prefix of every path, which is easily forgotten. A noun follows it. */
const prefix = ["", "api", "v1"]

/**
 * A look-up by method and path; a trailing slash is ignored. Parameters stay as sent: the platform's router decodes them,
 * and finds no route for one that cannot be decoded.
 */
export const makeMatcher = (routes: ReadonlyArray<Route>) => {
  // Paths with fewer parameters come first, so that `/users/invite` is not taken for a user's id.
  const table = routes
    .map((route) => ({ route, parts: route.path.split("/") }))
    .sort((a, b) => a.route.path.split(":").length - b.route.path.split(":").length)
  /** By a path without a route; empty if none is close. It costs the most, and clients without a key may ask. */
  const meantBy = memoize((path) => closestPath(table, path.split("/")) ?? "", 1_000)
  const byNoun = new Map(Object.entries(Arr.groupBy(table, ({ parts }) => parts[prefix.length] ?? "")))
  return (method: string, path: string): RouteMatch => {
    const bare = path.replace(trailingSlashes, "")
    const parts = bare.split("/")
    const methods: Array<string> = []
    for (const { parts: pattern, route } of byNoun.get(parts[prefix.length] ?? "") ?? []) {
      const params = matchPath(pattern, parts)
      if (params === undefined) continue
      if (route.method === method) return { _tag: "Found", route, params }
      methods.push(route.method)
    }
    return methods.length > 0
      ? { _tag: "OtherMethod", methods: [...new Set(methods)] }
      : { _tag: "Unknown", meant: meantBy(bare) || undefined }
  }
}

/**
 * The path of a route that differs in one segment, which is close, or lacks the prefix only; with `{name}` for each
 * parameter. Compares segments, not whole paths, since clients without a key may ask.
 */
const closestPath = (
  table: ReadonlyArray<{ readonly route: Route; readonly parts: ReadonlyArray<string> }>,
  path: ReadonlyArray<string>
): string | undefined => {
  const prefixed = [...prefix, ...path.slice(1)]
  let meant: string | undefined
  for (const { parts, route } of table) {
    if (matchPath(parts, prefixed) !== undefined) return shownPath(route)
    if (meant !== undefined || parts.length !== path.length) continue
    const differing = parts.flatMap((part, at) => (part.startsWith(":") || part === path[at] ? [] : [at]))
    const [at = 0] = differing
    if (differing.length === 1 && closestName(path[at] ?? "", [parts[at] ?? ""]) !== undefined) meant = shownPath(route)
  }
  return meant
}

const shownPath = ({ path }: Route): string => path.replaceAll(/:(\w+)/g, "{$1}")
