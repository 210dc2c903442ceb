/** Lists the organisation's own connectors, newest first, followed by the built-in ones. */
import { Effect, Schema } from "effect"
import { ConnectorKind } from "../../../domain/connector/Definition.js"
import type { Failure } from "../../../domain/Failure.js"
import type { Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"
import { Changes } from "../Changes.js"
import {
  type BuiltInConnector,
  builtInSince,
  ConnectorRecords,
  type ConnectorSummaryView,
  definitionOf,
  type FoundConnector,
  jsonOf,
  summaryView
} from "./ConnectorRecords.js"
import { listQuery, optionalText, bounds, Pages, sizeOf } from "../Pages.js"

export const ConnectorList = listQuery({ kind: Schema.optional(ConnectorKind), include: optionalText })
type ConnectorList = typeof ConnectorList.Type

/** Largest page with complete actions, which may have megabytes. */
const maxDetailedPageSize = 20

const withActions = (tx: Tx, found: FoundConnector): Effect.Effect<ConnectorSummaryView, Failure> =>
  Effect.map(definitionOf(tx, found, undefined), ({ actions }) => ({
    ...summaryView(found),
    actions: actions.map(jsonOf)
  }))

export const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const pages = yield* Pages
  const records = yield* ConnectorRecords
  const builtIns = [...records.builtIns].sort((a, b) => (a.id < b.id ? 1 : -1))

  /** Built-in connectors that match the filters and the scope, without those that an own connector replaces. */
  const listBuiltIns = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    params: ConnectorList,
    after: { readonly createdAt: string; readonly id: string } | undefined
  ): Effect.fn.Return<ReadonlyArray<BuiltInConnector>, Failure> {
    const range = bounds(params)
    if (range.after !== undefined && range.after >= builtInSince) return []
    if (range.before !== undefined && range.before <= builtInSince) return []
    const text = params.q?.toLowerCase() ?? ""
    const replaced = yield* tx.connectors.list({
      where: { slug: builtIns.map(({ definition }) => definition.slug), deletedAt: null },
      limit: builtIns.length
    })
    const isListed = ({ definition: { description, kind, name, slug }, id }: BuiltInConnector) =>
      (params.kind === undefined || kind === params.kind) &&
      [name, slug, description].some((one) => one.toLowerCase().includes(text)) &&
      outOfScope(caller, "connector", slug) === undefined &&
      !replaced.some((own) => own.slug === slug) &&
      (after === undefined || after.createdAt > builtInSince || id < after.id)
    return builtIns.filter(isListed)
  })

  const listOwn = (tx: Tx, caller: Principal, params: ConnectorList) => {
    const slugs = scopedIds(caller, "connector")
    return pages.list(tx.connectors, params, {
      where: { deletedAt: null, ...(slugs === undefined ? {} : { slug: slugs }) },
      filters: { kind: params.kind },
      searchIn: ["name", "slug", "description"]
    })
  }

  const list = (context: CallContext, listParams: ConnectorList) => {
    const { caller } = context
    const isDetailed = listParams.include?.split(",").includes("actions") ?? false
    const params = isDetailed
      ? { ...listParams, page_size: Math.min(sizeOf(listParams), maxDetailedPageSize) }
      : listParams
    return read(context, function* (tx) {
      const after = yield* pages.position(params.cursor)
      const inBuiltIns = after !== undefined && after.createdAt <= builtInSince
      const own = inBuiltIns ? { data: [], page: { hasMore: false } } : yield* listOwn(tx, caller, params)
      const size = sizeOf(params)
      const rows: ReadonlyArray<FoundConnector> = [
        ...own.data.map((record) => ({ _tag: "Own" as const, record })),
        ...(own.page.hasMore ? [] : yield* listBuiltIns(tx, caller, params, after))
      ]
      // One row beyond the page shows that there are more.
      const more = own.page.hasMore ? [...rows, ...rows.slice(-1)] : rows
      const page = yield* pages.pageOf(more.slice(0, size + 1), size, (row) =>
        row._tag === "Own"
          ? { createdAt: row.record.createdAt, id: row.record.id }
          : { createdAt: builtInSince, id: row.id }
      )
      const data = yield* Effect.forEach(page.data, (row) =>
        isDetailed ? withActions(tx, row) : Effect.succeed(summaryView(row))
      )
      return { ...page, data }
    })
  }

  return { list }
})
