/**
 * Bytes from outside are counted in the ledger of held bytes before they are joined: every place of the source that joins
 * bytes, or reads rows by a driver, stands here with how it counts them, or why it need not.
 */
import { assert, describe, it } from "@effect/vitest"
import { codeOf, sourceFiles } from "./support/sourceFiles.js"

/** What joins bytes, or makes rows of them. */
const joins =
  /Buffer\.concat\(|\.arrayBuffer\(\)|\.text\(\)|\.blob\(\)|\.bytes\(\)|new GatheredBytes\(|new Client\(|new Query[<(]|PgClient\.fromPool\(|\.toArray\(\)|\.setEncoding\(|text\(stream|buffer\(stream/

interface Reasons {
  readonly [file: string]: string
}

/** The bytes of tenants, clients, providers and databases of tenants. Each takes them from a holding. */
const counted: Reasons = {
  "src/runtime/http/BodyReceiver.ts": "bodies of requests",
  "src/http/execution/BufferedBody.ts": "bodies that the proxy sends again",
  "src/http/rpc/RpcReplies.ts": "answers of providers that become values",
  "src/runtime/egress/Exchange.ts": "answers of providers",
  "src/runtime/workspace/DatabaseSession.ts": "answers of the workspaces' databases"
}

/** Where a file's bytes are taken, if not in the file itself. */
const takers: Reasons = {
  "src/http/execution/BufferedBody.ts": "src/runtime/http/NodeServer.ts",
  "src/runtime/egress/Exchange.ts": "src/runtime/egress/BodyMemory.ts"
}

const own: Reasons = {
  "src/runtime/jail/JailedProcess.ts":
    "frames to a jailed process, of events that are counted and inputs that are bounded",
  "src/runtime/jail/Frames.ts": "one frame of each jailed process, bounded; arguments are then counted by RunMemory",
  "src/runtime/sandbox/runner/Replies.ts": "frames of a runner in its own process, 64 KiB at most",
  "src/runtime/http/Upgrade.ts": "the head of a request, and what came with it in one read",
  "src/runtime/process/Crypto.ts": "digests",
  "src/runtime/egress/Echo.ts": "forms of a secret",
  "src/runtime/backup/Restore.ts": "the operator's archive",
  "src/runtime/backup/Tar.ts": "the operator's archive",
  "src/runtime/backup/Backup.ts": "the operator's database, by a command",
  "src/runtime/embedded/EmbeddedServer.ts": "statements of the service at its start",
  "src/runtime/cluster/Seat.ts": "our own table of nodes",
  "src/runtime/postgres/database/SlowStatements.ts": "one number",
  "src/runtime/supervisor/NodeProcess.ts": "log lines of nodes, 4 MiB at most",
  "src/runtime/supervisor/Control.ts": "answers of the own supervisor, by a command",
  "src/runtime/postgres/database/Roles.ts": "statements of the service at its start",
  "src/http/web/console/ui/OwnImage.ts": "the person's browser",
  "src/http/rpc/client/Upgrade.ts": "the service's refusal, 64 KiB at most, in the client's process",
  "src/runtime/workspace/DatabaseSetup.ts": "statements of the service that create a workspace's database",
  "src/runtime/postgres/journal/Flush.ts": "answers to flushes: ids",
  "src/runtime/postgres/database/Pools.ts":
    "our own tables: pages of lists are bounded, journals are counted as they are read"
}

describe("bytes from outside", () => {
  const found = sourceFiles("src").filter((file) => joins.test(codeOf(file)))

  it("are joined only where they are counted, or are our own", () => {
    assert.deepStrictEqual(
      found.filter((file) => counted[file] === undefined && own[file] === undefined),
      [],
      "count them in a holding of the ledger (src/actors/ports/HeldBytes.ts), and name the place here"
    )
    assert.deepStrictEqual(
      [...Object.keys(counted), ...Object.keys(own)].filter((file) => !found.includes(file)),
      [],
      "these join nothing any more"
    )
  })

  it.each(Object.entries(counted))("in %s (%s) are taken from a holding", (file) => {
    assert.match(codeOf(takers[file] ?? file), /\.(?:tryTake|take)\(|take(?:ForBody|Bytes)\(/)
  })
})
