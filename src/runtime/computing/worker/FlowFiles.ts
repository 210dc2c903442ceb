/**
 * Reads flows' files. A `.flow.js` file is code of a tenant: it is evaluated by an engine of its own in the jailed worker, in
 * a new guest each time, with limits of memory and time, and may make no host call.
 */
import { Either, Schema } from "effect"
import type { ComputationTable, Validated } from "../../../actors/ports/Computations.js"
import type { Detail } from "../../../domain/Failure.js"
import { type FlowFile, flowOfFile } from "../../../domain/flow/FlowFile.js"
import { presentGeneration } from "../../../domain/flow/Generation.js"
import { firstRounded, isSchemaBound } from "../../../domain/LargeIntegers.js"
import { findUnstorable, isObject, type Json, type JsonObject, unstorableMessage } from "../../../domain/Json.js"
import { detailsOf } from "../../../domain/Issues.js"
import { findJsonMistake } from "./JsonMistake.js"
import { findProblem, tooHeavyMessage } from "../../../domain/JsonText.js"
import { decodeStrict } from "../../../domain/SchemaIssues.js"
import { type Engine, makeEngine } from "../../sandbox/runner/Engine.js"
import { GuestStopped } from "../../sandbox/runner/GuestStopped.js"
import { guestState as state } from "../../sandbox/runner/Protocol.js"
import { ProcessorTime } from "../../sandbox/runner/Processor.js"
import { compileFlowFile, placeOf } from "../workflow/FlowFileSource.js"

/** The engine's module, loaded when the first file needs it. */
export type LoadWasm = () => Promise<Uint8Array<ArrayBuffer>>

/** Limits of one evaluation. */
const limits = { memoryBytes: 64 * 1024 * 1024, cpuMillis: 500 }

/** Characters of a message that the file's own code wrote. */
const messageLength = 1_000

type Mistakes = ReadonlyArray<Detail>
type Read = (source: string) => Either.Either<Json, Mistakes> | Promise<Either.Either<Json, Mistakes>>

const mistake = (code: string, message: string, place: object = {}): Either.Either<never, Mistakes> =>
  Either.left([{ path: "", code, message, ...place }])

// --- JSON ---

const readJson: Read = (source) => {
  const text = source.replace(/^\ufeff/, "")
  if (findProblem(text) === "tooHeavy") return mistake("TOO_COSTLY", tooHeavyMessage)
  try {
    const value: Json = JSON.parse(text)
    const rounded = firstRounded(text, isSchemaBound)
    return rounded === undefined
      ? Either.right(value)
      : mistake("INTEGER_ROUNDED", "is an integer beyond 2^53, which a number cannot hold: write it as text", {
          path: rounded
        })
  } catch {
    const { column = 1, line = 1, message = "" } = findJsonMistake(text) ?? {}
    return mistake("SYNTAX_ERROR", `line ${line}, column ${column}: ${message}`, { line, column })
  }
}

// --- Modules ---

/** What an evaluation ends with, or a call that it makes. */
const Output = Schema.Union(
  Schema.Struct({ t: Schema.Literal("ret"), v: Schema.Unknown }),
  Schema.Struct({
    t: Schema.Literal("throw"),
    e: Schema.Struct({
      name: Schema.String,
      message: Schema.String,
      stack: Schema.optional(Schema.String),
      data: Schema.optional(Schema.Unknown)
    })
  }),
  Schema.Struct({ t: Schema.Literal("call"), name: Schema.String }),
  Schema.Struct({ t: Schema.Literal("log", "step") })
)
const readOutputs = Schema.decodeUnknownEither(Schema.parseJson(Schema.Array(Output)))

/** The start of an evaluation: the same time and random numbers each time, so that a file always says the same. */
const start = Buffer.from(JSON.stringify({ t: "start", now: 0, seed: [1, 2, 3, 4], ctx: {} }))

const stopped = ({ reason, thrown }: GuestStopped) => {
  switch (reason) {
    case "cpu":
      return mistake("TOO_COSTLY", `takes more than ${limits.cpuMillis} ms to evaluate: write the flow as data`)
    case "memory":
      return mistake(
        "TOO_COSTLY",
        `takes more than ${limits.memoryBytes / 1024 / 1024} MiB of memory: write the flow as data`
      )
    default:
      return mistake("NOT_EVALUATED", `${thrown.name}: ${thrown.message}`.slice(0, messageLength))
  }
}

const mistakeOf = (
  source: string,
  { data, message, name, stack = "" }: Extract<typeof Output.Type, { t: "throw" }>["e"]
) => {
  const text = message.slice(0, messageLength)
  if (name !== "FlowFileMistake") {
    const place = placeOf(stack, source)
    const at = place === undefined ? "" : `line ${place.line}, column ${place.column}: `
    return mistake("NOT_EVALUATED", `${at}${name.slice(0, 100)}: ${text}`, place)
  }
  const path = typeof data === "object" && data !== null && "path" in data ? String(data.path) : ""
  return Either.left([{ path: path.slice(0, messageLength), code: "INVALID_VALUE", message: text }])
}

const evaluate = async (engine: Engine, source: string): Promise<Either.Either<Json, Mistakes>> => {
  const script = compileFlowFile(source)
  if (Either.isLeft(script)) return Either.left(script.left.map((issue) => ({ path: "", ...issue })))
  let text: string
  try {
    const { instance } = await engine.load(Buffer.from(script.right), limits)
    const answer = engine.step(instance, start)
    if (answer[0] === state.memory || (answer[0] === state.threwNull && engine.isFull(instance)))
      return stopped(new GuestStopped("memory"))
    if (answer[0] === state.tooLarge) return mistake("TOO_COSTLY", "gives too much data")
    text = answer.subarray(1).toString()
  } catch (error) {
    if (error instanceof GuestStopped) return stopped(error)
    throw error
  } finally {
    // V8 does not account for the memory of the engine.
    void globalThis.gc?.()
  }
  if (findProblem(text) === "tooHeavy") return mistake("TOO_COSTLY", tooHeavyMessage)
  for (const output of Either.getOrElse(readOutputs(text), () => [])) {
    if (output.t === "call") return mistake("CALL_NOT_ALLOWED", `calls ${output.name}: a flow's file makes no calls`)
    // The guest sent it as JSON.
    if (output.t === "ret") return Either.right(output.v as Json)
    if (output.t === "throw") return mistakeOf(source, output.e)
  }
  return mistake("NOT_EVALUATED", "gives no flow")
}

// --- Files ---

const text = (most: number) => Schema.optionalWith(Schema.String.pipe(Schema.maxLength(most)), { exact: true })
const generation = Schema.optionalWith(Schema.Int.pipe(Schema.between(1, presentGeneration)), { exact: true })
const decodeFile = decodeStrict(
  Schema.Struct({ name: text(64), description: text(10_000), generation, spec: Schema.Unknown })
)

const toFlow = (value: Json): Either.Either<FlowFile, Mistakes> => {
  if (!isObject(value)) return mistake("INVALID_VALUE", "must be an object with the members of a flow")
  const unstorable = findUnstorable(value)
  if (unstorable !== undefined)
    return Either.left([{ path: unstorable.path, code: "NOT_STORABLE", message: unstorableMessage[unstorable.reason] }])
  const flow = flowOfFile(value)
  return Either.mapBoth(decodeFile(flow), {
    onLeft: (issues) => detailsOf(issues, "is not a member of a flow"),
    // What is left of an object.
    onRight: (file) => ({ ...file, spec: flow.spec as JsonObject })
  })
}

const pathIn = (path: string, member: string) => (member === "" ? path : `${path}.${member}`)

/** Makes the function that reads files. */
export const makeFlowFileReader = (loadWasm: LoadWasm) => {
  let engine: Promise<Engine> | undefined
  const readModule: Read = async (source) => {
    engine ??= loadWasm().then((wasm) => makeEngine(wasm, new ProcessorTime(), () => undefined))
    // One that could not be made is made again for the next file.
    engine.catch(() => (engine = undefined))
    return evaluate(await engine, source)
  }
  return async ({ format, path, source }: ComputationTable["readFlowFile"]["input"]): Promise<Validated<FlowFile>> => {
    const read = await (format === "flow.json" ? readJson(source) : readModule(source))
    return Either.match(Either.flatMap(read, toFlow), {
      onLeft: (mistakes) => ({
        ok: false,
        mistakes: mistakes.map((one) => ({ ...one, path: pathIn(path, one.path) }))
      }),
      onRight: (value) => ({ ok: true, value })
    })
  }
}
