/** Finds what a connector call needs: the action that the workflow is bound to, and the customer's connection. */
import { didYouMean } from "../../../domain/ClosestName.js"
import { Effect, Option } from "effect"
import type { ActionDefinition } from "../../../domain/connector/Action.js"
import { type BoundAction, findBinding, possibleSlugs } from "../../../domain/connector/Binding.js"
import { type ConnectorDefinition, findAction } from "../../../domain/connector/Definition.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { CallFailure } from "../../../domain/run/RunJournal.js"
import { makeConnectionChoice } from "../../ports/connection/ConnectionChoice.js"
import type { CallableConnection } from "../../ports/connection/ConnectionReads.js"
import { Connectors } from "../../ports/connection/Connectors.js"
import { type ActionRef, failCall, outOfScope, unavailableError } from "./ConnectorErrors.js"
import type { HostRequest } from "./HostCall.js"

/** Who started the run, as messages name it. */
const starterOf = ({ run }: HostRequest["spec"]): string =>
  `the ${run.record.trigger.keyId === null ? "caller" : "key"} that started this run`

/** Makes the functions that find actions and connections. */
export const makeConnectorLookup = Effect.gen(function* () {
  const connectors = yield* Connectors
  const chooseConnection = yield* makeConnectionChoice

  /** The connector that a draft's binding names as the code writes it, which can mean several slugs. */
  const draftSlug = Effect.fnUntraced(function* (
    organisation: OrganisationId,
    { connector }: Pick<BoundAction, "connector">
  ) {
    for (const slug of possibleSlugs(connector)) {
      if (Option.isSome(yield* connectors.find(organisation, slug))) return slug
    }
    return connector
  })

  /** The action that the workflow's version is bound to, or the version `pinned` of it. */
  const findBoundAction = Effect.fnUntraced(function* (
    { spec }: HostRequest,
    at: ActionRef,
    pinned: number | null
  ): Effect.fn.Return<{ readonly definition: ConnectorDefinition; readonly action: ActionDefinition }, CallFailure> {
    const { bindings, organisationId } = spec.runnable
    const bound = findBinding(bindings, at.connector, at.action)
    if (bound === undefined) {
      return yield* failCall(
        at,
        `this workflow is not bound to it: write svc.connector.${at.connector}.${at.action} in the code, and publish`,
        "UNBOUND_CONNECTOR"
      )
    }
    const slug =
      bound.version === null
        ? yield* Effect.mapError(draftSlug(organisationId, bound), unavailableError(at))
        : bound.connector
    const version = pinned ?? bound.version
    if (spec.start.reach?.connectors?.includes(slug) === false)
      return yield* failCall(at, `${starterOf(spec)} does not reach this connector`, outOfScope, "auth")
    const find =
      version === null
        ? connectors.find(organisationId, slug)
        : connectors.withAction(organisationId, slug, { name: at.action, version, bound: true })
    const found = yield* Effect.mapError(find, unavailableError(at))
    if (Option.isNone(found)) {
      const reason =
        version === null
          ? `there is no such connector.${didYouMean(slug, yield* Effect.mapError(connectors.slugs(organisationId), unavailableError(at)))} GET /api/v1/connectors lists what there is`
          : `version ${version} of the action, which this workflow was published with, is gone: publish it again to call the newest`
      return yield* failCall(at, reason, "UNBOUND_CONNECTOR")
    }
    const action = findAction(found.value, at.action)
    if (action === undefined) {
      const names = found.value.actions.map(({ name }) => name).join(", ")
      return yield* failCall(
        at,
        `there is no such action.${didYouMean(
          at.action,
          found.value.actions.map(({ name }) => name)
        )} ${slug} has ${names}`,
        "UNBOUND_CONNECTOR"
      )
    }
    return { definition: found.value, action }
  })

  /** The connection of the run's customer, within the scope of the run's starter. */
  const findConnection = Effect.fnUntraced(function* (
    { spec }: HostRequest,
    at: ActionRef,
    slug: string,
    named: string | null
  ): Effect.fn.Return<CallableConnection, CallFailure> {
    const { run, start } = spec
    const user = {
      organisationId: run.organisationId,
      customerId: run.customerId,
      userId: run.record.userId,
      allowed: start.connections
    }
    const found = yield* Effect.mapError(chooseConnection(user, slug, named), unavailableError(at))
    if (Option.isSome(found)) {
      if (start.reach?.connections?.includes(found.value.id) !== false) return found.value
      return yield* failCall(at, `${starterOf(spec)} does not reach ${found.value.id}`, outOfScope, "auth")
    }
    const reason =
      run.customerId === null
        ? "this run acts for no customer (x-org-id names one)"
        : named === null
          ? `customer ${run.customerId} has not connected ${slug}: POST /api/v1/connections`
          : `customer ${run.customerId} has no connection "${named}" to ${slug}`
    return yield* failCall(at, reason, "CONNECTION_REQUIRED", "auth")
  })

  return { findBoundAction, findConnection }
})
