/** The sweep of deliveries over ports in memory, under the test clock. */
import { Duration, Effect, Fiber, Layer, Option, Redacted } from "effect"
import * as ByteLedger from "../../src/runtime/memory/ByteLedger.js"
import { CallbackSecrets } from "../../src/actors/ports/delivery/CallbackSecrets.js"
import { Deliveries } from "../../src/actors/ports/delivery/Deliveries.js"
import { Digests } from "../../src/actors/ports/Digests.js"
import { Egress, type EgressFailure, type EgressRequest } from "../../src/actors/ports/Egress.js"
import { MailEgress } from "../../src/actors/ports/delivery/MailEgress.js"
import { MailServer } from "../../src/actors/ports/delivery/MailServer.js"
import * as OutwardPlaces from "../../src/actors/Places.js"
import { Vault } from "../../src/actors/ports/Vault.js"
import { Wakeups } from "../../src/actors/ports/run/Wakeups.js"
import { makeTask } from "../../src/actors/pipeline/Deliver.js"
import {
  type Delivery,
  type DeliveryEndpoint,
  retrySchedule,
  type Verdict
} from "../../src/domain/delivery/Delivery.js"
import { Unavailable } from "../../src/domain/Failure.js"
import type { DeliveryId, ExecutionId, OrganisationId, SpaceId } from "../../src/domain/Ids.js"
import { makeDigests } from "../../src/runtime/process/Crypto.js"
import * as LocalWakeups from "../../src/runtime/process/Wakeups.js"
import { endpointOf } from "./deliveries.js"
import { makeFailedJobs } from "./failedJobs.js"
import { placeVault } from "./placeVault.js"
import { layerOwnAccounts } from "./shareOwners.js"

export const secrets = ["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="]
export const digests = makeDigests({ pepper: Redacted.make("a pepper of thirty-two characters") })
export const hook = "https://receiver.example/hook"

interface Row {
  readonly id: DeliveryId
  readonly organisation: OrganisationId
  readonly kind: Delivery["kind"]
  readonly url: string
  status: "pending" | "delivered" | "exhausted"
  attempts: number
  nextAt: number
  claimedUntil: number
  error: string | null
  readonly endpoint: DeliveryEndpoint | null
}

type Receive = (request: EgressRequest) => Effect.Effect<number, EgressFailure>

export const makeWorld = Effect.fnUntraced(function* (
  receive: Receive = () => Effect.succeed(200),
  { schedule = retrySchedule }: { readonly schedule?: ReadonlyArray<Duration.Duration> } = {}
) {
  const task = makeTask(schedule)
  const rows: Array<Row> = []
  const sent: Array<EgressRequest> = []
  const times: Array<number> = []
  const open = new Map<string, number>()
  const most = new Map<string, number>()
  const state = { locked: false }
  let mails = 0
  const clock = yield* Effect.clock
  const now = () => clock.unsafeCurrentTimeMillis()

  const track = (endpoint: string, change: 1 | -1) => {
    const next = (open.get(endpoint) ?? 0) + change
    open.set(endpoint, next)
    most.set(endpoint, Math.max(next, most.get(endpoint) ?? 0))
  }

  const deliveries = Deliveries.of({
    find: (use, room) =>
      Effect.sync(() =>
        rows.flatMap(({ claimedUntil, id, kind, nextAt, organisation, status, url }) => {
          const isDue = status === "pending" && nextAt <= now() && claimedUntil <= now()
          const isOfUse = (kind === "notification") === (use === "notifications")
          const isOpen = !room.fullAccounts.includes(organisation) && !room.closedPartners.includes(endpointOf(url))
          return isDue && isOfUse && isOpen
            ? [{ id, organisationId: organisation, accountId: organisation, partner: endpointOf(url) }]
            : []
        })
      ),
    claim: (ids) =>
      Effect.sync(() =>
        rows
          .filter(({ id }) => ids.includes(id))
          .map((row): Delivery => {
            row.attempts += 1
            row.claimedUntil = now() + 30_000
            return {
              id: row.id,
              organisationId: row.organisation,
              spaceId: "spc_a" as SpaceId,
              kind: row.kind,
              url: row.url,
              executionId: `exec_${row.id}` as ExecutionId,
              payload: JSON.stringify({ n: row.id }),
              attempt: row.attempts,
              scheduledAttempt: row.attempts,
              endpoint: row.endpoint
            }
          })
      ),
    settle: (delivery, verdict) =>
      Effect.sync(() => {
        const row = rows.find(({ id }) => id === delivery.id)
        if (row !== undefined && row.attempts === delivery.attempt) apply(row, verdict, now())
      })
  })

  const ports = Layer.mergeAll(
    ByteLedger.layer({ bytes: 2 ** 28 }),
    Layer.succeed(Deliveries, deliveries),
    Layer.succeed(Digests, digests),
    Layer.succeed(Vault, placeVault),
    makeFailedJobs().layer,
    OutwardPlaces.layer(task.places),
    layerOwnAccounts,
    Layer.succeed(
      MailServer,
      Option.some({ url: "smtp://mail.example", from: "svc@example.com", login: null, security: "none" })
    ),
    Layer.succeed(
      MailEgress,
      MailEgress.of({
        send: () =>
          Effect.zipRight(
            Effect.sync(() => void mails++),
            Effect.never
          )
      })
    ),
    Layer.succeed(
      CallbackSecrets,
      CallbackSecrets.of({
        valid: () =>
          state.locked
            ? Effect.fail(new Unavailable({ reason: "the vault is locked", retryAfterSeconds: 1 }))
            : Effect.succeed(secrets.map((one) => Redacted.make(one))),
        current: () => Effect.dieMessage("current"),
        rotate: () => Effect.dieMessage("rotate")
      })
    ),
    Layer.succeed(
      Egress,
      Egress.of({
        ask: () => {
          throw new Error("no test asks for it")
        },
        check: () => Effect.dieMessage("check"),
        checkTarget: () => Effect.dieMessage("check"),
        open: () => Effect.dieMessage("open"),
        readings: Effect.dieMessage("readings"),
        send: (request) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              sent.push(request)
              times.push(now())
              track(endpointOf(request.url), 1)
            }),
            () =>
              Effect.map(receive(request), (status) => ({
                status,
                headers: [],
                body: new Uint8Array(),
                url: request.url
              })),
            () => Effect.sync(() => track(endpointOf(request.url), -1))
          )
      })
    ),
    LocalWakeups.layer
  )

  const context = yield* Layer.build(ports)
  const wakeups = yield* Effect.provide(Wakeups, context)
  const work = yield* Effect.provide(task.make, context)
  const yieldUntil = (done: () => boolean) => Effect.repeat(Effect.yieldNow(), { until: done })

  return Object.assign(state, {
    rows,
    sent,
    times,
    most,
    mails: () => mails,
    inFlight: () => [...open.values()].reduce((sum, one) => sum + one, 0),
    add: (
      id: string,
      url: string,
      {
        endpoint = null,
        kind = "callback",
        organisation = "org_a"
      }: {
        readonly endpoint?: DeliveryEndpoint | null
        readonly kind?: Delivery["kind"]
        readonly organisation?: string
      } = {}
    ) =>
      void rows.push({
        id: id as DeliveryId,
        organisation: organisation as OrganisationId,
        kind,
        url,
        status: "pending",
        attempts: 0,
        nextAt: now(),
        claimedUntil: 0,
        error: null,
        endpoint
      }),
    wake: wakeups.signalDelivery,
    sendDue: work.pass,
    until: yieldUntil,
    begin: Effect.map(Effect.forkScoped(Effect.provide(task.repeat(work), context)), Fiber.id),
    /** Runs the fibers, without advancing the clock, until the delivery is settled. */
    settled: (id: string) => yieldUntil(() => rows.some((row) => row.id === id && row.status !== "pending"))
  })
})

const apply = (row: Row, verdict: Verdict, now: number) => {
  row.claimedUntil = 0
  row.error = verdict._tag === "Delivered" ? null : verdict.reason
  if (verdict._tag === "Retry") row.nextAt = now + Duration.toMillis(verdict.after)
  else row.status = verdict._tag === "Delivered" ? "delivered" : "exhausted"
}
