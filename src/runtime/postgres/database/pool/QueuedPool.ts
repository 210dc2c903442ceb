/** The pool of `pg`, with what it lacks: connections are handed over one by one, and a cancellation hits its statement only. */
import { EventEmitter } from "node:events"
import { Pool, type PoolClient } from "pg"

type ConnectCallback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (cause?: unknown) => void
) => void

/** One use of a connection, until its release. */
interface Checkout {
  /** Cancellations that are being sent to its statement. */
  cancelling: number
  /** The release, if it waits for them. */
  release: (() => void) | undefined
}

/** How the library cancels the statement of an interrupted effect: through the pool, by the backend's process. */
const cancellation = /^SELECT pg_cancel_backend\((\d+)\)$/

/**
 * Hands over each connection in a microtask of its own. The pool of `pg` calls the next waiter inside the release of a
 * connection: a thousand interrupted waiters, which release at once, would overflow the stack.
 *
 * A connection is released only after the cancellations that were sent to it, and none is sent after its release: the next
 * user's statement would be cancelled otherwise.
 */
export class QueuedPool extends Pool {
  private readonly noteRefusal: (error: unknown) => void
  private readonly checkouts = new Map<number, Checkout>()

  /** `onError`: called with the code of each error that the server sends. */
  constructor(options: ConstructorParameters<typeof Pool>[0], onError: (sqlState: string) => void = ignore) {
    super(options)
    this.on("connect", (client) => {
      nameStatements(client)
      const connection: unknown = Reflect.get(client, "connection")
      if (connection instanceof EventEmitter) connection.on("errorMessage", (error) => onError(codeOf(error)))
    })
    this.noteRefusal = (error) => onError(codeOf(error))
    const query = this.query.bind(this)
    // Overloads cannot be overridden one by one.
    this.query = ((text: unknown, ...rest: ReadonlyArray<unknown>) => {
      const [, backend] = typeof text === "string" ? (cancellation.exec(text) ?? []) : []
      const [done] = rest
      return backend === undefined || typeof done !== "function"
        ? Reflect.apply(query, undefined, [text, ...rest])
        : this.cancel(Number(backend), () => void done())
    }) as Pool["query"]
  }

  override connect(): Promise<PoolClient>
  override connect(onConnected: ConnectCallback): void
  override connect(onConnected?: ConnectCallback): Promise<PoolClient> | void {
    if (onConnected === undefined) return super.connect()
    super.connect((error, client, release) => {
      // A refused login reaches no listener.
      if (error !== undefined && error !== null) this.noteRefusal(error)
      if (client === undefined) return queueMicrotask(() => onConnected(error, client, release))
      const releasing = this.checkOut(client, release)
      // Until the user of the connection listens. If it breaks before, the first statement fails.
      client.once("error", ignore)
      queueMicrotask(() => {
        client.off("error", ignore)
        onConnected(error, client, releasing)
      })
    })
  }

  private checkOut(client: PoolClient, release: (cause?: unknown) => void) {
    const backend = backendOf(client)
    const checkout: Checkout = { cancelling: 0, release: undefined }
    this.checkouts.set(backend, checkout)
    const finish = (cause?: unknown) => {
      if (this.checkouts.get(backend) === checkout) this.checkouts.delete(backend)
      client.off("error", ignore)
      release(cause)
    }
    const releasing = (cause?: unknown) => {
      if (checkout.cancelling === 0) return finish(cause)
      client.on("error", ignore)
      checkout.release = () => finish(cause)
    }
    client.release = releasing
    return releasing
  }

  private cancel(backend: number, done: () => void): void {
    const checkout = this.checkouts.get(backend)
    if (checkout === undefined) return done()
    this.connect((error, client, release) => {
      const isOver = this.checkouts.get(backend) !== checkout || checkout.release !== undefined
      if (error !== undefined || client === undefined || isOver) {
        if (client !== undefined) release()
        return done()
      }
      // It may break: the statement fails then, and the pool drops it.
      client.on("error", ignore)
      checkout.cancelling += 1
      client.query("SELECT pg_cancel_backend($1)", [backend], (failed) => {
        checkout.cancelling -= 1
        release(failed ?? undefined)
        if (checkout.cancelling === 0) checkout.release?.()
        done()
      })
    })
  }
}

/** The name of a statement that begins with one: Postgres parses and plans it once for each connection. */
const statementName = /^\/\* (svc_\w+) \*\//

const nameStatements = (client: PoolClient): void => {
  const query = client.query.bind(client)
  // Overloads cannot be overridden one by one.
  client.query = ((text: unknown, ...rest: ReadonlyArray<unknown>) => {
    const [, name] = typeof text === "string" ? (statementName.exec(text) ?? []) : []
    const [values, done] = rest
    return name === undefined
      ? Reflect.apply(query, undefined, [text, ...rest])
      : Reflect.apply(query, undefined, [{ name, text, values }, done])
  }) as PoolClient["query"]
}

/** The process of the server behind a connection, which the types do not show. */
const backendOf = (client: PoolClient): number => {
  const found: unknown = Reflect.get(client, "processID")
  return typeof found === "number" ? found : 0
}

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : ""

const ignore = (): void => undefined
