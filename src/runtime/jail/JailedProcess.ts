/**
 * A jailed process: starts it, exchanges frames with it, kills it when its work hangs, and reports its end once. The
 * meaning of frames is its user's. Callbacks instead of effects, for speed: every turn of a guest passes here.
 */
import { Buffer } from "node:buffer"
import { type ChildProcess, spawn } from "node:child_process"
import type { Duplex } from "node:stream"
import { frameReader } from "./Frames.js"
import type { Jail } from "./Jail.js"
import { childProcessorMillis } from "./ProcessorTime.js"
import { Watchdog, type WatchdogOptions } from "./Watchdog.js"

/** How long a process may take to start: a jail that does not work on this machine may hang instead of failing. */
const startLimitMillis = 10_000
/** Characters of stderr that are kept for the reason of a failed start. */
const startOutputLength = 2_000

/** The kinds of callbacks that a jailed process causes in this one. */
export type Listener = "child" | "socket" | "stderr" | "timer" | "answer"

/** What happens when a listener on a process throws. */
export interface ListenerOptions {
  /** A listener threw, which is a bug. Its process is killed. */
  readonly onDefect: (listener: Listener, cause: unknown) => void
  /** Called as a listener begins, so that a test can make it throw. */
  readonly onListener?: ((listener: Listener) => void) | undefined
}

export interface JailedProcessOptions extends ListenerOptions {
  readonly jail: Jail
  /** The program, which the process reads from stdin. */
  readonly source: Buffer
  /** A file that it has open as descriptor 4. */
  readonly sharedFile?: number | undefined
  /** What the process is in reasons; `svc-` and this is shown after the command in lists of processes. */
  readonly name: string
  readonly watch: WatchdogOptions
  readonly onFrame: (kind: number, payload: Buffer) => void
  /** The process has ended, ready or not. Called once; must not throw. */
  readonly onGone: (reason: string) => void
}

export class JailedProcess {
  isGone = false
  private isReady = false
  private readonly child: ChildProcess
  private readonly socket: Duplex
  private readonly watchdog: Watchdog
  private readonly startTimer: NodeJS.Timeout
  private unsentFrames: Array<Buffer> = []
  /** What it wrote to stderr before it was ready. Later output may quote a tenant and must not be logged. */
  private startOutput = ""

  constructor(private readonly options: JailedProcessOptions) {
    const { jail, name, source } = options
    this.child = spawn(jail.command, [...jail.args, `svc-${name}`], {
      cwd: "/",
      env: { TZ: "UTC" },
      // A session of its own: Ctrl-C in the terminal must not end the process, which the service needs to drain.
      detached: true,
      stdio: ["pipe", "ignore", "pipe", "pipe", ...(options.sharedFile === undefined ? [] : [options.sharedFile])]
    })
    // Node types further pipes as readable or writable; a "pipe" is a socket and therefore both.
    this.socket = this.child.stdio[3] as Duplex
    this.watchdog = new Watchdog(
      options.watch,
      () => childProcessorMillis(this.child),
      (body) => this.guard("timer", body)
    )
    const onTimeout = this.guard("timer", () => this.end(`the ${name} did not answer`))
    this.startTimer = setTimeout(onTimeout, startLimitMillis).unref()
    this.listen()
    // The socket and the process report the end, also when the source could not be written.
    this.child.stdin?.on("error", () => undefined)
    this.child.stdin?.end(source)
  }

  get pid(): number | undefined {
    return this.child.pid
  }

  get isAlive(): boolean {
    return this.isReady && !this.isGone
  }

  /** The process has said that it is ready. */
  markReady(): void {
    this.isReady = true
    this.startOutput = ""
    clearTimeout(this.startTimer)
  }

  /** Sends a frame. One write per turn of the event loop: each write wakes the process, which costs more than bytes. */
  send(bytes: Buffer): void {
    if (this.unsentFrames.push(bytes) === 1) setImmediate(this.flush)
  }

  /** Calls `then` once what was sent has left this process, or never will. */
  whenSent(then: () => void): void {
    const isFlushed = this.guard("socket", () => {
      if (this.socket.destroyed || this.socket.writableLength === 0) then()
      else this.socket.write("", () => then())
    })
    setImmediate(isFlushed)
  }

  /** Watches the work that the process now has. */
  watch(): void {
    this.watchdog.start()
  }

  /** Kills the process; its end is reported later. */
  kill(): void {
    this.child.kill("SIGKILL")
    this.socket.destroy()
  }

  /** Kills the process and reports its end. */
  end(reason: string): void {
    if (this.isGone) return
    this.isGone = true
    clearTimeout(this.startTimer)
    this.watchdog.stop()
    this.kill()
    this.options.onGone(this.startOutput === "" ? reason : `${reason}: ${this.startOutput.trim()}`)
  }

  /** Wraps a listener: an exception in it ends this process, not the service. */
  guard<Args extends ReadonlyArray<unknown>>(listener: Listener, body: (...args: Args) => void) {
    return (...args: Args): void => {
      try {
        this.options.onListener?.(listener)
        body(...args)
      } catch (cause) {
        this.options.onDefect(listener, cause)
        this.end(`its ${listener} listener failed`)
      }
    }
  }

  private readonly flush = this.guard("socket", () => {
    const frames = this.unsentFrames
    this.unsentFrames = []
    const [only] = frames
    if (!this.isGone && only !== undefined) this.socket.write(frames.length === 1 ? only : Buffer.concat(frames))
  })

  private listen(): void {
    const { child, socket } = this
    const { name, onFrame } = this.options
    socket.on("data", this.guard("socket", frameReader(onFrame)))
    socket.on(
      "error",
      this.guard("socket", (cause: Error) => this.end(`the socket of the ${name} failed: ${errorName(cause)}`))
    )
    socket.on(
      "close",
      this.guard("socket", () => this.end(`the ${name} closed its socket`))
    )
    child.on(
      "error",
      this.guard("child", (cause: Error) => this.end(String(cause)))
    )
    child.on(
      "exit",
      this.guard("child", (code: number | null, signal: NodeJS.Signals | null) =>
        this.end(`the ${name} ended (${signal ?? code})`)
      )
    )
    child.stderr?.on(
      "data",
      this.guard("stderr", (chunk: Buffer) => {
        if (!this.isReady && this.startOutput.length < startOutputLength) this.startOutput += chunk.toString()
      })
    )
  }
}

/** An error's name. Its message may quote a tenant. */
export const errorName = (cause: unknown): string => (cause instanceof Error ? cause.name : typeof cause)
