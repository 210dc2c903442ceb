/** A sandbox in memory. A guest is a generator of host calls; a test decides when a guest is lost. */
import { Effect } from "effect"
import {
  type GuestError,
  type GuestEvent,
  type GuestOutput,
  type Program,
  Sandbox,
  type GuestSession,
  SessionLost,
  type TurnAnswer
} from "../../src/actors/ports/run/Sandbox.js"
import type { Json } from "../../src/domain/Json.js"

export interface HostRequested {
  readonly name: string
  readonly args: ReadonlyArray<Json>
}

/** Yields host calls one at a time and receives their results. Its return value is the output of the run. */
export type Guest = (ctx: Json) => Generator<HostRequested, Json, Json>

export const call = (name: string, ...args: ReadonlyArray<Json>): HostRequested => ({ name, args })

/** A guest that computes for ever. */
export const endless: Guest = function* () {
  return yield { name: "none", args: [] }
}

/** `guests`: guests by the script of their workflow. */
type Fed =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: Pick<GuestError, "name" | "message" | "data"> }

const resultOf = (event: Exclude<GuestEvent, { t: "start" }>): Fed => {
  if ("v" in event) return { ok: true, value: event.v }
  if ("e" in event) return { ok: false, error: event.e }
  const value = JSON.parse(typeof event.json === "string" ? event.json : Buffer.from(event.json).toString())
  return event.ok ? { ok: true, value } : { ok: false, error: value }
}

export const makeScriptedSandbox = (guests: { readonly [script: string]: Guest }) => {
  const started: Array<Program> = []
  const losses: Array<SessionLost["reason"]> = []
  let open = 0

  const begin = (script: string) => {
    const guest = guests[script]
    if (guest === undefined) throw new Error(`no guest has the script ${script}`)
    let calls = 0
    let running: ReturnType<Guest> | undefined
    const outputs = (next: IteratorResult<HostRequested, Json>): ReadonlyArray<GuestOutput> =>
      next.done === true ? [{ t: "ret", v: next.value }] : [{ t: "call", id: calls++, ...next.value }]
    const take = (event: GuestEvent): ReadonlyArray<GuestOutput> => {
      try {
        if (event.t === "start") {
          running = guest(event.ctx)
          return outputs(running.next(null))
        }
        if (running === undefined) throw new Error("fed before its start")
        const fed = resultOf(event)
        if (fed.ok) return outputs(running.next(fed.value))
        const { data, message, name } = fed.error
        return outputs(running.throw(Object.assign(new Error(message), { name, data })))
      } catch (cause) {
        const { message, name } = cause instanceof Error ? cause : new Error(String(cause))
        const data = cause instanceof Error && "data" in cause ? { data: cause.data as Json } : {}
        return [{ t: "throw", e: { name, message, ...data } }]
      }
    }
    return take
  }

  const sandbox = Sandbox.of({
    engine: "memory",
    engines: ["memory"],
    jail: Effect.succeed({ level: "none", detail: "in memory" }),
    start: (program, _, events, done) => {
      started.push(program)
      open++
      let isClosed = false
      const session: GuestSession = {
        feed: (fed, done) => turn(fed, done),
        whenSent: (then) => then(),
        close: () => {
          if (!isClosed) open--
          isClosed = true
        }
      }
      const take = guests[program.script] === endless ? undefined : begin(program.script)
      const turn = (fed: ReadonlyArray<GuestEvent>, done: (answer: TurnAnswer) => void): void => {
        if (take === undefined) return
        const reason = losses.shift()
        if (reason === undefined) return done({ _tag: "Turn", outputs: fed.map(take), cpuMillis: 1, memoryBytes: 1 })
        session.close()
        done(new SessionLost({ reason }))
      }
      turn(events, done)
      return session
    }
  })

  return {
    sandbox,
    /** Every program that was started, in order. */
    started,
    /** The reasons for which the next turns lose their guests, in order. */
    losses,
    /** The number of guests that were started and not yet released. */
    openGuests: () => open
  }
}
