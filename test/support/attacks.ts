/**
 * Attacks beside two neighbours, over the public interface: each ends as its own typed failure, the service answers
 * everybody else meanwhile, and the runs of one neighbour and the queries of the other succeed. `npm run measure` judges
 * the delays and the memory as well (`attackFigures.ts`). `SVC_TEST_LONG=1` repeats each attack until a neighbour has made
 * 200 runs.
 */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { type NeighbourPoll, startPoll } from "./neighbourPoll.js"
import { createSecondOrganisation } from "./secondOrganisation.js"
import {
  type Answer,
  type Attacker,
  attackerOf,
  runBesideNeighbour,
  type Client,
  clientOf,
  type Probe
} from "./neighbours.js"
import type { MemoryGroup } from "./memoryGroup.js"
import { worldOf } from "./World.js"
import { isLong } from "./longForm.js"

/** The neighbour's runs that the long form measures beside each attack, which it repeats: fewer make no percentile. */
const measured = isLong ? 200 : 0
/** Without a pause the neighbours would compute most of what the tests do. */
const neighbourPause = isLong ? 5 : 40

/** What an attack was beside its outcome. */
export interface AttackFigures {
  /** Before the attacks. */
  readonly quiet: Probe
  readonly probe: Probe
  /** By how much the memory of the service grew. */
  readonly mebibytes: number
  /** How much it may at most, if the attack says so. */
  readonly most: number | undefined
  /** How many runs the neighbours have to make meanwhile. */
  readonly leastRuns: number
}
interface AttackJudge {
  readonly judge: (figures: AttackFigures) => void
  readonly judgePolls: (polls: ReturnType<NeighbourPoll["polls"]>) => void
}
let judge: AttackJudge | undefined

/** Has the figures of the attacks of this process judged, by `npm run measure`. */
export const judgeAttacks = (by: AttackJudge): void => {
  judge = by
}

/** The largest resident memory of a process from now on. */
const watchMemory = (pid: number) => {
  const read = () => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024
  const before = read()
  let most = before
  const timer = setInterval(() => (most = Math.max(most, read())), 50)
  return () => {
    clearInterval(timer)
    return Math.max(most, read()) - before
  }
}

/**
 * Starts a service for a test file. `env`: of the service. `origin`: where the neighbour's runs call. `memory`: what the
 * service and its Postgres have; the kernel ends none of their processes.
 */
export const attackedWorld = (env: Readonly<Record<string, string>>, origin?: () => string, memory?: MemoryGroup) => {
  const world = worldOf({ allow: true, env: { SVC_RUNNERS: "2", ...env }, group: memory?.procs })
  const baseUrl = () => world.api().dev.baseUrl
  let thread: Attacker
  let caller: Client
  let querier: Client
  let poll: NeighbourPoll
  let quiet: Probe = { worst: 0, runs: 0, p99: 0 }
  let named = 0
  let calling = ""
  let querying = ""

  const attacker: Client = (...request) => thread.send(...request)

  /** Publishes a workflow. Returns its id, or the refusal. */
  const workflow = async (client: Client, code: string, more: object = {}): Promise<string> => {
    const made = await client("POST", "/api/v1/workflows", {
      name: `flow_${(named += 1)}`,
      form: "code",
      tier: "instant",
      code,
      ...more
    })
    assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    const { id } = made.body.data
    assert.strictEqual((await client("POST", `/api/v1/workflows/${id}/publish`, {})).status, 200)
    return id
  }
  const run = (client: Client, id: string, input: object = {}) =>
    client("POST", `/api/v1/workflows/${id}/execute`, { input })

  const succeeds = async (neighbour: Client, id: string) => {
    const { body: answer, status } = await run(neighbour, id)
    assert.strictEqual(status, 200, JSON.stringify(answer))
    assert.deepInclude(answer, { ok: true }, "a run of the neighbour failed")
  }
  const probed = <A>(body: (count: () => number) => Promise<A>) =>
    runBesideNeighbour(
      {
        baseUrl: baseUrl(),
        runs: [() => succeeds(caller, calling), () => succeeds(querier, querying)],
        pauseMillis: neighbourPause
      },
      body
    )

  beforeAll(async () => {
    await world.start()
    thread = attackerOf(baseUrl, world.api().dev.apiKey)
    caller = clientOf(baseUrl, await createSecondOrganisation(world.dataDir, "Caller"))
    querier = clientOf(baseUrl, await createSecondOrganisation(world.dataDir, "Querier"))
    calling = await workflow(
      caller,
      code(
        `for (let i = 0; i < 3; i++) await (await fetch("${origin?.() ?? world.systems().url}/ok")).text(); return { ok: true }`
      )
    )
    querying = await workflow(
      querier,
      code(`const rows = await svc.db.query("SELECT 1 AS one"); return { ok: rows[0].one === 1 }`)
    )
    poll = await startPoll(querier)
    await run(querier, querying)
    if (judge !== undefined)
      quiet = (await probed(() => new Promise((resolve) => setTimeout(resolve, isLong ? 6_000 : 3_000)))).probe
  })
  afterAll(async () => {
    await thread.stop()
    judge?.judgePolls(poll.polls())
    await poll.stop()
    const kills = memory?.kills() ?? 0
    await world.stop()
    memory?.remove()
    assert.strictEqual(kills, 0, "the kernel ended processes for want of memory")
  })

  /** Asserts that the attack ends as `ends` expects, and that no run of a neighbour fails. */
  const vector = (
    name: string,
    attack: () => Promise<Answer>,
    ends: (answer: Answer) => void,
    {
      millis = 120_000,
      leastRuns = 1,
      most
    }: { readonly millis?: number; readonly leastRuns?: number; readonly most?: number } = {}
  ) =>
    it(name, { timeout: millis }, async () => {
      const memory = watchMemory(world.pid())
      const { probe, value: answers } = await probed(async (count) => {
        const answers: Array<Answer> = []
        do answers.push(await attack())
        while (count() < measured)
        return answers
      })
      const mebibytes = memory()
      for (const answer of answers) ends(answer)
      judge?.judge({ quiet, probe, mebibytes, most, leastRuns })
    })

  return { world, baseUrl, attacker, workflow, run, vector }
}

export const code = (body: string) => `export default async function (ctx) { ${body} }`

/** Expects a failed run with this code or name. */
export const failedWith =
  (expected: RegExp) =>
  ({ body, status }: Answer) => {
    assert.strictEqual(status, 200)
    assert.match(`${body.error?.code} ${body.error?.name} ${body.error?.message}`, expected, JSON.stringify(body))
  }
export const refusedWith =
  (expected: number, detail: RegExp) =>
  ({ body, status }: Answer) => {
    assert.strictEqual(status, expected, JSON.stringify(body))
    assert.match(JSON.stringify(body), detail)
  }
/** Expects any outcome except an error of the service. */
export const answered = ({ body, status }: Answer) => assert.isBelow(status, 500, JSON.stringify(body))
