/** The service in this process, on a fresh database. Tests call its handler directly, or over a port of its own. */
import { Clock, Duration, Effect, Exit, Layer, Logger, LogLevel, ManagedRuntime, Option, Redacted, Scope } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { inject } from "vitest"
import type { PlanName } from "../../src/domain/organisation/Plan.js"
import type { FirstOrganisation } from "../../src/runtime/program/FirstOrganisation.js"
import { makeExample, makeFirstOrganisation } from "../../src/runtime/program/FirstOrganisation.js"
import { type CredentialReader, CredentialReaders } from "../../src/http/auth/Credentials.js"
import { calledWorkflow } from "../../src/http/execution/CalledWorkflow.js"
import type { RawReply, RawRequest } from "../../src/http/Wire.js"
import type { WebhookAddress } from "../../src/http/webhook/Receive.js"
import { generateSecrets, resolveSecrets } from "../../src/runtime/vault/InstallationSecrets.js"
import { readConfig, Settings } from "../../src/runtime/configuration/Config.js"
import { ConnectTimeout } from "../../src/runtime/postgres/database/pool/ConnectTimeout.js"
import * as OpenSockets from "../../src/runtime/postgres/database/pool/OpenSockets.js"
import { Databases, ProvidedSecrets, WorkspaceServer } from "../../src/runtime/program/Layers.js"
import { make as makeFront } from "../../src/runtime/http/Front.js"
import { server } from "../../src/runtime/program/Server.js"
import { serviceLayer } from "../../src/runtime/program/Service.js"
import { patientConnectEnv } from "./connectTimeout.js"
import * as Database from "./Database.js"
import { makeDocumentCheck } from "./documentCheck.js"
import { recordViolation } from "./unified/recordCheck.js"

export interface Answer {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  /** The body as JSON, or its text if it is not JSON. */
  // Each test asserts the shape that it expects.
  readonly body: any // oxlint-disable-line typescript/no-explicit-any
  readonly text: string
}

export interface Ask {
  readonly key?: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent unchanged. */
  readonly raw?: string | Uint8Array
  readonly headers?: { readonly [name: string]: string }
  readonly from?: string
  /** The service's clock is ahead by this time until the answer. Concurrent requests must pass the same value. */
  readonly later?: Duration.DurationInput
}

const dataDirectory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(inject("dataDirectory"), "svc-running-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

const settings = (env: Readonly<Record<string, string>>) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const dataDir = yield* dataDirectory
      const fresh = generateSecrets(new Date())
      const config = yield* readConfig({
        SVC_DATA_DIR: dataDir,
        SVC_PORT: "0",
        SVC_MASTER_KEYS: fresh.masterKeys,
        SVC_KEY_PEPPER: fresh.keyPepper,
        SVC_PUBLIC_URL: "http://svc.test",
        SVC_RUNNERS: "1",
        ...patientConnectEnv,
        ...env
      })
      return Layer.mergeAll(
        OpenSockets.layer,
        Layer.succeed(Settings, config),
        Layer.succeed(ConnectTimeout, config.connectTimeout),
        Layer.effect(ProvidedSecrets, resolveSecrets(config, { create: true }))
      )
    })
  )

const databases = Layer.effect(
  Databases,
  Effect.map(Database.TestDatabase, ({ urls }) => urls)
)

/**
 * Workspace databases and logins of its own for each test: their names on the server derive from the test's database.
 */
const workspaces = Layer.scoped(
  WorkspaceServer,
  Effect.flatMap(Database.TestDatabase, ({ admin, name }) =>
    Effect.acquireRelease(Effect.succeed(Option.some(Redacted.make(Database.databaseUrl(admin, `${name}_ws`)))), () =>
      Database.dropWorkspaces(`${name}_ws`)
    )
  )
)

const layer = (env: Readonly<Record<string, string>>, clock: Clock.Clock, readers: ReadonlyArray<CredentialReader>) =>
  serviceLayer.pipe(
    Layer.provideMerge(Layer.succeed(CredentialReaders, readers)),
    Layer.provideMerge(Layer.merge(databases, workspaces)),
    Layer.provideMerge(
      Database.layerOf({ app: Number(env["SVC_DB_POOL_APP"] ?? 8), writer: Number(env["SVC_DB_POOL_WRITER"] ?? 8) })
    ),
    Layer.provideMerge(settings(env)),
    Layer.provideMerge(Layer.merge(Logger.minimumLogLevel(LogLevel.Warning), Layer.setClock(clock))),
    Layer.orDie
  )

/** The services of the running program, and the ids of its first organisation. */
export const start = async (
  env: Readonly<Record<string, string>> = {},
  readers: ReadonlyArray<CredentialReader> = []
) => {
  const { clock, during } = movableClock()
  const runtime = ManagedRuntime.make(layer(env, clock, readers))
  const run = <A, E>(effect: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof layer>>>) =>
    runtime.runPromise(Effect.withTracerEnabled(effect, false))
  const scope = await Effect.runPromise(Scope.make())
  const pair = await run(Scope.extend(makeFront, scope))
  const violationOf = makeDocumentCheck()

  const organisation = (name: string, plan: PlanName = "unlimited") =>
    run(
      Effect.flatMap(makeFirstOrganisation(name, plan), (first) =>
        Effect.map(makeExample(first), (example) => ({ ...first, ...example, key: keyOf(first) }))
      )
    )

  const receiveWebhook = (raw: RawRequest, address: WebhookAddress): Effect.Effect<RawReply> =>
    Effect.flatMap(pair.webhook(raw, address), (admission) =>
      admission._tag === "Answered" ? Effect.succeed(admission.reply) : admission.handle(raw.body)
    )

  const send = async (raw: RawRequest, later: Duration.DurationInput = 0): Promise<RawReply> => {
    const called = calledWorkflow(raw)
    const webhook = /^\/api\/v1\/clients\/([^/?]+)\/webhooks\/([^/?]+)/.exec(raw.target)
    const handling =
      webhook !== null
        ? receiveWebhook(raw, { client: webhook[1] ?? "", webhook: webhook[2] ?? "" })
        : called === undefined
          ? pair.handle(raw)
          : pair.execute(raw, called)
    return await during(later, () => run(handling))
  }

  const ask = async (
    method: string,
    target: string,
    { body, from = "127.0.0.1", headers = {}, key, later = 0, raw }: Ask = {}
  ): Promise<Answer> => {
    const bytes = raw ?? (body === undefined ? "" : JSON.stringify(body))
    const reply = await send(
      {
        method,
        target,
        remoteAddress: from,
        body: typeof bytes === "string" ? Buffer.from(bytes) : bytes,
        headers: {
          ...(body === undefined && raw === undefined ? {} : { "content-type": "application/json" }),
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...headers
        }
      },
      later
    )
    const text = await textOf(reply.body)
    if (reply.status === 201 && reply.headers["location"] === undefined)
      throw new Error(`${method} ${target} made something and does not say where it is`)
    const violation = violationOf(method, target, { status: reply.status, headers: reply.headers, text })
    if (violation !== undefined) throw new Error(`the documents do not tell of this answer: ${violation}`)
    const answer = { status: reply.status, headers: reply.headers, text, body: jsonOf(text) }
    const unlike = recordViolation(target, answer)
    if (unlike !== undefined) throw new Error(`a record is not as its model says: ${unlike}`)
    return answer
  }

  /** Listens on a free port until the service stops. */
  const listen = () =>
    run(Effect.map(Scope.extend(server, scope), ({ port }) => ({ port, baseUrl: `http://127.0.0.1:${port}` })))

  let owner: Promise<Effect.Effect.Success<typeof Database.ownerSql>> | undefined

  /** Runs a statement as the tables' owner, on connections that stay open until the service stops. */
  const sql = async <A extends object>(statement: string): Promise<ReadonlyArray<A>> => {
    owner ??= run(Scope.extend(Database.ownerSql, scope))
    return await Effect.runPromise((await owner).unsafe<A>(statement))
  }

  const stop = async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await runtime.dispose()
  }

  return { run, send, ask, sql, organisation, listen, stop, first: await organisation("First") }
}

export type Running = Awaited<ReturnType<typeof start>>

/** Sleeps of background tasks: the clock is measured against Postgres' after one of them. */
const longSleep = Duration.seconds(30)

/**
 * The real clock, which a request can set ahead until its answer. A task that sleeps long goes on between such requests:
 * it would take their time for the machine's.
 */
const movableClock = () => {
  const real = Clock.make()
  let ahead = 0
  let users = 0
  const unmoved: Effect.Effect<void> = Effect.suspend(() =>
    ahead === 0 ? Effect.void : Effect.zipRight(real.sleep(Duration.millis(20)), unmoved)
  )
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => real.unsafeCurrentTimeMillis() + ahead,
    unsafeCurrentTimeNanos: () => real.unsafeCurrentTimeNanos() + BigInt(ahead) * 1_000_000n,
    currentTimeMillis: Effect.map(real.currentTimeMillis, (now) => now + ahead),
    currentTimeNanos: Effect.map(real.currentTimeNanos, (now) => now + BigInt(ahead) * 1_000_000n),
    sleep: (duration) =>
      Duration.greaterThanOrEqualTo(duration, longSleep)
        ? Effect.zipRight(real.sleep(duration), unmoved)
        : real.sleep(duration)
  }
  const during = async <A>(by: Duration.DurationInput, body: () => Promise<A>): Promise<A> => {
    if (users > 0 && ahead !== Duration.toMillis(by)) throw new Error("requests of different times at once")
    users++
    ahead = Duration.toMillis(by)
    try {
      return await body()
    } finally {
      users--
      if (users === 0) ahead = 0
    }
  }
  return { clock, during }
}

const keyOf = (first: FirstOrganisation) => Redacted.value(first.apiKey)

const textOf = async (body: RawReply["body"]): Promise<string> => {
  if (typeof body === "string") return body
  if (body instanceof Uint8Array) return Buffer.from(body).toString()
  const pieces: Array<Uint8Array> = []
  for await (const piece of body.pieces) {
    pieces.push(piece)
    if (body.isEndless === true) break
  }
  if (body.isEndless === true) body.cancel()
  return Buffer.concat(pieces).toString()
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
