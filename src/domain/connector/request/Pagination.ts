/** Computes the arguments of a list's next page from an answer. Pure. */
import { Either } from "effect"
import { type Json, type JsonObject, isList, isObject } from "../../Json.js"
import type { ActionDefinition, Pagination } from "../Action.js"
import { readPath, valueAt } from "../../expression/Path.js"
import { scanItemPath } from "../../mapping/ItemPath.js"
import { type CallMistake, callMistake } from "./ValueEncoding.js"
import { answerJson, headerListOf, headerOf, type ProviderAnswer, type ProviderFailure } from "./ProviderAnswer.js"
import { emptyPagesBefore, rememberEmptyPages, rememberPage } from "./PageMemory.js"
import { parseUrl } from "../../Url.js"
import { readNumber } from "../../expression/Numbers.js"

/** The argument for a link that is followed as it is. */
export const linkArgument = "$next"

/** Empty pages in a row after which a list fails, whose provider says that there is more. */
const maxEmptyPages = 1_000

/**
 * The arguments of the next page; null after the last page, or if the action has no pages. `url`: of the request. `exact`: the
 * body with integers beyond 2^53 as text, if it has some, so that a cursor is sent back digit by digit. Left: the list would
 * never end.
 */
export const nextPageArgs = (
  action: ActionDefinition,
  args: Json,
  answer: ProviderAnswer,
  url: string,
  exact?: Json
): Either.Either<Json | null, ProviderFailure> => {
  const { pagination } = action
  if (pagination === undefined) return Either.right(null)
  const body = exact ?? answerJson(answer)
  const current = isObject(args) ? args : {}
  const more = pagination.hasMore === undefined ? undefined : valueAt(body, pagination.hasMore)
  if (more === false || more === "false" || more === 0) return Either.right(null)
  const hasMore = more === true || more === "true" || more === 1
  const next = (() => {
    switch (pagination.type) {
      case "cursor":
        return afterCursor(pagination, current, tokenOf(pagination, answer, body))
      case "link":
        return afterLink(pagination, current, linkOf(pagination, answer, body), answeredUrl(answer, url), url)
      case "offset":
      case "page":
        return afterCount(pagination, current, body, itemsIn(action, body), hasMore)
    }
  })()
  return typeof next === "string" ? Either.left(endless(answer, next)) : Either.right(next)
}

/** A failure that says why a list would never end. */
const endless = ({ status }: ProviderAnswer, message: string): ProviderFailure => ({
  category: "provider",
  status,
  message,
  code: "PAGINATION_LOOP",
  body: null,
  retryAfterMillis: null
})

/** The URL to which links are relative: the one that answered, if a redirect did not lead to another origin. */
const answeredUrl = ({ url }: ProviderAnswer, asked: string): string => {
  const [answered, own] = [url === undefined ? undefined : parseUrl(url), parseUrl(asked)]
  return answered !== undefined && answered.origin === own?.origin ? `${answered.origin}${answered.pathname}` : asked
}

/** The items of a page in the action's result. */
export const pageItems = (action: ActionDefinition, result: Json): ReadonlyArray<Json> => {
  if (isList(result)) return result
  const path = action.pagination?.items
  const found = path === undefined ? undefined : listAt(result, path)
  return found !== undefined && isList(found) ? found : []
}

/**
 * What is wrong with an answer that is no page of the action: it has something else where its list should be, or lacks even the
 * object around it. A list that is only left out is no mistake, since many systems leave out an empty one.
 */
export const missingItems = ({ name, pagination }: ActionDefinition, result: Json): string | undefined => {
  const path = pagination?.items
  if (path === undefined || result === null || isList(result)) return undefined
  const scanned = scanItemPath(path)
  if ("mistake" in scanned) return undefined
  const [list = []] = scanned.value
  const container = readPath(result, list.slice(0, -1))
  const found = readPath(result, list)
  const isLeftOut = (found === undefined || found === null) && (isObject(container) || isList(container))
  return isLeftOut || isList(found ?? null) ? undefined : `the answer of ${name} has no list at ${path}`
}

/** The value at a path; with `[*]` the items of all the lists that it leads to. */
const listAt = (value: Json | undefined, path: string): Json | undefined => {
  if (!path.includes("[*]")) return valueAt(value, path)
  const scanned = scanItemPath(path)
  if ("mistake" in scanned) return undefined
  const [first = [], ...parts] = scanned.value
  return parts.reduce<ReadonlyArray<Json>>(
    (items, part) => items.flatMap((item) => itemsOf(readPath(item, part))),
    itemsOf(readPath(value, first))
  )
}

const itemsOf = (value: Json | undefined): ReadonlyArray<Json> => (value !== undefined && isList(value) ? value : [])

/** The URL of a followed link, which must be on the action's origin; `undefined` without one. */
export const linkToFollow = (
  action: ActionDefinition,
  args: Json,
  origin: string
): Either.Either<string | undefined, CallMistake> => {
  const { pagination } = action
  if (pagination?.type !== "link" || pagination.param !== undefined || !isObject(args)) return Either.right(undefined)
  const link = args[linkArgument]
  if (link === undefined || link === null) return Either.right(undefined)
  const refusal = callMistake(`args.${linkArgument}`, "is not a link on the origin of this action's provider")
  if (typeof link !== "string" || parseUrl(link, origin) === undefined) return refusal
  const url = new URL(link, origin)
  return `${url.protocol}//${url.host}` === origin && url.username === "" && url.password === ""
    ? Either.right(`${origin}${url.pathname}${url.search}`)
    : refusal
}

const tokenOf = (pagination: Pagination, answer: ProviderAnswer, body: Json | undefined): Json | undefined =>
  pagination.nextHeader === undefined
    ? pagination.next === undefined
      ? undefined
      : valueAt(body, pagination.next)
    : headerOf(answer.headers, pagination.nextHeader)

/** Arguments; null: the list ends; a text: why it would never end. */
type Next = JsonObject | null | string

/** The next page's arguments, unless the page was read already. `last`: the cursor or link of this page. */
const unlessRead = (args: JsonObject, last: Json | undefined, next: Json, what: string, changed: JsonObject): Next => {
  if (last !== undefined && String(next) === String(last)) return null
  const remembered = rememberPage(args, last, String(next))
  return remembered === undefined
    ? `the provider gave ${what} of an earlier page of this list again: the list would never end`
    : { ...remembered, ...changed }
}

const afterCursor = (pagination: Pagination, args: JsonObject, token: Json | undefined): Next => {
  const { param = "cursor" } = pagination
  const isUsable = (typeof token === "string" && token !== "") || typeof token === "number"
  return isUsable ? unlessRead(args, args[param], token, "the cursor", { [param]: token }) : null
}

const linkOf = (pagination: Pagination, answer: ProviderAnswer, body: Json | undefined): string | undefined => {
  if (pagination.next !== undefined) {
    const found = valueAt(body, pagination.next)
    return typeof found === "string" && found !== "" ? found : undefined
  }
  const text = headerListOf(answer.headers, pagination.nextHeader ?? "link")
  return text === undefined ? undefined : linkWithRelation(text, "next")
}

/** `<url>; rel="next", <url>; rel="last"` (RFC 8288). */
const linkWithRelation = (text: string, relation: string): string | undefined => {
  for (const [, target, parameters = ""] of text.matchAll(/<([^<>]*)>([^<]*)/g)) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters)
    if ((rel?.[1] ?? rel?.[2] ?? "").toLowerCase().split(/\s+/).includes(relation)) return target
  }
  return undefined
}

const afterLink = (
  pagination: Pagination,
  args: JsonObject,
  link: string | undefined,
  base: string,
  asked: string
): Next => {
  if (link === undefined) return null
  const { param } = pagination
  const target = parseUrl(link, base)
  if (param === undefined) {
    // A link that is none is refused when it is followed.
    const next = target?.href ?? link
    return unlessRead(args, args[linkArgument] ?? asked, next, "the link", { [linkArgument]: next })
  }
  const value = target?.searchParams.get(pagination.linkParam ?? param) ?? null
  return value === null ? null : unlessRead(args, args[param], value, "the link", { [param]: value })
}

const numberOf = (value: Json | undefined): number | undefined => {
  const number = typeof value === "string" || typeof value === "number" ? readNumber(value) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

const numberAt = (value: Json | undefined, path: string | undefined): number | undefined =>
  path === undefined ? undefined : numberOf(valueAt(value, path))

/** The items of a page in the body, by `items` or else the result. */
const itemsIn = ({ pagination, response }: ActionDefinition, body: Json | undefined): Json | undefined => {
  const path = pagination?.items ?? (typeof response.map === "string" ? response.map : undefined)
  return path === undefined ? body : listAt(body, path)
}

/** How far a list has been read by counting. */
interface Progress {
  readonly count: number
  readonly size: number | undefined
  /** Of items and of pages, with this one. */
  readonly items: number
  readonly pages: number
}

/** Whether a page follows; after an empty one only if the provider says so. */
const hasFollowing = (pagination: Pagination, body: Json | undefined, more: boolean, read: Progress): boolean => {
  const pages = numberAt(body, pagination.totalPages)
  if (pages !== undefined) return read.pages < pages
  if (read.count === 0) return more
  const total = numberAt(body, pagination.total)
  if (total !== undefined) return read.items < total
  return more || read.size === undefined || read.count >= read.size
}

/** The next page or offset, by counting. */
const afterCount = (
  pagination: Pagination,
  args: JsonObject,
  body: Json | undefined,
  found: Json | undefined,
  more: boolean
): Next => {
  const byPage = pagination.type === "page"
  const { first = byPage ? 1 : 0, param = pagination.type } = pagination
  const count = found !== undefined && isList(found) ? found.length : 0
  const size = numberAt(args, pagination.sizeParam) ?? pagination.size
  const step = byPage ? 1 : count === 0 ? (size ?? 0) : count
  if (step <= 0) return null
  const at = numberOf(args[param]) ?? first
  const done = at + step - first
  const read: Progress = byPage
    ? { count, size, items: (done - 1) * (size ?? count) + count, pages: done }
    : { count, size, items: done, pages: done / (size ?? step) }
  if (!hasFollowing(pagination, body, more, read)) return null
  const empty = count === 0 ? emptyPagesBefore(args) + 1 : 0
  return empty < maxEmptyPages
    ? { ...rememberEmptyPages(args, empty), [param]: at + step }
    : `the provider gave ${maxEmptyPages} empty pages in a row, and says that there are more`
}
