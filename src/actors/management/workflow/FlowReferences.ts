/**
 * Checks what a flow's document names besides the actions of its steps: the event that starts it, and the secret or workflow
 * that its own authentication asks.
 */
import { Effect, Option } from "effect"
import { type Detail, invalid, type Unavailable, type ValidationFailed } from "../../../domain/Failure.js"
import type { FlowUses } from "../../../domain/flow/Checks.js"
import { askedByAuth, type AskedByAuth } from "../../../domain/flow/CustomAuth.js"
import { describedTrigger, placeInFlow } from "../../../domain/flow/FlowTrigger.js"
import type { SecretId, WorkflowId } from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import { Records, type Tx } from "../../ports/Records.js"
import { type Principal, reaches, scopedIds } from "../Caller.js"
import { checkEvent } from "../trigger/TriggerReferences.js"
import { eventWarnings } from "../trigger/TriggerWarnings.js"

/** What is wrong, by the places of the document. */
interface Found {
  readonly mistakes: ReadonlyArray<Detail>
  readonly warnings: ReadonlyArray<Detail>
}

const nothing: Found = { mistakes: [], warnings: [] }

const hasWorkflow = (tx: Tx, caller: Principal, id: string): Effect.Effect<boolean, Unavailable> =>
  // Unchecked text of the document.
  Effect.map(
    tx.workflows.find({ id: id as WorkflowId, spaceId: caller.spaceId, deletedAt: null }),
    Option.exists(({ customerId }) => customerId === null || reaches(caller, customerId))
  )

/** Whether a secret of the workspace that the caller reaches has this name, for whichever customer and environment. */
const hasSecret = (tx: Tx, caller: Principal, name: string): Effect.Effect<boolean, Unavailable> => {
  const { customers, spaceId } = caller
  const ids = scopedIds(caller, "secret")
  return Effect.map(
    tx.secrets.count({
      spaceId,
      name,
      deletedAt: null,
      ...(customers === "all" ? {} : { customerId: [null, ...customers] }),
      ...(ids === undefined ? {} : { id: ids as ReadonlyArray<SecretId> }) // unchecked text of the key's scope
    }),
    (count) => count > 0
  )
}

/** A workflow must exist, since it gets its id as it is created; a secret is found by its name, which may be stored later. */
const checkAuth = (tx: Tx, caller: Principal, { member, name, path }: AskedByAuth): Effect.Effect<Found, Unavailable> =>
  member === "workflowId"
    ? Effect.map(hasWorkflow(tx, caller, name), (exists) => ({
        warnings: [],
        mistakes: exists ? [] : [{ path, code: "NOT_FOUND", message: "names no workflow of the workspace" }]
      }))
    : Effect.map(hasSecret(tx, caller, name), (exists) => ({
        mistakes: [],
        warnings: exists ? [] : [{ path, code: "UNKNOWN_SECRET", message: missingSecret(name) }]
      }))

const missingSecret = (name: string): string =>
  `there is no secret ${name}: until it is stored, every call of the flow by its name is refused`

const inSpec = (detail: Detail): Detail => ({ ...detail, path: `spec.${detail.path}` })

/**
 * The warnings of the authentication of a version that is published. Fails if it asks a workflow that does not exist any
 * more.
 */
export const authWarnings = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  document: Json
): Effect.fn.Return<ReadonlyArray<Detail>, ValidationFailed | Unavailable> {
  const asked = askedByAuth(document)
  if (asked === undefined) return []
  const { mistakes, warnings } = yield* checkAuth(tx, caller, asked)
  const [mistake] = mistakes.map(inSpec)
  return mistake === undefined ? warnings.map(inSpec) : yield* invalid(mistake.path, mistake.code, mistake.message)
})

/** Makes the check of what a document names when it is saved. Paths of mistakes begin in it, those of warnings with `spec`. */
export const makeFlowReferences = Effect.gen(function* () {
  const connectors = yield* Connectors
  const records = yield* Records

  const checkTrigger = Effect.fnUntraced(function* (
    caller: Principal,
    { trigger }: Pick<FlowUses, "trigger">
  ): Effect.fn.Return<Found, Unavailable> {
    const settings = trigger?.event === undefined ? undefined : describedTrigger(trigger)?.settings
    const placed = (detail: Detail): Detail => ({ ...detail, path: placeInFlow(detail.path) })
    if (settings?.event)
      return { ...nothing, warnings: (yield* eventWarnings(connectors, caller, settings.event.type)).map(placed) }
    if (!settings?.appEvent) return nothing
    return yield* checkEvent(connectors, caller, settings.appEvent).pipe(
      Effect.as(nothing),
      Effect.catchTag("ValidationFailed", ({ details }) =>
        Effect.succeed({ ...nothing, mistakes: details.map(placed) })
      )
    )
  })

  return Effect.fnUntraced(function* (
    caller: Principal,
    document: Json,
    uses: FlowUses
  ): Effect.fn.Return<Found, Unavailable> {
    const asked = askedByAuth(document)
    const found = [
      yield* checkTrigger(caller, uses),
      asked === undefined
        ? nothing
        : yield* records.transact(caller.organisationId, (tx) => checkAuth(tx, caller, asked))
    ]
    return {
      mistakes: found.flatMap(({ mistakes }) => mistakes),
      warnings: found.flatMap(({ warnings }) => warnings.map(inSpec))
    }
  })
})
