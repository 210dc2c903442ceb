/**
 * What a node divides is divided among accounts (decision 75): a queue takes a `ShareOwner`, which one module makes, and
 * whatever waits round-robin by other keys, or is kept by organisation, stands here with the reason why that is no share.
 */
import { assert, describe, it } from "@effect/vitest"
import { codeOf, sourceFiles } from "./support/sourceFiles.js"

interface Reasons {
  readonly [file: string]: string
}

/** Waits by a key of its own. */
const roundRobin: Reasons = {
  "src/domain/share/RoundRobin.ts": "the class",
  "src/domain/share/FairQueue.ts": "the organisations of an account",
  "src/runtime/egress/ConnectionPlaces.ts": "the origins of an organisation, whose account waits before"
}

/** Keeps something by organisation, or counts by it. */
const byOrganisation: Reasons = {
  "src/actors/PlaceLeases.ts": "places over all nodes, which its users ask for by account",
  "src/actors/ports/run/StartQueue.ts": "runs by account",
  "src/actors/execution/LiveRuns.ts": "runs by account",
  "src/actors/execution/LiveRunTable.ts": "runs by account",
  "src/runtime/postgres/run/StartQueue.ts": "runs by account",
  "src/runtime/nats/CarriedEvents.ts": "runs by account",
  "src/runtime/workspace/SharedSessions.ts": "sessions by account",
  "src/runtime/postgres/organisation/ShareOwners.ts": "a cache of owners",
  "src/runtime/postgres/database/CommitLog.ts": "the number of the last commit",
  "src/runtime/postgres/organisation/UsageDays.ts": "calls that are not yet written",
  "src/runtime/audit/Sealer.ts": "heads of chains",
  "src/runtime/audit/SharedCheckpoints.ts": "checkpoints of chains",
  "src/runtime/audit/Checkpoints.ts": "checkpoints of chains",
  "src/actors/management/watch/WatcherTable.ts": "whose commits are told at once",
  "src/actors/management/run/RunEnds.ts": "whose commits are told at once"
}

/** Makes branded values without a check. */
const brands: Reasons = { "src/domain/share/ShareOwner.ts": "the owners of shares" }

const files = sourceFiles("src")

describe("a share of a node", () => {
  it.each([
    ["waits by another key than its owner", /\bRoundRobin</, roundRobin],
    ["is kept or counted by organisation", /Map<OrganisationId\b|\bmakeTally\(\)|\bperOrganisation\b/, byOrganisation],
    ["has an owner that was made elsewhere", /Brand\.nominal\b|as (?:ShareOwner|OrganisationOwner)\b/, brands]
  ] as const)("never %s", (_, form, reasons) => {
    const found = files.filter((file) => form.test(codeOf(file)))
    assert.deepStrictEqual(
      found.filter((file) => reasons[file] === undefined),
      [],
      "let it wait in a `FairQueue`, or count it by a `ShareOwner` (src/domain/share); name the place here if it is no share"
    )
    assert.deepStrictEqual(
      Object.keys(reasons).filter((file) => !found.includes(file)),
      [],
      "these are none any more"
    )
  })
})
