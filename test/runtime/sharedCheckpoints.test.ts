/** The checkpoints of each node come to the files of all; what an attacker does to the table changes no file. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { createHmac, randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { OrganisationId } from "../../src/domain/Ids.js"
import { type CheckpointFile, openCheckpoints } from "../../src/runtime/audit/Checkpoints.js"
import { makeSharedCheckpoints } from "../../src/runtime/audit/SharedCheckpoints.js"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { layer as database, ownerSql } from "../support/Database.js"
import { layer as withLayer } from "../support/layer.js"
import { announce } from "../support/LogExpectations.js"

const org = (n: number) => `org_${n}` as OrganisationId
const hashOf = (seq: number, branch = "a") => `${branch}${seq}`

const pepper = randomBytes(32)
const sign = (text: string) => createHmac("sha256", pepper).update(text).digest("hex")

const directory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "svc-checkpoints-"))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true }))
)

interface Node {
  readonly file: CheckpointFile
  readonly shared: ReturnType<typeof makeSharedCheckpoints>
  /** What its file says when it is read again. */
  readonly reread: () => CheckpointFile
}

/** Nodes of one installation on an empty table. */
const nodes = Effect.fnUntraced(function* (count: number) {
  const owner = yield* ownerSql
  yield* owner`DELETE FROM audit_checkpoints`
  const sql = yield* WriterSql
  const folder = yield* directory
  return Array.from({ length: count }, (_, n): Node => {
    const at = path.join(folder, `${n}.jsonl`)
    const file = openCheckpoints(at, sign)
    return { file, shared: makeSharedCheckpoints(sql, file), reread: () => openCheckpoints(at, sign) }
  })
})

/** Extends the chain in the database, and has the node write its checkpoint. */
const extend = Effect.fnUntraced(function* ({ file, shared }: Node, of: OrganisationId, seq: number, branch = "a") {
  const owner = yield* ownerSql
  yield* owner`INSERT INTO audit_seal (org, seq, entry_id, prev_hash, hash)
    SELECT ${of}, n, ${of} || ${branch} || n, NULL, ${branch} || n
    FROM generate_series((SELECT COALESCE(max(seq), 0) + 1 FROM audit_seal WHERE org = ${of}), ${seq}::bigint) n`
  file.extended({ organisationId: of, seq, hash: hashOf(seq, branch) })
  yield* shared.share(yield* file.write({ all: true }))
})

/** Takes the end of a chain away, as a restore of older data does. */
const cut = (of: OrganisationId, after: number) =>
  Effect.flatMap(ownerSql, (owner) =>
    owner.withTransaction(
      Effect.gen(function* () {
        yield* owner`ALTER TABLE audit_seal DISABLE TRIGGER USER`
        yield* owner`DELETE FROM audit_seal WHERE org = ${of} AND seq > ${after}`
        yield* owner`ALTER TABLE audit_seal ENABLE TRIGGER USER`
      })
    )
  )

const seqsOf = ({ file, reread }: Node, of: OrganisationId) => [file, reread()].map((one) => one.latest(of)?.seq)

const pair = Effect.map(nodes(2), ([first, second]) => {
  if (first === undefined || second === undefined) throw new Error("there are two nodes")
  return { first, second }
})

describe("the checkpoints of nodes", () => {
  withLayer(database, { excludeTestServices: true })((it) => {
    it.effect("come to the file of every node, each the newest", () =>
      Effect.gen(function* () {
        const { first, second } = yield* pair
        yield* extend(first, org(1), 10)
        yield* extend(second, org(2), 5)
        yield* Effect.all([first.shared.adopt, second.shared.adopt])
        for (const node of [first, second]) {
          assert.deepStrictEqual(seqsOf(node, org(1)), [10, 10])
          assert.deepStrictEqual(seqsOf(node, org(2)), [5, 5])
        }
        // The shard moves: the other node extends the chain.
        yield* extend(second, org(1), 20)
        yield* first.shared.adopt
        assert.deepStrictEqual(seqsOf(first, org(1)), [20, 20])
        // What the node before still had to write is older now.
        first.file.extended({ organisationId: org(1), seq: 15, hash: hashOf(15) })
        assert.isEmpty(yield* first.file.write({ all: true }))
        assert.deepStrictEqual(seqsOf(first, org(1)), [20, 20])
      }).pipe(Effect.scoped)
    )

    it.effect("are adopted in pages, and lines that were adopted are written once", () =>
      Effect.gen(function* () {
        const { first, second } = yield* pair
        const many = 2_500
        for (let n = 0; n < many; n++) first.file.extended({ organisationId: org(1_000 + n), seq: 1, hash: hashOf(1) })
        yield* first.shared.share(yield* first.file.write({ all: true }))
        yield* second.shared.adopt
        assert.lengthOf(second.file.all(), many)
        yield* second.shared.adopt
        assert.lengthOf(second.reread().lines(), many)
        assert.isEmpty(second.file.newsIn(first.file.lines().map((line) => JSON.stringify(line))))
      }).pipe(Effect.scoped)
    )

    it.effect("are not changed by lines that are forged, put back, or no lines", () =>
      Effect.gen(function* () {
        const { first, second } = yield* pair
        const owner = yield* ownerSql
        yield* extend(first, org(3), 10)
        const older = JSON.stringify(first.file.latest(org(3)))
        yield* extend(first, org(3), 20)
        yield* second.shared.adopt
        const newest = first.file.latest(org(3))
        for (const line of [older, JSON.stringify({ ...newest, seq: 99 }), "5", "null", "{", '{"closed":null}', "[]"]) {
          yield* owner`UPDATE audit_checkpoints SET line = ${line}, written_at = now() WHERE org = ${org(3)}`
          yield* second.shared.adopt
          assert.deepStrictEqual(seqsOf(second, org(3)), [20, 20], line)
        }
      }).pipe(Effect.scoped)
    )

    it.effect("take no older one's place where the chain was rewritten, and the log says so", () =>
      Effect.gen(function* () {
        announce(/"audit\.chain_changed"/, { required: true })
        const { first, second } = yield* pair
        yield* extend(first, org(4), 10)
        yield* second.shared.adopt
        yield* cut(org(4), 5)
        yield* extend(first, org(4), 30, "b")
        yield* second.shared.adopt
        assert.deepStrictEqual(seqsOf(second, org(4)), [10, 10])
      }).pipe(Effect.scoped)
    )

    it.effect("of a branch that one node closed are dropped by all, and the chain goes on", () =>
      Effect.gen(function* () {
        const { first, second } = yield* pair
        yield* extend(first, org(5), 10)
        yield* second.shared.adopt
        yield* extend(first, org(5), 12)
        const lost = JSON.stringify(first.file.latest(org(5)))
        yield* cut(org(5), 6)
        const last = second.file.latest(org(5))
        assert.isNotNull(last)
        // The other node starts first on the older data.
        yield* Effect.sleep("2 millis")
        yield* second.file.close(last, { seq: 6, hash: hashOf(6) })
        yield* second.shared.shareAll([org(5)])
        yield* first.shared.adopt
        assert.deepStrictEqual(seqsOf(first, org(5)), [6, 6])
        assert.lengthOf(first.file.closedBranches(org(5)), 1)
        assert.isEmpty(first.file.newsIn([lost]), "a checkpoint of the lost branch comes back")
        yield* extend(second, org(5), 9, "b")
        yield* first.shared.adopt
        yield* first.shared.adopt
        assert.deepStrictEqual(seqsOf(first, org(5)), [9, 9])
        assert.lengthOf(first.reread().closedBranches(org(5)), 1)
      }).pipe(Effect.scoped)
    )
  })
})
