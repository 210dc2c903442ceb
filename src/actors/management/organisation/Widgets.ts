/** Use cases of widgets: change a draft, and publish it as a numbered version that stays as it is. Contract: widget record. */
import { Effect, Option, Schema } from "effect"
import {
  Conflict,
  type Failure,
  PlanLimitReached,
  refusalOf,
  refuseWith,
  versionMismatch
} from "../../../domain/Failure.js"
import { answerItems } from "../../../domain/Limits.js"
import {
  contentOf,
  type CreateWidget,
  isSameContent,
  type UpdateWidget,
  Widget,
  widgetLimits,
  WidgetVersion
} from "../../../domain/organisation/Widget.js"
import { slugOfRecord, suffixedSlug } from "../../../domain/Slug.js"
import { Computations } from "../../ports/Computations.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { listParams, listQuery, Pages, sizeOf } from "../Pages.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"
import { findWidget, partMistakes, partRefusal, schemaMistakes } from "./WidgetRecords.js"

export const WidgetList = listQuery({ status: Schema.optional(Widget.stored.fields.status) })
type WidgetList = typeof WidgetList.Type

export const WidgetVersionList = Schema.Struct({ page_size: listParams.page_size, cursor: listParams.cursor })
type WidgetVersionList = typeof WidgetVersionList.Type

const resourceOf = ({ id, name }: Widget) => ({ id, name })

/** Exact, because a lock serialises creations in one organisation, which also keeps a slug free until it is stored. */
const checkCount = Effect.fnUntraced(function* (tx: Tx): Effect.fn.Return<void, Failure> {
  yield* tx.lockKey("widgets")
  const used = yield* tx.widgets.count({})
  const limit = widgetLimits.widgets
  if (used >= limit) return yield* new PlanLimitReached({ dimension: "widgets", limit, used })
})

/** Adds a suffix to a slug that was made from the name if another widget has it. */
const withFreeSlug = (tx: Tx, widget: Widget) =>
  Effect.map(tx.widgets.count({ slug: widget.slug }), (taken) =>
    taken === 0 ? widget : { ...widget, slug: suffixedSlug(widget.slug, widget.id) }
  )

/** The widget, locked, to be changed by a caller whose scope has all that it names. */
const lockForChange = Effect.fnUntraced(function* (
  tx: Tx,
  context: CallContext,
  id: string,
  version?: number
): Effect.fn.Return<Widget, Failure> {
  const found = yield* findWidget(tx, context.caller, id, true)
  yield* refuseWith(partRefusal(context.caller, found))
  yield* checkVersion(context, version, found.version)
  return found
})

/** The version that new sessions have, if there is one. */
const publishedOf = ({ id, publishedVersion }: Widget, tx: Tx) =>
  publishedVersion === null
    ? Effect.succeed(Option.none<WidgetVersion>())
    : tx.widgetVersions.find({ widgetId: id, number: publishedVersion })

const tooManyVersions = () =>
  new Conflict({
    code: "CONFLICT",
    message: `the widget has ${widgetLimits.versions} versions, the most that one may have: create another widget with its content`
  })

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers
  const { compute } = yield* Computations

  const list = (context: CallContext, params: WidgetList) =>
    read(context, (tx) => {
      const { widget } = context.caller.scope
      return pages.views(
        tx.widgets,
        params,
        {
          where: widget === undefined ? {} : { id: [...widget].map((id) => id as Widget["id"]) }, // unchecked, of the key
          filters: { status: params.status },
          searchIn: ["name", "slug"]
        },
        (one) => Widget.show(one)
      )
    })

  const create = (context: CallContext, input: CreateWidget) =>
    change(context, function* (tx) {
      const { caller } = context
      yield* checkCount(tx)
      const id = identifiers.next("wdg")
      const draft = Widget.create(
        input,
        {
          id,
          organisationId: caller.organisationId,
          slug: slugOfRecord(input.name, "widget", id),
          status: "draft",
          createdBy: caller.id
        },
        yield* currentTimestamp
      )
      yield* refuseWith(partRefusal(caller, draft))
      const widget = input.slug === undefined ? yield* withFreeSlug(tx, draft) : draft
      yield* tx.widgets.insert(widget)
      const value = Widget.show(widget)
      return { value, resource: resourceOf(widget), after: value }
    })

  const get = (context: CallContext, id: string) =>
    read(context, (tx) => Effect.map(findWidget(tx, context.caller, id), (found) => Widget.show(found)))

  const update = (context: CallContext, id: string, input: UpdateWidget) =>
    change(context, function* (tx) {
      const before = yield* lockForChange(tx, context, id, input.version)
      const shown = Widget.show(before)
      const changes = yield* pickChanges(Widget.Update, input, shown)
      const after = Widget.change(before, changes, yield* currentTimestamp)
      yield* refuseWith(partRefusal(context.caller, after))
      yield* tx.widgets.update(after)
      const value = Widget.show(after)
      return { value, resource: resourceOf(after), before: shown, after: value }
    })

  const remove = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const before = yield* lockForChange(tx, context, id)
      yield* tx.endWidgetSessions(before.id, yield* currentTimestamp)
      yield* tx.widgets.remove({ id: before.id })
      return { value: undefined, resource: resourceOf(before), before: Widget.show(before), after: null }
    })

  /** The widget as it is, with whether its draft is published already. Fails if it cannot be published. */
  const checkDraft = Effect.fnUntraced(function* (
    context: CallContext,
    id: string
  ): Effect.fn.Return<{ readonly widget: Widget; readonly isPublished: boolean }, Failure> {
    const { isPublished, unusable, widget } = yield* read(context, function* (tx) {
      const found = yield* findWidget(tx, context.caller, id)
      yield* refuseWith(partRefusal(context.caller, found))
      yield* checkVersion(context, undefined, found.version)
      const published = yield* publishedOf(found, tx)
      const isSame = Option.exists(published, (version) => isSameContent(version, found))
      return {
        widget: found,
        isPublished: isSame,
        unusable: isSame ? [] : yield* partMistakes(tx, context.caller, found)
      }
    })
    if (isPublished) return { widget, isPublished }
    const details = [...unusable, ...(yield* schemaMistakes(compute, context.caller, widget))]
    yield* refuseWith(refusalOf(details.slice(0, answerItems.details)))
    return { widget, isPublished }
  })

  /** Freezes the draft as the next version. A draft that is published as it is has no new one. */
  const publish = Effect.fnUntraced(function* (context: CallContext, id: string) {
    const checked = yield* checkDraft(context, id)
    if (checked.isPublished) return Widget.show(checked.widget)
    return yield* change(context, function* (tx) {
      const before = yield* lockForChange(tx, context, id)
      if (before.version !== checked.widget.version) return yield* versionMismatch()
      const number = (before.publishedVersion ?? 0) + 1
      if (number > widgetLimits.versions) return yield* tooManyVersions()
      const now = yield* currentTimestamp
      yield* tx.widgetVersions.insert({
        organisationId: before.organisationId,
        widgetId: before.id,
        number,
        ...contentOf(before),
        publishedAt: now,
        publishedBy: context.caller.id
      })
      const after: Widget = { ...Widget.change(before, {}, now), status: "published", publishedVersion: number }
      yield* tx.widgets.update(after)
      const value = Widget.show(after)
      return { value, resource: resourceOf(after), before: Widget.show(before), after: value }
    })
  })

  /** Newest first. The versions are numbered without gaps, so that the numbers of a page are known. */
  const versions = (context: CallContext, id: string, params: WidgetVersionList) =>
    read(context, function* (tx) {
      const widget = yield* findWidget(tx, context.caller, id)
      const position = yield* pages.position(params.cursor)
      const newest = position === undefined ? (widget.publishedVersion ?? 0) : Number(position.id) - 1
      const size = sizeOf(params)
      const numbers = Array.from({ length: Math.min(size + 1, Math.max(newest, 0)) }, (_, at) => newest - at)
      const rows = yield* tx.widgetVersions.list({
        where: { widgetId: widget.id, number: numbers },
        limit: size + 1
      })
      const page = yield* pages.pageOf(rows, size, ({ number, publishedAt }) => ({
        createdAt: publishedAt,
        id: String(number)
      }))
      return { ...page, data: page.data.map((row) => WidgetVersion.show(row)) }
    })

  return { list, create, get, update, remove, publish, versions }
})

export class Widgets extends Effect.Service<Widgets>()("svc/Widgets", { effect: make }) {}
