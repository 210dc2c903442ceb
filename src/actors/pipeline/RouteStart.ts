/** Turns a route of an event into the start of a run, or says why there is none. */
import { Effect, Option } from "effect"
import type { Event } from "../../domain/event/Event.js"
import { inputOf, type MatchedRoute } from "../../domain/event/EventRouting.js"
import { accountOf } from "../../domain/organisation/Organisation.js"
import { plans } from "../../domain/organisation/Plan.js"
import { installationOfEvent, ownConnections } from "../../domain/organisation/Installation.js"
import { disabledRefusal } from "../../domain/workflow/Workflow.js"
import { Computations } from "../ports/Computations.js"
import { CustomerReads, type KnownCustomer } from "../ports/organisation/CustomerReads.js"
import { InstallationReads, type KnownInstallation } from "../ports/organisation/InstallationReads.js"
import type { KnownOrganisation } from "../ports/organisation/OrganisationReads.js"
import type { StartRequest } from "../ports/run/Executions.js"
import { type Runnable, Runnables } from "../ports/run/Runnables.js"

/** Why a route starts no run: part of the dead letter. */
export interface RouteFailure {
  readonly code: string
  readonly message: string
}

/** The outcome for one route. */
export type RouteStart =
  | { readonly _tag: "Start"; readonly matched: MatchedRoute; readonly request: StartRequest }
  | { readonly _tag: "Failed"; readonly matched: MatchedRoute; readonly failure: RouteFailure }
  /** The customer is suspended. */
  | { readonly _tag: "Held" }

/** Makes the function that prepares the start of one route. */
export const makeRouteStart = Effect.gen(function* () {
  const runnables = yield* Runnables
  const customers = yield* CustomerReads
  const installations = yield* InstallationReads
  const { compute } = yield* Computations

  /** The version that runs in the route's environment, or for a replay the one that ran before. */
  const codeOf = ({ customerId, record }: Event, { route, trigger }: MatchedRoute) => {
    const version = record.versions?.[route.workflowId]
    const customer = trigger.customerId ?? customerId
    return version === undefined
      ? runnables.inEnvironment(trigger.organisationId, route.workflowId, route.environment, customer)
      : runnables.version(trigger.organisationId, route.workflowId, version)
  }

  const runnableOf = (event: Event, matched: MatchedRoute) =>
    codeOf(event, matched).pipe(
      Effect.map((runnable): Runnable | RouteFailure => {
        const { customerId } = runnable
        const { trigger } = matched
        if (runnable.spaceId !== trigger.spaceId || (customerId !== null && customerId !== trigger.customerId))
          return { code: "WORKFLOW_NOT_FOUND", message: "the workflow belongs to another workspace or customer" }
        const refused = disabledRefusal(runnable)
        return refused === undefined ? runnable : { code: "WORKFLOW_DISABLED", message: refused.message }
      }),
      Effect.catchTags({
        NotFound: () => Effect.succeed({ code: "WORKFLOW_NOT_FOUND", message: "the workflow was deleted" }),
        WorkflowUnavailable: ({ code, message }) => Effect.succeed({ code, message })
      })
    )

  /** Why the input breaks the workflow's contract. */
  const contractFailure = ({ inputContract, organisationId }: Runnable, input: StartRequest["input"]) =>
    inputContract === null
      ? Effect.succeed(undefined)
      : compute("checkValue", organisationId, { schema: inputContract, value: input }).pipe(
          Effect.map(([first]) => first?.message),
          Effect.catchTag("TooCostly", () => Effect.succeed("checking the contract takes too long")),
          Effect.map((message) =>
            message === undefined
              ? undefined
              : {
                  code: "INPUT_CONTRACT_VIOLATION",
                  message: `the payload breaks the workflow's input contract: ${message}`
                }
          )
        )

  const customerOf = (event: Event, { trigger }: MatchedRoute) => {
    const id = trigger.customerId ?? event.customerId
    return id === null
      ? Effect.succeed(null)
      : Effect.map(customers.find(event.organisationId, { id }), Option.getOrUndefined)
  }

  /** The customer's installation whose connections and values the run uses; `null`: none lists the workflow. */
  const installationOf = (
    { connectionId, organisationId }: Event,
    { route }: MatchedRoute,
    customer: KnownCustomer | null
  ) =>
    customer === null
      ? Effect.succeed(null)
      : Effect.map(
          installations.ofEvent(organisationId, {
            connectionId,
            customerId: customer.id,
            workflowId: route.workflowId
          }),
          (found) => installationOfEvent(found, connectionId)
        )

  const requestOf = (
    event: Event,
    matched: MatchedRoute,
    runnable: Runnable,
    customer: KnownCustomer | null,
    installation: KnownInstallation | null,
    organisation: KnownOrganisation,
    lane: string | null
  ): StartRequest => ({
    runnable,
    environment: matched.route.environment,
    retention: plans[organisation.plan].retentionDays,
    accountId: accountOf(organisation),
    concurrentRuns: null,
    priority: event.priority,
    input: inputOf(matched, event),
    headers: { ...event.record.headers, ...matched.route.headers },
    customer: customer === null ? null : { id: customer.id, ref: customer.externalRef },
    installation: installation === null ? null : { id: installation.id, config: installation.config },
    connections: installation === null ? null : ownConnections(installation),
    userId: null,
    trigger: {
      type: matched.trigger.type,
      keyId: null,
      keyName: null,
      id: matched.trigger.id
    },
    event,
    routeId: matched.route.id,
    ...(lane === null ? {} : { lane }),
    metadata: {},
    callback: null,
    traceparent: event.record.traceparent
  })

  return Effect.fnUntraced(function* (
    event: Event,
    matched: MatchedRoute,
    organisation: KnownOrganisation,
    lane: string | null
  ) {
    const failed = (failure: RouteFailure): RouteStart => ({ _tag: "Failed", matched, failure })
    const customer = yield* customerOf(event, matched)
    if (customer === undefined) return failed({ code: "CUSTOMER_NOT_FOUND", message: "the customer was deleted" })
    if (customer !== null && customer.status !== "active") return { _tag: "Held" }
    const runnable = yield* runnableOf(event, matched)
    if ("code" in runnable) return failed(runnable)
    const installation = yield* installationOf(event, matched, customer)
    if (installation !== null && "code" in installation) return failed(installation)
    const request = requestOf(event, matched, runnable, customer, installation, organisation, lane)
    const broken = yield* contractFailure(runnable, request.input)
    return broken === undefined ? { _tag: "Start", matched, request } : failed(broken)
  })
})
