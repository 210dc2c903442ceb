/**
 * A computing worker: the jailed process that computes on tenants' inputs. It gets its source on stdin, and jobs over
 * one socket. It runs one job at a time and exits when the socket closes.
 */
import { Socket } from "node:net"
import { constants, setPriority } from "node:os"
import { computationLimits } from "../../../domain/Limits.js"
import { frameReader, textFrame } from "../../jail/Frames.js"
import { type Job, type JobAnswer, WorkerReply } from "../Protocol.js"
import { computations } from "./Table.js"

const socket = new Socket({ fd: 3, readable: true, writable: true })

/** Where a defect happened, without its message: that may quote the tenant's input. */
const framesOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.name}\n${(error.stack ?? "")
        .split("\n")
        .filter((line) => /^\s+at /.test(line))
        .join("\n")}`
    : typeof error

const answerTo = ({ input, name }: Job): JobAnswer => {
  try {
    // The job's input has the type that its name says: the port's table pairs them on the other side.
    const compute: (input: never) => unknown = computations[name]
    return { tag: "Done", output: compute(input as never) }
  } catch (error) {
    // The input nests too deeply.
    if (error instanceof RangeError) return { tag: "TooMuchMemory" }
    return { tag: "Defect", frames: framesOf(error) }
  }
}

const tooMuchMemory = JSON.stringify({ tag: "TooMuchMemory" } satisfies JobAnswer)

const onFrame = (_kind: number, payload: Buffer): void => {
  // Written by `WorkerProcess`.
  const job = JSON.parse(payload.toString("utf8", 4)) as Job
  const answer = JSON.stringify(answerTo(job))
  const isTooLarge = answer.length > computationLimits.answerBytes
  socket.write(textFrame(WorkerReply.answer, 0, isTooLarge ? tooMuchMemory : answer))
}

// Lowers its priority: the service and its runs go first.
try {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
} catch {
  // Not permitted here: it keeps the normal priority.
}
socket.on("data", frameReader(onFrame))
socket.on("close", () => process.exit(0))
socket.on("error", () => process.exit(0))
socket.write(textFrame(WorkerReply.ready, 0, ""))
