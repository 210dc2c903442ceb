/** The rows of steps that are more than a host call: their states, as the guest reports them. Contract: step trace. */
import { type Json, JsonText } from "../../../domain/Json.js"
import type { Scrubber } from "../../../domain/access/Redaction.js"
import type { StepRow } from "../../ports/run/Journal.js"
import type { GuestOutput, StepFailure, StepOutput } from "../../ports/run/Sandbox.js"
import { type CallStep, iso, lastName, type Offload, type Recorded, stepValue, storable } from "./Trace.js"

/** The step that a call belongs to; `undefined` outside of steps. */
export const callStep = ({ of, own, p, z }: Extract<GuestOutput, { t: "call" }>): CallStep | undefined =>
  p === undefined
    ? undefined
    : {
        path: p,
        ...(own === undefined ? {} : { own: { type: own, parent: of ?? null } }),
        ...(z === undefined ? {} : { missing: z })
      }

/** Adds a row to those of a change, which has one for each step: its latest state. */
export const putStepRow = (rows: Array<StepRow>, row: StepRow): void => {
  const before = rows.findLastIndex(({ index }) => index === row.index)
  if (before < 0) rows.push(row)
  else rows[before] = row
}

const failureJson = (failure: StepFailure | undefined, scrub: Scrubber): Json =>
  failure === undefined
    ? null
    : {
        name: failure.name,
        message: storable(scrub.scrubText(failure.message)),
        category: failure.category ?? "code",
        ...(failure.code === undefined ? {} : { code: failure.code })
      }

/** The row of a step's state. Blobs that it needs are added to `recorded`. `at`: the time of the event, Unix milliseconds. */
export const reportedStepRow = (
  step: StepOutput,
  at: number,
  scrub: Scrubber,
  offload: Offload,
  recorded: Recorded
): StepRow => {
  const isOver = step.s !== "running"
  const head = {
    name: lastName(step.p),
    index: step.r,
    type: step.k,
    path: step.p,
    parent: step.of ?? null,
    ...(step.z === undefined ? {} : { missing: step.z }),
    ...(step.reused === true ? { reused: true } : {}),
    connector: null,
    action: null,
    actionVersion: null,
    attempts: attemptsOf(step, at, isOver, scrub)
  }
  const shown = (value: Json | undefined, characters: number | undefined) =>
    characters === undefined
      ? stepValue(value ?? null, undefined, scrub, offload, recorded)
      : JSON.stringify({ $omitted: "larger than a step shows: read its parts", characters })
  const output = shown(step.v, step.vSize)
  const input = step.same === true ? output : shown(step.i, step.iSize)
  const tail = {
    error: failureJson(step.e, scrub),
    startedAt: step.s === "skipped" ? null : iso(step.at),
    finishedAt: isOver ? iso(at) : null,
    durationMs: isOver ? Math.max(0, at - step.at) : null
  }
  const record = `${JSON.stringify(head).slice(0, -1)},"input":${input},"output":${output},${JSON.stringify(tail).slice(1)}`
  return { index: step.r, status: step.s, path: step.p, record: new JsonText(record) }
}

/** The failed attempts, and the one that ended the step. */
const attemptsOf = ({ a = [], at, e, reused, s }: StepOutput, end: number, isOver: boolean, scrub: Scrubber): Json => {
  const failed = a.map((one) => ({ startedAt: iso(one.at), finishedAt: iso(one.to), error: failureJson(one.e, scrub) }))
  if (!isOver || s === "skipped" || reused === true) return failed
  const last = a.at(-1)
  return s === "failed" && last !== undefined
    ? failed
    : [...failed, { startedAt: iso(last?.to ?? at), finishedAt: iso(end), error: failureJson(e, scrub) }]
}
