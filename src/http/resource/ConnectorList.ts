/** Pages over the organisation's own connectors, newest first, and then the built-in ones. */
import { Effect } from "effect"
import type { Tx } from "../../actors/ports/Records.js"
import type { ConnectorRecord } from "../../domain/connector/Connector.js"
import { type Failure, InvalidRequest } from "../../domain/Failure.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { Changes } from "../../actors/management/Changes.js"
import { type BuiltIn, builtIns, builtInSince, jsonOf, type Own, summaryView, versionOf } from "./ConnectorRecords.js"
import { bounds, Pages, sizeOf } from "../../actors/management/Pages.js"
import type { ListParams } from "./Shapes.js"

export interface ConnectorListParams extends ListParams {
  readonly kind?: ConnectorRecord["kind"] | undefined
  readonly include?: string | undefined
}

/** Whole actions may be megabytes: pages with them are short. */
const wholeSize = 20

export const make = Effect.gen(function* () {
  const { read: view } = yield* Changes
  const listing = yield* Pages
  const known = [...(yield* builtIns)].sort((a, b) => (a.id < b.id ? 1 : -1))

  /** Built-in connectors that the filters let through, without those that one of the organisation's own replaces. */
  const managed = (
    tx: Tx,
    params: ConnectorListParams,
    after: { readonly createdAt: string; readonly id: string } | undefined
  ) =>
    Effect.gen(function* () {
      const range = bounds(params)
      if (range instanceof InvalidRequest) return yield* range
      if (range.after !== undefined && range.after >= builtInSince) return []
      if (range.before !== undefined && range.before <= builtInSince) return []
      const text = params.q?.toLowerCase() ?? ""
      const replaced = yield* tx.connectors.list({
        where: { slug: known.map(({ definition }) => definition.slug), deletedAt: null },
        limit: known.length
      })
      return known.filter(
        ({ definition, id }) =>
          (params.kind === undefined || definition.kind === params.kind) &&
          [definition.name, definition.slug, definition.description].some((one) => one.toLowerCase().includes(text)) &&
          !replaced.some(({ slug }) => slug === definition.slug) &&
          (after === undefined || after.createdAt > builtInSince || id < after.id)
      )
    })

  const own = (tx: Tx, params: ConnectorListParams) =>
    listing.list(tx.connectors, params, {
      where: { deletedAt: null, ...(params.kind === undefined ? {} : { kind: params.kind }) },
      ...(params.q === undefined ? {} : { search: { text: params.q, in: ["name", "slug", "description"] } })
    })

  const withActions = (tx: Tx, found: Own | BuiltIn): Effect.Effect<ReturnType<typeof summaryView>, Failure> =>
    Effect.map(versionOf(tx, found, undefined), ({ actions }) => ({
      ...summaryView(found),
      actions: actions.map(jsonOf)
    }))

  const list = (exchange: Exchange, asked: ConnectorListParams) => {
    const whole = asked.include?.split(",").includes("actions") ?? false
    const params = whole ? { ...asked, page_size: Math.min(sizeOf(asked), wholeSize) } : asked
    return view(exchange, (tx) =>
      Effect.gen(function* () {
        const after = yield* listing.position(params.cursor)
        const inBuiltIns = after !== undefined && after.createdAt <= builtInSince
        const first = inBuiltIns ? { data: [], page: { hasMore: false } } : yield* own(tx, params)
        const size = sizeOf(params)
        const rows: ReadonlyArray<Own | BuiltIn> = [
          ...first.data.map((record): Own => ({ _tag: "Own", record })),
          ...(first.page.hasMore ? [] : yield* managed(tx, params, after))
        ]
        // One row more than the page holds only tells that there are more.
        const more = first.page.hasMore ? [...rows, ...rows.slice(-1)] : rows
        const page = yield* listing.pageOf(more.slice(0, size + 1), size, (row) =>
          row._tag === "Own"
            ? { createdAt: row.record.createdAt, id: row.record.id }
            : { createdAt: builtInSince, id: row.id }
        )
        const data = yield* Effect.forEach(page.data, (row) =>
          whole ? withActions(tx, row) : Effect.succeed(summaryView(row))
        )
        return { ...page, data }
      })
    )
  }

  return { list }
})
