/**
 * The machine of a run: what it asks for and in which order, by single events and over random orders of them, with lost
 * guests, deaths of the process and fenced commits, against a reference that makes one call after the other. The long form
 * is `npm run test:machine`.
 */
import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { CallPrediction } from "../../src/actors/execution/calls/CallPrediction.js"
import type { MachineCommand, MachineEvent } from "../../src/actors/execution/machine/Messages.js"
import { RunMachine } from "../../src/actors/execution/machine/RunMachine.js"
import { ChangeRefused, ClaimTaken } from "../../src/actors/ports/run/Journal.js"
import type { GuestOutput } from "../../src/actors/ports/run/Sandbox.js"
import {
  type CallName,
  machineParts,
  MachineWorld,
  numbersOf,
  type Program,
  resultOf,
  startingSpec
} from "../support/machineWorld.js"

const turned = (...outputs: ReadonlyArray<GuestOutput>): MachineEvent => ({
  _tag: "Turned",
  answer: { _tag: "Turn", outputs: [outputs], cpuMillis: 1, memoryBytes: 1 }
})
const callOf = (name: CallName, id: number): GuestOutput => ({ t: "call", id, name, args: [id] })
const committed: MachineEvent = { _tag: "Committed", failure: undefined }
const tagsOf = (commands: ReadonlyArray<MachineCommand>) => commands.map(({ _tag }) => _tag)
const changesOf = (commands: ReadonlyArray<MachineCommand>) =>
  commands.flatMap((command) => (command._tag === "Commit" ? [command.change] : []))

/** A machine whose program made `calls` calls to the outside the last time. */
const machineAfter = (calls: number) => {
  const prediction = new CallPrediction()
  const machine = new RunMachine(
    startingSpec(),
    machineParts(() => 0, prediction)
  )
  prediction.learn(machine.progress.program, calls)
  return { machine, step: (event: MachineEvent) => machine.step(event, 1_000) }
}

describe("a change of a run", () => {
  it("is committed only when it must be, if no run of the program has made a call yet", () => {
    const { step } = machineAfter(0)
    assert.deepStrictEqual(tagsOf(step({ _tag: "Begun" })), ["StartGuest"])
    assert.deepStrictEqual(tagsOf(step(turned(callOf("fetch", 0)))), ["Commit"])
    assert.deepStrictEqual(tagsOf(step(committed)), ["MakeCall", "Wait"])
  })

  it("is committed while the guest computes, if the last run made another call; the call waits for it, and nothing is written twice", () => {
    const { step } = machineAfter(1)
    const begun = step({ _tag: "Begun" })
    assert.deepStrictEqual(tagsOf(begun), ["Commit", "StartGuest"])
    assert.isDefined(changesOf(begun)[0]?.open)
    assert.deepStrictEqual(tagsOf(step(turned(callOf("fetch", 0)))), [])
    assert.deepStrictEqual(tagsOf(step(committed)), ["MakeCall", "Wait"])
  })

  it("is not committed early once the run has made as many calls as the last one", () => {
    const { machine, step } = machineAfter(1)
    step({ _tag: "Begun" })
    step(turned(callOf("fetch", 0)))
    step(committed)
    const [call] = machine.progress.inFlight.values()
    const ended = step({
      _tag: "CallEnded",
      call: call ?? assert.fail("no call"),
      end: { _tag: "Succeeded", result: { value: 1 } }
    })
    assert.deepStrictEqual(tagsOf(ended), ["Feed"])
  })

  it("commits in order: the end waits for the commit that is in flight", () => {
    const { step } = machineAfter(1)
    step({ _tag: "Begun" })
    assert.deepStrictEqual(tagsOf(step(turned({ t: "ret", v: 1 }))), ["FindMessages"])
    assert.deepStrictEqual(tagsOf(step({ _tag: "MessagesFound", messages: {} })), [])
    const [end] = changesOf(step(committed))
    assert.strictEqual(end?.end?.status, "completed")
    assert.deepStrictEqual(tagsOf(step(committed)), ["AbortCalls", "CloseGuest", "Settle"])
  })

  it("that is refused stops the run at once, and nothing more is asked for", () => {
    const { step } = machineAfter(1)
    step({ _tag: "Begun" })
    const failure = new ClaimTaken({ target: "exec_other", hash: null })
    const stopped = step({ _tag: "Committed", failure })
    assert.deepStrictEqual(stopped.at(-1), {
      _tag: "Settle",
      outcome: { _tag: "Repeated", target: "exec_other", hash: null }
    })
    assert.deepStrictEqual(step(turned(callOf("fetch", 0))), [])
  })

  it("that cannot be stored ends the run with the reason; an end that cannot be stored leaves it to another process", () => {
    const { step } = machineAfter(0)
    step({ _tag: "Begun" })
    step(turned(callOf("fetch", 0)))
    const failure = new ChangeRefused({ reason: "no such value" })
    assert.deepStrictEqual(tagsOf(step({ _tag: "Committed", failure })), ["AbortCalls", "CloseGuest", "FindMessages"])
    const [end] = changesOf(step({ _tag: "MessagesFound", messages: {} }))
    assert.include(JSON.stringify(end?.end?.error), "no such value")
    const last = step({ _tag: "Committed", failure }).at(-1)
    assert(last?._tag === "Settle")
    assert.strictEqual(last.outcome._tag, "Unwritten")
  })
})

describe("a run", () => {
  it("whose deadline passes gives everything up but the commit in flight, and ends", () => {
    const { step } = machineAfter(1)
    step({ _tag: "Begun" })
    assert.deepStrictEqual(tagsOf(step({ _tag: "DeadlinePassed" })), ["AbortCalls", "CloseGuest", "FindMessages"])
    assert.deepStrictEqual(step(turned(callOf("fetch", 0))), [], "the guest's answer comes too late")
    assert.deepStrictEqual(step({ _tag: "MessagesFound", messages: {} }), [])
    assert.deepStrictEqual(step({ _tag: "DeadlinePassed" }), [], "it is ending already")
    assert.strictEqual(changesOf(step(committed))[0]?.end?.status, "timed_out")
  })

  it("that was ended elsewhere gives everything up and asks for nothing more", () => {
    const { step } = machineAfter(1)
    step({ _tag: "Begun" })
    assert.deepStrictEqual(tagsOf(step({ _tag: "Stopped" })), ["AbortCalls", "CloseGuest"])
    assert.deepStrictEqual(step(committed), [])
    assert.deepStrictEqual(step({ _tag: "DeadlinePassed" }), [])
  })

  it("commits its start when that is overdue, once", () => {
    const { step } = machineAfter(0)
    step({ _tag: "Begun" })
    assert.deepStrictEqual(tagsOf(step({ _tag: "StartOverdue" })), ["Commit"])
    assert.deepStrictEqual(step({ _tag: "StartOverdue" }), [])
  })
})

const names: ReadonlyArray<CallName> = [
  "fetch",
  "fetch",
  "read",
  "write",
  "refused",
  "fails",
  "later",
  "timer.sleep",
  "halts",
  "approval.request"
]

const programOf = (random: () => number): Program =>
  Array.from({ length: Math.floor(random() * 3) }, () =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, () => names[Math.floor(random() * names.length)] ?? "fetch")
  )

/** The same ones each time; `npm run test:machine` tries ten million. */
const orders = Number(process.env["SVC_TEST_ORDERS"] ?? 100_000)

/** Its checks compare by themselves: each assertion of the library would cost as much as a run. */
describe("over random orders of events", () => {
  it(`${orders} runs end as the reference does, whatever is lost in between`, { timeout: 3_600_000 }, async () => {
    const seen = { deaths: 0, fenced: 0, repeated: 0, cancelled: 0 }
    for (let seed = 1; seed <= orders; seed++) {
      // The runner of the tests ends them when a worker is silent for a minute.
      if (seed % 5_000 === 0) await new Promise((resolve) => setImmediate(resolve))
      const random = numbersOf(seed)
      const program = programOf(random)
      const trouble = { loss: random() * 0.2, death: random() * 0.1, fenced: random() < 0.1 ? 0.2 : 0 }
      const world = new MachineWorld(program, random, trouble)
      try {
        const outcome = world.run()
        seen.deaths += world.deaths
        seen.cancelled += world.givenUp.size
        if (outcome._tag === "Fenced") seen.fenced++
        else {
          if (outcome._tag !== "Ended") throw new Error(outcome._tag)
          const { error, output } = outcome.end
          const wanted = resultOf(program, output)
          if (error !== null || !isDeepStrictEqual(output, wanted))
            assert.deepStrictEqual([error, output], [null, wanted])
          const calls = program.flat()
          for (let id = 0; id < calls.length; id++) {
            const made = world.made.get(id) ?? 0
            const isMade = calls[id] === "fetch" && !isDeepStrictEqual(Array.isArray(output) && output[id], "given up")
            if (isMade && made < 1) throw new Error(`call ${id} was not made`)
            if (made > 1) seen.repeated++
            if (world.deaths === 0 && made > (calls[id] === "later" || calls[id] === "approval.request" ? 2 : 1))
              throw new Error(`call ${id} was made ${made} times, and only a death of the process repeats one`)
          }
        }
      } catch (cause) {
        throw new Error(`seed ${seed}: ${JSON.stringify(program)}`, { cause })
      }
    }
    assert.isAbove(
      Math.min(seen.deaths, seen.fenced, seen.repeated, seen.cancelled),
      orders / 1_000,
      "all of it happened"
    )
  })
})
