/** What replies to pages of other origins say is looked up with their session, and costs nobody more than that. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { EmbedSessions } from "../../src/actors/ports/access/EmbedSessions.js"
import { Digests } from "../../src/actors/ports/Digests.js"
import { embedTokenHash } from "../../src/domain/access/EmbedSession.js"
import { Unavailable } from "../../src/domain/Failure.js"
import { refusalLimits } from "../../src/domain/Limits.js"
import { RefusalCounters } from "../../src/http/auth/RefusalCounters.js"
import { makeCors } from "../../src/http/embed/Cors.js"
import { jsonReply, type RawReply } from "../../src/http/Wire.js"
import { app, corsOf, readable, unreadable } from "../support/cors.js"
import type { Running } from "../support/InProcess.js"
import { makeKey } from "../support/keys.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const connections = "/api/v1/connections"

describe("the headers of CORS", () => {
  const token = `emb_${"b".repeat(43)}`
  const away = new Unavailable({ reason: "the database is away", retryAfterSeconds: 1 })
  const head = (headers: Record<string, string>, method = "GET") => ({
    method,
    target: connections,
    headers,
    remoteAddress: "192.0.2.62"
  })
  const ofPage = head({ origin: app, authorization: `Bearer ${token}` })

  /** With sessions of which these functions alone are known; others fail the test. */
  const corsWith = (known: Partial<EmbedSessions["Type"]>) => {
    const fail = () => Effect.die("is not to be asked")
    const sessions = { find: fail, findCached: () => undefined, mayExist: fail, isOriginNamed: fail, ...known }
    return svc.run(
      makeCors(({ remoteAddress }) => remoteAddress).pipe(
        Effect.provideService(EmbedSessions, sessions),
        Effect.provide(RefusalCounters.Default)
      )
    )
  }
  const knownSession = async () => {
    const customers = { mode: "subset", ids: [svc.first.customerId] }
    const body = { endOrgId: svc.first.customerId, allowedOrigins: [app] }
    const { key } = await makeKey(svc, { customers })
    const { token } = (await svc.ask("POST", "/api/v1/embed/token", { key, body })).body
    return await svc.run(
      Effect.gen(function* () {
        const hash = embedTokenHash((yield* Digests).keyHash, token)
        return Option.getOrThrow(yield* (yield* EmbedSessions).find(hash))
      })
    )
  }
  const shared = (cors: Effect.Effect.Success<ReturnType<typeof makeCors>>, reply: RawReply) =>
    Effect.runPromise(cors.share(ofPage, Effect.succeed(reply)))

  it("are added to one that streams, whose body stays the same", async () => {
    const known = await knownSession()
    const cors = await corsWith({ findCached: () => known })
    const body = { pieces: (async function* () {})(), cancel: () => undefined, isEndless: true }
    const reply = await shared(cors, { status: 200, headers: { "content-type": "text/event-stream" }, body })
    assert.strictEqual(reply.body, body)
    assert.deepStrictEqual(reply.headers, { "content-type": "text/event-stream", ...readable() })
  })

  it("come from memory while the database is away", async () => {
    const known = await knownSession()
    const unavailable = jsonReply(503, {})
    const find = () => Effect.fail(away)
    assert.deepStrictEqual(
      corsOf(await shared(await corsWith({ find, findCached: () => known }), unavailable)),
      readable()
    )
    assert.deepStrictEqual(corsOf(await shared(await corsWith({ find }), unavailable)), unreadable)
    assert.deepStrictEqual(corsOf(await shared(await corsWith({ find }), jsonReply(404, {}))), unreadable)
    const hanging = await corsWith({ find: () => Effect.uninterruptible(Effect.never) })
    assert.deepStrictEqual(corsOf(await shared(hanging, unavailable)), unreadable)
  })

  it("cost guesses no look-ups beyond a limit, whatever they ask for, and tokens that exist are still looked up", async () => {
    const known = await knownSession()
    let finds = 0
    let mayExist = false
    const cors = await corsWith({
      find: () => Effect.sync(() => ((finds += 1), mayExist ? Option.some(known) : Option.none())),
      mayExist: () => Effect.sync(() => mayExist)
    })
    for (let n = 0; n < 2 * refusalLimits.unknownCredentials + 5; n++) await shared(cors, jsonReply(404, {}))
    // Two minutes may share them.
    assert.isAtMost(finds, 2 * refusalLimits.unknownCredentials)
    mayExist = true
    assert.deepStrictEqual(corsOf(await shared(cors, jsonReply(404, {}))), readable())
  })

  it("are nobody's concern without an origin, and an origin that cannot be named is never looked up", async () => {
    const cors = await corsWith({ findCached: () => assert.fail("is not to be asked") })
    const reply = Effect.succeed(jsonReply(200, {}))
    assert.strictEqual(cors.share(head({ authorization: `Bearer ${token}` }), reply), reply)
    assert.strictEqual(cors.share(head({ authorization: `Bearer ${svc.first.key}`, origin: app }), reply), reply)
    for (const origin of [
      "null",
      "*",
      "http://app.example.com",
      `${app}.`,
      `${app}, ${app}`,
      `https://${"a".repeat(300)}`
    ])
      assert.isUndefined(cors.preflight(head({ origin, "access-control-request-method": "GET" }, "OPTIONS")))
  })

  it("of a preflight cannot be told while the database is away", async () => {
    const cors = await corsWith({ isOriginNamed: () => Effect.fail(away) })
    const answer = cors.preflight(head({ origin: app, "access-control-request-method": "GET" }, "OPTIONS"))
    assert.isDefined(answer)
    assert.strictEqual(answer && (await Effect.runPromise(Effect.flip(answer))), away)
  })
})
