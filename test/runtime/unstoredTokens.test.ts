/** Tokens that are not stored are whole files that only the service's user reads; what is none of them is refused in words. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { inject } from "vitest"
import { UnstoredTokens } from "../../src/actors/connection/credential/TokenCommits.js"
import type { ConnectionId, CredentialId } from "../../src/domain/Ids.js"
import { makeIdentifiers } from "../../src/runtime/process/Crypto.js"
import { layer } from "../../src/runtime/oauth/UnstoredTokens.js"

const identifiers = makeIdentifiers()
const answerOf = (connectionId: ConnectionId, number: number) => ({
  connectionId,
  organisationId: "org_00000000000000000000000001",
  credential: { id: identifiers.next("cred") as CredentialId, number, sealed: Uint8Array.of(1, 2, 250) },
  scopes: ["read"],
  intent: { refreshSeq: number, tokenHash: "a", attempt: 1, process: "p", at: 5 }
})

/** A data directory, with the files of its next process. */
const makeFiles = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(inject("dataDirectory"), "svc-tokens-"))),
    (dataDir) => Effect.sync(() => fs.rmSync(dataDir, { recursive: true }))
  ),
  (dataDir) => ({ folder: path.join(dataDir, "unstored-tokens"), next: Effect.provide(UnstoredTokens, layer(dataDir)) })
)

describe("tokens that are not stored", () => {
  it.scoped("are read by the next process, the last ones of a connection, until they are removed", () =>
    Effect.gen(function* () {
      const { folder, next } = yield* makeFiles
      const [one, other] = [identifiers.next("conn"), identifiers.next("conn")]
      const files = yield* next
      assert.isEmpty(yield* files.ids)
      yield* files.keep(answerOf(one, 2))
      const last = answerOf(one, 3)
      yield* files.keep(last)
      yield* files.keep(answerOf(other, 2))
      assert.sameMembers([...(yield* (yield* next).ids)], [one, other])
      assert.deepStrictEqual(yield* (yield* next).read(one), last)
      assert.strictEqual(fs.statSync(path.join(folder, `${one}.json`)).mode & 0o777, 0o600)
      assert.strictEqual(fs.statSync(folder).mode & 0o777, 0o700)
      yield* files.remove(one)
      yield* files.remove(one)
      assert.deepStrictEqual(yield* files.ids, [other])
    })
  )

  it.scoped("leave nothing of a write that was cut", () =>
    Effect.gen(function* () {
      const { folder, next } = yield* makeFiles
      fs.mkdirSync(folder, { recursive: true })
      fs.writeFileSync(path.join(folder, `${identifiers.next("conn")}.json.draft`), "{")
      assert.isEmpty(yield* (yield* next).ids)
      assert.isEmpty(fs.readdirSync(folder))
    })
  )

  it.scoped("are told from another file, whose text is in no error", () =>
    Effect.gen(function* () {
      const { folder, next } = yield* makeFiles
      const id = identifiers.next("conn")
      fs.mkdirSync(folder, { recursive: true })
      fs.writeFileSync(path.join(folder, `${id}.json`), '{"canary":1}')
      fs.writeFileSync(path.join(folder, "notes.json"), "{}")
      const files = yield* next
      assert.deepStrictEqual(yield* files.ids, [id])
      const { reason } = yield* Effect.flip(files.read(id))
      assert.include(reason, `${id}.json is no file of svc: remove it`)
      assert.notInclude(reason, "canary")
    })
  )
})
