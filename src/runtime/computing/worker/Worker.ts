/**
 * The program of a computing worker: a jailed process that computes on tenants' inputs. It gets its own source on stdin
 * and its jobs over one socket. It runs one job at a time and exits when the socket closes.
 */
import { Socket } from "node:net"
import { constants, setPriority } from "node:os"
import { frameReader, textFrame } from "../../jail/Frames.js"
import { isReadable, type Job, type JobAnswer, WorkerReply, WorkerRequest } from "../Protocol.js"
import { makeComputations } from "./Table.js"

const socket = new Socket({ fd: 3, readable: true, writable: true })

/** The stack frames of a defect, without its message, which may quote the tenant's input. */
const framesOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.name}\n${(error.stack ?? "")
        .split("\n")
        .filter((line) => /^\s+at /.test(line))
        .join("\n")}`
    : typeof error

let takeEngine: (wasm: Uint8Array<ArrayBuffer>) => void = () => undefined
const engine = new Promise<Uint8Array<ArrayBuffer>>((resolve) => (takeEngine = resolve))
const computations = makeComputations(() => engine)

const answerTo = async ({ input, name }: Job): Promise<JobAnswer> => {
  try {
    // The service pairs names and inputs by the types of the port's table.
    const compute: (input: never) => unknown = computations[name]
    return { tag: "Done", output: await compute(input as never) }
  } catch (error) {
    // A stack overflow: the input nests too deeply.
    if (error instanceof RangeError) return { tag: "TooMuchMemory" }
    return { tag: "Defect", frames: framesOf(error) }
  }
}

const tooMuchMemory = JSON.stringify({ tag: "TooMuchMemory" } satisfies JobAnswer)

/** The service sends a job when it has the answer to the one before. */
const run = async (job: Job): Promise<void> => {
  const answer = JSON.stringify(await answerTo(job))
  socket.write(textFrame(WorkerReply.answer, 0, isReadable(answer) ? answer : tooMuchMemory))
}

const onFrame = (kind: number, payload: Buffer): void => {
  if (kind === WorkerRequest.engine) takeEngine(Uint8Array.from(payload))
  // `WorkerProcess` wrote this frame.
  else void run(JSON.parse(payload.toString("utf8", 4)) as Job)
}

// A lower priority, so that the service and its runs get the CPU first.
try {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
} catch {
  // Not permitted on this machine: the worker keeps the normal priority.
}
socket.on("data", frameReader(onFrame))
socket.on("close", () => process.exit(0))
socket.on("error", () => process.exit(0))
socket.write(textFrame(WorkerReply.ready, 0, ""))
