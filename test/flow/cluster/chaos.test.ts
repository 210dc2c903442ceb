/** A cluster whose nodes come and go keeps its promises: `npm run chaos` runs it. What it draws, and its command, are tested. */
import { assert, describe, it } from "@effect/vitest"
import { announce } from "../../support/LogExpectations.js"
import { spawnSync } from "node:child_process"
import { runChaos } from "../../support/chaos/Chaos.js"
import { drawFaults } from "../../support/chaos/Plan.js"

const seconds = Number(process.env["SVC_CHAOS_SECONDS"] ?? 60)
const given = process.env["SVC_CHAOS_SEED"]
const seed = Number(given ?? 1)
const logs = process.env["SVC_CHAOS_LOGS"]

describe("a cluster whose nodes are killed, frozen, cut off, stopped and joined", () => {
  it.runIf(given !== undefined)("keeps its promises", { timeout: seconds * 1_000 + 600_000 }, async () => {
    // Whatever the nodes say of faults; what they do is judged.
    announce(/./)
    // Not `console`, which the runner of the tests holds back until the end.
    const print = (line: string) => void process.stdout.write(`${line}\n`)
    const violations = await runChaos({ seed, durationMillis: seconds * 1_000, logs, print })
    if (violations.length > 0) assert.fail("promises were violated")
  })
})

describe("what a trial draws", () => {
  it("is the same for a seed, of every kind, and within its time", () => {
    const minute = drawFaults(7, 60_000)
    assert.deepStrictEqual(drawFaults(7, 60_000), minute)
    assert.notDeepEqual(drawFaults(8, 60_000), minute)
    assert.isTrue(minute.length > 15 && minute.every(({ atMillis }) => atMillis < 60_000))
    const kinds = new Set(drawFaults(7, 3_600_000).map(({ kind }) => kind))
    assert.sameMembers([...kinds], ["kill", "stop", "freeze", "cut", "slow", "join", "partition", "broker"])
  })
})

describe("npm run chaos", () => {
  const run = (...words: ReadonlyArray<string>) =>
    spawnSync(process.execPath, ["scripts/chaos.mjs", ...words], { encoding: "utf8" })

  it("tells its options", () => {
    const { status, stdout } = run("--help")
    assert.strictEqual(status, 0)
    for (const option of ["--duration", "--seed", "--logs"]) assert.include(stdout, option)
  })

  it.each([
    [["--duration", "3s"], "--duration is a time from 5s to 60m"],
    [["--duration", "soon"], "--duration is a time from 5s to 60m"],
    [["--seed=-1"], "--seed is a whole number"],
    [["--seed", "-1"], "--help shows the options"],
    [["--nodes"], "Unknown option '--nodes'"],
    [["now"], "Unexpected argument 'now'"]
  ])("refuses %j in one sentence", (words, sentence) => {
    const { status, stderr } = run(...words)
    assert.strictEqual(status, 2)
    assert.include(stderr, sentence)
    assert.lengthOf(stderr.trim().split("\n"), 1)
  })
})
