/** Pages of lists: size, bounds, and signed cursors. Contract: conventions. */
import { Clock, Duration, Effect, Either, Encoding, Schema } from "effect"
import { InvalidRequest, type Unavailable } from "../../domain/Failure.js"
import { cursorLifetime, pageSize } from "../../domain/Limits.js"
import { TimeBound } from "../../domain/Time.js"
import { Digests } from "../ports/Digests.js"
import type { ListQuery, Repository, Where } from "../ports/Records.js"

/** A parameter that is any text. */
export const optionalText = Schema.optional(Schema.String)

/** The size of a page; larger ones are the largest. */
export const PageSize = Schema.NumberFromString.pipe(Schema.int(), Schema.positive()).annotations({
  jsonSchema: { type: "integer", minimum: 1, maximum: pageSize.max }
})

/** Query parameters of every list. `q`: text to search for, in lists that can be searched. */
export const listParams = {
  page_size: Schema.optional(PageSize),
  cursor: optionalText,
  created_after: Schema.optional(TimeBound),
  created_before: Schema.optional(TimeBound),
  from: Schema.optional(TimeBound),
  to: Schema.optional(TimeBound),
  q: optionalText
} as const
/** The paging parameters of a request. */
export type PageRequest = Schema.Struct.Type<typeof listParams>

/** The query of a list that has filters of its own. */
export const listQuery = <Filters extends Schema.Struct.Fields>(filters: Filters) =>
  Schema.Struct({ ...listParams, ...filters })

/** A page of a list, in the form of the answer. `nextCursor`: `null` on the last page. */
export interface PageOf<A> {
  readonly data: ReadonlyArray<A>
  readonly page: { readonly size: number; readonly nextCursor: string | null; readonly hasMore: boolean }
}

interface Position {
  readonly createdAt: string
  readonly id: string
}

/** The page size: the default if absent, at most the largest. */
export const sizeOf = (params: { readonly page_size?: number | undefined }): number =>
  Math.min(params.page_size ?? pageSize.default, pageSize.max)

/** The bounds on the time of creation, in either spelling: UTC with milliseconds, as `TimeBound` decodes them. */
export const bounds = (params: PageRequest): { readonly after?: string; readonly before?: string } => {
  const after = params.created_after || params.from
  const before = params.created_before || params.to
  return { ...(after ? { after } : {}), ...(before ? { before } : {}) }
}

/** The same bounds in Unix milliseconds. */
export const timeRange = (params: PageRequest): { readonly from?: number; readonly to?: number } => {
  const { after, before } = bounds(params)
  return {
    ...(after === undefined ? {} : { from: Date.parse(after) }),
    ...(before === undefined ? {} : { to: Date.parse(before) })
  }
}

/** The parameters of a list that are not empty, as members of a query. */
export const filtersOf = <Query>(members: {
  readonly [Name in keyof Query]?: Query[Name] | undefined
}): Partial<Query> =>
  // The values are those of the parameter, without the absent ones.
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== "")
  ) as Partial<Query>

const invalidCursor = () =>
  new InvalidRequest({
    code: "INVALID_CURSOR",
    message: "the cursor is wrong or older than 24 hours: begin again without it"
  })

/** So that a client cannot make up a cursor. */
const signature = (digests: Digests["Type"], text: string) => digests.keyHash(`cursor|${text}`).slice(0, 24)

/** A signed cursor of the place after a row. */
const makeCursor = (digests: Digests["Type"], position: Position): Effect.Effect<string> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const text = JSON.stringify([position.createdAt, position.id, now])
    return Encoding.encodeBase64Url(`${signature(digests, text)}${text}`)
  })

/** The place of a cursor. Fails if the cursor is not one of this service, or too old. */
const readCursor = (digests: Digests["Type"], text: string | undefined) => {
  if (text === undefined || text === "") return Effect.succeed(undefined)
  return Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const decoded = Either.getOrElse(Encoding.decodeBase64UrlString(text), () => "")
    const body = decoded.slice(24)
    if (!digests.equal(decoded.slice(0, 24), signature(digests, body))) return Effect.fail(invalidCursor())
    // The signature was checked, so this module wrote it.
    const [createdAt, id, at]: [string, string, number] = JSON.parse(body)
    return now - at > Duration.toMillis(cursorLifetime)
      ? Effect.fail(invalidCursor())
      : Effect.succeed({ createdAt, id })
  })
}

/**
 * Makes a page from up to one row more than its size; the extra row shows that there are more. `lookedTo`: where a short page
 * ended, since so many rows were looked at; more may follow.
 */
const pageOf = <A>(
  digests: Digests["Type"],
  rows: ReadonlyArray<A>,
  size: number,
  positionOf: (row: A) => Position,
  lookedTo?: Position
): Effect.Effect<PageOf<A>> => {
  const data = rows.slice(0, size)
  const last = data.at(-1)
  const end = rows.length > size && last !== undefined ? positionOf(last) : lookedTo
  return Effect.map(end === undefined ? Effect.succeed(null) : makeCursor(digests, end), (nextCursor) => ({
    data,
    page: { size, nextCursor, hasMore: nextCursor !== null }
  }))
}

/** What a page shows. `filters`: conditions that the client may leave out. `searchIn`: the members that `q` is looked for in. */
interface PageQuery<R> extends Pick<ListQuery<R>, "where" | "only" | "some"> {
  readonly filters?: { readonly [Member in keyof R]?: R[Member] | undefined }
  readonly searchIn?: ReadonlyArray<keyof R & string>
}

/** Reads a page of a repository. */
const list = <R extends { readonly id: string; readonly createdAt: string }>(
  digests: Digests["Type"],
  repository: Repository<R>,
  params: PageRequest,
  query: PageQuery<R>
): Effect.Effect<PageOf<R>, InvalidRequest | Unavailable> =>
  Effect.gen(function* () {
    const size = sizeOf(params)
    const after = yield* readCursor(digests, params.cursor)
    const range = bounds(params)
    const { filters, searchIn, where, ...conditions } = query
    const rows = yield* repository.list({
      ...conditions,
      // A condition that is undefined is none.
      where: { ...where, ...filters } as Where<R>,
      ...(params.q === undefined || searchIn === undefined ? {} : { search: { text: params.q, in: searchIn } }),
      limit: size + 1,
      ...(after === undefined ? {} : { after }),
      ...(range.after === undefined ? {} : { createdAfter: range.after }),
      ...(range.before === undefined ? {} : { createdBefore: range.before })
    })
    return yield* pageOf(digests, rows, size, (row) => ({ createdAt: row.createdAt, id: row.id }))
  })

const make = Effect.map(Digests, (digests) => {
  return {
    list: <R extends { readonly id: string; readonly createdAt: string }>(
      repository: Repository<R>,
      params: PageRequest,
      query: PageQuery<R>
    ) => list(digests, repository, params, query),
    views: <R extends { readonly id: string; readonly createdAt: string }, View>(
      repository: Repository<R>,
      params: PageRequest,
      query: PageQuery<R>,
      viewOf: (row: R) => View
    ) =>
      Effect.map(list(digests, repository, params, query), (page) => ({
        ...page,
        data: page.data.map((row) => viewOf(row))
      })),
    pageOf: <A>(rows: ReadonlyArray<A>, size: number, positionOf: (row: A) => Position, lookedTo?: Position) =>
      pageOf(digests, rows, size, positionOf, lookedTo),
    position: (text: string | undefined) => readCursor(digests, text)
  }
})

/** One per node. `list` reads a page of a repository, `views` one of views; `pageOf` makes one of rows; `position` decodes a cursor. */
export class Pages extends Effect.Service<Pages>()("svc/Pages", { effect: make }) {}
