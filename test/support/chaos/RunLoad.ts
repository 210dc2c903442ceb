/**
 * The work of a trial that becomes runs: numbered webhooks, 202 starts and Instant starts, each sent until it is accepted, as
 * a client does that loses its answer; and runs that are cancelled. Their calls reach a provider that records them.
 */
import { setTimeout as pause } from "node:timers/promises"
import type { Answer } from "../api.js"
import type { Provider } from "../provider.js"
import { makeWebhook } from "../webhooks.js"
import type { TrialNode } from "./Nodes.js"
import type { Trial } from "./Trial.js"

export const steps = 3
/** Webhooks overtake so many others, and are sent at once up to so many times. */
const disorder = 12
const copies = 3
/** A run calls `/<name>/<step>` in this order, and ends with its name. */
const code = (url: string, pauseMillis: number) => `export default async (ctx) => {
  const { name } = ctx.input
  for (let step = 0; step < ${steps}; step++) {
    await (await fetch("${url}/" + name + "/" + step, { method: "POST", body: "x" })).text()
    await new Promise((done) => setTimeout(done, ${pauseMillis}))
  }
  return name
}`
const endless = (url: string) => `export default async (ctx) => {
  for (let step = 0; step < 600; step++) {
    await (await fetch("${url}/" + ctx.input.name + "/" + step, { method: "POST", body: "x" })).text()
    await new Promise((done) => setTimeout(done, 100))
  }
}`

export interface RunLoad {
  /** Sends until the trial is over; resolves when all was accepted. */
  readonly send: () => Promise<void>
  /** The runs that were accepted, by their names, with the id of their execution or event as far as it is known. */
  readonly accepted: ReadonlyMap<string, string>
  /** The workflows whose runs are counted. */
  readonly workflows: ReadonlyArray<string>
  /** The trigger of the webhooks. */
  readonly trigger: string
  /** How many webhooks were accepted, also those that repeat another one. */
  readonly sentEvents: () => number
  /** When a cancel was answered, by the names of the runs, in Unix milliseconds. */
  readonly cancelledAt: ReadonlyMap<string, number>
}

const isDone = ({ status }: Answer) => status === 200 || status === 202

export const makeRunLoad = async (trial: Trial, front: TrialNode, provider: Provider): Promise<RunLoad> => {
  const { client } = front.node
  const event = await client.workflow("event", "standard", code(provider.url, 50))
  const queued = await client.workflow("queued", "standard", code(provider.url, 200))
  const instant = await client.workflow("instant", "instant", code(provider.url, 50))
  const long = await client.workflow("endless", "long", endless(provider.url))
  const hook = await makeWebhook(client, [{ workflowId: event }], { deduplicationKey: "name" })
  const accepted = new Map<string, string>()
  let sentEvents = 0
  const cancelledAt = new Map<string, number>()
  const { ask, insist, tried, violated } = trial

  const execute = (workflow: string, name: string) =>
    ask("POST", `/api/v1/workflows/${workflow}/execute`, { input: { name } }, { "idempotency-key": name })

  const note = (name: string, answer: Answer | undefined, id: (answer: Answer) => string) => {
    tried("accepted")
    if (answer !== undefined) accepted.set(name, id(answer))
  }

  /** Webhooks come in any order, and some of them several times at once. */
  const sendEvent = async (n: number) => {
    const name = `event-${n}`
    await pause(((n * 7_919) % disorder) * 100)
    const answers = await Promise.all(
      Array.from({ length: 1 + (n % copies) }, () => insist(name, () => ask("POST", hook.path, { name }), isDone))
    )
    sentEvents += answers.filter((answer) => answer !== undefined).length
    note(name, answers[0], ({ body }) => body.eventId)
  }
  const startQueued = async (n: number) => {
    const name = `queued-${n}`
    const answer = await insist(name, () => execute(queued, name), isDone)
    note(name, answer, ({ body }) => body.executionId)
  }
  const startInstant = async (n: number) => {
    const name = `instant-${n}`
    // An Instant run has half a minute, which a frozen node may use up.
    const answer = await insist(
      name,
      () => execute(instant, name),
      (one) => isDone(one) || one.status === 408
    )
    note(name, answer, ({ headers }) => headers.get("x-svc-execution-id") ?? "")
    if (answer?.status === 200 && answer.body !== name)
      violated("ends", `${name} was answered ${answer.status} ${JSON.stringify(answer.body)}`)
  }

  const cancel = async (n: number) => {
    const name = `cancelled-${n}`
    const started = await insist(name, () => execute(long, name), isDone)
    note(name, started, ({ body }) => body.executionId)
    if (started === undefined) return
    const id: string = started.body.executionId
    const hasCalled = () => provider.requests.some(({ url }) => url.startsWith(`/${name}/`))
    for (let waited = 0; !hasCalled() && waited < 60_000; waited += 100) await pause(100)
    await pause(300)
    // One that was cancelled by a request whose answer was lost is in another state.
    const answer = await insist(
      `the cancel of ${name} (${id})`,
      () => ask("POST", `/api/v1/executions/${id}/cancel`, {}),
      ({ status }) => status === 200 || status === 409
    )
    if (answer === undefined) return
    cancelledAt.set(name, Date.now())
    const shown = await insist(
      `the read of ${name} (${id})`,
      () => ask("GET", `/api/v1/executions/${id}`),
      ({ status }) => status === 200
    )
    if (shown?.body.data.status !== "cancelled")
      violated("ends", `${name} (${id}) was cancelled and is ${shown?.body.data.status}`)
  }

  return {
    accepted,
    cancelledAt,
    trigger: hook.id,
    sentEvents: () => sentEvents,
    workflows: [event, queued, instant, long],
    send: async () => {
      await Promise.all([
        trial.repeat(4, sendEvent),
        trial.repeat(2, startQueued),
        trial.repeat(1.5, startInstant),
        trial.repeat(0.3, cancel)
      ])
    }
  }
}
