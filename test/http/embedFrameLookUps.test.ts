/** The panel's page loads the files of the build, and looks sessions up as authentication does: guesses cost little. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { EmbedSessions } from "../../src/actors/ports/access/EmbedSessions.js"
import { Digests } from "../../src/actors/ports/Digests.js"
import { embedTokenHash } from "../../src/domain/access/EmbedSession.js"
import { Unavailable } from "../../src/domain/Failure.js"
import { refusalLimits } from "../../src/domain/Limits.js"
import { RefusalCounters } from "../../src/http/auth/RefusalCounters.js"
import { makeFramePage } from "../../src/http/embed/FramePage.js"
import { panelEntry } from "../../src/runtime/http/Panel.js"
import { app } from "../support/cors.js"
import { openPanel } from "../support/embed.js"
import { dataOf, documentOf, headFor, unframed } from "../support/embedFrame.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const panel = () => openPanel(svc, svc.first.customerId, { allowedOrigins: [app] })

/** With sessions of which these functions differ from the service's own. */
const framePageWith = (known: Partial<EmbedSessions["Type"]>) =>
  svc.run(
    Effect.flatMap(EmbedSessions, (sessions) =>
      makeFramePage(({ remoteAddress }) => remoteAddress).pipe(
        Effect.provideService(EmbedSessions, { ...sessions, ...known }),
        Effect.provide(RefusalCounters.Default)
      )
    )
  )

describe("the panel's page", () => {
  it("loads one script and one style of this service, and none inline", async () => {
    const paths = ["/embed/start", "/embed/Chunk-B2.js", "/embed/Main-A1B2.js", "/embed/Main-A1B2.css"]
    const page = await framePageWith({})
    const { token } = await panel()
    const answer = await Effect.runPromise(page(headFor(token), Effect.succeed(panelEntry(paths))) ?? assert.fail())
    const document = documentOf(String(answer.body))
    assert.strictEqual(document.querySelector('script[type="module"]')?.getAttribute("src"), "/embed/Main-A1B2.js")
    assert.strictEqual(document.querySelector('link[rel="stylesheet"]')?.getAttribute("href"), "/embed/Main-A1B2.css")
    assert.lengthOf(document.querySelectorAll("script, style, [style]"), 1)
    assert.strictEqual(document.querySelector("#root")?.textContent, "")
    assert.throws(() => panelEntry(["/embed/start"]), /Main/)
  })
})

/** What the page is answered with these sessions, by a service of its own. */
const openWith = async (known: Partial<EmbedSessions["Type"]>, tokens: ReadonlyArray<string>) => {
  const page = await framePageWith(known)
  const ask = (token: string) => page(headFor(token), Effect.succeed({ missing: "" })) ?? assert.fail()
  return await Effect.runPromise(Effect.forEach(tokens, ask))
}

describe("while Postgres is away", () => {
  const find = () => Effect.fail(new Unavailable({ reason: "the database is away", retryAfterSeconds: 7 }))

  it("a token that is in memory opens the page, another is told to come again", async () => {
    const { sessionId, token } = await panel()
    const known = await svc.run(
      Effect.gen(function* () {
        const hash = embedTokenHash((yield* Digests).keyHash, token)
        return Option.getOrThrow(yield* (yield* EmbedSessions).find(hash))
      })
    )
    const [cached] = await openWith({ find, findCached: () => known }, [token])
    assert.strictEqual(cached?.status, 200)
    assert.strictEqual(dataOf(String(cached?.body)).sessionId, sessionId)
    const [away, malformed] = await openWith({ find, findCached: () => undefined }, [token, "x"])
    assert.deepStrictEqual([away?.status, away?.headers], [503, { ...unframed, "retry-after": "7" }])
    assert.notMatch(String(away?.body), /<script|svc-panel/)
    assert.strictEqual(malformed?.status, 401)
  })
})

describe("guesses", () => {
  it("cost no look-ups beyond a limit, which tokens that may exist pass", async () => {
    let finds = 0
    let mayExist = false
    const known = {
      find: () => Effect.sync(() => ((finds += 1), Option.none())),
      findCached: () => undefined,
      mayExist: () => Effect.sync(() => mayExist)
    }
    const page = await framePageWith(known)
    const ask = () =>
      Effect.runPromise(page(headFor(`emb_${"b".repeat(43)}`), Effect.succeed({ missing: "" })) ?? assert.fail())
    for (let n = 0; n < 2 * refusalLimits.unknownCredentials + 5; n++) assert.strictEqual((await ask()).status, 401)
    // Two minutes may share them.
    assert.isAtMost(finds, 2 * refusalLimits.unknownCredentials)
    const before = finds
    mayExist = true
    await ask()
    assert.strictEqual(finds, before + 1)
  })
})
