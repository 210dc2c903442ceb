/** Functions that write a workflow, start it in the sandbox and answer its host calls. */
import { Effect } from "effect"
import type { Json } from "../../src/domain/Json.js"
import type {
  GuestError,
  GuestEvent,
  GuestLimits,
  GuestOutput,
  GuestSession,
  Program,
  SandboxFailure,
  Turn as PortTurn,
  TurnAnswer
} from "../../src/actors/ports/run/Sandbox.js"
import { Sandbox } from "../../src/actors/ports/run/Sandbox.js"
import { ownerOf } from "./shareOwners.js"

/** A turn, and the session that it leaves, by effects. */
export interface Turn extends PortTurn {
  readonly session: {
    readonly feed: (events: ReadonlyArray<GuestEvent>) => Effect.Effect<Turn, SandboxFailure>
    readonly close: Effect.Effect<void>
    readonly guest: GuestSession
  }
}

/** Without an owner it is of the organisation that its key names first. */
type WrittenProgram = Omit<Program, "owner"> & Partial<Pick<Program, "owner">>

const tenantOf = ({ key }: WrittenProgram) => ownerOf(key.split(/[:|/]/, 1)[0] ?? key)

/** The sandbox by effects: interrupting a start closes its guest. */
export const effectSandbox = Effect.map(Sandbox, (sandbox) => ({
  ...sandbox,
  start: (
    program: WrittenProgram,
    limits: GuestLimits,
    first: GuestEvent,
    replay: ReadonlyArray<GuestEvent> = []
  ): Effect.Effect<Turn, SandboxFailure> =>
    Effect.async((resume) => {
      const opened = sandbox.start({ owner: tenantOf(program), ...program }, limits, [first, ...replay], (answer) =>
        queueMicrotask(() => settle(answer))
      )
      const session: Turn["session"] = {
        feed: (events) =>
          Effect.async((resumed) => {
            opened.feed(events, (answer) => resumed(turnOf(answer)))
            return Effect.sync(opened.close)
          }),
        close: Effect.sync(opened.close),
        guest: opened
      }
      const turnOf = (answer: TurnAnswer) =>
        answer._tag === "Turn" ? Effect.succeed({ ...answer, session }) : Effect.fail(answer)
      const settle = (answer: TurnAnswer) => resume(turnOf(answer))
      return Effect.sync(opened.close)
    })
}))

export const limits: GuestLimits = { memoryBytes: 128 * 1024 * 1024, cpuPerStepMillis: 2000 }

/** A program whose workflow has this body; `ctx` is in scope. Equal bodies are the same program. */
export const program = (body: string, tenant = "org_test"): Program => ({
  owner: ownerOf(tenant),
  key: `${tenant}:${body}`,
  script: `"use strict";(() => { globalThis.__workflow = async function (ctx) {\n${body}\n} })();`
})

export const startEvent = (ctx: Json = { input: {} }, now = 1_700_000_000_000): GuestEvent => ({
  t: "start",
  now,
  seed: [11, 22, 33, 44],
  ctx
})

export const doneEvent = (id: number, v: Json, now = 1_700_000_001_000): GuestEvent => ({
  t: "done",
  id,
  now,
  ok: true,
  v
})
export const failedEvent = (id: number, e: GuestError, now = 1_700_000_001_000): GuestEvent => ({
  t: "done",
  id,
  now,
  ok: false,
  e
})

export const begin = (body: string, ctx?: Json, limitsOf = limits, tenant?: string) =>
  Effect.flatMap(effectSandbox, (sandbox) => sandbox.start(program(body, tenant), limitsOf, startEvent(ctx)))

export const lastOutputs = (turn: Turn): ReadonlyArray<GuestOutput> => turn.outputs.at(-1) ?? []
export const end = (turn: Turn): GuestOutput | undefined =>
  turn.outputs.flat().find((output) => output.t === "ret" || output.t === "throw")
export const calls = (turn: Turn) => turn.outputs.flat().filter((output) => output.t === "call")

/** Runs a workflow without host calls and returns its output. Dies if the workflow throws. */
export const result = (body: string, ctx?: Json): Effect.Effect<Json, SandboxFailure, Sandbox> =>
  Effect.map(begin(body, ctx), (turn) => {
    const ended = end(turn)
    if (ended?.t !== "ret") throw new Error(`no result but ${JSON.stringify(ended ?? turn.outputs)}`)
    return ended.v
  })

/** Runs a workflow and returns the error that it throws. */
export const errorOf = (body: string, ctx?: Json) =>
  Effect.map(begin(body, ctx), (turn) => {
    const ended = end(turn)
    if (ended?.t !== "throw") throw new Error(`nothing thrown but ${JSON.stringify(ended ?? turn.outputs)}`)
    return ended.e
  })

type Answer = { readonly ok: true; readonly v: Json } | { readonly ok: false; readonly e: GuestError }

/** Runs a workflow to its end and answers each host call. Returns the end and all calls. */
export const runToEnd = Effect.fn(function* (
  body: string,
  host: (name: string, args: ReadonlyArray<Json>) => Answer,
  ctx?: Json
) {
  let turn = yield* begin(body, ctx)
  let now = 1_700_000_000_000
  const made: Array<{ readonly name: string; readonly args: ReadonlyArray<Json> }> = []
  const open: Array<GuestEvent> = []
  for (;;) {
    for (const { args, id, name } of calls(turn)) {
      made.push({ name, args })
      open.push({ t: "done", id, now: (now += 1000), ...host(name, args) })
    }
    const ended = end(turn)
    if (ended !== undefined) return { ended, made }
    const next = open.shift()
    if (next === undefined) throw new Error(`stuck after ${made.map(({ name }) => name).join()}`)
    turn = yield* turn.session.feed([next])
  }
})
