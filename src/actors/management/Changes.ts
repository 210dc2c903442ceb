/**
 * How use cases change management records: each change is one transaction with its audit entry. A request with an
 * Idempotency-Key is wrapped in a transaction of its own, which these join. Contract: conventions, audit.
 */
import { Context, DateTime, Effect, Layer } from "effect"
import type { YieldWrap } from "effect/Utils"
import { type AuditEntry, changesBetween } from "../../domain/audit/Audit.js"
import { Conflict, type Failure, refuseWith, versionMismatch } from "../../domain/Failure.js"
import type { CustomerId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"
import { Identifiers } from "../ports/Identifiers.js"
import { type AlreadyExists, type Changed, type DraftSave, Records, type Tx } from "../ports/Records.js"
import type { CallContext } from "./CallContext.js"
import { recordRefusal } from "./Caller.js"
import { actorOf } from "../../domain/access/Caller.js"

/** The result of a change, and the facts for its audit entry. */
export interface ChangeOutcome<A> {
  readonly value: A
  readonly resource: { readonly id: string; readonly name?: string | null; readonly customerId?: CustomerId | null }
  readonly before?: object | null
  readonly after?: object | null
  /** A more specific action than the endpoint's. */
  readonly action?: string
  /** A person's save of a draft, which editors repeat: those of a minute have one entry. */
  readonly isDraftSave?: boolean
}

/** The message of a conflict, by the unique index that was violated. */
const duplicateMessage: { readonly [index: string]: string } = {
  organisations_slug_key: "an organisation of this installation has this slug: choose another one, or leave it out",
  customers_slug: "a customer with this slug exists",
  workspaces_org_slug_key: "a workspace with this slug exists",
  customers_ref: "a customer with this externalRef exists",
  workflows_name: "a workflow with this name exists",
  workflows_slug: "a workflow with this slug exists",
  users_email: "a user with this email exists",
  roles_org_name_key: "a role with this name exists",
  secrets_scope: "a secret with this name and scope exists",
  connectors_slug: "a connector with this slug exists",
  connector_versions_semver: "this version of the connector exists",
  auth_providers_name: "an auth provider with this name exists",
  field_maps_place: "a field map of this connector, entity, model and customer exists: change it",
  environments_slug: "an environment with this slug exists",
  releases_semver: "a release with this version exists",
  widgets_slug: "a widget with this slug exists: choose another one, or leave it out",
  installations_one: "this customer has installed this integration already"
}

/** What a transaction runs: an effect, or a generator of effects, as `Effect.gen` takes. */
type Body<A, E> = (tx: Tx) => Effect.Effect<A, E> | Generator<YieldWrap<Effect.Effect<unknown, E>>, A, never>

const effectOf = <A, E>(body: Body<A, E>, tx: Tx): Effect.Effect<A, E> => {
  const made = body(tx)
  return Effect.isEffect(made) ? made : Effect.gen(() => made)
}

export class Changes extends Context.Tag("svc/Changes")<
  Changes,
  {
    /** Commits a change with its audit entry. `Conflict`: a unique member is taken, or the record has changed since. */
    readonly change: <A>(
      context: CallContext,
      body: Body<ChangeOutcome<A>, Failure | AlreadyExists | Changed>
    ) => Effect.Effect<A, Failure>
    /** Reads in a transaction. */
    readonly read: <A>(context: CallContext, body: Body<A, Failure>) => Effect.Effect<A, Failure>
  }
>() {}

/** Records and their views are plain objects of JSON. */
const members = (value: object | null | undefined) =>
  (value ?? null) as { readonly [member: string]: Json | undefined } | null

const saveOf = ({ actor, at, changes, resource }: AuditEntry): DraftSave => ({
  workflowId: resource.id ?? "",
  actorId: actor.id,
  at,
  members: changes.map(({ path }) => path)
})

export const layer = Layer.effect(
  Changes,
  Effect.gen(function* () {
    const records = yield* Records
    const identifiers = yield* Identifiers

    const auditEntry = <A>(context: CallContext, outcome: ChangeOutcome<A>, at: string) => ({
      id: identifiers.next("aud"),
      organisationId: context.caller.organisationId,
      at,
      actor: actorOf(context.caller),
      action: outcome.action ?? context.audit?.action ?? "unknown",
      resource: {
        type: context.audit?.resource ?? "unknown",
        id: outcome.resource.id,
        name: outcome.resource.name ?? null
      },
      customerId: outcome.resource.customerId ?? null,
      outcome: "success" as const,
      requestId: context.caller.requestId,
      changes: changesBetween(members(outcome.before), members(outcome.after)),
      count: 1
    })

    const changeWithin = Effect.fnUntraced(function* <A>(
      context: CallContext,
      tx: Tx,
      body: Body<ChangeOutcome<A>, Failure | AlreadyExists | Changed>
    ): Effect.fn.Return<A, Failure | AlreadyExists | Changed> {
      const outcome = yield* effectOf(body, tx)
      const { audit, caller, sharing } = context
      yield* refuseWith(
        recordRefusal(caller, sharing, outcome.resource.customerId ?? null, audit?.resource ?? "record")
      )
      const now = yield* DateTime.now
      const entry = auditEntry(context, outcome, DateTime.formatIso(now))
      if (outcome.isDraftSave !== true || (yield* tx.isSaveDue(saveOf(entry)))) yield* tx.audit(entry)
      return outcome.value
    })

    return Changes.of({
      change: (context, body) =>
        records
          .transact(context.caller.organisationId, (tx) => changeWithin(context, tx, body))
          .pipe(
            Effect.catchTags({
              AlreadyExists: ({ index }) =>
                new Conflict({ code: "CONFLICT", message: duplicateMessage[index] ?? "it exists already" }),
              Changed: () => versionMismatch()
            }),
            Effect.tap(() =>
              Effect.sync(() => {
                context.isAudited = true
              })
            )
          ),
      read: (context, body) => records.transact(context.caller.organisationId, (tx) => effectOf(body, tx))
    })
  })
)
