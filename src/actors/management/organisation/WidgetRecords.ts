/** Finds and checks widgets for use cases. A caller changes a widget if its scope has all that the widget names. */
import { Effect } from "effect"
import { builtInSlugs } from "../../../domain/connectors/index.js"
import type { Mistakes } from "../../../domain/expression/Checks.js"
import type { Forbidden, NotFound, Unavailable } from "../../../domain/Failure.js"
import type { WorkflowId } from "../../../domain/Ids.js"
import {
  type Widget,
  type WidgetContent,
  widgetFormMistakes,
  widgetForms,
  type WidgetPart,
  widgetParts
} from "../../../domain/organisation/Widget.js"
import { type Computations, tooCostlyDetail } from "../../ports/Computations.js"
import type { Tx } from "../../ports/Records.js"
import { outOfScope, type Principal } from "../Caller.js"
import { findReached } from "../ReachedRecord.js"

/** The widget of this id. Widgets belong to no customer. */
export const findWidget = (
  tx: Tx,
  caller: Principal,
  id: string,
  isLocked = false
): Effect.Effect<Widget, NotFound | Unavailable> =>
  findReached(tx.widgets, caller, "widget", { id: id as Widget["id"] }, isLocked) // unchecked text from the request

/** The refusal if what is named has connectors or workflows outside the caller's scope. */
export const partRefusal = (
  caller: Principal,
  content: Pick<WidgetContent, "connectors" | "features">
): Forbidden | undefined => {
  for (const { id, type } of widgetParts(content)) {
    const refused = outOfScope(caller, type, id)
    if (refused !== undefined) return refused
  }
  return undefined
}

// --- What can be published ---

const idsOf = (type: WidgetPart["type"], parts: ReadonlyArray<WidgetPart>): ReadonlyArray<string> => [
  ...new Set(parts.flatMap((one) => (one.type === type ? [one.id] : [])))
]

/** Why a connector or a workflow of this id cannot be used; `undefined` if it can. */
type Usability = (id: string) => string | undefined

/** Records are counted, not read: they may be large. */
const connectorUsability = Effect.fnUntraced(function* (
  tx: Tx,
  slugs: ReadonlyArray<string>
): Effect.fn.Return<Usability, Unavailable> {
  const own = yield* tx.connectors.countBy("slug", { slug: slugs, deletedAt: null })
  const drafts = yield* tx.connectors.countBy("slug", { slug: slugs, deletedAt: null, latestVersion: null })
  return (slug) => {
    if (drafts.has(slug)) return "names a connector that is a draft: publish the connector first"
    return own.has(slug) || builtInSlugs.includes(slug)
      ? undefined
      : "names no connector: create and publish it, or name another one"
  }
})

/** A customer's own workflow cannot be used: a widget is for all customers. */
const workflowUsability = Effect.fnUntraced(function* (
  tx: Tx,
  { spaceId }: Principal,
  ids: ReadonlyArray<string>
): Effect.fn.Return<Usability, Unavailable> {
  const found = yield* tx.workflows.countBy("id", {
    id: ids.map((id) => id as WorkflowId), // unchecked text from the request
    spaceId,
    customerId: null,
    status: ["draft", "published"],
    deletedAt: null
  })
  return (id) =>
    found.has(id)
      ? undefined
      : "names no workflow that all customers may run: name one of the organisation that is not archived"
})

/** Each place of a widget that names a connector or a workflow which cannot be used. */
export const partMistakes = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  content: Pick<WidgetContent, "connectors" | "features">
): Effect.fn.Return<Mistakes, Unavailable> {
  const parts = widgetParts(content)
  const usability = {
    connector: yield* connectorUsability(tx, idsOf("connector", parts)),
    workflow: yield* workflowUsability(tx, caller, idsOf("workflow", parts))
  }
  return parts.flatMap(({ id, path, type }) => {
    const message = usability[type](id)
    return message === undefined ? [] : [{ path, code: "NOT_USABLE", message }]
  })
})

/**
 * Each place of a widget's schemas of which the panel cannot make a form, or that is no valid schema. Takes up to a second:
 * call it outside transactions.
 */
export const schemaMistakes = (
  compute: Computations["Type"]["compute"],
  { organisationId }: Principal,
  content: WidgetContent
): Effect.Effect<Mistakes, Unavailable> => {
  const forms = widgetForms(content)
  const mistakes = widgetFormMistakes(content)
  if (mistakes.length > 0 || Object.keys(forms).length === 0) return Effect.succeed(mistakes)
  return compute("checkSchemas", organisationId, forms).pipe(
    Effect.catchTag("TooCostly", (error) => Effect.succeed([tooCostlyDetail("features", error)]))
  )
}
