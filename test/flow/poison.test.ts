/** The death of a runner counts against the run that computed in it, and not against the runs beside it. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Ownership } from "../../src/actors/ports/Ownership.js"
import { Runs } from "../../src/actors/ports/run/Runs.js"
import { Sandbox } from "../../src/actors/ports/run/Sandbox.js"
import { WriterSql } from "../support/Sql.js"
import { execution, run, startCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { eventually } from "../support/eventually.js"
import { announce } from "../support/LogExpectations.js"
import { assertSound } from "../support/proofs.js"
import { scaled } from "../support/slowness.js"

/** Every test kills runners, some during their start, and also computing workers, whose command line is the same. */
announce(/"sandbox\.runner_(?:replaced|not_started)"|"computing\.worker\.replaced"/)

beforeAll(() => startCalls())
afterAll(async () => {
  await assertSound(async (target) => (await svc.ask("GET", target, { key: svc.first.key })).body)
  await stopCalls()
  assert.isEmpty(runners(), "no runner is left")
})

const childrenOf = (pid: number): ReadonlyArray<number> => {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number)
    )
  } catch {
    return []
  }
}
/** The processes of the runners below those of their jails, with the CPU ticks that each has used. */
const runners = (pid = process.pid): ReadonlyArray<{ readonly pid: number; readonly ticks: number }> =>
  childrenOf(pid).flatMap((child) => {
    const below = runners(child)
    if (below.length > 0) return below
    try {
      if (!readFileSync(`/proc/${child}/cmdline`, "utf8").includes("svc-runner")) return []
      const fields = readFileSync(`/proc/${child}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ")
      return [{ pid: child, ticks: Number(fields[11]) + Number(fields[12]) }]
    } catch {
      return []
    }
  })

const moment = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Kills the runner that computes, again and again until `isOver`. Returns the killed processes. */
const killWhatComputes = async (isOver: () => boolean) => {
  // More than a start takes, and less than the CPU time that a step may take.
  const fewTicks = 60
  const killed = new Array<number>()
  const seen = new Map<number, number>()
  for (; !isOver(); await moment(50)) {
    for (const { pid, ticks } of runners()) {
      const idle = seen.get(pid)
      // The first sample is the cost of its start; much more is computing.
      if (idle === undefined) seen.set(pid, ticks)
      else if (ticks - idle > fewTicks && !killed.includes(pid)) {
        killed.push(pid)
        process.kill(pid, "SIGKILL")
      }
    }
  }
  return killed
}

const computes = "for (;;);"

/** The run is a dead letter, which one request of two runs again, and a replay of many leaves alone. */
const isRunAgainOnRequest = async (workflowId: string) => {
  const { key } = svc.first
  const list = () => svc.ask("GET", "/api/v1/dlq?code=POISONED", { key })
  const [letter, ...others] = (await list()).body.data
  assert.isEmpty(others)
  assert.deepStrictEqual(
    [letter.eventId, letter.type, letter.status, letter.context.workflowId],
    [null, "execution.poisoned", "pending", workflowId]
  )
  const many = await svc.ask("POST", "/api/v1/dlq/replay", { key, body: { filter: { code: "POISONED" } } })
  assert.strictEqual(many.status, 202, many.text)
  const replay = `/api/v1/dlq-replays/${many.body.data.id}`
  const { replayed } = await eventually(
    async () => (await svc.ask("GET", replay, { key })).body.data,
    ({ status }) => status === "finished"
  )
  assert.strictEqual(replayed, 0)
  const ask = () => svc.ask("POST", `/api/v1/dlq/${letter.id}/replay`, { key, body: {} })
  const answers = await Promise.all([ask(), ask()])
  const [again, ...more] = [...new Set(answers.flatMap(({ body }) => body.data?.executionId ?? []))]
  assert.isEmpty(more, "both requests name one run")
  assert.notStrictEqual(again, letter.executionId)
  // On a busy machine it may reach the limit of a step's CPU time.
  const ended = await eventually(
    () => execution(again),
    ({ status }) => status === "completed" || status === "failed"
  )
  assert.notStrictEqual(ended.error?.code, "POISONED")
  assert.deepStrictEqual([(await list()).body.data[0].status, (await ask()).status], ["replayed", 409])
}

const terminal = (id: string) =>
  eventually(
    () => execution(id),
    ({ status }) => status === "completed" || status === "failed",
    500_000
  )

describe("A run that takes its runner down", () => {
  it(
    "is retried in runners of its own, and fails as poisoned after five deaths",
    { timeout: scaled(600_000) },
    async () => {
      // Five deaths and the pauses between them take longer than an Instant run may, on a slow machine.
      const [bad, good] = [await workflow(computes, "standard"), await workflow(`return await svc.state.get("k")`)]
      const waiting = await workflow("await new Promise((r) => setTimeout(r, 900)); return 'unharmed'", "standard")
      // Its guest is in the runner that is killed first.
      const beside = await run(waiting)
      let isOver = false
      const { body } = await run(bad)
      const ended = terminal(body.executionId).finally(() => {
        isOver = true
      })
      const killed = await killWhatComputes(() => isOver)
      assert.strictEqual((await ended).error?.code, "POISONED", JSON.stringify(await ended))
      // Some died during their start, which counts against no run.
      assert.isAtLeast(killed.length, 5)
      assert.strictEqual((await terminal(beside.body.executionId)).output, "unharmed")
      assert.strictEqual((await run(good)).status, 200)
      await isRunAgainOnRequest(bad)
      await eventually(
        async () => runners().length,
        // A runner, a spare one and a computing worker.
        (left) => left <= 3
      )
    }
  )
})

describe("The calls of a run whose guest is lost", () => {
  it("continue, and are sent once", async () => {
    const asked = new Map<string, number>()
    const server = createServer((request, response) => {
      const path = request.url ?? ""
      asked.set(path, (asked.get(path) ?? 0) + 1)
      setTimeout(() => response.end("ok"), path === "/0" ? 100 : 1500)
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const id = await workflow(
      "const all = []; for (let i = 0; i < 20; i++) all.push(fetch(ctx.input.url + i)); return (await Promise.all(all)).length"
    )
    const answer = run(id, { url })
    await eventually(
      async () => asked.size,
      (size) => size === 20
    )
    for (const { pid } of runners()) process.kill(pid, "SIGKILL")
    assert.strictEqual((await answer).body, 20, (await answer).text)
    server.close()
    assert.deepStrictEqual([...new Set(asked.values())], [1])
  })
})

describe("The activations of a run", () => {
  const rows = (id: string) =>
    svc.run(
      Effect.flatMap(
        WriterSql,
        (sql) => sql<{ activations: number; epoch: number }>`SELECT activations, epoch FROM runs WHERE id = ${id}`
      )
    )

  it("count from its start, and not after the process has survived it", async () => {
    const id = await workflow(
      "await svc.state.set('k', 1); for (let i = 0; i < 40; i++) await new Promise((r) => setTimeout(r, 150)); return 1",
      "standard"
    )
    const started = await run(id)
    const executionId = String(started.body.executionId ?? started.body.data?.executionId)
    const first = await eventually(
      () => rows(executionId),
      ([row]) => row !== undefined && row.epoch > 1
    )
    assert.strictEqual(first[0]?.activations, 1)
    const later = await eventually(
      () => rows(executionId),
      ([row]) => row?.activations === 0
    )
    assert.strictEqual(later[0]?.activations, 0)
    assert.strictEqual((await execution(executionId))?.status, "running")
    // Of an earlier epoch, and therefore ignored.
    await svc.run(
      Effect.flatMap(Runs, (runs) =>
        Effect.zipRight(
          runs.takeOver(executionId as Parameters<typeof runs.takeOver>[0]),
          runs.clearActivations([
            { id: executionId as Parameters<typeof runs.takeOver>[0], epoch: first[0]?.epoch ?? 0 }
          ])
        )
      )
    )
    assert.strictEqual((await rows(executionId))[0]?.activations, 1)
    // It wrote something since its start, so that another death would not make it a suspect.
    const due = await svc.run(
      Effect.gen(function* () {
        const [runs, { engines }, ownership] = [yield* Runs, yield* Sandbox, yield* Ownership]
        return yield* runs.findDue(ownership.ownedShards(), [], 100, engines)
      })
    )
    assert.strictEqual(due.find(({ id }) => id === executionId)?.activations, 0)
  })
})
