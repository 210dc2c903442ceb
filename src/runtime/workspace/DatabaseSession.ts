/**
 * One connection of a workspace. The bytes of an answer are counted on the socket before the protocol parser gets them,
 * and the connection ends at the cap; an exception in any listener of the socket ends the call and never the process.
 */
import { Client, type ClientConfig, Query, type QueryConfig } from "pg"
import type { Json } from "../../domain/Json.js"
import { workspaceDb } from "../../domain/Limits.js"

/** What a statement came to, its values still as Postgres sent them. */
export interface RawResult {
  readonly rows: ReadonlyArray<ReadonlyArray<string | null>>
  readonly rowCount: number
  readonly command: string
  readonly fields: ReadonlyArray<{ readonly name: string; readonly type: number }>
}

/** The answer is larger than a call may have. */
export class TooLarge extends Error {}

export interface DatabaseSession {
  /** The server process. */
  readonly pid: number
  /** False: it may not be used again. */
  readonly isUsable: () => boolean
  /** One statement by the extended protocol, which takes no second one. One at a time. */
  readonly query: (sql: string, params: ReadonlyArray<Json>) => Promise<RawResult>
  /** Statements of this service's own, by the simple protocol. */
  readonly control: (sql: string) => Promise<void>
  /** Cuts the connection; whoever waits for an answer gets `cause`. The server may still compute. */
  readonly abort: (cause: Error) => void
  /** Says goodbye to the server. */
  readonly end: () => Promise<void>
}

/** `onDefect`: a listener threw. It is told without anything that a tenant sent. */
export const openSession = async (
  config: ClientConfig,
  onDefect: (cause: unknown) => void
): Promise<DatabaseSession> => {
  const client = new Client(config)
  let usable = true
  let received = 0
  /** Fails the statement under way. */
  let fail: ((cause: unknown) => void) | undefined
  let deadline: NodeJS.Timeout | undefined

  const abort = (cause: Error): void => {
    usable = false
    client.connection.stream.destroy()
    fail?.(cause)
  }

  const giveUp = (cause: unknown): void => {
    onDefect(cause)
    abort(new Error("the answer could not be read"))
  }

  client.on("error", (cause) => {
    usable = false
    fail?.(cause)
  })
  client.on("end", () => {
    usable = false
  })
  try {
    await client.connect()
    guard(client, {
      onData: (bytes) => {
        received += bytes
        if (received <= wireBytes) return true
        abort(new TooLarge())
        return false
      },
      onDefect: giveUp
    })
  } catch (cause) {
    await client.end().catch(() => undefined)
    throw cause
  }

  const exclusively = <A>(body: () => Promise<A>): Promise<A> =>
    new Promise<A>((resolve, reject) => {
      if (!usable) return reject(new Error("the connection has ended"))
      received = 0
      fail = reject
      deadline = setTimeout(() => abort(new Error("no answer in time")), answerMillis)
      body().then(resolve, reject)
    }).finally(() => {
      clearTimeout(deadline)
      fail = undefined
    })

  return {
    pid: processOf(client),
    isUsable: () => usable,
    query: (sql, params) => exclusively(() => submit(client, sql, params, abort, giveUp)),
    control: (sql) =>
      exclusively(async () => {
        await client.query(sql)
      }),
    abort,
    end: async () => {
      usable = false
      const deadline = setTimeout(() => client.connection.stream.destroy(), goodbyeMillis)
      await client.end().catch(() => undefined)
      clearTimeout(deadline)
    }
  }
}

// --- Private ---

/** Rows, and what the protocol adds to them: a row has 7 bytes around its values, a description of columns up to 140 KB. */
const wireBytes = workspaceDb.resultBytes + 512 * 1024

/** A server that lives ends the statement before. */
const answerMillis = workspaceDb.statementMillis + 10_000

/** A server that does not close the connection by then is left without a word. */
const goodbyeMillis = 2_000

/** The server tells it when the session begins; pg keeps it to cancel statements. */
const processOf = (client: Client): number =>
  "processID" in client && typeof client.processID === "number" ? client.processID : 0

/** Everything that pg does with an answer, it does in listeners of the socket. */
const guard = (
  { connection: { stream } }: Client,
  { onData, onDefect }: { onData: (bytes: number) => boolean; onDefect: (cause: unknown) => void }
): void => {
  const emit = stream.emit.bind(stream)
  Object.defineProperty(stream, "emit", {
    value: (event: string | symbol, ...args: ReadonlyArray<unknown>): boolean => {
      try {
        const [data] = args
        if (event === "data" && data instanceof Uint8Array && !onData(data.byteLength)) return true
        return emit(event, ...args)
      } catch (cause) {
        onDefect(cause)
        return true
      }
    }
  })
}

/** Values stay text: they are read when all of them have arrived, where that may fail. */
const asText = { getTypeParser: () => (text: string) => text }

const submit = (
  client: Client,
  sql: string,
  params: ReadonlyArray<Json>,
  abort: (cause: Error) => void,
  onDefect: (cause: unknown) => void
): Promise<RawResult> =>
  new Promise((resolve, reject) => {
    const rows: Array<ReadonlyArray<string | null>> = []
    const config: QueryConfig & { readonly queryMode: "extended"; readonly rowMode: "array" } = {
      text: sql,
      values: [...params],
      queryMode: "extended",
      rowMode: "array",
      types: asText
    }
    const query = new Query<ReadonlyArray<string | null>>(config)
    const handleError: unknown = Reflect.get(query, "handleError")
    if (typeof handleError === "function") {
      // pg calls it in a tick of its own when the connection ends: what it throws there is no listener's.
      const guarded = (...args: ReadonlyArray<unknown>): void => {
        try {
          Reflect.apply(handleError, query, args)
        } catch (cause) {
          onDefect(cause)
        }
      }
      Object.defineProperty(query, "handleError", { value: guarded })
    }
    query.on("row", (row) => {
      if (rows.push(row) > workspaceDb.rows) abort(new TooLarge())
    })
    query.on("error", reject)
    query.on("end", ({ command, fields, rowCount }) =>
      resolve({
        rows,
        command,
        rowCount: rowCount ?? rows.length,
        fields: fields.map(({ dataTypeID, name }) => ({ name, type: dataTypeID }))
      })
    )
    client.query(query)
  })
