/**
 * The local socket by which `svc restart` reaches the supervisor of a data directory. Only who may write to that directory
 * reaches it. It also tells a second supervisor that there is one.
 */
import { Effect, Runtime, type Scope } from "effect"
import { chmodSync, rmSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import * as path from "node:path"
import { splitLines } from "../process/Lines.js"
import { makeDirectory, OperatorError, reasonOf } from "../process/OperatorError.js"

/** One line of an answer: what was done, or at the end how it went. */
export type Reply = { readonly done: string } | { readonly ended: string | null }

const request = "restart\n"

/** The path as it is given, which is shorter than the absolute one: the system allows about a hundred characters. */
const socketOf = (dataDir: string): string => path.join(dataDir, "supervisor.sock")

/** A connection to the supervisor of this data directory; `undefined` if none runs. */
const reach = (dataDir: string): Effect.Effect<Socket | undefined> =>
  Effect.async((resume) => {
    const socket = connect(socketOf(dataDir))
    socket.once("connect", () => resume(Effect.succeed(socket)))
    socket.once("error", () => resume(Effect.succeed(undefined)))
  })

/**
 * Listens for the life of the scope. `restart` runs once for each request, and reports what it has done. Fails if another
 * supervisor listens. Returns whether one was killed before: its nodes may not have ended yet.
 */
export const listen = (
  dataDir: string,
  restart: (report: (done: string) => void) => Effect.Effect<void, OperatorError>
): Effect.Effect<boolean, OperatorError, Scope.Scope> =>
  Effect.gen(function* () {
    const other = yield* reach(dataDir)
    if (other !== undefined) {
      other.destroy()
      return yield* new OperatorError({
        message: `svc already runs nodes on ${path.resolve(dataDir)}. Stop it first, or set SVC_DATA_DIR to another directory.`
      })
    }
    const runtime = yield* Effect.runtime<Scope.Scope>()
    const answer = (socket: Socket) => {
      const say = (reply: Reply) => void socket.write(`${JSON.stringify(reply)}\n`)
      const work = restart((done) => say({ done })).pipe(
        Effect.matchEffect({
          onSuccess: () => Effect.sync(() => say({ ended: null })),
          onFailure: ({ message }) => Effect.sync(() => say({ ended: message }))
        }),
        Effect.ensuring(Effect.sync(() => socket.end()))
      )
      // Goes on if the command is gone.
      socket.on("error", () => undefined)
      socket.once("data", (text) => {
        if (text.toString() === request) Runtime.runFork(runtime)(Effect.forkScoped(work))
        else socket.destroy()
      })
    }
    return yield* Effect.map(
      Effect.acquireRelease(
        Effect.tryPromise({
          try: () => open(dataDir, answer),
          catch: (cause) =>
            cause instanceof OperatorError
              ? cause
              : new OperatorError({
                  message: `svc cannot listen on ${socketOf(dataDir)}: ${reasonOf(cause)}. Set SVC_DATA_DIR to a directory of a shorter name that svc may write.`
                })
        }),
        ({ close }) => Effect.sync(close)
      ),
      ({ wasKilled }) => wasKilled
    )
  })

/** Asks the supervisor of this data directory to replace its nodes; `onDone` hears each step. */
export const askForRestart = (dataDir: string, onDone: (text: string) => void): Effect.Effect<void, OperatorError> =>
  Effect.flatMap(reach(dataDir), (socket) =>
    socket === undefined
      ? new OperatorError({
          message: `No svc with several nodes runs on ${path.resolve(dataDir)}: start one with \`npm start -- --nodes 2\`. To restart a single process, stop it and start it again.`
        })
      : Effect.async<void, OperatorError>((resume) => {
          const { push } = splitLines((line) => {
            const reply = JSON.parse(line) as Reply // of the same program
            if ("done" in reply) onDone(reply.done)
            else resume(reply.ended === null ? Effect.void : new OperatorError({ message: reply.ended }))
          })
          socket.setEncoding("utf8").on("data", push)
          const gone = () =>
            resume(new OperatorError({ message: "svc has ended before all nodes were replaced: see its log." }))
          socket.once("error", gone)
          socket.once("close", gone)
          socket.write(request)
        })
  )

// --- Private ---

const open = async (dataDir: string, onConnection: (socket: Socket) => void) => {
  const file = socketOf(dataDir)
  makeDirectory(dataDir)
  const server = createServer(onConnection)
  const listening = () =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(file, resolve)
    })
  const wasKilled = await listening().then(
    () => false,
    async (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") throw error
      // Nobody answered there.
      rmSync(file, { force: true })
      await listening()
      return true
    }
  )
  chmodSync(file, 0o600)
  return { wasKilled, close: () => void server.close() }
}
