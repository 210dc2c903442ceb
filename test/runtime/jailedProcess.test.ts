/** What runners and computing workers share: a jailed process exchanges frames, is killed when it hangs, and ends once. */
import { assert, describe, it } from "vitest"
import { textFrame } from "../../src/runtime/jail/Frames.js"
import { jails } from "../../src/runtime/jail/Jail.js"
import { JailedProcess, type Listener } from "../../src/runtime/jail/JailedProcess.js"
import type { Work } from "../../src/runtime/jail/Watchdog.js"

/** Sends back each chunk that it reads, as one frame of kind 1 with the chunk's length; `hang` never answers. */
const echo = `
import { Socket } from "node:net"
const socket = new Socket({ fd: 3, readable: true, writable: true })
const send = (kind, text) => {
  const payload = Buffer.from("0000" + text)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(1 + payload.length)
  head[4] = kind
  socket.write(Buffer.concat([head, payload]))
}
socket.on("data", (chunk) => {
  if (chunk.includes("hang")) for (;;);
  if (chunk.includes("pause")) {
    socket.pause()
    // A process ends when it neither reads nor waits.
    setInterval(() => {}, 1000)
    process.once("SIGUSR2", () => socket.resume())
  }
  if (chunk.includes("exit")) { process.stderr.write("a tenant's value"); setTimeout(() => process.exit(3), 50) }
  send(1, String(chunk.length))
})
send(0, "")
`

const deferred = <A>() => {
  let resolve: (value: A) => void = () => undefined
  const promise = new Promise<A>((done) => {
    resolve = done
  })
  return { promise, resolve: (value: A) => resolve(value) }
}

interface Seen {
  readonly ends: Array<string>
  readonly defects: Array<Listener>
  work: Work | undefined
}

/** Starts a process and waits until it is ready or has ended. */
const start = async (source: string, onAnswer: (text: string) => void = () => undefined) => {
  const [jail] = jails("none")
  const seen: Seen = { ends: [], defects: [], work: undefined }
  const ended = deferred<void>()
  const ready = deferred<void>()
  const jailed: JailedProcess = new JailedProcess({
    jail: jail ?? assert.fail("there is no jail"),
    source: Buffer.from(source),
    name: "echo",
    watch: {
      isBusy: () => seen.work !== undefined,
      work: () => seen.work,
      onHung: ({ id }) => jailed.end(`work ${id} hung`)
    },
    onDefect: (listener) => seen.defects.push(listener),
    onFrame: (kind, payload) => {
      if (kind !== 0) return onAnswer(payload.toString("utf8", 4))
      jailed.markReady()
      ready.resolve()
    },
    onGone: (reason) => {
      seen.ends.push(reason)
      ended.resolve()
    }
  })
  await Promise.race([ready.promise, ended.promise])
  return { jailed, seen, ended: ended.promise }
}

describe("A jailed process", () => {
  it("says when it was sent everything, or never will be", async () => {
    const answer = deferred<string>()
    const { ended, jailed } = await start(echo, answer.resolve)
    jailed.send(textFrame(1, 0, "pause"))
    await answer.promise
    // More than the system holds for a process that does not read.
    jailed.send(textFrame(1, 0, "x".repeat(8 * 1024 * 1024)))
    const sent = deferred<void>()
    let isSent = false
    jailed.whenSent(() => {
      isSent = true
      sent.resolve()
    })
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
    assert.isFalse(isSent)
    process.kill(jailed.pid ?? assert.fail("it has ended"), "SIGUSR2")
    await sent.promise
    await new Promise<void>((resolve) => jailed.whenSent(resolve))
    jailed.end("done")
    await ended
    await new Promise<void>((resolve) => jailed.whenSent(resolve))
  })

  it("gets the frames of one turn of the event loop in one write", async () => {
    const answer = deferred<string>()
    const { ended, jailed } = await start(echo, answer.resolve)
    const frames = ["a", "b", "c"].map((text) => textFrame(1, 0, text))
    for (const frame of frames) jailed.send(frame)
    assert.strictEqual(await answer.promise, String(frames.reduce((sum, { length }) => sum + length, 0)))
    jailed.end("done")
    await ended
  })

  it("says what it wrote before it was ready, and nothing that it wrote later", async () => {
    const failed = await start(`process.stderr.write("no such module"); process.exit(2)`)
    await failed.ended
    assert.match(failed.seen.ends.join(), /no such module/)
    assert.isFalse(failed.jailed.isAlive)
    const later = await start(echo)
    later.jailed.send(textFrame(1, 0, "exit"))
    await later.ended
    assert.notInclude(later.seen.ends.join(), "tenant")
  })

  it("ends alone and once when a listener throws", async () => {
    const { ended, jailed, seen } = await start(echo, () => {
      throw new RangeError("a tenant's value")
    })
    jailed.send(textFrame(1, 0, "text"))
    await ended
    jailed.end("again")
    assert.deepStrictEqual(seen.ends, ["its socket listener failed"])
    assert.deepStrictEqual(seen.defects, ["socket"])
  })

  it("is reported as hung when its work has used up its time", async () => {
    const { ended, jailed, seen } = await start(echo)
    jailed.send(textFrame(1, 0, "hang"))
    seen.work = { id: 7, startedAt: performance.now(), allowedMillis: 50 }
    jailed.watch()
    await ended
    assert.deepStrictEqual(seen.ends, ["work 7 hung"])
    assert.isFalse(jailed.isAlive)
  })
})
