/** An answer that came while the loop was busy counts, although its time was over; none at all does not. */
import { assert, describe, it } from "@effect/vitest"
import { Worker } from "node:worker_threads"
import { answerInTime } from "../../src/runtime/process/AnswerInTime.js"

const late = () => new Error("no answer in time")

/** A thread that answers, and says in shared memory that it has. */
const answering = `
  const { parentPort, workerData } = require("node:worker_threads")
  parentPort.postMessage("answered")
  Atomics.store(workerData, 0, 1)
  Atomics.notify(workerData, 0)`

describe("an answer in time", () => {
  it("may have come while the loop was busy for longer than the limit", async () => {
    const shared = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(answering, { eval: true, workerData: shared })
    const answer = new Promise<string>((resolve) => worker.once("message", resolve))
    const limited = answerInTime(answer, 1, late)
    // The loop stands still until the answer is there and the limit is over.
    Atomics.wait(shared, 0, 0)
    for (const from = Date.now(); Date.now() - from < 5;);
    assert.strictEqual(await limited, "answered")
    await worker.terminate()
  })

  it("is refused as late if none comes, and fails as it does itself", async () => {
    const told = (answer: Promise<unknown>) =>
      answerInTime(answer, 1, late).then(
        () => "answered",
        (cause: unknown) => String(cause)
      )
    assert.strictEqual(await told(new Promise(() => undefined)), "Error: no answer in time")
    assert.strictEqual(await told(Promise.reject(new Error("refused"))), "Error: refused")
  })
})
